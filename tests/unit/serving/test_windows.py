"""Samples over time become the values of a run: within its duration, and of all its servers."""

from __future__ import annotations

import numpy as np
import pytest

from nsightlens.serving.part import Samples
from nsightlens.serving.windows import of_gpu_samples, of_server_samples


def _samples(*, begins: bool = True, step_s: float = 1.0, **columns: list[float]) -> Samples:
    length = len(next(iter(columns.values())))
    arrays = {name: np.array(values, float) for name, values in columns.items()}
    return Samples(np.arange(length) * step_s, arrays, begins_with_run=begins)


def test_the_mean_counts_samples_within_the_duration_alone() -> None:
    found = of_server_samples([_samples(running=[0, 8, 8, 8, 0, 0])], 3.0)
    assert found["mean_running"].value == 6.0
    assert found["mean_running_whole"].value == 4.0
    assert found["max_running"].value == 8.0
    assert "4 samples" in found["mean_running"].derived


def test_samples_of_another_clock_count_from_the_first_busy_one_to_the_last() -> None:
    found = of_server_samples([_samples(begins=False, running=[0, 0, 8, 0, 4, 0])], 3.0)
    assert found["mean_running"].value == 4.0


def test_running_sequences_of_servers_add_up_and_the_largest_peak_counts() -> None:
    one = _samples(running=[4, 4], kv_usage_pct=[10, 20], preemption_total=[5, 6])
    other = _samples(running=[6, 6], kv_usage_pct=[30, 10], preemption_total=[0, 2])
    found = of_server_samples([one, other], 1.0)
    assert found["mean_running"].value == 10.0
    assert found["kv_peak_pct"].value == 30.0
    assert found["preemption_count"].value == 3.0


def test_what_only_one_of_two_servers_says_is_not_known() -> None:
    found = of_server_samples([_samples(running=[4.0]), _samples(kv_usage_pct=[3.0])], 1.0)
    assert "mean_running" not in found
    assert "kv_peak_pct" not in found


def test_a_counter_that_falls_was_restarted() -> None:
    found = of_server_samples([_samples(preemption_total=[7, 9, 1, 2])], 9.0)
    assert found["preemption_count"].value == 4.0
    assert found["preemption_count"].note is not None


def test_missing_values_do_not_count() -> None:
    nan = float("nan")
    found = of_server_samples([_samples(running=[4, nan, 8], kv_usage_pct=[nan] * 3)], 9.0)
    assert found["mean_running"].value == 6.0
    assert "kv_peak_pct" not in found


def test_a_peak_of_seldom_samples_may_have_been_higher() -> None:
    often = of_server_samples([_samples(kv_usage_pct=[1, 2, 3])], 9.0)["kv_peak_pct"]
    seldom = of_server_samples([_samples(step_s=10.0, kv_usage_pct=[1, 2, 3])], 90.0)["kv_peak_pct"]
    assert often.note is None
    assert seldom.note is not None
    assert "10 s" in seldom.note[1]


@pytest.mark.parametrize(("limited", "expected"), [([0] * 99 + [1], False), ([0] * 9 + [1], True)])
def test_a_run_is_clock_limited_where_more_than_a_twentieth_of_its_samples_says_so(
    limited: list[float], *, expected: bool
) -> None:
    found = of_gpu_samples([_samples(clock_limited=limited)], 1000.0)
    assert found["clock_limited"].value is expected


def test_the_slowest_of_several_gpus_counts() -> None:
    gpus = [_samples(sm_clock_mhz=[1980, 1980]), _samples(sm_clock_mhz=[1605, 1605])]
    assert of_gpu_samples(gpus, 9.0)["sm_clock_mhz"].value == 1605.0
    assert of_gpu_samples(gpus, 9.0)["sm_clock_max_mhz"].value == 1980.0


def test_lines_of_a_log_stand_for_the_time_until_the_next() -> None:
    """A line every 40 steps comes more often while batches are small and steps short."""
    columns = {"running": np.array([1.0, 1.0, 1.0, 100.0, 100.0])}
    samples = Samples(np.array([0.0, 1.0, 2.0, 3.0, 7.0]), columns, begins_with_run=False)
    alike = of_server_samples([samples], None)["mean_running"].value
    by_time = of_server_samples([samples], None, by_time=True)["mean_running"].value
    assert alike == pytest.approx(40.6)
    assert by_time == pytest.approx((3 * 1 + 5 * 100) / 8)


def test_the_window_is_the_busiest_where_the_samples_hold_other_load_too() -> None:
    """A warm-up before the run in the same log, or a clock that started earlier."""
    running = [0.0] * 5 + [1.0] * 20 + [0.0] * 5 + [8.0] * 10 + [0.0] * 5
    for begins in (True, False):
        found = of_server_samples([_samples(begins=begins, running=running)], 10.0)
        assert found["mean_running"].value == pytest.approx(8.0, rel=0.11)
        assert "busiest 10 s" in found["mean_running"].derived


def test_a_run_that_drains_a_little_longer_keeps_its_window() -> None:
    running = [0.0, *[8.0] * 50, 3.0, 1.0]
    found = of_server_samples([_samples(running=running)], 50.0)
    assert "within the 50 s" in found["mean_running"].derived


def test_a_clock_that_started_before_the_run_does_not_dilute_it() -> None:
    found = of_server_samples([_samples(running=[0.0] * 60 + [8.0] * 60 + [0.0])], 60.0)
    assert found["mean_running"].value == pytest.approx(8.0)
