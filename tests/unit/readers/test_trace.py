"""The tables of a trace say what its export does, of whichever age and format."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.traces import (
    AGES,
    FORMS,
    Call,
    Copy,
    Events,
    Gpu,
    GraphLaunch,
    Kernel,
    MadeExport,
    Memset,
    Range,
    Sample,
    Sync,
    global_tid,
    tables_of,
    write_trace,
)

import nsightlens
from nsightlens import Trace, tables
from nsightlens.errors import NotATraceError
from nsightlens.readers.trace import trace_of_export
from nsightlens.steps import annotate_paths

if TYPE_CHECKING:
    from pathlib import Path

GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEP = "nsightlens decode bs=8 ctx=500"
# A small decode step, with one of everything.
EVERYTHING = Events(
    kernels=[
        Kernel(100, 130, "Kernel2", 1, demangled=GEMM, mangled="_Z7Kernel2", grid=(4, 2, 1),
               block=(128, 1, 1), registers=96, static_shared=16, dynamic_shared=1024),
        Kernel(140, 150, "ncclDevKernel", 2, demangled=NCCL, node=7, graph=3, device=1),
        Kernel(160, 170, "uncalled", 99),
    ],
    copies=[Copy(200, 240, 1 << 20, 1, 1, 2, 3), Copy(250, 260, 64, 12, None, None, None)],
    memsets=[Memset(300, 310, 512, 2, 4)],
    graphs=[GraphLaunch(320, 400, 5, 6, 5)],
    syncs=[Sync(410, 420, 4, 6)],
    calls=[
        Call(10, 20, correlation=1),
        Call(22, 30, "cudaGraphLaunch_v10000", 2),
        Call(31, 35, "cudaMemcpyAsync_v3020", 3),
        Call(36, 38, "cuMemsetD8Async", 4, event_class=1),
        Call(40, 45, "cudaGraphLaunch_v10000", 5),
        Call(46, 420, "cudaDeviceSynchronize_v3020", 6, result=1),
    ],
    ranges=[
        Range(5, 500, STEP),
        Range(8, 32, "layer 0", is_registered=True, category=3, payload=11),
        Range(21, 33, "ncclAllReduce", domain=1, payload=1.5),
        Range(0, 34, "request", "start_end", end_thread=1001, payload='{"a": 1}'),
        Range(50, None, "here", "mark"),
    ],
    gpus=[Gpu(0), Gpu(1, bus="0000:2A:00.0")],
    samples=[Sample(20, value=40), Sample(10, "DRAM Read [Throughput %]", 7, 1)],
    domains={(1000, 1): "NCCL"},
    capture=[
        ("PROCESS_0:COMMAND", "python"), ("PROCESS_0:ARGUMENT_0", "my decode.py"),
        ("DEVICE_DISPLAY_NAME", "node1"), ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
    ],
)  # fmt: skip


def _trace(events: Events, *, age: str = "2026", without: tuple[str, ...] = ()) -> Trace:
    made = tables_of(events, age=age)  # type: ignore[arg-type]
    return trace_of_export(MadeExport({k: v for k, v in made.items() if k not in without}), "t")


def _column(table: pa.Table, name: str) -> list[Any]:
    return list(table[name].to_pylist())


def _notes(trace: Trace) -> list[str]:
    assert all(one.startswith("t: ") for one in trace.warnings)
    return [one.removeprefix("t: ") for one in trace.warnings]


def test_the_formats_give_equal_tables(tmp_path: Path) -> None:
    """All tables but for the format itself and the path."""
    traces = [
        nsightlens.open_trace(write_trace(EVERYTHING, tmp_path / form, form=form, age="2026"))
        for form in FORMS
    ]
    for one in fields(Trace)[:-2]:
        found = [
            getattr(trace, one.name).drop_columns(
                ["trace", *(["format"] if one.name == "sessions" else [])]
            )
            for trace in traces
        ]
        assert found[0].to_pylist() == found[1].to_pylist() == found[2].to_pylist()
    assert [trace.sessions["format"][0].as_py() for trace in traces] == list(FORMS)
    assert [trace.source for trace in traces] == [str(tmp_path / form) for form in FORMS]


@pytest.mark.parametrize("age", AGES)
def test_every_table_has_its_schema_at_every_age(age: str) -> None:
    """Columns, types and order are those of the schemas, whatever the export has."""
    trace = _trace(EVERYTHING, age=age)
    schemas = {
        "kernels": tables.TRACE_KERNELS, "copies": tables.TRACE_COPIES,
        "memsets": tables.TRACE_MEMSETS, "graph_launches": tables.TRACE_GRAPH_LAUNCHES,
        "synchronizations": tables.TRACE_SYNCHRONIZATIONS, "api_calls": tables.TRACE_API_CALLS,
        "ranges": tables.TRACE_RANGES, "gpus": tables.TRACE_GPUS,
        "gpu_metrics": tables.TRACE_GPU_METRICS, "sessions": tables.TRACE_SESSIONS,
    }  # fmt: skip
    for name, schema in schemas.items():
        table = getattr(trace, name)
        assert table.schema.equals(tables.schema_of(schema), check_metadata=True), name
        assert table.num_rows, name
        table.validate(full=True)
    assert _column(trace.kernels, "graph_id") == [None, 3 if age == "2026" else None, None]
    mangled = _column(trace.kernels, "kernel_mangled_name")[0]
    assert mangled == (None if age == "2021" else "_Z7Kernel2")


def test_an_export_without_anything_has_empty_tables_of_their_schemas() -> None:
    """Tables that nothing is in are not exported; what is not there has no rows."""
    trace = trace_of_export(MadeExport({"StringIds": tables_of(Events())["StringIds"]}), "t")
    for one in fields(Trace)[:-2]:
        table = getattr(trace, one.name)
        assert table.num_rows == (one.name == "sessions"), one.name
    assert "neither kernels nor API calls of CUDA" in _notes(trace)[0]


def test_a_kernel_is_what_its_names_say() -> None:
    """Names come from the strings, families from the names, sizes from the row."""
    kernel = _trace(EVERYTHING).kernels.to_pylist()[0]
    expected = {
        "trace": "t", "kernel_id": 0, "process_id": 1000, "device_id": 0, "context_id": 1,
        "stream_id": 7, "correlation_id": 1, "graph_node_id": None, "start_ns": 100, "end_ns": 130,
        "duration_ns": 30, "kernel_name": "Kernel2", "kernel_demangled_name": GEMM,
        "kernel_mangled_name": "_Z7Kernel2", "family": "gemm", "grid_x": 4, "grid_y": 2,
        "grid_z": 1, "block_x": 128, "registers_per_thread_count": 96,
        "shared_memory_static_bytes": 16, "shared_memory_dynamic_bytes": 1024, "api_call_id": 0,
        "api_start_ns": 10, "api_end_ns": 20, "thread_id": 1000,
    }  # fmt: skip
    assert {name: kernel[name] for name in expected} == expected


def test_paths_have_the_form_of_those_of_launches() -> None:
    """Push/pop outermost first, the domain in front, start/end ranges behind those of theirs."""
    trace = _trace(EVERYTHING)
    assert _column(trace.kernels, "nvtx_path") == [
        f"{STEP}/layer 0;request",
        f"{STEP}/layer 0;request;NCCL@ncclAllReduce",
        None,
    ]
    innermost = _column(trace.kernels, "nvtx_range_id")
    names = _column(trace.ranges, "name")
    assert [None if one is None else names[one] for one in innermost] == [
        "layer 0", "ncclAllReduce", None,
    ]  # fmt: skip
    assert _column(trace.copies, "nvtx_path")[0] == f"{STEP};request;NCCL@ncclAllReduce".replace(
        STEP, f"{STEP}/layer 0"
    )
    assert _column(trace.memsets, "nvtx_path") == [STEP]
    assert _column(trace.graph_launches, "nvtx_path") == [STEP]
    assert _column(trace.synchronizations, "nvtx_path") == [STEP]


def test_steps_are_read_from_the_paths_of_a_trace() -> None:
    """What reads the path of a launch reads that of a kernel."""
    text = "execute_context_0(0)_generation_8(8)"
    events = Events(
        [Kernel(9, 10, correlation=1)],
        calls=[Call(2, 3, correlation=1)],
        ranges=[Range(1, 4, text)],
    )
    steps = annotate_paths(_trace(events).kernels["nvtx_path"])
    assert steps["batch_size"].to_pylist() == [8]


def test_a_kernel_without_call_has_neither_thread_nor_path() -> None:
    """A trimmed trace says nothing of them, and how many they are is said."""
    trace = _trace(EVERYTHING)
    uncalled = trace.kernels.to_pylist()[2]
    for name in ("api_call_id", "api_start_ns", "api_end_ns", "thread_id", "nvtx_path"):
        assert uncalled[name] is None
    assert "1 of 3 kernels have no API call in the trace" in _notes(trace)[0]
    bare = _trace(EVERYTHING, without=("CUPTI_ACTIVITY_KIND_RUNTIME",))
    assert bare.kernels["api_call_id"].null_count == 3
    assert "it has no API calls" in _notes(bare)[0]


def test_ids_of_different_processes_are_different() -> None:
    """Correlation ids and domains are unique in a process only."""
    events = Events(
        kernels=[Kernel(30, 31, correlation=1, process=one) for one in (7, 8, 9)],
        calls=[Call(10 + one, 20, correlation=1, process=one, thread=one) for one in (7, 8)],
        ranges=[Range(0, 40, f"rank {one}", process=one, thread=one, domain=1) for one in (7, 8)],
        domains={(7, 1): "A", (8, 1): "B"},
    )
    kernels = _trace(events).kernels
    assert _column(kernels, "thread_id") == [7, 8, None]
    assert _column(kernels, "nvtx_path") == ["A@rank 7", "B@rank 8", None]


def test_kernels_without_process_belong_to_the_only_one() -> None:
    """With calls of several processes, nothing tells which one."""
    kernels = [Kernel(30, 31, correlation=1, process=None)]
    one = Events(kernels, calls=[Call(1, 2, correlation=1)])
    assert _column(_trace(one).kernels, "api_start_ns") == [1]
    two = Events(kernels, calls=[Call(1, 2, correlation=1), Call(3, 4, correlation=5, process=8)])
    assert _column(_trace(two).kernels, "api_start_ns") == [None]


def test_a_call_that_is_repeated_for_its_call_stack_counts_once() -> None:
    """The row of the API itself is the call; without one, the repeated row is."""
    calls = [Call(1, 9, "cudaLaunchKernel", 1, event_class=67), Call(2, 8, correlation=1)]
    trace = _trace(Events([Kernel(10, 11, correlation=1)], calls=calls))
    assert trace.api_calls.num_rows == 1
    assert _column(trace.kernels, "api_start_ns") == [2]
    trace = _trace(Events([Kernel(10, 11, correlation=1)], calls=calls[:1]))
    assert _column(trace.kernels, "api_start_ns") == [1]


def test_calls_lose_the_version_of_their_name_and_nothing_else() -> None:
    """Functions are called what programs call them."""
    calls = _trace(EVERYTHING).api_calls
    assert _column(calls, "api_name") == [
        "cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cuMemsetD8Async",
        "cudaGraphLaunch", "cudaDeviceSynchronize",
    ]  # fmt: skip
    assert _column(calls, "return_value") == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("age", ["2021", "2026"])
def test_copies_say_direction_and_memory_with_and_without_enums(age: str) -> None:
    """The oldest exports have no table of what numbers mean; ours means the same."""
    copies = _trace(EVERYTHING, age=age).copies
    assert _column(copies, "direction") == ["host_to_device", "device_to_host"]
    assert _column(copies, "source_memory") == ["pinned", None]
    assert _column(copies, "destination_memory") == ["device", None]
    assert _column(copies, "is_migration") == [False, True]
    assert _column(copies, "copied_bytes") == [1 << 20, 64]
    trace = _trace(EVERYTHING, age=age)
    assert _column(trace.memsets, "memory") == ["device"]
    assert _column(trace.synchronizations, "kind") == ["context"]


@pytest.mark.parametrize(
    ("kind", "direction"),
    [(0, "unknown"), (2, "device_to_host"), (3, "host_to_device"), (8, "device_to_device"),
     (9, "host_to_host"), (10, "peer_to_peer"), (13, "device_to_device"), (99, "unknown")],
)  # fmt: skip
def test_every_kind_of_copy_has_a_direction(kind: int, direction: str) -> None:
    """Arrays are memory of a device; what is not known is called so."""
    assert _column(_trace(Events(copies=[Copy(1, 2, 8, kind)])).copies, "direction") == [direction]


def test_the_enums_of_the_export_count_for_more_than_ours() -> None:
    """A number that means something else in a newer nsys is read as that."""
    made = tables_of(Events(copies=[Copy(1, 2, 8, 1)]))
    made["ENUM_CUDA_MEMCPY_OPER"] = pa.table({"id": [1], "name": ["CUDA_MEMCPY_KIND_DTOH"]})
    trace = trace_of_export(MadeExport(made), "t")
    assert _column(trace.copies, "direction") == ["device_to_host"]


def test_ranges_have_text_domain_and_what_is_around_them() -> None:
    """Both spellings of the text; the range around may be of another domain."""
    ranges = _trace(EVERYTHING).ranges
    assert _column(ranges, "name") == ["request", STEP, "layer 0", "ncclAllReduce", "here"]
    assert _column(ranges, "kind") == ["start_end", "push_pop", "push_pop", "push_pop", "mark"]
    assert _column(ranges, "domain") == [None, None, None, "NCCL", None]
    assert _column(ranges, "parent_range_id") == [None, None, 1, 2, None]
    assert _column(ranges, "end_thread_id") == [1001, None, None, None, None]
    assert _column(ranges, "category") == [None, None, 3, None, None]
    assert _column(ranges, "payload") == ['{"a": 1}', None, "11", "1.5", None]
    assert _column(ranges, "duration_ns") == [34, 495, 24, 12, None]


def test_a_domain_whose_making_was_not_traced_has_its_number() -> None:
    """It is not the default one, and not the same as another."""
    events = Events(
        [Kernel(9, 10, correlation=1)], calls=[Call(2, 3, correlation=1)],
        ranges=[Range(1, 4, "x", domain=3), Range(1, 5, "y", domain=None)],
    )  # fmt: skip
    trace = _trace(events)
    assert _column(trace.kernels, "nvtx_path") == ["y;domain 3@x"]
    assert sorted(_column(trace.ranges, "domain"), key=str) == [None, "domain 3"]


def test_ranges_that_end_together_nest_and_those_that_follow_do_not() -> None:
    """The stack is what the program had, also where nanoseconds coincide."""
    events = Events(
        [Kernel(90 + at, 91 + at, correlation=at) for at in (1, 2, 3, 4)],
        calls=[
            Call(time, time + 1, correlation=at) for at, time in enumerate((5, 10, 20, 30), start=1)
        ],
        ranges=[
            Range(0, 10, "a"), Range(5, 10, "b"), Range(5, 10, "c"),
            Range(10, 20, "d"), Range(10, 15, "e"), Range(20, None, "f"), Range(25, None, "g"),
        ],
    )  # fmt: skip
    trace = _trace(events)
    assert _column(trace.kernels, "nvtx_path") == ["a/b/c", "d/e", "f", "f/g"]
    assert _column(trace.ranges, "parent_range_id") == [None, 0, 1, None, 3, None, 5]
    assert any("2 NVTX ranges never ended" in one for one in trace.warnings)


def test_start_end_ranges_are_of_the_process_and_any_may_be_open() -> None:
    """They need not nest, and the thread that opened one does not matter."""
    events = Events(
        [Kernel(90, 91, correlation=1)], calls=[Call(10, 11, correlation=1)],
        ranges=[
            Range(0, 12, "a", "start_end", thread=5), Range(3, 10, "b", "start_end"),
            Range(5, 9, "gone", "start_end"), Range(4, 40, "other", "start_end", process=9),
            Range(10, None, "c", "start_end"), Range(11, 12, "later", "start_end"),
        ],
    )  # fmt: skip
    assert _column(_trace(events).kernels, "nvtx_path") == ["a;b;c"]


def test_stacks_that_do_not_nest_are_walked_through_and_told_of() -> None:
    """A path names what was open; no trace of a single run has this."""
    events = Events(
        [Kernel(90, 91, correlation=1), Kernel(92, 93, correlation=2)],
        calls=[Call(7, 8, correlation=1), Call(12, 13, correlation=2)],
        ranges=[Range(0, 10, "a"), Range(5, 15, "b")],
    )
    trace = _trace(events)
    assert _column(trace.kernels, "nvtx_path") == ["a/b", "b"]
    assert any("of 1 stack do not nest" in one for one in _notes(trace))


def test_a_program_that_never_pops_gets_the_outermost_ranges() -> None:
    """Paths are bounded, the innermost range is exact, and it is said."""
    ranges = [Range(at, None, f"step {at}") for at in range(1000)]
    events = Events([Kernel(5000, 5001, correlation=1)], calls=[Call(4000, 4001, correlation=1)],
                    ranges=ranges)  # fmt: skip
    trace = _trace(events)
    path = _column(trace.kernels, "nvtx_path")[0]
    assert path.startswith("step 0/step 1/")
    assert path.count("/") == 255
    assert _column(trace.kernels, "nvtx_range_id") == [999]
    assert "some NVTX paths leave out ranges" in _notes(trace)[-1]


def test_many_requests_at_once_get_the_last_begun_ones() -> None:
    """As many start/end ranges as people read are named."""
    ranges = [Range(at, 4500, f"request {at}", "start_end") for at in range(100)]
    events = Events([Kernel(5000, 5001, correlation=1)], calls=[Call(4000, 4001, correlation=1)],
                    ranges=ranges)  # fmt: skip
    trace = _trace(events)
    assert _column(trace.kernels, "nvtx_path") == [
        ";".join(f"request {at}" for at in range(36, 100))
    ]
    assert "some NVTX paths leave out ranges" in _notes(trace)[-1]


def test_paths_that_would_fill_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with the ranges is said, and what to do."""
    monkeypatch.setattr("nsightlens.nsys.paths._LONGEST_TEXTS", 20)
    with pytest.raises(NotATraceError, match=r"in NVTX_EVENTS: its NVTX paths would take"):
        _trace(EVERYTHING)


def test_rows_in_any_order_come_in_the_order_of_time() -> None:
    """Exports promise none, and what refers to rows follows."""
    made = tables_of(EVERYTHING, age="2026")
    back = {
        name: table.take(pa.array(range(table.num_rows - 1, -1, -1)))
        for name, table in made.items()
    }
    found = trace_of_export(MadeExport(back), "t")
    expected = trace_of_export(MadeExport(made), "t")
    for one in fields(Trace)[:-2]:
        assert getattr(found, one.name).to_pylist() == getattr(expected, one.name).to_pylist()


def test_rows_without_start_are_left_out_and_counted() -> None:
    """When something was done is what a trace is about."""
    made = tables_of(EVERYTHING)
    table = made["CUPTI_ACTIVITY_KIND_KERNEL"]
    start = pa.array([100, None, 160], pa.int64())
    made["CUPTI_ACTIVITY_KIND_KERNEL"] = table.set_column(0, "start", start)
    trace = trace_of_export(MadeExport(made), "t")
    assert _column(trace.kernels, "start_ns") == [100, 160]
    assert "1 of 3 rows of CUPTI_ACTIVITY_KIND_KERNEL have no start" in _notes(trace)[0]
    made["CUPTI_ACTIVITY_KIND_KERNEL"] = table.drop_columns(["start"])
    with pytest.raises(NotATraceError, match="in CUPTI_ACTIVITY_KIND_KERNEL: has no column start"):
        trace_of_export(MadeExport(made), "t")


@pytest.mark.parametrize(
    "column",
    ["end", "globalPid", "correlationId", "deviceId", "eventType", "domainId", "textId",
     "globalTid", "shortName", "gridX"],
)  # fmt: skip
def test_any_other_column_may_be_missing(column: str) -> None:
    """It is null, and what does not need it stays."""
    made = {
        name: table.drop_columns([column]) if column in table.column_names else table
        for name, table in tables_of(EVERYTHING).items()
    }
    trace = trace_of_export(MadeExport(made), "t")
    assert len(trace) == 3
    assert _column(trace.kernels, "kernel_demangled_name")[0] == GEMM
    missing = {"end": "end_ns", "globalPid": "process_id", "correlationId": "api_call_id",
               "deviceId": "device_id", "globalTid": "thread_id", "shortName": "kernel_name",
               "gridX": "grid_x"}  # fmt: skip
    if column in missing:
        assert trace.kernels[missing[column]].null_count == 3


def test_devices_are_those_of_the_machine_where_a_process_sees_others() -> None:
    """CUDA_VISIBLE_DEVICES makes every GPU number 0 of its process."""
    events = Events(
        [Kernel(1, 2, process=7), Kernel(3, 4, process=8)],
        gpus=[Gpu(0), Gpu(1)], devices={(7, 0): 0, (8, 0): 1},
    )  # fmt: skip
    assert _column(_trace(events).kernels, "device_id") == [0, 1]


def test_gpus_say_what_the_driver_does() -> None:
    """Rates are in base units; what is not known is null and not 0."""
    gpus = _trace(EVERYTHING).gpus
    first = gpus.to_pylist()[0]
    expected = {
        "device_id": 0, "device_name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0",
        "sm_count": 132, "dram_bandwidth_bytes_per_s": 3.35232e12, "sm_clock_hz": 1.98e9,
        "memory_bus_bits": None, "pci_bus_id": "0000:18:00.0",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    intel = Gpu(1, "Intel(R) HD Graphics 630", 0, 0, 0, (0, 0), 0, 0, "", "")
    told = _trace(Events(gpus=[intel])).gpus.to_pylist()[0]
    assert [name for name, value in told.items() if value is not None] == [
        "trace", "device_id", "device_name",
    ]  # fmt: skip


def test_the_gpus_of_the_oldest_exports_have_rates_in_thousands() -> None:
    """Two tables each say a part, and where both do, the newer one counts."""
    made = {
        "StringIds": tables_of(Events())["StringIds"],
        "TARGET_INFO_GPU": pa.table({"deviceId": [0], "name": ["A100"], "busLocation": ["0:1"]}),
        "TARGET_INFO_CUDA_GPU": pa.table(
            {
                "deviceId": [0], "name": ["other"], "pciBusId": ["<UNKNOWN_BUS_ID>"],
                "globalMemoryBandwidth": [1_555_200_000], "coreClockRate": [1_410_000],
                "numMultiprocessors": [108], "computeCapabilityMajor": [8],
                "computeCapabilityMinor": [0],
            }
        ),
    }  # fmt: skip
    gpu = trace_of_export(MadeExport(made), "t").gpus.to_pylist()[0]
    assert (gpu["device_name"], gpu["pci_bus_id"], gpu["sm_count"]) == ("A100", "0:1", 108)
    assert gpu["dram_bandwidth_bytes_per_s"] == 1.5552e12
    assert gpu["sm_clock_hz"] == 1.41e9
    assert gpu["compute_capability"] == "8.0"


def test_sampled_metrics_have_name_gpu_and_time() -> None:
    """They come in the order of time; one without a name has its number."""
    metrics = _trace(EVERYTHING).gpu_metrics.drop_columns(["trace"])
    assert [tuple(row.values()) for row in metrics.to_pylist()] == [
        (1, 10, "DRAM Read [Throughput %]", 7.0),
        (0, 20, "SM Active [Throughput %]", 40.0),
    ]
    unnamed = _trace(EVERYTHING, without=("TARGET_INFO_GPU_METRICS",)).gpu_metrics
    assert _column(unnamed, "metric") == ["metric 0", "metric 1"]


def test_the_session_says_what_was_traced_how() -> None:
    """One row; nodes of graphs in the trace count for more than the option."""
    session = _trace(EVERYTHING).sessions.to_pylist()[0]
    assert session["tool_version"] == "2026.1.1.204"
    assert session["export_schema_version"] == "3.24.14"
    assert session["command_line"] == "python 'my decode.py'"
    assert session["host_name"] == "node1"
    assert session["started_unix_ns"] == 1_700_000_000_000_000_000
    assert session["cuda_graph_trace"] == "node"
    old = _trace(Events([Kernel(1, 2)]), age="2021").sessions.to_pylist()[0]
    assert {value for name, value in old.items() if name not in ("trace", "format")} == {None}


def test_graphs_traced_as_a_whole_are_told_of() -> None:
    """Their kernels are not there, and how to get them is said."""
    graphs = [GraphLaunch(10, 20, correlation=1), GraphLaunch(30, 40, correlation=2)]
    trace = _trace(Events(graphs=graphs))
    assert "everything ran in CUDA graphs traced as a whole" in _notes(trace)[0]
    assert "2 launches of CUDA graphs, and no kernel of them" in _notes(trace)[1]
    assert "trace again with --cuda-graph-trace=node" in _notes(trace)[1]
    assert _column(trace.sessions, "cuda_graph_trace") == ["graph"]
    called = Events([Kernel(5, 6)], calls=[Call(1, 2, "cudaGraphLaunch_v10000", 1)])
    assert any("1 launches of CUDA graphs" in one for one in _notes(_trace(called)))


def test_collectives_of_a_single_device_are_told_of() -> None:
    """The other ranks wait for it or it for them, and nothing in the trace says which."""
    kernels = [
        Kernel(1, 2, "ncclDevKernel_AllReduce", 1, device=3),
        Kernel(3, 4, "gemm", 1, device=3),
    ]
    note = next(one for one in _notes(_trace(Events(kernels))) if "NCCL" in one)
    assert note.startswith("1 kernels of NCCL, and all kernels are of device 3")
    both = [kernels[0], kernels[1]._replace(device=2)]
    assert not any("NCCL" in one for one in _notes(_trace(Events(both))))


def test_traces_in_which_steps_cannot_be_told_apart_say_so() -> None:
    """Without ranges, and with ranges that no kernel was launched in."""
    kernels, calls = [Kernel(9, 10, correlation=1)], [Call(1, 2, correlation=1)]
    bare = _notes(_trace(Events(kernels, calls=calls)))
    assert "it has no NVTX ranges" in bare[0]
    beside = _notes(_trace(Events(kernels, calls=calls, ranges=[Range(5, 6, "late")])))
    assert beside == ["no kernel was launched in an NVTX range, so steps cannot be told apart"]
    only = _notes(_trace(Events(ranges=[Range(5, 6, "late")])))
    assert "NVTX ranges but neither kernels nor API calls" in only[0]


def test_a_thread_is_told_from_another_with_the_same_number() -> None:
    """Ids of threads are 24 bits of the number that exports have."""
    assert global_tid(7, 9) & 0xFFFFFF == 9
    events = Events(
        [Kernel(9, 10, correlation=1)], calls=[Call(2, 3, correlation=1, thread=5)],
        ranges=[Range(1, 4, "mine", thread=5), Range(1, 4, "other", thread=6)],
    )  # fmt: skip
    assert _column(_trace(events).kernels, "nvtx_path") == ["mine"]
