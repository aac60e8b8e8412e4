"""What `nsightlens.open_trace` reads of an Nsight Systems trace, one table per kind of event.

Times are nanoseconds of the trace's own clock. A column that the export lacks is null: a trace
without the API calls of its window (a trimmed one) has kernels without thread, API call and path.
"""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import Column, category, count, flag, real, text, whole

__all__ = [
    "TRACE_API_CALLS",
    "TRACE_COPIES",
    "TRACE_GPUS",
    "TRACE_GPU_METRICS",
    "TRACE_GRAPH_LAUNCHES",
    "TRACE_KERNELS",
    "TRACE_MEMSETS",
    "TRACE_RANGES",
    "TRACE_SESSIONS",
    "TRACE_SYNCHRONIZATIONS",
]


def _row(name: str, meaning: str) -> Column:
    return Column(name, pa.uint32(), "", meaning)


_TRACE = category("trace", "path of the trace, as it was given")
_TIME = (
    whole("start_ns", "when it began", "ns"),
    whole("end_ns", "when it ended; null where the trace ended first", "ns"),
    whole("duration_ns", "end_ns less start_ns", "ns"),
)
# Where a device did something, and what asked for it.
_DEVICE = (
    whole("process_id", "operating system's id of the process"),
    whole("device_id", "ordinal of the GPU in the trace: see trace_gpus"),
    whole("context_id", "CUDA context, unique in its process only"),
    whole("stream_id", "CUDA stream, unique in its context only"),
    whole(
        "correlation_id", "joins an activity with the API call that asked for it, in one process"
    ),
    whole("graph_node_id", "node of the CUDA graph that it ran in; null outside of graphs"),
    whole("graph_id", "CUDA graph that it ran in; null outside of graphs, or where not traced"),
)
_ASKED = (
    _row(
        "api_call_id",
        "row of trace_api_calls that asked for it; null where that is not in the trace",
    ),
    whole("api_start_ns", "when that call began", "ns"),
    whole("api_end_ns", "when that call ended", "ns"),
    whole("thread_id", "operating system's id of the calling thread"),
    category(
        "nvtx_path",
        "NVTX ranges that were open when the call began, as in launches; null where no call or no range is known",
    ),
    _row(
        "nvtx_range_id", "row of trace_ranges: the innermost push/pop range of the calling thread"
    ),
)

TRACE_KERNELS: tuple[Column, ...] = (
    _TRACE,
    _row("kernel_id", "position of the kernel in the trace, in the order of start_ns"),
    *_DEVICE,
    *_TIME,
    category("kernel_name", "function name without namespaces and arguments"),
    category("kernel_demangled_name", "full name with template arguments"),
    category("kernel_mangled_name", "name as the linker sees it"),
    category("kernel", "short name, as in labels"),
    category("family", "what the kernel computes: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    count("grid_x", "blocks in x", "block"),
    count("grid_y", "blocks in y", "block"),
    count("grid_z", "blocks in z", "block"),
    count("block_x", "threads per block in x", "thread"),
    count("block_y", "threads per block in y", "thread"),
    count("block_z", "threads per block in z", "thread"),
    count("registers_per_thread_count", "registers per thread"),
    count("shared_memory_static_bytes", "static shared memory per block", "B"),
    count("shared_memory_dynamic_bytes", "dynamic shared memory per block", "B"),
    *_ASKED,
)

TRACE_COPIES: tuple[Column, ...] = (
    _TRACE,
    _row("copy_id", "position of the copy in the trace, in the order of start_ns"),
    *_DEVICE,
    *_TIME,
    count("copied_bytes", "bytes that it moved", "B"),
    category(
        "direction",
        "host_to_device, device_to_host, device_to_device, peer_to_peer, host_to_host, or unknown",
    ),
    category("source_memory", "pageable, pinned, device, array, managed, ...; null where not said"),
    category("destination_memory", "as source_memory"),
    whole("source_device_id", "GPU that it read from; null where not said"),
    whole("destination_device_id", "GPU that it wrote to; null where not said"),
    flag("is_migration", "pages of unified memory moved by the driver, asked for by no call"),
    *_ASKED,
)

TRACE_MEMSETS: tuple[Column, ...] = (
    _TRACE,
    _row("memset_id", "position of the memset in the trace, in the order of start_ns"),
    *_DEVICE,
    *_TIME,
    count("set_bytes", "bytes that it wrote", "B"),
    category("memory", "kind of memory: device, managed, ...; null where not said"),
    *_ASKED,
)

TRACE_GRAPH_LAUNCHES: tuple[Column, ...] = (
    _TRACE,
    _row("graph_launch_id", "position of the graph in the trace, in the order of start_ns"),
    *_DEVICE,
    *_TIME,
    whole("graph_exec_id", "executable graph that was launched"),
    *_ASKED,
)

TRACE_SYNCHRONIZATIONS: tuple[Column, ...] = (
    _TRACE,
    _row("synchronization_id", "position in the trace, in the order of start_ns"),
    *_DEVICE[:5],
    *_TIME,
    category("kind", "event, stream_wait_event, stream or context; null where not said"),
    *_ASKED,
)

TRACE_API_CALLS: tuple[Column, ...] = (
    _TRACE,
    _row("api_call_id", "position of the call in the trace, in the order of start_ns"),
    whole("process_id", "operating system's id of the process"),
    whole("thread_id", "operating system's id of the thread"),
    whole("correlation_id", "joins the call with what the device did for it, in one process"),
    *_TIME,
    category("api_name", "function without its version suffix, such as cudaLaunchKernel"),
    whole("return_value", "0 where the call succeeded"),
)

TRACE_RANGES: tuple[Column, ...] = (
    _TRACE,
    _row("nvtx_range_id", "position of the range in the trace, in the order of start_ns"),
    category("kind", "push_pop, start_end or mark"),
    category("name", "text of the range, of whichever of the two spellings the export has"),
    category(
        "domain",
        "name of its domain, 'domain 3' where the trace has only its number; null for the default one",
    ),
    whole("process_id", "operating system's id of the process"),
    whole("thread_id", "operating system's id of the thread that opened it"),
    whole("end_thread_id", "thread that closed it, of a start_end range"),
    *_TIME,
    _row(
        "parent_range_id",
        "push_pop range around a push_pop one: the last begun of those that were open on its thread when it began, of any domain; null for an outermost one",
    ),
    whole("category", "category number of the user's"),
    text("payload", "payload as text"),
)

TRACE_GPUS: tuple[Column, ...] = (
    _TRACE,
    whole("device_id", "ordinal of the GPU in the trace"),
    category("device_name", "name of the GPU as its driver gives it"),
    category("compute_capability", 'compute capability as text, such as "9.0"'),
    text("uuid", "identity of the GPU"),
    text("pci_bus_id", "where it is plugged in"),
    count("sm_count", "multiprocessors"),
    real("dram_bandwidth_bytes_per_s", "B/s", "peak bandwidth of DRAM, as the driver gives it"),
    real("sm_clock_hz", "Hz", "highest clock, as the driver gives it"),
    count("memory_bytes", "memory of the GPU", "B"),
    count("l2_bytes", "size of L2", "B"),
    count("memory_bus_bits", "width of the DRAM bus", "bit"),
)

TRACE_GPU_METRICS: tuple[Column, ...] = (
    _TRACE,
    whole("device_id", "GPU that was sampled; null where the export does not say"),
    whole("time_ns", "when it was sampled", "ns"),
    category("metric", "name of the sampled metric, as the export spells it"),
    real("value", "", "the value, in the unit that the name states"),
)

TRACE_SESSIONS: tuple[Column, ...] = (
    _TRACE,
    category("format", "sqlite, arrowdir or parquetdir"),
    text("tool_version", "version of nsys that made the trace; null in old exports"),
    text("export_schema_version", "version of the export's tables; null in old exports"),
    text(
        "command_line",
        "program that was traced, with its arguments; null where the export does not say",
    ),
    text("host_name", "machine that was traced"),
    whole("started_unix_ns", "start of the trace in UTC, since 1970", "ns"),
    whole("duration_ns", "length of the trace", "ns"),
    category(
        "cuda_graph_trace",
        "graph or node: what of a CUDA graph was traced; null where nothing tells",
    ),
)
