"""Verdicts: what improved, what regressed, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.reports import SM_CLOCK_HZ, attention_launch, failed_launch, gemm_launch
from support.sides import metrics_of, report_in, timed

from nsightlens import compare, open_report, tables
from nsightlens.comparison import NoiseRules
from nsightlens.errors import MissingExtraError
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep import write_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path


def _only(comparison: Any) -> dict[str, Any]:
    rows = comparison.rows.to_pylist()
    assert len(rows) == 1
    found: dict[str, Any] = rows[0]
    return found


@pytest.mark.parametrize(
    ("new_ns", "verdict"),
    [(1.5e6, "regressed"), (1.01e6, "indistinguishable"), (0.5e6, "improved")],
)
def test_a_change_beyond_the_noise_has_a_verdict(
    tmp_path: Path, new_ns: float, verdict: str
) -> None:
    """And a reason with the numbers."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    row = _only(compare(base, report_in(tmp_path, [timed(new_ns)], "new.ncu-rep")))
    assert row["verdict"] == verdict
    assert row["duration_change_pct"] == pytest.approx(100 * (new_ns / 1e6 - 1))
    assert "1 ms to" in row["reason"]
    assert "no repeats were given" in row["reason"]


def test_several_reports_of_a_side_are_repeats(tmp_path: Path) -> None:
    """Their spread is the noise, and their mean is compared."""
    base = [report_in(tmp_path, [timed(ns)], f"b{ns}.ncu-rep") for ns in (1e6, 1.001e6, 0.999e6)]
    new = [report_in(tmp_path, [timed(ns)], f"n{ns}.ncu-rep") for ns in (1.02e6, 1.021e6, 1.019e6)]
    row = _only(compare(base, new))
    assert (row["verdict"], row["noise_source"]) == ("regressed", "repeats")
    assert (row["base_repeat_count"], row["new_repeat_count"]) == (3, 3)
    assert row["new_duration_ns"] == pytest.approx(1.02e6)
    assert "3 and 3 repeats, 99 % interval" in row["reason"]
    assert _only(compare(base[0], new[0]))["verdict"] == "indistinguishable"


def test_a_copy_of_a_report_is_no_repeat(tmp_path: Path) -> None:
    """It would make the noise look smaller than it is; what differs in one number is a repeat."""
    one = report_in(tmp_path, [timed(1e6)])
    twice = compare([one, one], one)
    assert _only(twice)["base_repeat_count"] == 1
    assert twice.notes[0].endswith("one.ncu-rep is given twice and counts once: "
                                   "it is no repeat of itself.")  # fmt: skip
    copy = report_in(tmp_path, [timed(1e6)], "copy.ncu-rep")
    copied = compare(one, [one, copy])
    assert _only(copied)["noise_source"] == "default"
    assert "copy.ncu-rep is a copy of" in copied.notes[0]
    other = report_in(tmp_path, [timed(1e6 + 32)], "other.ncu-rep")
    found = compare([one, other], one)
    assert (_only(found)["base_repeat_count"], found.notes) == (2, ())


def test_noise_is_more_than_a_number(tmp_path: Path) -> None:
    """The message names the way."""
    one = report_in(tmp_path, [timed(1e6)])
    with pytest.raises(TypeError, match="unrepeated_pct"):
        compare(one, one, noise=5)  # type: ignore[arg-type]


def test_noise_can_be_stated(tmp_path: Path) -> None:
    """Where somebody knows better than the default."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1.04e6)], "new.ncu-rep")
    assert _only(compare(base, new))["verdict"] == "regressed"
    wide = compare(base, new, noise=NoiseRules(unrepeated_pct=10))
    assert _only(wide)["verdict"] == "indistinguishable"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"sm_clock_hz": 1.2e9}, "another SM clock: 1.5 GHz in the base, 1.2 GHz now"),
        ({"dram_clock_hz": 2e9}, "another DRAM clock: 2.62 GHz in the base, 2 GHz now"),
        (
            {"metrics": {"device__attribute_display_name": "NVIDIA H200"}},
            "another GPU: H100 80GB HBM3 in the base, H200 now",
        ),
        (
            {"metrics": {"device__attribute_multiprocessor_count": 114}},
            "another number of SMs: 132 in the base, 114 now",
        ),
    ],
)
def test_a_launch_under_other_conditions_is_not_comparable(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    """It says which, and shows the change all the same."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    row = _only(compare(base, report_in(tmp_path, [timed(1e6, **fields)], "new.ncu-rep")))
    assert row["verdict"] == "not_comparable"
    assert row["reason"].startswith(reason)
    assert row["duration_change_pct"] == 0.0


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--clock-control none", "another clock control: base in the base, none now"),
        ("--cache-control none", "another cache control: all in the base, none now"),
        ("--replay-mode application", "another replay mode: kernel in the base, application now"),
    ],
)
def test_a_report_that_ncu_collected_in_another_way_is_not_comparable(
    tmp_path: Path, option: str, reason: str
) -> None:
    """What its command line does not say is ncu's default."""
    line = "ncu --clock-control base -o x app"
    base = report_in(tmp_path, [timed(1e6)], "b.ncu-rep", profiler_command_line=line)
    other = (
        line.replace("--clock-control base", option) if "clock" in option else f"{line} {option}"
    )
    other = other if "clock" in option else f"ncu {option} --clock-control base app"
    new = report_in(tmp_path, [timed(1e6)], "n.ncu-rep", profiler_command_line=other)
    assert _only(compare(base, new))["reason"].startswith(reason)


def test_what_neither_report_says_speaks_against_nothing(tmp_path: Path) -> None:
    """A report without a command line may have been collected in any way."""
    base = report_in(tmp_path, [timed(1e6)], "b.ncu-rep", profiler_command_line=None)
    line = "ncu --cache-control none app"
    new = report_in(tmp_path, [timed(1e6)], "n.ncu-rep", profiler_command_line=line)
    assert _only(compare(base, new))["verdict"] == "indistinguishable"


def test_the_clock_of_short_launches_is_not_taken_at_its_word(tmp_path: Path) -> None:
    """Under 100 us it is noise; the mean over the longer launches of the side counts."""
    base = report_in(tmp_path, [timed(1e4), timed(1e6)], "base.ncu-rep")
    new = [timed(1e4, sm_clock_hz=1.4e9), timed(1e6)]
    verdicts = compare(base, report_in(tmp_path, new, "new.ncu-rep")).rows["verdict"].to_pylist()
    assert verdicts == ["indistinguishable", "indistinguishable"]


def test_where_all_launches_are_short_their_mean_clock_counts_with_more_tolerance(
    tmp_path: Path,
) -> None:
    """As in a decode step at a small batch size: another clock is no faster kernel."""
    base = report_in(tmp_path, [timed(5e3), timed(8e3)], "base.ncu-rep")
    close = [timed(ns, sm_clock_hz=1.08 * SM_CLOCK_HZ) for ns in (5e3, 8e3)]
    far = [timed(ns / 1.4, sm_clock_hz=1.4 * SM_CLOCK_HZ) for ns in (5e3, 8e3)]
    same = compare(base, report_in(tmp_path, close, "close.ncu-rep"))
    assert same.total.row_counts["indistinguishable"] == 2
    other = compare(base, report_in(tmp_path, far, "far.ncu-rep"))
    assert other.total.row_counts["not_comparable"] == 2
    assert other.total.headline.startswith("Not comparable: another SM clock: 1.5 GHz")


def test_another_context_length_is_other_work_for_what_depends_on_it(tmp_path: Path) -> None:
    """Attention does; a GEMM that counts as many operations does not."""
    sides = []
    for context in (500, 1000):
        path = tmp_path / f"{context}.ncu-rep"
        write_ncu_rep(path, decode_sweep([8], context=context))
        sides.append(open_report(path))
    rows = {row["family"]: row for row in compare(*sides).rows.to_pylist()}
    reason = rows["attention"]["reason"]
    assert rows["attention"]["verdict"] == "not_comparable"
    assert reason.startswith("another context length: 500 in the base, 1000 now")
    assert rows["gemm"]["verdict"] == "indistinguishable"


@pytest.mark.parametrize("by", ["kernel", "family"])
def test_groups_of_other_numbers_of_launches_are_not_comparable(tmp_path: Path, by: Any) -> None:
    """Half as many layers are no improvement; both numbers are told, and the time of each."""
    base = report_in(tmp_path, [timed(1e4)] * 4, "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e4)] * 2, "new.ncu-rep")
    row = _only(compare(base, new, by=by))
    assert row["verdict"] == "not_comparable"
    assert row["reason"].startswith(
        "another number of measured launches: 4 in the base, 2 now, with 0 % per launch"
    )


def test_the_headline_takes_in_what_was_added(tmp_path: Path) -> None:
    """A step with a launch more takes longer, though none of its launches does."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), timed(2e5, "unheard_of")], "new.ncu-rep")
    headline = compare(base, new).total.headline
    assert "; with what was added: 1 ms to 1.2 ms, +20 %. Launches:" in headline


def test_the_headline_does_not_hide_a_change_behind_the_sum(tmp_path: Path) -> None:
    """It says that it is about the sum."""
    base = report_in(tmp_path, [timed(1e6), timed(1e4, "short")], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), timed(2e4, "short")], "new.ncu-rep")
    headline = compare(base, new).total.headline
    assert headline.startswith("No change that can be told from noise in the sum: ")
    assert "1 regressed" in headline


def test_the_headline_of_what_cannot_be_compared_quotes_no_single_row(tmp_path: Path) -> None:
    """But the reason that most rows have."""
    base = report_in(tmp_path, [timed(1e6), timed(2e6), timed(None, "a")], "base.ncu-rep")
    gpu: dict[str, Any] = {"metrics": {"device__attribute_display_name": "NVIDIA H200"}}
    new = [timed(3e6, **gpu), timed(6e6, **gpu), timed(None, "a", **gpu)]
    headline = compare(base, report_in(tmp_path, new, "new.ncu-rep")).total.headline
    assert headline == (
        "Not comparable: another GPU: H100 80GB HBM3 in the base, H200 now (2 of 3 launches). "
        "Launches: 3 not comparable."
    )


@pytest.mark.parametrize("is_base", [True, False])
def test_a_failed_or_missing_duration_is_not_comparable(tmp_path: Path, is_base: bool) -> None:
    """It is no zero."""
    good = report_in(tmp_path, [timed(1e6)], "good.ncu-rep")
    bad = report_in(tmp_path, [timed(None)], "bad.ncu-rep")
    row = _only(compare(bad, good) if is_base else compare(good, bad))
    side = "the base" if is_base else "the new side"
    assert row["verdict"] == "not_comparable"
    assert row["reason"].startswith(f"no duration on {side}")
    failed = report_in(tmp_path, [failed_launch()], "failed.ncu-rep")
    assert _only(compare(failed, failed))["verdict"] == "not_comparable"


def test_a_quantity_that_one_side_alone_has_is_named(tmp_path: Path) -> None:
    """Another set of metrics changes no duration, but leaves less to compare."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    without = timed(1e6)
    metrics = {name: value for name, value in metrics_of(without).items() if "dram__" not in name}
    new = report_in(tmp_path, [replace(without, metrics=metrics)], "new.ncu-rep")
    row = _only(compare(base, new))
    assert row["verdict"] == "indistinguishable"
    assert "dram_bytes" in row["not_compared"]
    assert row["dram_bytes_change_pct"] is None


def test_bytes_and_operations_are_compared_with_a_narrow_band(tmp_path: Path) -> None:
    """They are counted."""
    one = report_in(tmp_path, [gemm_launch(512)], "base.ncu-rep")
    row = _only(compare(one, one))
    assert row["flop_count_change_pct"] == 0.0
    assert row["flop_count_noise_pct"] == pytest.approx(0.1)
    assert row["dram_bytes_noise_pct"] < 2.1


def test_a_label_that_changed_is_marked(tmp_path: Path) -> None:
    """From unknown to something is no change."""
    launch = attention_launch()
    base = report_in(tmp_path, [launch], "base.ncu-rep")
    changed = replace(launch, metrics=gemm_launch().metrics)
    new = report_in(tmp_path, [changed], "new.ncu-rep")
    row = _only(compare(base, new))
    assert (row["base_bound"], row["new_bound"]) == ("memory", "compute")
    assert row["is_label_changed"] is True
    assert _only(compare(base, base))["is_label_changed"] is False


def test_totals_are_over_what_can_be_compared(tmp_path: Path) -> None:
    """What was added or removed is told beside them."""
    base = report_in(tmp_path, [timed(1e6), gemm_launch()], "base.ncu-rep")
    new = report_in(tmp_path, [timed(2e6), timed(5e5)], "new.ncu-rep")
    total = compare(base, new).total
    assert (total.base_duration_ns, total.new_duration_ns) == (1e6, 2e6)
    assert (total.added_duration_ns, total.removed_duration_ns) == (5e5, 3e4)
    assert total.headline == (
        "Slower: 1 ms to 2 ms, +100 % (noise -2.92 to +3.01 %); with what was added and removed: "
        "1.03 ms to 2.5 ms, +143 %. Launches: 1 regressed, 1 added, 1 removed."
    )


def test_families_have_their_own_verdict(tmp_path: Path) -> None:
    """And are sorted by their time."""
    base = report_in(tmp_path, [timed(1e5, "gemm_a"), attention_launch()], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e5, "gemm_a"), timed(3e6, "gemm_b")], "new.ncu-rep")
    families = compare(base, new).families.to_pylist()
    assert [(row["family"], row["verdict"]) for row in families] == [
        ("gemm", "indistinguishable"),
        ("attention", "removed"),
    ]
    assert families[0]["added_duration_ns"] == 3e6


def test_the_repeats_of_a_total_are_whole_reports(tmp_path: Path) -> None:
    """A sweep of one report per batch size is no set of repeats."""
    parts = [report_in(tmp_path, [timed(ns, f"k{i}")], f"{i}.ncu-rep")
             for i, ns in enumerate((1e6, 3e6))]  # fmt: skip
    total = compare(parts, parts).total
    assert (total.base_duration_ns, total.noise_source) == (4e6, "default")
    repeats = [
        report_in(tmp_path, [timed(1e6 + 32 * i), timed(3e6 - 32 * i)], f"r{i}.ncu-rep")
        for i in range(3)
    ]
    total = compare(repeats, repeats).total
    assert (total.base_duration_ns, total.noise_source) == (4e6, "repeats")


def test_a_report_without_launches_compares_with_anything(tmp_path: Path) -> None:
    """Everything is added, or nothing is there."""
    empty = report_in(tmp_path, [], "empty.ncu-rep")
    some = report_in(tmp_path, [timed(1e6)], "some.ncu-rep")
    assert _only(compare(empty, some))["verdict"] == "added"
    assert _only(compare(some, empty, by="family"))["verdict"] == "removed"
    assert compare(empty, empty).rows.num_rows == 0
    assert (
        compare(empty, empty).total.headline == "Nothing is on both sides. There are no launches."
    )


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    """With the way to one."""
    report = report_in(tmp_path, [timed(1e6)])
    with pytest.raises(TypeError, match="open_report"):
        compare("base.ncu-rep", report)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one"):
        compare([], report)
    with pytest.raises(ValueError, match="by must be"):
        compare(report, report, by="nothing")  # type: ignore[arg-type]


def test_the_tables_have_their_schemas_and_become_data_frames(tmp_path: Path) -> None:
    """A program may rely on them."""
    report = report_in(tmp_path, [timed(1e6)])
    comparison = compare(report, report)
    assert comparison.rows.schema.equals(tables.schema_of(tables.COMPARISON), check_metadata=True)
    assert comparison.families.schema.names == [c.name for c in tables.COMPARISON_FAMILIES]
    assert "No change" in repr(comparison)
    assert len(comparison) == 1
    with pytest.raises(ValueError, match="rows or families"):
        comparison.to_pandas("nothing")  # type: ignore[arg-type]
    try:
        assert comparison.to_pandas("families")["family"].tolist() == ["elementwise"]
    except MissingExtraError:
        pytest.skip("pandas is not installed")
