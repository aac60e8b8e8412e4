"""What a person must know of a trace before trusting what it says, each with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.readers.trace_columns import column_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.trace import Trace

__all__ = ["graph_trace_of", "notes_of"]


def graph_trace_of(kernels: pa.Table, graph_launches: pa.Table) -> str | None:
    """Return how CUDA graphs were traced, as far as the events tell."""
    if _known(kernels, "graph_node_id"):
        return "node"
    return "graph" if graph_launches.num_rows else None


def notes_of(trace: Trace, *, crossed_count: int, is_cut: bool) -> Iterator[str]:
    """Yield what is to be said of a trace.

    Parameters
    ----------
    trace
        All of its tables.
    crossed_count
        Stacks of threads whose push/pop ranges do not nest.
    is_cut
        Whether NVTX paths leave out ranges.
    """
    if trace.kernels.num_rows:
        yield from _of_calls(trace)
        yield from _of_devices(trace)
    else:
        yield _without_kernels(trace)
    yield from _of_graphs(trace)
    yield from _of_ranges(trace)
    if crossed_count:
        yield (
            f"the push/pop ranges of {crossed_count} stack{'s' if crossed_count != 1 else ''} do"
            " not nest: a path names all that were open, in the order in which they began"
        )
    if is_cut:
        yield "some NVTX paths leave out ranges: too many were open at once"


def _without_kernels(trace: Trace) -> str:
    if trace.graph_launches.num_rows:
        return "it has no kernels of its own: everything ran in CUDA graphs traced as a whole"
    if trace.api_calls.num_rows or trace.copies.num_rows:
        return "it has no kernels: none ran while it was traced"
    beside = "NVTX ranges but neither" if trace.ranges.num_rows else "neither"
    return (
        f"it has {beside} kernels nor API calls of CUDA: trace with --trace=cuda,nvtx, and see"
        " whether the program ran on a GPU at all"
    )


def _of_calls(trace: Trace) -> Iterator[str]:
    """Count kernels that nothing is known to have launched."""
    kernels = trace.kernels
    count = kernels["api_call_id"].null_count
    if not trace.api_calls.num_rows:
        yield (
            "it has no API calls: its kernels have neither thread nor NVTX path. Trace with"
            " --trace=cuda, and export all tables"
        )
    elif count:
        yield (
            f"{count} of {kernels.num_rows} kernels have no API call in the trace, whose window"
            " was cut or which was trimmed: they have neither thread nor NVTX path"
        )


def _of_devices(trace: Trace) -> Iterator[str]:
    """Say of collectives that the other devices are not there."""
    devices = trace.kernels["device_id"].unique().drop_null().to_pylist()
    if len(devices) != 1:
        return
    is_nccl = pc.match_substring(
        column_of(trace.kernels, "kernel_name").dictionary.fill_null(""), "nccl", ignore_case=True
    )
    names = np.flatnonzero(np.asarray(is_nccl))
    codes = column_of(trace.kernels, "kernel_name").indices
    count = int(np.isin(np.asarray(codes.fill_null(-1)), names).sum())
    if count:
        yield (
            f"{count} kernels of NCCL, and all kernels are of device {devices[0]}: the other ranks"
            " are not in this trace, which says nothing of what they waited for"
        )


def _of_graphs(trace: Trace) -> Iterator[str]:
    """Count CUDA graphs of which the kernels are not known."""
    if _known(trace.kernels, "graph_node_id"):
        return
    launched = pc.starts_with(
        trace.api_calls["api_name"].cast(pa.string()).fill_null(""), "cudaGraphLaunch"
    )
    calls = int(pc.sum(launched).as_py() or 0)
    driver = pc.starts_with(
        trace.api_calls["api_name"].cast(pa.string()).fill_null(""), "cuGraphLaunch"
    )
    calls += int(pc.sum(driver).as_py() or 0)
    count = trace.graph_launches.num_rows or calls
    if count:
        yield (
            f"{count} launches of CUDA graphs, and no kernel of them: captured with"
            " --cuda-graph-trace=graph; trace again with --cuda-graph-trace=node"
        )


def _of_ranges(trace: Trace) -> Iterator[str]:
    """Say where steps cannot be told apart."""
    kernels = trace.kernels
    if not trace.ranges.num_rows:
        yield (
            "it has no NVTX ranges, so steps cannot be told apart: trace with --trace=cuda,nvtx"
            " and annotate the steps, or turn on those of the engine"
        )
    elif kernels.num_rows and kernels["nvtx_path"].null_count == kernels.num_rows:
        called = kernels.num_rows - kernels["api_call_id"].null_count
        if called:
            yield "no kernel was launched in an NVTX range, so steps cannot be told apart"
    unclosed = int(pc.sum(pc.and_(
        pc.not_equal(trace.ranges["kind"].cast(pa.string()), "mark"),
        trace.ranges["end_ns"].is_null(),
    )).as_py() or 0)  # fmt: skip
    if unclosed:
        yield (
            f"{unclosed} NVTX range{'s' if unclosed != 1 else ''} never ended: open until the"
            " trace ends"
        )


def _known(table: pa.Table, column: str) -> bool:
    return bool(table[column].null_count < table.num_rows)
