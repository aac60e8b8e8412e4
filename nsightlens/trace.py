"""Trace: the tables of one Nsight Systems trace in memory, and where they came from.

No file access happens here: `nsightlens.readers` builds a Trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Trace"]


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The tables of one trace.

    Parameters
    ----------
    kernels, copies, memsets, graph_launches, synchronizations
        What devices did, with the schemas ``TRACE_*`` of `nsightlens.tables`, in the order of
        ``start_ns``. A kind of event that the export lacks is a table without rows.
    api_calls, ranges
        What the host did: calls of the CUDA runtime and driver, and NVTX ranges.
    gpus, gpu_metrics, sessions
        What was traced: the GPUs, their sampled metrics, the trace itself (one row).
    source
        Path of the trace, as given.
    warnings
        What was noticed while reading and did not stop it, such as kernels without an API call.
    """

    kernels: pa.Table
    copies: pa.Table
    memsets: pa.Table
    graph_launches: pa.Table
    synchronizations: pa.Table
    api_calls: pa.Table
    ranges: pa.Table
    gpus: pa.Table
    gpu_metrics: pa.Table
    sessions: pa.Table
    source: str = ""
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.kernels.num_rows)

    def __repr__(self) -> str:
        return (
            f"<Trace of {len(self)} kernels, {self.copies.num_rows} copies, "
            f"{self.ranges.num_rows} ranges: {self.source}>"
        )
