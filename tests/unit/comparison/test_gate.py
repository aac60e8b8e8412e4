"""A gate: what passes, what fails, and what never passes empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.reports import attention_launch, basic_set_launch, failed_launch, gemm_launch
from support.sides import report_in, timed

from nsightlens import tables
from nsightlens.comparison import GateRule, GateRules, NoiseRules, gate
from nsightlens.errors import SettingsFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report


def _row(rule: dict[str, Any], new: Any, base: Any = None) -> dict[str, Any]:
    fields = {"name": "r", "metric": "duration_ns", "unit": "ns", **rule}
    result = gate(GateRules((GateRule(**fields),), NoiseRules(), "gate.toml"), new, base)
    rows = result.rows.to_pylist()
    assert result.passed is (rows[0]["status"] == "passed")
    found: dict[str, Any] = rows[0]
    return found


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Return a report of an attention, a GEMM and two kernels of 1 and 3 ms."""
    launches = [attention_launch(), gemm_launch(), timed(1e6), timed(3e6)]
    return report_in(tmp_path, launches)


@pytest.mark.parametrize(
    ("rule", "status", "worst"),
    [
        ({"most": 3e6}, "passed", 3e6),
        ({"most": 2e6}, "failed", 3e6),
        ({"least": 1e6}, "passed", 1e6),
        ({"least": 2e6}, "failed", 1e6),
        ({"most": 2e6, "aggregate": "mean"}, "passed", 2e6),
        ({"most": 2e6, "aggregate": "max"}, "failed", 3e6),
        ({"least": 2e6, "aggregate": "min"}, "failed", 1e6),
        ({"most": 4e6, "aggregate": "sum"}, "passed", 4e6),
        ({"most": 3.9e6, "aggregate": "sum"}, "failed", 4e6),
        ({"most": 3.9e6, "by": "kernel"}, "failed", 4e6),
    ],
)
def test_a_limit_holds_or_does_not(
    report: Report, rule: dict[str, Any], status: str, worst: float
) -> None:
    """For each value, or for what becomes of all of them."""
    row = _row({"kernel": "axpy", **rule}, report)
    assert (row["status"], row["worst_value"]) == (status, worst)


def test_a_failure_names_what_breaks_the_limit(report: Report) -> None:
    """The worst first."""
    row = _row({"kernel": "axpy", "most": 5e5}, report)
    assert row["failed_count"] == row["checked_count"] == 2
    assert row["message"].startswith("2 of 2 beyond the limit: axpy|")
    assert row["message"].index("3 ms") < row["message"].index("1 ms")
    assert row["worst_key"].endswith("|1")


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        ({}, 4),
        ({"families": ("attention",)}, 1),
        ({"kernel": "axpy"}, 2),
        ({"phases": ("decode",)}, 2),
        ({"batch_sizes": (64,)}, 1),
        ({"batch_sizes": (64, 512)}, 2),
        ({"nvtx": ("*fc1*",)}, 1),
        ({"phases": ("decode",), "families": ("gemm",)}, 1),
    ],
)
def test_a_scope_says_which_launches_are_checked(
    report: Report, scope: dict[str, Any], count: int
) -> None:
    """A launch is checked that passes all of it."""
    assert _row({"most": 1e9, **scope}, report)["checked_count"] == count


@pytest.mark.parametrize(
    "rule", [{"most": 1e9}, {"metric": "bound", "expected": ("memory",)}, {"increase_pct": 5.0}]
)
def test_a_rule_whose_scope_holds_no_launch_fails(report: Report, rule: dict[str, Any]) -> None:
    """It never passes empty."""
    row = _row({**rule, "families": ("moe_routing",)}, report, report)
    assert row["status"] == "failed"
    assert row["message"] == "no launch is in its scope (family moe_routing)"


def test_a_value_that_is_not_known_fails_unless_it_is_to_be_ignored(tmp_path: Path) -> None:
    """Missing is not zero, and not fine."""
    report = report_in(tmp_path, [timed(1e6), basic_set_launch(), failed_launch()])
    rule = {"metric": "dram_bytes", "unit": "B", "most": 1e9}
    row = _row(rule, report)
    assert (row["status"], row["missing_count"], row["checked_count"]) == ("failed", 2, 1)
    assert "2 are missing: dram_bytes of" in row["message"]
    assert _row({**rule, "missing": "ignore"}, report)["status"] == "passed"


def test_a_rule_of_which_every_value_is_ignored_fails(tmp_path: Path) -> None:
    """There is nothing left to check."""
    report = report_in(tmp_path, [failed_launch()])
    row = _row({"most": 1e9, "missing": "ignore"}, report)
    assert row["message"] == "nothing is left to check: every value is missing"


@pytest.mark.parametrize(("by", "count"), [("launch", 2), ("family", 2)])
def test_an_expected_label_is_that_of_every_row(report: Report, by: str, count: int) -> None:
    """A launch or a group with another one breaks the rule."""
    scope = {"metric": "bound", "unit": "", "phases": ("decode",), "by": by}
    row = _row({**scope, "expected": ("memory",)}, report)
    assert (row["status"], row["failed_count"]) == ("failed", 1)
    assert "is compute" in row["message"]
    row = _row({**scope, "expected": ("memory", "compute")}, report)
    assert (row["status"], row["checked_count"]) == ("passed", count)


def test_a_label_that_is_not_decided_is_missing(tmp_path: Path) -> None:
    """Unless unknown is what is expected."""
    report = report_in(tmp_path, [failed_launch()])
    rule = {"metric": "bound", "unit": "", "expected": ("memory",)}
    assert _row(rule, report)["missing_count"] == 1
    assert _row({**rule, "expected": ("unknown",)}, report)["status"] == "passed"


def test_a_change_is_measured_against_the_base(tmp_path: Path) -> None:
    """Up or down, beyond the limit and the noise."""
    base = report_in(tmp_path, [timed(1e6), timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1.2e6), timed(0.7e6)], "new.ncu-rep")
    row = _row({"increase_pct": 10.0}, new, base)
    assert (row["status"], row["failed_count"], row["unit"]) == ("failed", 1, "%")
    assert row["worst_value"] == pytest.approx(20.0)
    assert "+20 % (noise 3.01 %)" in row["message"]
    assert _row({"increase_pct": 25.0}, new, base)["status"] == "passed"
    assert _row({"decrease_pct": 25.0}, new, base)["status"] == "failed"
    assert _row({"decrease_pct": 35.0}, new, base)["status"] == "passed"


def test_a_change_within_the_noise_is_no_failure(tmp_path: Path) -> None:
    """It is told, though."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1.02e6)], "new.ncu-rep")
    row = _row({"increase_pct": 1.0}, new, base)
    assert (row["status"], row["noise_count"]) == ("passed", 1)
    assert "1 beyond it within the noise" in row["message"]


def test_what_has_no_counterpart_is_missing_from_a_change(tmp_path: Path) -> None:
    """Added launches must not slip through; they may be ignored."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), timed(1e6)], "new.ncu-rep")
    row = _row({"increase_pct": 1.0}, new, base)
    assert (row["status"], row["missing_count"]) == ("failed", 1)
    assert "added: not in the base" in row["message"]
    assert _row({"increase_pct": 1.0, "missing": "ignore"}, new, base)["status"] == "passed"


def test_what_cannot_be_compared_is_missing_but_for_what_is_counted(tmp_path: Path) -> None:
    """Another clock changes a duration, and no byte."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6, sm_clock_hz=1e9)], "new.ncu-rep")
    assert "another SM clock" in _row({"increase_pct": 1.0}, new, base)["message"]
    bytes_rule = {"metric": "dram_bytes", "unit": "B", "increase_pct": 1.0}
    assert _row(bytes_rule, new, base)["status"] == "passed"


def test_the_change_of_a_sum_counts_what_was_added_and_removed(tmp_path: Path) -> None:
    """A kernel more makes a step slower."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), timed(5e5)], "new.ncu-rep")
    row = _row({"increase_pct": 10.0, "aggregate": "sum"}, new, base)
    assert (row["status"], row["worst_value"]) == ("failed", pytest.approx(50.0))
    assert _row({"increase_pct": 60.0, "aggregate": "sum"}, new, base)["status"] == "passed"
    alone = _row(
        {"increase_pct": 10.0, "aggregate": "sum"}, new, report_in(tmp_path, [], "0.ncu-rep")
    )
    assert "no duration to compare with" in alone["message"]


def test_repeats_are_averaged_and_not_added_up(tmp_path: Path) -> None:
    """Three reports of one run are not three runs."""
    repeats = [report_in(tmp_path, [timed(ns)], f"{ns}.ncu-rep") for ns in (1e6, 2e6, 3e6)]
    row = _row({"most": 2.1e6, "aggregate": "sum"}, repeats)
    assert (row["status"], row["worst_value"]) == ("passed", 2e6)
    row = _row({"most": 2.1e6, "by": "family", "aggregate": "sum"}, repeats)
    assert (row["status"], row["worst_value"]) == ("passed", 2e6)


def test_a_number_of_a_group_is_that_of_its_label(report: Report) -> None:
    """From sums, not the mean of percentages."""
    rule = {"metric": "dram_throughput_pct", "unit": "%", "by": "family", "least": 80.0}
    assert _row({**rule, "families": ("attention",)}, report)["status"] == "passed"


def test_a_column_of_launches_may_be_limited_too(report: Report) -> None:
    """Not only those of labels."""
    rule = {"metric": "registers_per_thread_count", "unit": "", "most": 64.0}
    assert _row(rule, report)["status"] == "passed"


def test_a_change_without_a_base_is_refused(report: Report) -> None:
    """With the option that names one."""
    with pytest.raises(SettingsFileError, match=r"in \[\[rule\]\] 1: .*--base"):
        _row({"increase_pct": 1.0}, report)


def test_the_result_has_its_schema(report: Report) -> None:
    """A program may rely on it."""
    rules = GateRules((GateRule("r", "duration_ns", "ns", most=1.0),), NoiseRules(), "g")
    result = gate(rules, report)
    assert result.rows.schema.equals(tables.schema_of(tables.GATE), check_metadata=True)
    assert repr(result) == "<GateResult: 1 of 1 rules failed>"
