"""Numbers of a launch are found by name, and what is not known has no value."""

from __future__ import annotations

import math

import pytest
from support.explained import quantities_of


def test_a_number_comes_from_launch_label_resource_or_metric() -> None:
    """Each by its own name and with its unit."""
    q = quantities_of(
        {
            "duration_ns": 1500.0,
            "limiter_fraction": 0.5,
            "fraction:dram": 0.914,
            "smsp__thread_inst_executed_per_inst_executed.ratio": 31.5,
            "dram__bytes_read.sum": 2048.0,
        }
    )
    assert str(q.number("duration_ns")) == "1.5 us"
    assert str(q.number("limiter_fraction")) == "0.5"
    assert str(q.number("dram_of_peak_pct")) == "91 %"
    assert str(q.number("threads_per_instruction")) == "31.5"
    assert str(q.number("dram__bytes_read.sum")) == "2.05 kB"


def test_what_is_not_known_has_no_value_and_fails_every_comparison() -> None:
    """A rule need not ask first."""
    q = quantities_of({})
    for name in ("duration_ns", "dram_of_peak_pct", "tail_loss_pct", "atomics_pct", "no__metric.x"):
        assert q.value(name) is None
        assert q.number(name) is None
        assert math.isnan(q(name))


def test_a_truth_value_is_no_number() -> None:
    """True is not one of anything."""
    assert quantities_of({"clock_dependent": True}).value("clock_dependent") is None


@pytest.mark.parametrize(
    ("waves", "loss"), [(1.1, 45.0), (3.0, 0.0), (2.5, 100 / 6), (1.0, None), (0.3, None)]
)
def test_a_tail_is_what_the_last_wave_leaves_empty(waves: float, loss: float | None) -> None:
    """1 - waves / ceil(waves); a grid of one wave or less has no tail of this kind."""
    found = quantities_of({"waves_per_multiprocessor": waves}).value("tail_loss_pct")
    assert found == (None if loss is None else pytest.approx(loss))


def test_rows_of_padding_do_not_count_on_the_way_to_the_ridge() -> None:
    """Executed intensity 8 of 256 with each operation done four times is useful intensity 2."""
    numbers = {
        "arithmetic_intensity_flop_per_byte": 8.0,
        "ridge_point_flop_per_byte": 256.0,
    }
    assert quantities_of(numbers)("rows_to_ridge") == 32
    assert quantities_of({**numbers, "executed_per_useful_flop": 4.0})("rows_to_ridge") == 128


def test_the_limiter_stands_for_the_resource_that_is() -> None:
    """So that a rule for several limiters has one text."""
    q = quantities_of({"limiter": "tensor_bf16", "fraction:tensor_bf16": 0.62})
    assert q("limiter_of_peak_pct") == pytest.approx(62)
