"""A gate: what passes, what fails, and what never passes empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.reports import (
    attention_launch,
    basic_set_launch,
    cuda_core_metrics,
    failed_launch,
    gemm_launch,
    tensor_metrics,
)
from support.sides import report_in, timed

from nsightlens import tables
from nsightlens.comparison import GateRule, GateRules, NoiseRules, compare, gate
from nsightlens.errors import SettingsFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec
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


def test_repeats_that_scatter_beyond_all_measure_pass_no_gate(tmp_path: Path) -> None:
    """No change can be told, so none is known."""
    sides = [
        [report_in(tmp_path, [timed(ns)], f"{name}{ns}.ncu-rep") for ns in durations]
        for name, durations in (("b", (1e5, 9e5)), ("n", (3e6, 4e6)))
    ]
    for aggregate in ("each", "sum"):
        row = _row({"increase_pct": 5.0, "aggregate": aggregate}, sides[1], sides[0])
        assert row["status"] == "failed"
        assert "scatter too much" in row["message"]


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


def test_what_cannot_be_compared_is_missing_for_every_metric(tmp_path: Path) -> None:
    """Caches of another GPU change the bytes, too; the reason has no duration in it then."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6, sm_clock_hz=1e9)], "new.ncu-rep")
    assert "another SM clock" in _row({"increase_pct": 1.0}, new, base)["message"]
    bytes_rule = {"metric": "dram_bytes", "unit": "B", "increase_pct": 1.0}
    row = _row(bytes_rule, new, base)
    assert (row["status"], row["missing_count"]) == ("failed", 1)
    assert row["message"].endswith(
        "(not comparable: another SM clock: 1.5 GHz in the base, 1 GHz now)"
    )


@pytest.mark.parametrize(
    ("base_ns", "new_ns", "rule"),
    [
        (320000.0, 336000.0, {"increase_pct": 5.0}),
        (320000.0, 336000.0, {"increase_pct": 5.0, "aggregate": "sum"}),
        (300000.0, 270000.0, {"decrease_pct": 10.0}),
        (1e6, 1e6 * (0.1 + 0.2), {"most": 3e5}),
        (1e6, 1e6 * (1.1 - 0.8), {"least": 3e5 + 1e-5}),
    ],
)
def test_a_limit_that_is_exactly_met_holds(
    tmp_path: Path, base_ns: float, new_ns: float, rule: dict[str, Any]
) -> None:
    """Whatever floating point makes of it."""
    base = report_in(tmp_path, [timed(base_ns)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(new_ns)], "new.ncu-rep")
    assert _row(rule, new, base)["status"] == "passed"


def _counted(ffma: float) -> LaunchSpec:
    """Return a launch of 1 ms of which every operation was counted."""
    half = {
        f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed": 0.0
        for op in ("hfma", "hadd", "hmul")
    }
    work = cuda_core_metrics(ffma=ffma, duration_ns=1e6)
    return timed(1e6, metrics={**work, **half, **tensor_metrics(0.0, 1e6)})


FLOP_RULE = {"metric": "flop_count", "unit": "FLOP", "increase_pct": 0.0, "decrease_pct": 50.0}


def test_no_operations_are_no_change_to_no_operations(tmp_path: Path) -> None:
    """A report passes against itself; a copy kernel does no arithmetic."""
    report = report_in(tmp_path, [_counted(0.0), _counted(5e5)])
    row = _row(FLOP_RULE, report, report)
    assert (row["status"], row["checked_count"]) == ("passed", 2)
    assert row["message"].startswith("2 launches: 0 %, ")
    assert compare(report, report).rows["flop_count_change_pct"].to_pylist() == [0.0, 0.0]


def test_a_change_from_nothing_is_beyond_every_limit(tmp_path: Path) -> None:
    """And to nothing it is a decrease of 100 %."""
    none = report_in(tmp_path, [_counted(0.0)], "none.ncu-rep")
    some = report_in(tmp_path, [_counted(5e5)], "some.ncu-rep")
    row = _row({**FLOP_RULE, "increase_pct": 1e9}, some, none)
    assert (row["status"], row["checked_count"], row["missing_count"]) == ("failed", 1, 0)
    assert row["message"].endswith("from 0 to 1 MFLOP")
    row = _row(FLOP_RULE, none, some)
    assert (row["status"], row["worst_value"]) == ("failed", -100.0)
    assert _row({**FLOP_RULE, "decrease_pct": None}, none, some)["status"] == "passed"


def test_a_missing_change_is_explained_by_its_own_metric(tmp_path: Path) -> None:
    """Not by the duration, which may be known."""
    known = report_in(tmp_path, [_counted(5e5)], "known.ncu-rep")
    lacking = report_in(tmp_path, [timed(1e6)], "lacking.ncu-rep")
    for base, new, where in (
        (known, lacking, "in the new reports"),
        (lacking, known, "in the base"),
        (lacking, lacking, "on either side"),
    ):
        row = _row(FLOP_RULE, new, base)
        assert row["message"].endswith(f"(flop_count is not known {where})")


def test_a_value_and_its_limit_are_told_apart(tmp_path: Path) -> None:
    """With as many digits as that takes, whether it holds or not."""
    report = report_in(tmp_path, [timed(15232.0)])
    row = _row({"most": 15231.0}, report)
    assert row["message"].endswith("is 15.232 us")
    assert row["limit"] == "at most 15.231 us"
    row = _row({"most": 15232.5}, report)
    assert row["message"] == "1 launch: 15.2 us, at most 15.2325 us"
    row = _row({"least": 15210.0}, report)
    assert row["message"] == "1 launch: 15.23 us, at least 15.21 us"


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
    assert alone["message"] == (
        "nothing is left to check: the base has no duration to compare with"
    )
    assert alone["missing_count"] == 0


def test_launches_without_a_duration_are_missing_from_the_change_of_a_sum(tmp_path: Path) -> None:
    """Those that were added, too; each counts once, beside what is left to check."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), failed_launch()], "new.ncu-rep")
    row = _row({"increase_pct": 10.0, "aggregate": "sum"}, new, base)
    assert (row["status"], row["missing_count"], row["checked_count"]) == ("failed", 1, 1)
    row = _row({"increase_pct": 10.0, "aggregate": "sum"}, new, new)
    assert row["missing_count"] == 1
    nothing = report_in(tmp_path, [failed_launch()], "nothing.ncu-rep")
    row = _row({"increase_pct": 10.0, "aggregate": "sum"}, nothing, nothing)
    assert row["message"].startswith("1 is missing: ")
    assert row["message"].endswith("the base has no duration to compare with")


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
