"""Launches of reports and kernels of traces by the same keys, as numbers.

Both tools name a kernel by its demangled name, its grid and its block, and keep the NVTX ranges of
the thread that launched it; from these come step and operation. Neither knows the other's counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array
from nsightlens.comparison.keys import Keys
from nsightlens.comparison.names import mapped, normal_name
from nsightlens.devices.columns import text_column
from nsightlens.steps import annotate_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.side import Side
    from nsightlens.trace import Trace

__all__ = ["STEP_KEYS", "Kernels", "joint_keys", "kernels_of"]

STEP_KEYS = ("phase", "batch_size", "context_length", "step_index")
"""What a step label says, by which the steps of both runs are told apart."""
_TEXTS = ("name", "kernel", "grid", "block", "device", "lane", *STEP_KEYS, "operation")


class Kernels(NamedTuple):
    """The kernels of some traces, in the order in which their devices began them; m kernels.

    Parameters
    ----------
    table
        With the columns of `nsightlens.tables.TRACE_KERNELS`.
    steps
        What their NVTX paths say, with the columns of `nsightlens.steps.annotate_paths`.
    texts
        The keys as text columns, by name.
    """

    table: pa.Table
    steps: pa.Table
    texts: Mapping[str, Any]


def kernels_of(traces: Sequence[Trace]) -> Kernels:
    """Gather the kernels of traces, and what their ranges say of their steps."""
    table = pa.concat_tables([trace.kernels for trace in traces]).unify_dictionaries()
    steps = annotate_paths(table["nvtx_path"])
    name = pc.coalesce(
        *(table[one].cast(pa.string()) for one in ("kernel_demangled_name", "kernel_name"))
    )
    texts = {
        "name": mapped(name, normal_name),
        "kernel": table["kernel"],
        "grid": extent_text(table, "grid"),
        "block": extent_text(table, "block"),
        "device": table["device_id"],
        "lane": pc.binary_join_element_wise(
            *(pc.fill_null(table[one].cast(pa.string()), "?") for one in ("trace", "process_id")),
            "|",
        ),
        **{one: steps[one] for one in (*STEP_KEYS, "operation")},
    }
    return Kernels(table, steps, {one: _text(column) for one, column in texts.items()})


def extent_text(table: pa.Table, of: str) -> Any:
    """Return a grid or block as ``x,y,z``, as labels have it; null where not known."""
    return pc.binary_join_element_wise(
        *(table[f"{of}_{axis}"].cast(pa.string()) for axis in "xyz"), ","
    )


def joint_keys(side: Side, kernels: Kernels) -> Keys:
    """Return the keys of the launches of a side, then of the kernels.

    Nothing is known of the work of a kernel in a trace, so that name, grid and place decide.
    """
    labels = side.labels
    of_launches = {
        "name": side.text["name"],
        "kernel": labels["kernel"],
        "grid": labels["grid"],
        "block": labels["block"],
        "device": labels["device_id"],
        "lane": pc.binary_join_element_wise(
            *(pc.fill_null(labels[one].cast(pa.string()), "?") for one in ("report", "process_id")),
            "|",
        ),
        **{one: labels[one] for one in STEP_KEYS},
        "operation": side.text["operation"],
    }
    texts = {one: pa.concat_arrays([_text(of_launches[one]), kernels.texts[one]]) for one in _TEXTS}
    codes = {one: _codes(column) for one, column in texts.items()}
    count = len(texts["name"])
    codes["bytes"] = np.full(count, -1, dtype=np.int64)
    codes["near"] = _near(codes["name"], codes["lane"], len(side.report))
    return Keys(texts, codes, np.full((2, count), np.nan))


def _near(name: NDArray[np.int64], lane: NDArray[np.int64], launch_count: int) -> NDArray[np.int64]:
    """Return one number for the kernels before and after, of the same process; -1 at an end."""
    is_kernel = np.arange(len(name)) >= launch_count
    order = np.lexsort((lane, is_kernel))
    ordered, stream = name[order] + 1, np.stack([lane[order], is_kernel[order]])
    is_same = (stream[:, 1:] == stream[:, :-1]).all(axis=0)
    before, after = np.zeros_like(ordered), np.zeros_like(ordered)
    before[1:] = np.where(is_same, ordered[:-1], 0)
    after[:-1] = np.where(is_same, ordered[1:], 0)
    code = np.empty_like(name)
    code[order] = before * (int(ordered.max(initial=0)) + 1) + after
    is_end = np.empty(len(name), dtype=bool)
    is_end[order] = (before == 0) | (after == 0)
    return np.where(is_end, -1, code)


def _codes(column: Any) -> NDArray[np.int64]:
    code, texts = text_column({"key": column}, "key")
    return np.where(code == len(texts) - 1, -1, code).astype(np.int64)


def _text(column: Any) -> Any:
    text = column.cast(pa.string())
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def take(column: Any, row: NDArray[np.int64]) -> Any:
    """Return a column's values at rows; null at row -1."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.take(number_array(row, row >= 0))
