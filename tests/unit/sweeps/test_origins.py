"""What is added up that may not have been meant is said: several GPUs, and one report twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import launch, parts, with_columns
from support.stores import FAILED, report_of

from nsightlens import sweep
from nsightlens.report import concat_reports
from nsightlens.sweeps import part_of, sweep_of_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.report import Report


def made(durations_ns: Sequence[float], report: str = "a", **columns: Any) -> Report:
    """Return a report of launches of these durations."""
    made = report_of(*(launch(parts(dram=50), duration_ns=one) for one in durations_ns))
    named = {"report": [report] * len(durations_ns), "device_name": ["NVIDIA H100"] * len(made)}
    return with_columns(made, **(named | columns))


def notes(*reports: Report) -> list[str]:
    """Return the notes on GPUs and copies, the same from the whole and from its parts."""
    words = ("are added up", "the same launches")
    whole = sweep(concat_reports(list(reports))).notes
    of_parts = sweep_of_parts([part_of(one) for one in reports]).notes
    assert whole == of_parts
    return [note for note in whole if any(word in note for word in words)]


def test_gpus_of_one_name_are_added_up_and_said() -> None:
    """In one report, or in one for each of them."""
    said = (
        "2 GPUs named H100 (device ids 0, 1) are added up: times and work are sums over all of"
        " them."
    )
    assert notes(made([1e6, 2e6], device_id=[0, 1])) == [said]
    assert notes(made([1e6], device_id=[0]), made([2e6], "b", device_id=[1])) == [said]


@pytest.mark.parametrize(
    "columns",
    [
        {"device_id": [0, 0]},
        {"device_id": [None, 0]},
        {"device_id": [0, 1], "device_name": ["H100", "A100"]},
        {"device_id": [0, 1], "device_name": ["H100", None]},
    ],
)
def test_one_gpu_of_each_name_needs_no_word(columns: dict[str, Any]) -> None:
    """Two names are two rows."""
    assert notes(made([1e6, 2e6], **columns)) == []


def test_many_gpus_are_not_all_listed() -> None:
    """Their number is."""
    (note,) = notes(made([1e6] * 12, device_id=list(range(12))))
    assert note.startswith("12 GPUs")
    assert "(device ids 0, 1, 2, 3, 4, 5, 6, 7, ...)" in note


def test_a_report_under_two_paths_counts_twice_and_is_said() -> None:
    """Whether it was read alone or with others."""
    one, other = made([1e6, 2e6]), made([3e6], "c")
    said = (
        "2 reports hold the same launches as another of them, such as a and b: these count more"
        " than once in every sum and in report_count."
    )
    assert notes(one, made([1e6, 2e6], "b"), other) == [said]


@pytest.mark.parametrize(
    "columns",
    [
        {"duration_ns": [1e6, 2e6 + 32]},
        {"kernel_name": ["another"] * 2},
        {"nvtx_path": ["step"] * 2},
        {"grid_x": [7, 7]},
    ],
)
def test_what_differs_in_anything_is_no_copy(columns: dict[str, Any]) -> None:
    """A repeated run has other durations, another layer another range."""
    assert notes(made([1e6, 2e6]), made([1e6, 2e6], "b", **columns)) == []


def test_reports_of_failed_launches_are_not_compared() -> None:
    """They have nothing that could differ."""
    failed = [with_columns(report_of(FAILED), report=[name]) for name in "ab"]
    assert notes(*failed) == []
