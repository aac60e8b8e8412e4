"""What ncu says while it profiles, and how long a run still takes."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.harness.progress import (
    NcuProgress,
    Progress,
    duration_text,
    progress_text,
    remaining_s,
)

OUTPUT = (
    "==PROF== Connected to process 4711 (/usr/bin/python3.11)\n"
    "loading weights: 100% - 3 passes over the file\r"
    '==PROF== Profiling "gemm" - 0 (1/4): 0%....50%....100% - 9 passes\n'
    "a word of the target's ==PROF== \n"
    '==PROF== Profiling "void k<float, (char)"x">(int)" - 1 (2/4): 0%\r..50%'
    "step done\n....100% - 1 pass\n"
    '==PROF== Profiling "broken" - 2 (3/4): 0%\n'
    "==ERROR== LaunchFailed\n"
    '==PROF== Profiling "last" - 3 (4/4): 0%....50%....100% - 12 passes\n'
    "==PROF== Disconnected from process 4711\n"
)


def _state(progress: NcuProgress) -> tuple[object, ...]:
    return (
        progress.launch_count, progress.launch_total, progress.kernel, progress.pass_count
    )  # fmt: skip


def test_launches_and_passes_are_counted() -> None:
    """One that failed is none, and what the target says of its own is not taken for a launch."""
    progress = NcuProgress()
    progress.feed(OUTPUT)
    assert _state(progress) == (3, 4, None, 12)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, len(OUTPUT)), max_size=30))
def test_it_makes_no_difference_where_the_pieces_end(cuts: list[int]) -> None:
    """Lines grow while a launch is replayed, and come in pieces of any length."""
    whole, pieces = NcuProgress(), NcuProgress()
    whole.feed(OUTPUT)
    ends = [0, *sorted(cuts), len(OUTPUT)]
    for begin, end in pairwise(ends):
        pieces.feed(OUTPUT[begin:end])
    assert _state(pieces) == _state(whole)


def test_the_kernel_is_known_while_it_is_profiled() -> None:
    progress = NcuProgress()
    progress.feed('==PROF== Profiling "gemm" - 7: 0%....')
    assert _state(progress) == (0, None, "gemm", None)
    progress.feed("50%....100% - 9 pass")
    assert _state(progress) == (1, None, None, 9)


def test_a_target_that_writes_without_end_costs_no_memory() -> None:
    progress = NcuProgress()
    for _ in range(40):
        progress.feed("x" * 10_000)
    progress.feed('\n==PROF== Profiling "gemm" - 0: 0%....100% - 2 passes\n')
    assert _state(progress) == (1, None, None, 2)
    assert len(progress._tail) < 1 << 17


def test_the_rest_is_estimated_from_this_part_or_the_one_before() -> None:
    """Never less than nothing, and unknown before anything is."""
    common = {"elapsed_s": 30.0, "parts_left": 2}
    by_launches = remaining_s(**common, launch_count=3, launch_total=6, last_part_s=1.0)  # type: ignore[arg-type]
    assert by_launches == 30 + 2 * 60
    by_part = remaining_s(**common, launch_count=0, launch_total=None, last_part_s=40.0)  # type: ignore[arg-type]
    assert by_part == 10 + 2 * 40
    late = remaining_s(**common, launch_count=None, launch_total=None, last_part_s=10.0)  # type: ignore[arg-type]
    assert late == 2 * 10
    assert remaining_s(**common, launch_count=3, launch_total=None, last_part_s=None) is None  # type: ignore[arg-type]


def test_the_line_says_what_is_known_only() -> None:
    progress = Progress("nsys-program", 1, 2, None, None, None, 4.0, None)
    assert progress_text(progress) == "part 1 of 2: nsys-program, 0:04"
    counted = progress._replace(launch_count=3)
    assert progress_text(counted) == "part 1 of 2: nsys-program, 3 launches, 0:04"


def test_times_are_those_of_a_clock() -> None:
    assert [duration_text(each) for each in (0, 59.6, 3599, 3600)] == [
        "0:00", "1:00", "59:59", "1:00:00",
    ]  # fmt: skip
