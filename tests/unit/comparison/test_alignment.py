"""A launch that is left out, that failed or that runs elsewhere shifts none of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.sides import metrics_of, report_in, timed

from nsightlens import compare, open_report
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep import write_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec
    from nsightlens.report import Report

OUT_PROJ = 4
"""Of the eleven launches of a layer: one kernel and grid with those of the feed-forward part."""


@pytest.fixture
def layer() -> list[LaunchSpec]:
    """Return the launches of a layer of a decode step, annotated."""
    return list(decode_sweep([8]).launches)


def _report(folder: Path, launches: Sequence[LaunchSpec], name: str) -> Report:
    path = folder / f"{name}.ncu-rep"
    write_ncu_rep(path, replace(decode_sweep([8]), launches=list(launches)))
    return open_report(path)


def _unnamed(launches: Sequence[LaunchSpec]) -> list[LaunchSpec]:
    return [replace(launch, nvtx=None) for launch in launches]


def _without_counters(launches: Sequence[LaunchSpec]) -> list[LaunchSpec]:
    return [
        replace(one, nvtx=None, metrics={name: value for name, value in metrics_of(one).items()
                                         if not name.startswith(("sm__", "smsp__", "dram__"))})
        for one in launches
    ]  # fmt: skip


def _others(comparison: Any) -> list[tuple[str, int | None]]:
    """Return verdict and launch of the base of every row with a finding."""
    return [
        (row["verdict"], row["base_launch_id"])
        for row in comparison.rows.to_pylist()
        if row["verdict"] != "indistinguishable"
    ]


@pytest.mark.parametrize("layers", [1, 24])
@pytest.mark.parametrize("changed", [list, _unnamed, _without_counters])
def test_a_launch_that_was_left_out_is_the_only_one_removed(
    tmp_path: Path, layer: list[LaunchSpec], changed: Any, layers: int
) -> None:
    """Annotated, told apart by its operations, or by the launches beside it alone."""
    launches = changed(layer * layers)
    base = _report(tmp_path, launches, "base")
    new = _report(tmp_path, launches[:OUT_PROJ] + launches[OUT_PROJ + 1 :], "new")
    assert _others(compare(base, new)) == [("removed", OUT_PROJ)]
    assert [verdict for verdict, _ in _others(compare(new, base))] == ["added"]


@pytest.mark.parametrize("changed", [list, _unnamed, _without_counters])
def test_launches_in_another_order_did_not_change(
    tmp_path: Path, layer: list[LaunchSpec], changed: Any
) -> None:
    """Each is found where it is now."""
    launches = changed(layer)
    comparison = compare(
        _report(tmp_path, launches, "base"), _report(tmp_path, launches[::-1], "new")
    )
    assert _others(comparison) == []
    # The first and the last have a neighbour on one side only.
    assert set(comparison.rows["duration_change_pct"].to_pylist()) == {0.0}


def _failed(launch: LaunchSpec, *, says_where: bool) -> LaunchSpec:
    kept = {name: value for name, value in metrics_of(launch).items()
            if says_where and name.startswith("device__")}  # fmt: skip
    metrics = {**kept, "gpu__time_duration.sum": float("nan")}
    return replace(launch, grid=(0, 0, 0), block=(0, 0, 0), metrics=metrics)


@pytest.mark.parametrize("at", [0, OUT_PROJ])
@pytest.mark.parametrize("says_where", [True, False])
@pytest.mark.parametrize("changed", [list, _unnamed])
def test_a_launch_that_failed_is_matched_and_cannot_be_compared(
    tmp_path: Path, layer: list[LaunchSpec], changed: Any, at: int, *, says_where: bool
) -> None:
    """Though it has no grid, no counters, and may not even say on which GPU it ran."""
    launches = changed(layer * 2)
    failing = list(launches)
    failing[at] = _failed(failing[at], says_where=says_where)
    good, bad = _report(tmp_path, launches, "good"), _report(tmp_path, failing, "bad")
    assert _others(compare(good, bad)) == [("not_comparable", at)]
    assert _others(compare(bad, good)) == [("not_comparable", at)]
    row = compare(good, bad).rows.to_pylist()[at]
    assert row["reason"].startswith("no duration on the new side")


def _later(launch: LaunchSpec) -> LaunchSpec:
    """Return a launch that took a tick of the timer longer."""
    duration = float(metrics_of(launch)["gpu__time_duration.sum"])  # type: ignore[arg-type]
    return replace(launch, metrics={**metrics_of(launch), "gpu__time_duration.sum": duration + 32})


def test_a_repeat_that_lacks_a_launch_is_aligned_with_the_others(
    tmp_path: Path, layer: list[LaunchSpec]
) -> None:
    """Two GEMMs of one kernel and grid are no repeats of one another."""
    launches = _unnamed(layer)
    again = [_later(launch) for launch in launches]
    whole = [_report(tmp_path, one, name) for one, name in ((launches, "one"), (again, "two"))]
    less = _report(tmp_path, launches[:OUT_PROJ] + launches[OUT_PROJ + 1 :], "less")
    for base in ([less, *whole], [*whole, less]):
        rows = compare(base, whole).rows.to_pylist()
        assert max(row["duration_noise_pct"] for row in rows) < 5
        assert sorted(row["base_repeat_count"] for row in rows) == [2, *[3] * (len(rows) - 1)]
        assert len({row["key"] for row in rows}) == len(rows) == len(launches)


def test_launches_whose_operations_differ_are_not_the_same_launch(
    tmp_path: Path, layer: list[LaunchSpec]
) -> None:
    """One kernel and grid, but four times the work: `matched_by` says so, and the reason."""
    out_proj, fc2 = _unnamed([layer[OUT_PROJ], layer[9]])
    assert (out_proj.name, out_proj.grid) == (fc2.name, fc2.grid)
    base, new = _report(tmp_path, [out_proj], "base"), _report(tmp_path, [fc2], "new")
    row = compare(base, new).rows.to_pylist()[0]
    assert row["matched_by"] == "kernel"
    assert row["reason"].endswith("; FLOP +300 %")


def test_a_gemm_of_other_work_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    """Without an annotation: both its operations and its bytes are far from those of the other."""

    def gemm(name: str, factor: float) -> LaunchSpec:
        launch = timed(1e4, name)
        metrics = {
            one: value * factor if "ffma" in one or "dram__bytes" in one else value  # type: ignore[operator]
            for one, value in metrics_of(launch).items()
        }
        return replace(launch, metrics=metrics)

    base = report_in(tmp_path, [gemm("gemm_64x8", 1.0)], "base.ncu-rep")
    same = report_in(tmp_path, [gemm("gemm_128x8", 1.5)], "same.ncu-rep")
    other = report_in(tmp_path, [gemm("gemm_128x8", 4.0)], "other.ncu-rep")
    assert compare(base, same).rows["matched_by"].to_pylist() == ["family"]
    assert compare(base, other).rows["verdict"].to_pylist() == ["added", "removed"]
