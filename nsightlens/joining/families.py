"""Sums of joined rows by phase, batch size and family, and what a person must know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import known_numbers, number_array
from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["families_of", "notes_of"]

_GROUP = ("phase", "batch_size", "family", "subtype")
_FAR = 1.2
"""Durations of the two tools that differ by more than this factor are pointed out."""


def families_of(rows: pa.Table) -> pa.Table:
    """Return the sums of joined rows, with the schema of `nsightlens.tables.JOINED_FAMILIES`.

    Durations are those of pairs alone, so that both tools measured the same work.
    """
    is_launch, is_kernel = _is_known(rows, "launch_id"), _is_known(rows, "kernel_id")
    ncu_ns, nsys_ns = (number_column(rows, f"{one}_duration_ns") for one in ("ncu", "nsys"))
    is_pair = is_launch & is_kernel & ~np.isnan(ncu_ns) & ~np.isnan(nsys_ns)
    group, first = _grouped(rows, _GROUP)
    step, _ = _grouped(rows, _GROUP[:2])
    count = len(first)

    def summed(values: NDArray[Any], of: NDArray[np.int64] = group) -> NDArray[np.float64]:
        found = np.bincount(of, values.astype(np.float64), minlength=int(of.max(initial=-1)) + 1)
        return found.astype(np.float64)

    pairs = summed(is_pair)
    sums = [summed(np.where(is_pair, one, 0)) for one in (ncu_ns, nsys_ns)]
    of_step = [summed(np.where(is_pair, one, 0), step)[step[first]] for one in (ncu_ns, nsys_ns)]
    sums = [np.where(pairs > 0, one, np.nan) for one in sums]
    chosen = rows.take(number_array(first))
    order = np.lexsort(
        (-np.nan_to_num(sums[1]), number_column(chosen, "batch_size"), *_codes(chosen, "phase"))
    )
    with np.errstate(all="ignore"):
        table = tables.table_of(
            tables.schema_of(tables.JOINED_FAMILIES),
            {
                **{name: chosen[name] for name in _GROUP},
                "launch_count": number_array(summed(is_launch).astype(np.uint64)),
                "kernel_count": number_array(summed(is_kernel).astype(np.uint64)),
                "matched_count": number_array(summed(is_launch & is_kernel).astype(np.uint64)),
                "ncu_duration_ns": known_numbers(sums[0]),
                "nsys_duration_ns": known_numbers(sums[1]),
                "nsys_per_ncu_duration": known_numbers(sums[1] / sums[0]),
                "ncu_duration_share_pct": known_numbers(100 * sums[0] / of_step[0]),
                "nsys_duration_share_pct": known_numbers(100 * sums[1] / of_step[1]),
            },
            count,
        )
    return table.take(number_array(order))


def notes_of(rows: pa.Table, outside_count: int) -> tuple[str, ...]:
    """Return what a person must know of joined rows, one sentence each."""
    is_launch, is_kernel = _is_known(rows, "launch_id"), _is_known(rows, "kernel_id")
    launches, pairs = int(is_launch.sum()), int((is_launch & is_kernel).sum())
    notes = []
    if pairs < launches:
        notes.append(
            f"{launches - pairs} of {launches} launches of the report have no counterpart in the "
            f"trace: {_most(rows, is_launch & ~is_kernel)}."
        )
    alone = is_kernel & ~is_launch
    if alone.any():
        notes.append(
            f"{int(alone.sum())} kernels of the trace have no counterpart in the report: "
            f"{_most(rows, alone)}."
        )
    if outside_count:
        notes.append(
            f"{outside_count} kernels of the trace are in no step, such as those of the warm-up, "
            "and are left out."
        )
    by_order = pc.sum(pc.equal(rows["matched_by"].cast(pa.string()), "order")).as_py() or 0
    if by_order:
        notes.append(
            f"{by_order} pairs were matched without a step, by name, grid and order: one of the "
            "two runs has no NVTX range that says the step."
        )
    ncu_ns, nsys_ns = (
        float(
            np.nansum(np.where(is_launch & is_kernel, number_column(rows, f"{one}_duration_ns"), 0))
        )
        for one in ("ncu", "nsys")
    )
    if ncu_ns and nsys_ns and not 1 / _FAR <= nsys_ns / ncu_ns <= _FAR:
        notes.append(
            f"The same kernels took {nsys_ns / 1e6:.3f} ms under nsys and {ncu_ns / 1e6:.3f} ms "
            "under ncu, which runs each alone and may hold the clocks or flush the caches: times "
            "are those of nsys, counters those of ncu."
        )
    return tuple(notes)


def _most(rows: pa.Table, where: NDArray[np.bool_]) -> str:
    """Say which families rows belong to, the most frequent first."""
    code, texts = text_column(rows.filter(number_array(where)), "family")
    counts = np.bincount(code, minlength=len(texts))
    named = [
        (int(counts[at]), texts[at] or "no family") for at in np.argsort(-counts, kind="stable")
    ]
    return ", ".join(f"{count} {name}" for count, name in named[:4] if count)


def _is_known(rows: pa.Table, name: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.is_valid(rows[name]).to_numpy().astype(bool)
    return found


def _codes(rows: pa.Table, *names: str) -> list[NDArray[np.int64]]:
    return [text_column(rows, name)[0].astype(np.int64) for name in names]


def _grouped(rows: pa.Table, names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each row, and the first row of each group."""
    if rows.num_rows == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    _, first, group = np.unique(
        np.stack(_codes(rows, *names)), axis=1, return_index=True, return_inverse=True
    )
    return group.reshape(-1).astype(np.int64), first.astype(np.int64)
