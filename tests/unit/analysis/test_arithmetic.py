"""The arithmetic of one label, said step by step."""

from __future__ import annotations

import pytest
from support.rooflines import launch, parts
from support.stores import report_of

from nsightlens.analysis import explain
from nsightlens.analysis.arithmetic import level_step


@pytest.mark.parametrize(("intensity", "said"), [(66.2, "66.2 of 65.8 (on it, memory)"),
                                                 (50.0, "50 of 65.8 (memory)")])  # fmt: skip
def test_an_intensity_close_to_a_ridge_is_said_to_be_on_it(intensity: float, said: str) -> None:
    """The intensity counts every data type and the ridge one: a percent apart says nothing."""
    roofs = {"ridge_point_flop_per_byte": 65.8, "flop_count": 1e9, "roofline_bound": "memory",
             "arithmetic_intensity_flop_per_byte": intensity}  # fmt: skip
    assert said in level_step([roofs | {"level": "dram"}, roofs | {"level": "l2"}])


@pytest.mark.parametrize(
    ("busy", "said"),
    [
        ({"dram": 79.999, "issue": 75.0}, "79.999 % is between 60 % and 80 %"),
        ({"dram": 59.996, "issue": 5.0}, "59.996 % is below 60 %"),
    ],
)
def test_what_rounds_to_a_threshold_is_printed_below_it(busy: dict[str, float], said: str) -> None:
    """80 % is not between 60 and 80 %."""
    report = report_of(launch(parts(**busy)))
    assert any(said in step.text for step in explain(report, 0).steps)


def test_of_a_launch_that_took_no_time_the_duration_is_the_problem() -> None:
    """Its parts were collected; no share of a time of zero follows from them."""
    report = report_of(launch(parts(dram=80.0, issue=20.0), duration_ns=0.0))
    text = " ".join(step.text for step in explain(report, 0).steps)
    assert "memory at most 80 % (the duration is 0)" in text
    assert "not collected" not in text
