"""Costs of a decode step are those of a trace whose every nanosecond is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.timelines import DECODE, decode_events
from support.traces import Call, Copy, Events, Kernel, Range, write_trace

from nsightlens import open_trace, timeline
from nsightlens.advisor.step_costs import step_costs

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.advisor.answers import Cost, StepCosts


def _costs(folder: Path, *events: Events) -> tuple[StepCosts, ...]:
    paths = [write_trace(one, folder / f"{at}.sqlite") for at, one in enumerate(events)]
    return step_costs([timeline(open_trace(path)) for path in paths])


def _by_key(costs: StepCosts) -> dict[str, Cost]:
    return {one.key: one for one in costs.costs}


def _step(begin: int, batch: int, *, length: int, pause: int) -> Events:
    """Return a step of one kernel that the host prepares for ``pause`` before it launches."""
    return Events(
        kernels=[Kernel(begin + pause, begin + pause + length, "kernel", begin)],
        calls=[Call(begin + pause - 20, begin + pause - 10, correlation=begin)],
        ranges=[Range(begin + pause - 30, begin + pause - 5, DECODE.format(batch), domain=1)],
        domains={(1000, 1): "nsightlens"},
    )


def _joined(*parts: Events) -> Events:
    return Events(
        kernels=[one for part in parts for one in part.kernels],
        calls=[one for part in parts for one in part.calls],
        ranges=[one for part in parts for one in part.ranges],
        domains={(1000, 1): "nsightlens"},
    )


def test_each_cost_is_what_the_trace_shows(tmp_path: Path) -> None:
    """Of the first step of 1000 ns: a copy of 100, 50 for a launch and 200 for the host."""
    first, _ = _costs(tmp_path, decode_events())
    assert (first.batch_size, first.step_us) == (8, 1.0)
    found = {key: round(one.per_step_us * 1e3) for key, one in _by_key(first).items()}
    assert found == {"copies": 100, "gaps": 50, "host": 200, "syncs": 0, "short_kernels": 0}
    assert [one.key for one in first.costs][:3] == ["host", "copies", "gaps"]


def test_the_gpu_is_busy_where_a_kernel_runs(tmp_path: Path) -> None:
    """650 of 1000 ns; a copy leaves the multiprocessors to another server."""
    first, _ = _costs(tmp_path, decode_events())
    assert first.gpu_busy_share == pytest.approx(0.65)


def test_the_time_before_a_step_is_part_of_it(tmp_path: Path) -> None:
    """The second step takes 400 ns after 600 in which the host had waited for the device."""
    _, second = _costs(tmp_path, decode_events())
    assert second.step_us == pytest.approx(1.0)
    assert _by_key(second)["syncs"].per_step_us == pytest.approx(0.6)
    assert second.gpu_busy_share == pytest.approx(0.3)


def test_a_queued_gap_is_a_cost_that_no_graph_saves(tmp_path: Path) -> None:
    """100 ns pass although the launch had long been made."""
    _, second = _costs(tmp_path, decode_events())
    gaps = _by_key(second)["gaps"]
    assert gaps.per_step_us == pytest.approx(0.1)
    assert gaps.saving_us == 0
    assert "CUDA graphs would save nothing" in gaps.text


@pytest.mark.parametrize(("length", "is_worth"), [(99_000, False), (97_000, True)])
def test_two_percent_of_the_step_are_worth_acting_on(
    tmp_path: Path, length: int, is_worth: bool
) -> None:
    """The host takes 2000 ns before each kernel: 1.98 or 2.02 % of the step."""
    steps = [_step(at * 1_000_000, 4, length=length, pause=2000) for at in range(1, 2)]
    at = 1_000_000 + 2000 + length
    steps.append(_step(at, 4, length=length, pause=2000))
    (found,) = _costs(tmp_path, _joined(*steps))
    host = _by_key(found)["host"]
    assert host.per_step_us == pytest.approx(2.0)
    assert host.is_worth_acting is is_worth
    assert ("worth trying" in host.text) is is_worth
    assert ("below 2 %" in host.text) is not is_worth


def test_a_pause_of_the_program_is_no_step(tmp_path: Path) -> None:
    """The first step has no time before it, and one after a second of sleep is unlike the rest."""
    begin, steps = 1000, []
    for pause in (400, 400, 400, 1_000_000_000, 400):
        steps.append(_step(begin, 4, length=600, pause=pause))
        begin += pause + 600
    (found,) = _costs(tmp_path, _joined(*steps))
    assert found.step_us == pytest.approx(1.0)
    assert found.gpu_busy_share == pytest.approx(0.6)


def test_steps_of_several_traces_are_taken_together(tmp_path: Path) -> None:
    """One row per batch size, the smallest first, with both files."""
    found = _costs(
        tmp_path, _step(1000, 16, length=600, pause=50), _joined(
            _step(1000, 8, length=600, pause=50), _step(1650, 16, length=700, pause=50))
    )  # fmt: skip
    assert [one.batch_size for one in found] == [8, 16]
    assert found[1].source == f"{tmp_path / '0.sqlite'} + {tmp_path / '1.sqlite'}"
    assert found[1].step_us == pytest.approx((600 + 750) / 2 / 1e3)


def test_pageable_copies_want_pinned_memory(tmp_path: Path) -> None:
    """What could be saved is all the time that they run alone."""
    events = Events(
        kernels=[Kernel(1000, 1100, correlation=1)],
        copies=[Copy(1100, 1900, bytes=1000, kind=1, source=0, destination=2, correlation=2)],
        calls=[Call(900, 910, correlation=1), Call(950, 960, correlation=2)],
        ranges=[Range(880, 970, DECODE.format(8), domain=1)],
        domains={(1000, 1): "nsightlens"},
    )
    (found,) = _costs(tmp_path, events)
    copies = _by_key(found)["copies"]
    assert copies.saving_us == pytest.approx(0.8)
    assert "800 ns of it with pageable memory. Pinning that memory" in copies.text


def test_pinned_copies_save_what_kernels_can_hide(tmp_path: Path) -> None:
    """A kernel of 100 ns hides no more than that of a copy of 800."""
    events = Events(
        kernels=[Kernel(1000, 1100, correlation=1)],
        copies=[Copy(1100, 1900, bytes=1000, kind=1, source=1, destination=2, correlation=2)],
        calls=[Call(900, 910, correlation=1), Call(950, 960, correlation=2)],
        ranges=[Range(880, 970, DECODE.format(8), domain=1)],
        domains={(1000, 1): "nsightlens"},
    )
    (found,) = _costs(tmp_path, events)
    assert _by_key(found)["copies"].saving_us == pytest.approx(0.1)


def test_a_run_of_short_kernels_is_bounded_by_one_of_them(tmp_path: Path) -> None:
    """Four of 100 ns with 20 between: one kernel of 100 would save 300 + 60 at most."""
    begins = [1000 + 120 * at for at in range(4)]
    events = Events(
        kernels=[Kernel(one, one + 100, correlation=one) for one in begins],
        calls=[Call(900 + at, 901 + at, correlation=one) for at, one in enumerate(begins)],
        ranges=[Range(880, 950, DECODE.format(8), domain=1)],
        domains={(1000, 1): "nsightlens"},
    )
    (found,) = _costs(tmp_path, events)
    short = _by_key(found)["short_kernels"]
    assert short.per_step_us == pytest.approx(0.46)
    assert short.saving_us == pytest.approx(0.36)
    assert "4 short kernels in 1 runs" in short.text
    assert "(a bound) would save at most 360 ns" in short.text


def test_without_calls_no_cause_is_made_up(tmp_path: Path) -> None:
    """No cost of waits and of the host, and none of the idle time is said to be saved."""
    (found,) = _costs(tmp_path, Events(kernels=[Kernel(0, 10), Kernel(20, 30)]))
    assert set(_by_key(found)) == {"copies", "gaps", "short_kernels"}
    gaps = _by_key(found)["gaps"]
    assert gaps.per_step_us == pytest.approx(0.01)
    assert gaps.saving_us == 0
    assert "no calls of the host" in gaps.text


def test_a_trace_without_steps_is_one_without_a_batch_size(tmp_path: Path) -> None:
    """Its sentences say so."""
    (found,) = _costs(tmp_path, Events(kernels=[Kernel(0, 10), Kernel(20, 30)]))
    assert found.batch_size is None
    assert all(one.text.startswith("In the whole trace ") for one in found.costs)


def test_a_prefill_is_no_decode_step(tmp_path: Path) -> None:
    """A trace that holds nothing else has no costs."""
    events = _step(1000, 8, length=600, pause=50)
    text = DECODE.format(8).replace("decode", "prefill")
    prefill = Events(
        kernels=events.kernels,
        calls=events.calls,
        ranges=[one._replace(text=text) for one in events.ranges],
        domains=events.domains,
    )
    assert _costs(tmp_path, prefill) == ()
    assert step_costs([]) == ()


def test_each_device_counts(tmp_path: Path) -> None:
    """Of two devices one is busy all the time, the other half of it: three quarters."""
    events = Events(
        kernels=[Kernel(1000, 2000, correlation=1), Kernel(1000, 1500, correlation=2, device=1)],
        calls=[Call(900, 910, correlation=1), Call(920, 930, correlation=2)],
        ranges=[Range(880, 950, DECODE.format(8), domain=1)],
        domains={(1000, 1): "nsightlens"},
    )
    (found,) = _costs(tmp_path, events)
    assert found.step_us == pytest.approx(1.0)
    assert found.gpu_busy_share == pytest.approx(0.75)
