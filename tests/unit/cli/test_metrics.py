"""metrics: names and values, exactly as the report stores them."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.reports import make_launch, write_report

if TYPE_CHECKING:
    from support.command import CommandLine

    from nsightlens.ncurep.spec import Value


def _values(run: CommandLine, *words: str) -> list[dict[str, Any]]:
    done = run("metrics", *words, "-f", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


def test_every_kind_of_value_keeps_its_kind(run: CommandLine) -> None:
    """Integers all their digits, NaN and infinity their names, missing is null."""
    values: dict[str, Value] = {
        "x__integer": 2**64 - 1,
        "x__real": 0.1,
        "x__nan": math.nan,
        "x__inf": -math.inf,
        "x__text": "nan",
        "x__null": None,
    }
    write_report(Path(), [make_launch("k", values)], name="kinds.ncu-rep")
    rows = _values(run, "kinds.ncu-rep", "--like", "x__*")
    assert {row["metric"]: (row["kind"], row["value"]) for row in rows} == {
        "x__inf": ("real", "-inf"),
        "x__integer": ("integer", 18446744073709551615),
        "x__nan": ("real", "nan"),
        "x__null": ("null", None),
        "x__real": ("real", 0.1),
        "x__text": ("text", "nan"),
    }
    text = run("metrics", "kinds.ncu-rep", "--like", "x__*").out
    assert "18446744073709551615" in text


def test_values_stand_by_launch_and_then_by_name(run: CommandLine) -> None:
    """A launch without the metric has no row."""
    rows = _values(run, "all.ncu-rep", "--like", "dram__bytes_*.sum")
    assert [(row["launch_id"], row["metric"]) for row in rows] == [
        (0, "dram__bytes_read.sum"),
        (0, "dram__bytes_write.sum"),
        (1, "dram__bytes_read.sum"),
        (1, "dram__bytes_write.sum"),
    ]
    assert {row["unit"] for row in rows} == {"B"}


def test_without_a_pattern_the_names_are_listed(run: CommandLine) -> None:
    """With the number of launches that have a value."""
    rows = {row["metric"]: row for row in _values(run, "all.ncu-rep")}
    assert rows["dram__bytes_read.sum"] == {
        "key": "dram__bytes_read.sum",
        "metric": "dram__bytes_read.sum",
        "unit": "B",
        "value_count": 2,
        "launch_count": 5,
    }
    assert list(rows) == sorted(rows)
    assert "2/5" in run("metrics", "all.ncu-rep", "--width", "120").out


def test_a_wide_table_has_a_column_per_metric(run: CommandLine) -> None:
    """And an empty cell for a launch that lacks it."""
    done = run("metrics", "all.ncu-rep", "--like", "dram__bytes_read.sum", "--wide", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert list(rows[0]) == ["report", "launch_id", "kernel", "dram__bytes_read.sum"]
    assert [row["dram__bytes_read.sum"] for row in rows][1:] == ["35651584.0", "", "", ""]


def test_metrics_that_do_not_fit_are_named(run: CommandLine) -> None:
    """A column that is left out is not lost without a word."""
    done = run("metrics", "all.ncu-rep", "--like", "dram__*", "--wide", "--width", "60")
    _, found, names = done.out.partition("not shown for want of width: ")
    assert found
    assert names.startswith("dram__")


def test_of_many_metrics_that_do_not_fit_the_number_is_told(run: CommandLine) -> None:
    """A list of all of them would fill the screen; no line is wider than it."""
    done = run("metrics", "all.ncu-rep", "--like", "*", "--wide", "--width", "60")
    assert "more (-o FILE.csv has them all)" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 60


def test_names_make_room_for_units_before_they_are_cut(run: CommandLine) -> None:
    """The number of launches goes first; what follows the point stays readable."""
    name = "smsp__sass_thread_inst_executed_op_fadd_pred_on.avg.pct_of_peak_sustained_active"
    write_report(Path(), [make_launch("k", {name: 1.0})], name="long.ncu-rep")
    listed = run("metrics", "long.ncu-rep", "--width", "100").out
    assert listed.splitlines()[0].split() == ["metric", "unit"]
    assert name in listed
    name = "smsp__sass_thread_inst_executed_op_fadd_pred_on_and_more.avg.per_second"
    write_report(Path(), [make_launch("k", {name: 1.0})], name="longer.ncu-rep")
    for words in (["--like", "smsp__*"], []):
        text = run("metrics", "longer.ncu-rep", "--width", "60", *words).out
        assert max(map(len, text.splitlines())) <= 60
        assert name not in text
        assert ".avg.per_second" in text


def test_a_value_has_a_key_that_a_filter_does_not_change(run: CommandLine) -> None:
    """That of its launch, and the metric."""
    launches = [make_launch("f", {"x__a": 1}), make_launch("g", {"x__a": 2})] * 2
    write_report(Path(), launches, name="two.ncu-rep")
    every = {row["key"]: row["value"] for row in _values(run, "two.ncu-rep", "--like", "x__*")}
    assert list(every) == [
        "f|132,1,1|128,1,1|0|x__a",
        "g|132,1,1|128,1,1|0|x__a",
        "f|132,1,1|128,1,1|1|x__a",
        "g|132,1,1|128,1,1|1|x__a",
    ]
    some = _values(run, "two.ncu-rep", "--like", "x__*", "--kernel", "g")
    assert {row["key"]: row["value"] for row in some} == {k: v for k, v in every.items() if v == 2}


def test_a_hostile_name_does_not_reach_the_terminal(run: CommandLine) -> None:
    """Neither from a table nor from a message."""
    evil = "evil\x1b[2J\x07"
    write_report(Path(), [make_launch(evil, {f"x__{evil}": evil})], name="evil.ncu-rep")
    for words in ([], ["--like", "x__*"], ["--like", "x__*", "--wide"], ["--like", "x__evil"],
                  ["--like", "\x1b[31m"], ["--full-names", "--like", "x__*"]):  # fmt: skip
        done = run("metrics", "evil.ncu-rep", *words)
        assert not {"\x1b", "\x07"} & {*done.out, *done.err}


def test_full_names_stand_once_below_their_launch(run: CommandLine) -> None:
    """Whole, however narrow the terminal."""
    full = f"void f<{'int, ' * 30}int>(float*)"
    launch = make_launch(full, {"x__a": 1, "x__b": 2}, demangled_name=full)
    write_report(Path(), [launch], name="full.ncu-rep")
    for words in ([], ["--wide"]):
        done = run(
            "metrics", "full.ncu-rep", "--like", "x__*", "--full-names", "--width", "60", *words
        )
        assert done.code == 0, done.err
        assert " ".join(done.out.split()).count(full) == 1
        assert max(map(len, done.out.splitlines())) <= 60


def test_a_filter_applies_to_values_too(run: CommandLine) -> None:
    """The same filters as those of classify."""
    rows = _values(run, "all.ncu-rep", "--like", "dram__bytes_read.sum", "--family", "gemm")
    assert [row["launch_id"] for row in rows] == [1]


def test_several_reports_are_told_apart(run: CommandLine) -> None:
    """By a column of their own."""
    write_report(Path(), [make_launch("k", {"x__real": 1.5})], name="b.ncu-rep")
    write_report(Path(), [make_launch("k", {"x__real": 2.5})], name="c.ncu-rep")
    text = run("metrics", "b.ncu-rep", "c.ncu-rep", "--like", "x__real").out
    assert text.splitlines()[0].startswith("report")
    wide = run("metrics", "b.ncu-rep", "c.ncu-rep", "--like", "x__real", "--wide").out
    assert [line.split()[0] for line in wide.splitlines()[1:]] == ["b.ncu-rep", "c.ncu-rep"]
    markdown = run("metrics", "b.ncu-rep", "--like", "x__real", "-f", "markdown").out
    assert "| `x__real` | 1.5 |" in markdown
