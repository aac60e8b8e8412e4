"""What lies beyond the stated bands is pointed out, with the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nsightlens.analysis.padding import Padding
from nsightlens.sweeps.expectation import DRAM_BAND, EXECUTED_BAND, expectation_columns
from nsightlens.sweeps.needed import SOURCES, Needed
from nsightlens.sweeps.rows import Work

NONE = np.nan


def columns(
    flop: float,
    moved: float,
    *,
    family: str = "gemm",
    batch: int | None = 64,
    phase: str = "decode",
    context: float = NONE,
    source: str = "annotation",
) -> dict[str, Any]:
    """Return the columns of one row whose shapes need 100 FLOP and 100 B."""
    unknown = np.array([NONE])
    work = Work(np.array([flop]), np.array([moved]), *(unknown for _ in range(4)))
    code = np.array([SOURCES.index(source)], dtype=np.int8)
    needed = Needed(np.array([100.0]), np.array([100.0]), code)
    keys = pa.table({
        "family": pa.array([family]),
        "batch_size": pa.array([None if batch is None else str(batch)], pa.string()),
        "phase": pa.array([phase]),
    })  # fmt: skip
    padding = Padding(*(unknown for _ in range(4)))
    found = expectation_columns(work, needed, padding, keys, np.array([context]))
    return {name: values.to_pylist()[0] for name, values in found.items()}


def test_what_the_shapes_need_is_within() -> None:
    """With nothing to say of it."""
    found = columns(100.0, 100.0)
    assert (found["expectation"], found["expectation_reason"]) == ("within", None)
    assert (found["executed_per_useful_flop"], found["dram_per_algorithmic_byte"]) == (1.0, 1.0)
    assert found["useful_source"] == "annotation"
    assert columns(100.0, 100.0, source="model")["useful_source"] == "model"


@pytest.mark.parametrize(
    ("flop", "moved", "words"),
    [
        (140.0, 100.0, "1.4 times the operations that the shapes need are executed"),
        (90.0, 100.0, "only 0.9 of the operations that the shapes need were counted"),
        (100.0, 140.0, "1.4 times the bytes that the shapes need pass DRAM: something is moved"),
        (100.0, 40.0, "only 0.4 of the bytes that the shapes need pass DRAM: caches hold the rest"),
    ],
)
def test_what_lies_beyond_a_band_is_said(flop: float, moved: float, words: str) -> None:
    """In words, with the ratio."""
    found = columns(flop, moved)
    assert found["expectation"] == "beyond"
    assert words in found["expectation_reason"]


def test_a_cause_is_not_stated_where_there_are_two() -> None:
    """Caches hold what is not read, or the shapes, or the model, are others."""
    assert columns(100.0, 40.0)["expectation_reason"].endswith(
        "caches hold the rest, or the shapes are others"
    )
    for moved, words in ((40.0, "caches hold the rest"), (140.0, "is moved more than once")):
        said = columns(100.0, moved, source="model")["expectation_reason"]
        assert said.endswith(f"{words}, or it is another model or context length")


def test_operations_and_bytes_off_by_one_factor_are_those_of_another_model() -> None:
    """Neither padding nor caches make both four times as much."""
    found = columns(400.0, 430.0, source="model", batch=100)
    assert found["expectation"] == "beyond"
    assert found["expectation_reason"] == (
        "4 times the operations and 4.3 times the bytes that the model needs: it does not seem to"
        " be the model that ran"
    )
    assert "seem" not in columns(400.0, 430.0, batch=100)["expectation_reason"]
    assert "seem" not in columns(400.0, 140.0, source="model", batch=100)["expectation_reason"]


def test_both_can_lie_beyond() -> None:
    """Two clauses."""
    assert columns(200.0, 200.0)["expectation_reason"].count(";") == 1


@pytest.mark.parametrize("band", [DRAM_BAND, EXECUTED_BAND])
def test_the_ends_of_a_band_are_within_it(band: tuple[float, float]) -> None:
    """The bands are stated as such."""
    assert 0 < band[0] < 1 < band[1]
    for end in band:
        which = {"flop": 100.0, "moved": 100.0}
        which["moved" if band is DRAM_BAND else "flop"] = 100.0 * end
        assert columns(which["flop"], which["moved"])["expectation"] == "within"


@pytest.mark.parametrize(
    ("batch", "ratio", "rows"), [(1, 8.0, 8), (4, 16.0, 64), (3, 16 / 3, 16), (100, 1.28, None)]
)
def test_padding_of_a_tile_is_named(batch: int, ratio: float, rows: int | None) -> None:
    """The smallest tile of which the batch, rounded up, makes this ratio."""
    reason = columns(100.0 * ratio, 100.0, batch=batch)["expectation_reason"] or ""
    assert (f"as a tile of {rows} rows pads the batch" in reason) == (rows is not None)


def test_padding_that_no_tile_explains_is_only_stated() -> None:
    """Nor is it where no batch size is known."""
    for found in (columns(450.0, 100.0, batch=1), columns(800.0, 100.0, batch=None)):
        assert "tile" not in found["expectation_reason"]


def test_padding_of_decode_attention_is_explained() -> None:
    """Tiles of queries are for prefill; there no word is said of them."""
    words = "as a tile of many query rows is filled with the few of decode"
    decode, prefill = (
        columns(6600.0, 100.0, family="attention", phase=phase) for phase in ("decode", "prefill")
    )
    assert words in decode["expectation_reason"]
    assert words not in prefill["expectation_reason"]


def test_padding_of_keys_is_explained_beside_that_of_queries() -> None:
    """With 16 keys in a tile of 256, and where no tile of queries alone is so large."""
    words = "as tiles of many query rows and of many keys are filled with the few that there are"
    for executed, context in ((6600.0, 16.0), (103_600.0, 16.0), (103_600.0, NONE)):
        found = columns(executed, 100.0, family="attention", context=context)
        assert words in found["expectation_reason"]
    found = columns(6600.0, 100.0, family="attention", context=500.0)
    assert "keys" not in found["expectation_reason"]


def test_what_was_not_measured_has_no_expectation() -> None:
    """The shapes are shown all the same."""
    found = columns(NONE, NONE)
    assert (found["expectation"], found["expectation_reason"]) == (None, None)
    assert found["useful_arithmetic_intensity_flop_per_byte"] == 1.0
