"""Measured work beside what the shapes need, and what lies beyond the stated bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis.phrase import choose, concat, sentence, significant, when
from nsightlens.devices.columns import number_column, text_column
from nsightlens.sweeps.needed import SOURCES
from nsightlens.sweeps.numbers import finite_numbers, quotient

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.analysis.padding import Padding
    from nsightlens.sweeps.needed import Needed
    from nsightlens.sweeps.rows import Work

__all__ = ["DRAM_BAND", "EXECUTED_BAND", "expectation_columns"]

DRAM_BAND = (0.8, 1.3)
"""[1] DRAM bytes over algorithmic bytes. Below, caches hold what the shapes say is read; above,
something is read more than once, or the shapes are others."""

EXECUTED_BAND = (0.95, 1.3)
"""[1] Operations executed over useful ones. Below, some were not counted or the shapes are others;
above, tiles are padded or masked-out work is done."""

_TILES = (8, 16, 32, 64, 128, 256)
_TILE_MATCH = 0.05
"""[1] Relative: so close to the padding of a tile, the padding is taken to be that of the tile."""

_QUERY_TILE, _KEY_TILE = 128, 256
"""The largest tiles of attention kernels, in query rows and in keys (FlashAttention-2 and -3)."""

_SAME_FACTOR = 1.25
"""[1] Operations and bytes that are off by factors this close are taken to be off by one."""


def expectation_columns(
    work: Work,
    needed: Needed,
    padding: Padding,
    keys: pa.Table,
    context: NDArray[np.float64],
) -> dict[str, Any]:
    """Return the columns of the work that shapes need, and how the measured one lies to it.

    Parameters
    ----------
    work
        What rows executed and moved.
    needed
        What their shapes need.
    padding
        Both, of the launches whose annotation says what they need.
    keys
        What the rows are.
    context
        [token] KV tokens per sequence; NaN where it is not known or not one.
    """
    by_launch = padding.ratios()
    executed = _first(by_launch["executed_per_useful_flop"], quotient(work.flop, needed.flop))
    moved = _first(by_launch["dram_per_algorithmic_byte"], quotient(work.dram_bytes, needed.bytes))
    is_known = ~np.isnan(executed) | ~np.isnan(moved)
    is_beyond = _is_beyond(executed, EXECUTED_BAND) | _is_beyond(moved, DRAM_BAND)
    return {
        "useful_flop_count": finite_numbers(needed.flop),
        "algorithmic_bytes": finite_numbers(needed.bytes),
        "useful_arithmetic_intensity_flop_per_byte": finite_numbers(
            quotient(needed.flop, needed.bytes)
        ),
        "useful_source": choose(needed.source, SOURCES),
        "executed_per_useful_flop": finite_numbers(executed),
        "dram_per_algorithmic_byte": finite_numbers(moved),
        "expectation": choose(
            np.where(is_known, is_beyond.astype(np.int8), -1), ("within", "beyond")
        ),
        "expectation_reason": _reason(executed, moved, needed, keys, context),
    }


def _first(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(a), a, b)


def _is_beyond(ratio: NDArray[np.float64], band: tuple[float, float]) -> NDArray[np.bool_]:
    return np.asarray((ratio < band[0]) | (ratio > band[1]))


def _reason(
    executed: NDArray[np.float64],
    moved: NDArray[np.float64],
    needed: Needed,
    keys: pa.Table,
    context: NDArray[np.float64],
) -> Any:
    times = significant(executed)
    from_dram = significant(moved)
    is_model = needed.source == SOURCES.index("model")
    # A cause is named only where no other explains as much.
    otherwise = choose(is_model.astype(np.int8), (
        "or the shapes are others", "or it is another model or context length",
    ))  # fmt: skip
    is_other = (
        is_model & (executed > EXECUTED_BAND[1]) & (moved > DRAM_BAND[1])
        & (np.abs(np.log(executed / moved)) < np.log(_SAME_FACTOR))
    )  # fmt: skip
    return sentence(
        when(
            is_other,
            lambda: concat(times, " times the operations and ", from_dram, " times the bytes that",
                           " the model needs: it does not seem to be the model that ran"),
        ),
        when(
            (executed > EXECUTED_BAND[1]) & ~is_other,
            lambda: concat(times, " times the operations that the shapes need are executed",
                           pc.coalesce(_tile(executed, keys), _tiles(executed, keys, context), "")),
        ),
        when(
            executed < EXECUTED_BAND[0],
            lambda: concat("only ", times, " of the operations that the shapes need were counted:",
                           " the shapes may be others"),
        ),
        when(
            (moved > DRAM_BAND[1]) & ~is_other,
            lambda: concat(from_dram, " times the bytes that the shapes need pass DRAM: something",
                           " is moved more than once, ", otherwise),
        ),
        when(
            moved < DRAM_BAND[0],
            lambda: concat("only ", from_dram, " of the bytes that the shapes need pass DRAM:",
                           " caches hold the rest, ", otherwise),
        ),
    )  # fmt: skip


def _tile(executed: NDArray[np.float64], keys: pa.Table) -> Any:
    """Name the smallest tile whose padding of the batch is what a matrix product executes."""
    batch = number_column(keys, "batch_size")
    is_gemm = _is_family(keys, "gemm") & (batch > 0)
    tile = np.full(len(batch), -1)
    for i, rows in reversed(list(enumerate(_TILES))):
        padded = np.ceil(batch / rows) * rows / np.where(batch > 0, batch, np.nan)
        fits = np.abs(executed / padded - 1.0) <= _TILE_MATCH
        tile = np.where(is_gemm & fits, i, tile)
    words = tuple(f", as a tile of {rows} rows pads the batch" for rows in _TILES)
    return choose(tile, words)


def _tiles(executed: NDArray[np.float64], keys: pa.Table, context: NDArray[np.float64]) -> Any:
    """Say of decode attention why so much more than is needed is executed."""
    phase, phases = text_column(keys, "phase")
    is_decode = np.array([text == "decode" for text in phases])[phase]
    holds = _is_family(keys, "attention") & is_decode & (executed > EXECUTED_BAND[1])
    # Beyond this context the last tile of keys pads less than the band allows.
    is_short = context * EXECUTED_BAND[1] < _KEY_TILE
    has_short = is_short | (executed > _QUERY_TILE * EXECUTED_BAND[1])
    return when(holds, choose(has_short.astype(np.int8), (
        ", as a tile of many query rows is filled with the few of decode",
        ", as tiles of many query rows and of many keys are filled with the few that there are",
    )))  # fmt: skip


def _is_family(keys: pa.Table, family: str) -> NDArray[np.bool_]:
    code, texts = text_column(keys, "family")
    return np.array([text == family for text in texts])[code]
