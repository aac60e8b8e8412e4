"""A timeline says of each step, to the nanosecond, what it spent its time on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.timelines import DECODE, decode_events, write_decode_trace
from support.traces import Call, Copy, Events, Kernel, Memset, Range, write_trace

from nsightlens import open_trace, timeline
from nsightlens.errors import FilterError, NotATraceError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens import Timeline


@pytest.fixture(scope="module")
def decode(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    """Return the timeline of the trace whose every nanosecond is known."""
    return timeline(open_trace(write_decode_trace(tmp_path_factory.mktemp("decode"))))


def _of(folder: Path, events: Events, **options: Any) -> Timeline:
    return timeline(open_trace(write_trace(events, folder / "made.sqlite")), **options)


def test_a_step_is_what_its_range_launched(decode: Timeline) -> None:
    """From its first activity to its last, whenever the range was closed."""
    steps = decode.steps.to_pylist()
    assert [(row["phase"], row["batch_size"]) for row in steps] == [("decode", 8), ("decode", 16)]
    assert [(row["start_ns"], row["end_ns"]) for row in steps] == [(1000, 2000), (2600, 3000)]
    assert [row["host_start_ns"] for row in steps] == [880, 2490]
    assert [row["host_duration_ns"] for row in steps] == [810, 50]
    assert [row["kernel_count"] for row in steps] == [3, 2]
    assert decode.has_steps


def test_wall_is_busy_and_idle(decode: Timeline) -> None:
    """Copies keep a device busy too; what lies between steps is of neither."""
    first, second = decode.steps.to_pylist()
    assert (first["wall_ns"], first["busy_ns"], first["idle_ns"]) == (1000, 750, 250)
    assert (second["wall_ns"], second["busy_ns"], second["idle_ns"]) == (400, 300, 100)
    assert (first["idle_before_ns"], second["idle_before_ns"]) == (None, 600)
    assert first["busy_pct"] == 75


def test_idle_time_has_its_cause(decode: Timeline) -> None:
    """By what the thread did whose call ended the gap."""
    first, second = decode.steps.to_pylist()
    causes = ("launch", "host", "sync", "queued", "unknown")
    assert [first[f"idle_{one}_ns"] for one in causes] == [50, 200, 0, 0, 0]
    assert [second[f"idle_{one}_ns"] for one in causes] == [0, 0, 0, 100, 0]
    gaps = {(row["start_ns"], row["end_ns"]): row["cause"] for row in decode.gaps.to_pylist()}
    assert gaps == {
        (200, 1000): "host",
        (1200, 1250): "launch",
        (1500, 1700): "host",
        (2000, 2600): "sync",
        (2700, 2800): "queued",
    }


def test_the_longest_gap_comes_first(decode: Timeline) -> None:
    """With the kernel that it was before; a gap between steps is of none."""
    longest = decode.gaps.to_pylist()[0]
    assert (longest["duration_ns"], longest["step_id"]) == (800, None)
    assert "flash" in longest["next_kernel"]


def test_families_share_the_kernels_of_a_step(decode: Timeline) -> None:
    """The longest first; the warm-up is in no step."""
    rows = decode.families.to_pylist()
    of_first = [row for row in rows if row["step_id"] == 0]
    assert [row["family"] for row in of_first] == ["gemm", "attention", "norm"]
    assert [row["duration_ns"] for row in of_first] == [300, 200, 150]
    assert sum(row["duration_share_pct"] for row in of_first) == pytest.approx(100)
    assert rows[-1]["step_id"] is None


def test_copies_are_set_against_the_link(tmp_path: Path) -> None:
    """1000 bytes in 100 ns are 10 GB/s: a tenth of a link of 100 GB/s; no kernel hides them."""
    result = _of(tmp_path, decode_events(), link_bytes_per_s=100e9)
    (row,) = result.copies.to_pylist()
    assert (row["direction"], row["source_memory"]) == ("host_to_device", "pinned")
    assert (row["duration_ns"], row["exposed_ns"]) == (100, 100)
    assert row["bandwidth_bytes_per_s"] == pytest.approx(10e9)
    assert row["link_peak_pct"] == pytest.approx(10)


def test_a_memset_hides_a_copy_but_is_no_kernel_that_could(tmp_path: Path) -> None:
    """The device is busy with it; moving the copy below it would gain nothing."""
    events = Events(
        kernels=[Kernel(0, 100, correlation=1)],
        copies=[Copy(100, 200, correlation=2)],
        memsets=[Memset(150, 250, correlation=3)],
        calls=[Call(0, 1, correlation=n) for n in (1, 2, 3)],
    )
    (row,) = _of(tmp_path, events).steps.to_pylist()
    assert (row["copy_exposed_ns"], row["kernel_alone_ns"], row["busy_ns"]) == (50, 100, 250)


def test_launch_latency_is_from_call_to_begin(decode: Timeline) -> None:
    """A value that was measured, not one between two."""
    first = decode.steps.to_pylist()[0]
    assert first["launch_latency_median_ns"] == 60
    assert first["launch_latency_p90_ns"] == 100
    assert first["api_call_median_ns"] == 10


def test_without_calls_nothing_is_said_of_causes(tmp_path: Path) -> None:
    """Null and unknown, not zero and host."""
    result = _of(tmp_path, Events(kernels=[Kernel(0, 10), Kernel(20, 30)]))
    (row,) = result.steps.to_pylist()
    assert row["launch_latency_median_ns"] is None
    assert row["idle_unknown_ns"] == 10
    assert not result.has_steps
    assert any("shown as one step" in note for note in result.notes)


def test_short_kernels_that_follow_one_another_are_a_run(tmp_path: Path) -> None:
    """What a CUDA graph could save is what the device waits for their launches."""
    kernels = [Kernel(at * 100, at * 100 + 60, correlation=at) for at in range(6)]
    calls = [Call(at * 100 - 50, at * 100 - 10, correlation=at) for at in range(6)]
    result = _of(tmp_path, Events(kernels=kernels, calls=calls))
    (run,) = result.runs.to_pylist()
    assert (run["kernel_count"], run["gap_ns"], run["launch_gap_ns"]) == (6, 200, 200)
    advice = {row["advice"]: row for row in result.advice.to_pylist()}
    assert advice["cuda_graph"]["saving_ns"] == 200
    assert advice["cuda_graph"]["verdict"] == "worth_trying"
    assert advice["overlap_copies"]["verdict"] == "nothing_to_gain"


@pytest.mark.parametrize("between", ["copy", "graph", "long", "wait"])
def test_a_run_ends_at_what_no_graph_would_merge(tmp_path: Path, between: str) -> None:
    """A copy on the stream, a kernel that is in a graph, a long kernel, a wait of the host."""
    kernels = [Kernel(at * 100, at * 100 + 60, correlation=at) for at in range(8)]
    calls = [Call(at * 100 - 50, at * 100 - 10, correlation=at) for at in range(8)]
    copies = []
    if between == "copy":
        copies = [Copy(370, 380, correlation=9)]
        calls.append(Call(365, 366, "cudaMemcpyAsync", correlation=9))
    elif between == "graph":
        kernels[3] = kernels[3]._replace(node=7)
    elif between == "long":
        kernels = [*kernels[:3], Kernel(300, 30_300, correlation=3)]
        kernels += [
            Kernel(30_000 + at * 100, 30_060 + at * 100, correlation=at) for at in range(4, 8)
        ]
    else:
        calls.append(Call(340, 365, "cudaStreamSynchronize_v3020", correlation=9))
        calls[4] = calls[4]._replace(start=368, end=390)
    runs = _of(tmp_path, Events(kernels=kernels, copies=copies, calls=calls)).runs.to_pylist()
    assert [run["kernel_count"] for run in runs] in ([4, 4], [4])


def test_pinned_memory_saves_what_the_pinned_copies_of_the_trace_show(tmp_path: Path) -> None:
    """1000 bytes took 1000 ns pageable, and take 100 ns at the rate of the pinned one."""
    events = Events(
        copies=[
            Copy(0, 1000, bytes=1000, source=0, correlation=1),
            Copy(2000, 2100, bytes=1000, source=1, correlation=2),
        ],
        calls=[Call(0, 1, correlation=1), Call(1, 2, correlation=2)],
    )
    advice = {row["advice"]: row for row in _of(tmp_path, events).advice.to_pylist()}
    assert advice["pinned_memory"]["saving_ns"] == 900
    # No kernel could hide a copy here.
    assert advice["overlap_copies"]["saving_ns"] == 0


def test_no_nanosecond_counts_for_two_steps(tmp_path: Path) -> None:
    """A step that begins while the one before it still runs counts from that one's end."""
    events = decode_events()
    kernels = [*events.kernels[:4], Kernel(1900, 2700, "late", 6)]
    result = _of(tmp_path, replace(events, kernels=kernels))
    first, second = result.steps.to_pylist()
    assert (first["end_ns"], second["start_ns"], second["end_ns"]) == (2000, 2000, 2700)
    assert any("counts for the earlier one" in note for note in result.notes)


def test_steps_can_be_named(tmp_path: Path) -> None:
    """Any range whose name contains the expression; the outermost of its thread."""
    events = replace(
        decode_events(),
        ranges=[Range(880, 1690, "iteration 1"), Range(890, 1000, "iteration inner"),
                Range(2490, 2540, "iteration 2")],
    )  # fmt: skip
    result = _of(tmp_path, events, steps_from="^iteration")
    assert result.steps["name"].to_pylist() == ["iteration 1", "iteration 2"]
    with pytest.raises(FilterError, match="none of the 3 NVTX ranges"):
        timeline(open_trace(tmp_path / "made.sqlite"), steps_from="epoch")
    with pytest.raises(FilterError, match="no regular expression"):
        timeline(open_trace(tmp_path / "made.sqlite"), steps_from="(")


def test_a_range_of_the_process_is_a_step_of_every_thread(tmp_path: Path) -> None:
    """As start/end ranges are."""
    ranges = [replace_kind(one) for one in decode_events().ranges]
    result = _of(tmp_path, replace(decode_events(), ranges=ranges))
    assert result.steps["batch_size"].to_pylist() == [8, 16]


def replace_kind(one: Range) -> Range:
    """Return a range as one of the whole process, opened by another thread."""
    return one._replace(kind="start_end", thread=77)


def test_each_gpu_has_its_row(tmp_path: Path) -> None:
    """And all together one, in which no cause explains what each of them waits for."""
    step = DECODE.format(4)
    events = Events(
        kernels=[
            Kernel(0, 100, correlation=1),
            Kernel(50, 200, correlation=2, device=1),
            Kernel(150, 300, correlation=3),
        ],
        calls=[Call(0, 1, correlation=n) for n in (1, 2, 3)],
        ranges=[Range(0, 10, step, domain=1)],
        domains={(1000, 1): "nsightlens"},
    )
    rows = _of(tmp_path, events).steps.to_pylist()
    assert [(row["device_id"], row["busy_ns"]) for row in rows] == [(None, 300), (0, 250), (1, 150)]
    assert rows[0]["idle_queued_ns"] is None
    assert rows[1]["idle_queued_ns"] == 50


def test_times_that_cannot_be_are_left_out_and_counted(tmp_path: Path) -> None:
    """They would take time away from what ran, or overflow."""
    kernels = [Kernel(0, 100), Kernel(60, 50), Kernel(-(2**63) + 1, 5), Kernel(10, 2**63 - 1)]
    result = _of(tmp_path, Events(kernels=kernels))
    (row,) = result.steps.to_pylist()
    assert (row["wall_ns"], row["busy_ns"], row["kernel_duration_ns"]) == (100, 100, 100)
    assert row["kernel_count"] == 1
    assert any(note.startswith("3 activities") for note in result.notes)


def test_a_trace_in_which_no_device_did_anything_is_refused(tmp_path: Path) -> None:
    """With what to trace."""
    with pytest.raises(NotATraceError, match="no kernel, copy or memset"):
        _of(tmp_path, Events(ranges=[Range(0, 10, "a")]))
