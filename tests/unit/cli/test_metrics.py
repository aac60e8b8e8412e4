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
        "metric": "dram__bytes_read.sum",
        "unit": "B",
        "value_count": 2,
        "launch_count": 5,
    }
    assert list(rows) == sorted(rows)
    assert "2/5" in run("metrics", "all.ncu-rep").out


def test_a_wide_table_has_a_column_per_metric(run: CommandLine) -> None:
    """And an empty cell for a launch that lacks it."""
    done = run("metrics", "all.ncu-rep", "--like", "dram__bytes_read.sum", "--wide", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert list(rows[0]) == ["report", "launch_id", "kernel", "dram__bytes_read.sum"]
    assert [row["dram__bytes_read.sum"] for row in rows][1:] == ["35651584.0", "", "", ""]


def test_metrics_that_do_not_fit_are_named(run: CommandLine) -> None:
    """A column that is left out is not lost without a word."""
    done = run("metrics", "all.ncu-rep", "--like", "dram__*", "--wide", "--width", "60")
    assert done.out.splitlines()[-1].startswith("not shown for want of width: dram__")


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
