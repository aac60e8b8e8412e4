"""What launches are matched by: their keys as numbers, over the launches of both sides.

Beside what a report says of a launch (name, grid, annotation), there is what it did: a signature of
its work, from the operations and the bytes that were counted, and the launches beside which it ran.
They tell apart two GEMMs of one kernel and grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array, positions_in_runs
from nsightlens.comparison.side import WORK_OF_STEP
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.side import Side

__all__ = ["FLOP_ALIKE_PCT", "Keys", "is_other_work", "keys_of"]

FLOP_ALIKE_PCT = 5.0
"""[%] Counts of operations up to which launches of one name do the same work. Where they come from
a rate and the cycles of another pass they are off by some percent."""
BYTES_ALIKE_PCT = 25.0
"""[%] The same of DRAM bytes, which depend on what the caches held."""
OTHER_WORK_FACTOR = 2.0
"""Launches whose operations and bytes both differ by more than this factor do other work."""
_NAMELESS = ("other",)
"""Families that say of two kernels only that neither is known."""


class Keys:
    """Keys of the launches of base, then of new; n launches in all.

    Parameters
    ----------
    texts
        Keys that are shown, as text columns. Shape (n,).
    codes
        Every key as numbers, equal where the key is; -1 where it is not known. Shape (n,).
    work
        FLOP and DRAM bytes of each launch, NaN where not known or 0. Shape (2, n).
    """

    def __init__(
        self, texts: dict[str, Any], codes: dict[str, NDArray[np.int64]], work: NDArray[np.float64]
    ) -> None:
        self.texts = texts
        self.codes = codes
        self.work = work
        self._joint: dict[tuple[str, ...], NDArray[np.int64]] = {}

    def joint(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return one number per launch, equal where all keys are; unknown equals unknown."""
        key = tuple(names)
        if key not in self._joint:
            own = self.codes[key[-1]] + 1
            if len(key) > 1:
                own = self.joint(key[:-1]) * (int(own.max(initial=0)) + 1) + own
            _, code = np.unique(own, return_inverse=True)
            self._joint[key] = code.astype(np.int64)
        return self._joint[key]

    def is_known(self, name: str) -> NDArray[np.bool_]:
        """Return whether a key of each launch is known. Shape (n,)."""
        return self.codes[name] >= 0


def keys_of(base: Side, new: Side) -> Keys:
    """Return the keys of the launches of both sides."""
    texts = _texts(base, new)
    codes = {name: _codes_of(column) for name, column in texts.items()}
    codes["operation"] = _on_both(codes["operation"], len(base.report))
    number = {
        name: np.concatenate([one.number[name] for one in (base, new)])
        for name in ("duration_ns", "flop_count", "dram_bytes")
    }
    codes["duration"] = np.where(np.isnan(number["duration_ns"]), -1, 0)
    codes["flop"] = _alike(codes["name"], number["flop_count"], FLOP_ALIKE_PCT)
    codes["bytes"] = _alike(codes["name"], number["dram_bytes"], BYTES_ALIKE_PCT)
    report = np.concatenate([base.report, new.report + int(base.report.max(initial=-1)) + 1])
    codes["near"] = _near(codes["name"], report, codes["lane"])
    work = np.stack([number["flop_count"], number["dram_bytes"]])
    return Keys(texts, codes, np.where(work > 0, work, np.nan))


def is_other_work(keys: Keys, base: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether launches plainly do different work: all that was counted is far apart."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.log(keys.work[:, new] / keys.work[:, base]))
    is_known = ~np.isnan(apart)
    is_far = apart > np.log(OTHER_WORK_FACTOR)
    found: NDArray[np.bool_] = is_known.any(axis=0) & (is_far | ~is_known).all(axis=0)
    return found


def _texts(base: Side, new: Side) -> dict[str, Any]:
    names = ("kernel", "kind", "family", "subtype", "phase", "batch_size", "step_index",
             "grid", "block")  # fmt: skip
    found = {name: [one.labels[name].cast(pa.string()) for one in (base, new)] for name in names}
    found |= {name: [one.text[name] for one in (base, new)] for name in ("name", "operation")}
    found["gpu"] = [_gpus(one) for one in (base, new)]
    found["lane"] = [_lanes(one) for one in (base, new)]
    found["context"] = [_contexts(one) for one in (base, new)]
    texts = {name: _joined(columns) for name, columns in found.items()}
    bracketed = pc.binary_join_element_wise("(", texts["kind"], ")", "")
    texts["subject"] = pc.coalesce(texts["kernel"], bracketed)
    # The name of a template, whatever its arguments.
    texts["template"] = pc.replace_substring_regex(texts["kernel"], "<.*$", "")
    is_nameless = pc.is_in(texts["family"], value_set=pa.array(_NAMELESS, pa.string()))
    texts["named_family"] = pc.if_else(is_nameless, pa.scalar(None, pa.string()), texts["family"])
    return texts


def _joined(columns: Sequence[Any]) -> Any:
    chunks = [
        c for one in columns for c in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])
    ]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()


def _codes_of(column: Any) -> NDArray[np.int64]:
    code, texts = text_column({"key": column}, "key")
    return np.where(code == len(texts) - 1, -1, code).astype(np.int64)


def _gpus(side: Side) -> Any:
    """Return the GPU of each launch; of one that failed, the only one of its report.

    A launch whose collection failed does not say where it ran.
    """
    code, texts = text_column(side.text, "gpu")
    is_known = code < len(texts) - 1
    count = int(side.report.max(initial=-1)) + 1
    least, most = np.full(count, len(texts) - 1), np.full(count, -1)
    np.minimum.at(least, side.report[is_known], code[is_known])
    np.maximum.at(most, side.report[is_known], code[is_known])
    only = np.where(least == most, least, len(texts) - 1)
    filled = np.where(is_known, code, only[side.report])
    return pa.array(texts, pa.string()).take(number_array(filled))


def _contexts(side: Side) -> Any:
    """Return the lengths that an annotation states, as one text; null where it states none."""
    columns = [side.labels[name].cast(pa.string()) for name in WORK_OF_STEP]
    text = pc.binary_join_element_wise(*(pc.fill_null(one, "-") for one in columns), "|")
    return pc.if_else(pc.equal(text, "-|-|-"), pa.scalar(None, pa.string()), text)


def _lanes(side: Side) -> Any:
    """Return the number of the process and GPU of each launch, in the order of their first."""
    columns = [
        pc.fill_null(side.labels[n].cast(pa.string()), "?") for n in ("process_id", "device_id")
    ]
    code, _ = text_column({"lane": pc.binary_join_element_wise(*columns, "|")}, "lane")
    joint = side.report * (int(code.max(initial=0)) + 1) + code
    _, first, lane = np.unique(joint, return_index=True, return_inverse=True)
    # Lanes of one report, by their first launch. A launch that failed may not say where it ran: it
    # comes last, so that it does not shift the others.
    is_failed = np.bincount(lane, side.counts, minlength=len(first)) == 0
    order = np.lexsort((first, is_failed, side.report[first]))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = positions_in_runs(side.report[first][order])
    return number_array(rank[lane]).cast(pa.string())


def _on_both(code: NDArray[np.int64], base_count: int) -> NDArray[np.int64]:
    """Return the codes that both sides have: what one of them alone calls so says nothing."""
    shared = np.intersect1d(code[:base_count], code[base_count:])
    return np.where(np.isin(code, shared), code, -1)


def _alike(
    name: NDArray[np.int64], value: NDArray[np.float64], tolerance_pct: float
) -> NDArray[np.int64]:
    """Return one number for values of a name that lie next to one another; -1 for NaN."""
    order = np.lexsort((value, name))
    ordered, names = value[order], name[order]
    with np.errstate(invalid="ignore"):
        is_new = ordered[1:] > ordered[:-1] * (1 + tolerance_pct / 100)
    is_new |= names[1:] != names[:-1]
    code = np.empty(len(value), dtype=np.int64)
    code[order] = np.concatenate([np.zeros(min(1, len(value)), dtype=np.int64), np.cumsum(is_new)])
    return np.where(np.isnan(value), -1, code)


def _near(
    name: NDArray[np.int64], report: NDArray[np.int64], lane: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return one number for the names of the launches before and after, whichever comes first.

    The first and the last launch of a stream have -1: a profile may begin and end anywhere.
    """
    order = np.lexsort((lane, report))
    stream = np.stack([report[order], lane[order]])
    is_same = (stream[:, 1:] == stream[:, :-1]).all(axis=0)
    ordered = name[order] + 1
    before, after = np.zeros(len(name), dtype=np.int64), np.zeros(len(name), dtype=np.int64)
    before[1:] = np.where(is_same, ordered[:-1], 0)
    after[:-1] = np.where(is_same, ordered[1:], 0)
    width = int(ordered.max(initial=0)) + 1
    code = np.empty(len(name), dtype=np.int64)
    code[order] = np.minimum(before, after) * width + np.maximum(before, after)
    is_end = np.empty(len(name), dtype=bool)
    is_end[order] = (before == 0) | (after == 0)
    return np.where(is_end, -1, code)
