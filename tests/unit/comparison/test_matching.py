"""Which launches are the same: by what they are matched, and what is left over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.reports import GEMM_NAME, attention_launch, gemm_launch, make_launch, step_state
from support.sides import metrics_of, report_in, timed

from nsightlens import compare
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange, ProcessInfo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec


def _rows(
    folder: Path, base: Sequence[LaunchSpec], new: Sequence[LaunchSpec], by: Any = "launch"
) -> list[dict[str, Any]]:
    count = len(list(folder.iterdir()))
    sides = [report_in(folder, one, f"{count}{i}.ncu-rep") for i, one in enumerate((base, new))]
    rows: list[dict[str, Any]] = compare(*sides, by=by).rows.to_pylist()
    return rows


def _matches(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["matched_by"], r["base_launch_id"], r["new_launch_id"]) for r in rows]


def test_launches_of_one_kernel_and_grid_are_matched_in_their_order(tmp_path: Path) -> None:
    """As they run once per layer."""
    rows = _rows(tmp_path, [timed(1e4), timed(2e4)], [timed(1e4), timed(2e4)])
    assert _matches(rows) == [("launch", 0, 0), ("launch", 1, 1)]


def test_a_launch_more_is_added_and_one_less_is_removed(tmp_path: Path) -> None:
    """Nothing is dropped."""
    one, two = [timed(1e4)], [timed(1e4), timed(2e4)]
    assert _matches(_rows(tmp_path, one, two)) == [("launch", 0, 0), (None, None, 1)]
    rows = _rows(tmp_path, two, one)
    assert _matches(rows) == [("launch", 0, 0), (None, 1, None)]
    assert [row["verdict"] for row in rows] == ["indistinguishable", "removed"]


def test_a_kernel_with_another_grid_is_matched_by_its_name(tmp_path: Path) -> None:
    """And says so."""
    rows = _rows(tmp_path, [timed(1e4, grid=(64, 1, 1))], [timed(1e4, grid=(32, 1, 1))])
    assert _matches(rows) == [("kernel", 0, 0)]
    assert (rows[0]["base_grid"], rows[0]["new_grid"]) == ("64,1,1", "32,1,1")


def test_a_template_with_other_arguments_is_matched_by_its_name(tmp_path: Path) -> None:
    """Also one of which no family is known."""
    names = [f"void tiled<(int){n}, (int)8>(float*)" for n in (64, 128)]
    sides = [[replace(timed(1e4, "tiled"), demangled_name=name)] for name in names]
    rows = _rows(tmp_path, *sides)
    assert _matches(rows) == [("kernel", 0, 0)]
    assert rows[0]["base_kernel"] != rows[0]["new_kernel"]


def test_another_grid_is_not_matched_where_the_numbers_differ(tmp_path: Path) -> None:
    """It is not known which of them was left out."""
    base = [timed(1e4, grid=(64, 1, 1))]
    new = [timed(1e4, grid=(32, 1, 1)), timed(1e4, grid=(16, 1, 1))]
    assert _matches(_rows(tmp_path, base, new)) == [
        (None, None, 0),
        (None, None, 1),
        (None, 0, None),
    ]


def test_a_gemm_with_another_tile_is_matched_by_its_operation(tmp_path: Path) -> None:
    """Where an annotation says which it is, a change of library makes no new launch of it."""
    other = GEMM_NAME.replace("128x256", "64x8")
    base, new = (
        gemm_launch(),
        make_launch(other, metrics_of(gemm_launch()), nvtx=step_state(512, "fc1")),
    )
    rows = _rows(tmp_path, [base], [new])
    assert _matches(rows) == [("operation", 0, 0)]
    assert rows[0]["base_kernel"] != rows[0]["new_kernel"]


def test_a_gemm_with_another_tile_is_matched_by_its_family_without_an_annotation(
    tmp_path: Path,
) -> None:
    """In its place among those that have no counterpart."""
    names = [GEMM_NAME, GEMM_NAME.replace("128x256", "64x8")]
    rows = _rows(tmp_path, [timed(1e4, names[0])], [timed(1e4, names[1])])
    assert _matches(rows) == [("family", 0, 0)]


def test_kernels_of_which_nothing_is_known_are_not_matched_by_their_family(
    tmp_path: Path,
) -> None:
    """Two unknown kernels have nothing in common."""
    rows = _rows(tmp_path, [timed(1e4, "abcdef")], [timed(1e4, "uvwxyz")])
    assert [row["verdict"] for row in rows] == ["added", "removed"]


def test_equal_launches_of_other_batch_sizes_are_not_the_same(tmp_path: Path) -> None:
    """A kernel and a grid may serve several."""
    rows = _rows(
        tmp_path,
        [timed(1e4, nvtx=step_state(8)), timed(2e4, nvtx=step_state(16))],
        [timed(2e4, nvtx=step_state(16)), timed(1e4, nvtx=step_state(8))],
    )
    assert _matches(rows) == [("launch", 1, 0), ("launch", 0, 1)]
    assert [row["batch_size"] for row in rows] == [16, 8]


def _step(name: str) -> list[NvtxDomainState]:
    return [NvtxDomainState(0, "<default domain>", push_pop=(NvtxRange(name),))]


def test_another_step_of_the_same_work_is_matched_as_work(tmp_path: Path) -> None:
    """A profile may take steps 7 and 8 today and 20 and 21 tomorrow."""
    base = [timed(1e4, nvtx=_step(f"DecodeStep{i}")) for i in (7, 8)]
    new = [timed(1e4, nvtx=_step(f"DecodeStep{i}")) for i in (20, 21, 22)]
    rows = _rows(tmp_path, base, new)
    assert _matches(rows) == [("work", 0, 0), ("work", 1, 1), (None, None, 2)]


def test_processes_are_matched_in_the_order_in_which_they_come_up(tmp_path: Path) -> None:
    """Their numbers are of the system, not of the program."""
    base = [timed(1e4, process=ProcessInfo(n, "h", "app")) for n in (77, 88)]
    new = [timed(1e4, process=ProcessInfo(n, "h", "app")) for n in (9, 3)]
    assert _matches(_rows(tmp_path, base, new)) == [("launch", 0, 0), ("launch", 1, 1)]


@pytest.mark.parametrize("by", ["kernel", "family"])
def test_groups_are_matched_by_what_makes_them(tmp_path: Path, by: Any) -> None:
    """And add up the durations of their launches."""
    base, new = [timed(1e4), timed(2e4), gemm_launch()], [timed(3e4), timed(3e4), gemm_launch()]
    rows = _rows(tmp_path, base, new, by)
    assert [row["matched_by"] for row in rows] == [by, by]
    assert (rows[0]["base_duration_ns"], rows[0]["new_duration_ns"]) == (3e4, 6e4)
    assert (rows[0]["base_launch_count"], rows[0]["verdict"]) == (2.0, "regressed")


def test_the_label_of_a_group_is_that_of_its_sums(tmp_path: Path) -> None:
    """As classify says it."""
    rows = _rows(tmp_path, [attention_launch()], [attention_launch()], "family")
    assert (rows[0]["base_bound"], rows[0]["new_regime"]) == ("memory", "saturated")


def test_keys_are_unique_and_the_same_from_run_to_run(tmp_path: Path) -> None:
    """Also of rows that only one side has."""
    base = [timed(1e4, nvtx=step_state(n)) for n in (1, 2, 3)] + [timed(1e4)]
    new = [timed(1e4, nvtx=step_state(n)) for n in (2, 3, 4)] + [timed(1e4)]
    keys = [row["key"] for row in _rows(tmp_path, base, new)]
    assert len(set(keys)) == len(keys)
    again = _rows(tmp_path, base, new)
    assert keys == [row["key"] for row in again]
