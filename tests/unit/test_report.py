"""Report and MetricStore: raw metrics kept once, seen long, wide and by launch."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from nsightlens import tables
from nsightlens.errors import MissingMetricError
from nsightlens.metric_store import ABSENT, MetricStore, store_of_values
from nsightlens.report import Report, concat_reports

Value = int | float | str | None


def make_store(launches: list[list[tuple[str, Value]]]) -> MetricStore:
    """Keep each launch's (name, value) pairs."""
    stored = [dict(pairs) for pairs in launches]
    names = dict.fromkeys(name for one in stored for name in one)
    return store_of_values(
        len(stored), {name: [one.get(name, ABSENT) for one in stored] for name in names}
    )


def make_report(launches: list[list[tuple[str, Value]]], path: str = "a.ncu-rep") -> Report:
    """Build a report that has only what these tests look at."""
    count = len(launches)
    return Report(
        launches=tables.table_of(
            tables.schema_of(tables.LAUNCHES),
            {"report": [path] * count, "launch_id": list(range(count))},
            count,
        ),
        stalls=tables.empty_table(tables.STALLS),
        rules=tables.table_of(
            tables.schema_of(tables.RULES),
            {"report": [path] * count, "launch_id": list(range(count)), "message": ["m"] * count},
            count,
        ),
        nvtx=tables.empty_table(tables.NVTX),
        sessions=tables.empty_table(tables.SESSIONS),
        store=make_store(launches),
        sources=(path,),
        column_origins={"dram_bytes": pa.array([f"{path}:{i}" for i in range(count)])},
    )


def test_an_integer_metric_keeps_every_bit() -> None:
    """A uint64 beyond 2**53 is exact in its own column, which float64 could not hold."""
    big = 2**64 - 1
    store = make_store([[("m", big)], [("m", 1)]])
    assert store.column("m").to_pylist() == [big, 1]
    assert store.column("m").type == pa.uint64()


def test_a_metric_of_mixed_kinds_is_float64() -> None:
    """Launches may store the same metric as an integer and as a double."""
    column = make_store([[("m", 3)], [("m", 0.5)], [("m", None)]]).column("m")
    assert column.type == pa.float64()
    assert column.to_pylist() == [3.0, 0.5, None]


def test_a_text_metric_is_a_string_column() -> None:
    """Breakdown metrics are text."""
    assert make_store([[("m", "a,b")], []]).column("m").to_pylist() == ["a,b", None]


def test_a_launch_without_the_metric_is_null_and_a_stored_nan_is_nan() -> None:
    """Missing and not-a-number are two different things."""
    column = make_store([[("m", math.nan)], [("other", 1.0)]]).column("m")
    assert math.isnan(column[0].as_py())
    assert column[1].as_py() is None


def test_numbers_come_with_a_mask_of_what_is_there() -> None:
    """Zero is a value; null and text are none."""
    values, has_value = make_store([[("m", 0)], [("m", None)], [("m", "x")]]).number("m")
    assert has_value.tolist() == [True, False, False]
    assert values[0] == 0
    assert not make_store([[("m", 0)]]).number("absent")[1].any()


def test_the_long_table_says_every_value_once_in_file_order() -> None:
    """Number, exact integer, text and null each have their column."""
    report = make_report([[("d", 1.5), ("i", 2**60)], [("t", "x"), ("n", None)]])
    rows = report.metrics.select(["launch_id", "metric", "value", "integer", "text"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, "d", 1.5, None, None),
        (0, "i", float(2**60), 2**60, None),
        (1, "t", None, None, "x"),
        (1, "n", None, None, None),
    ]
    assert report.metrics.schema.equals(tables.schema_of(tables.METRICS))


def test_a_report_without_launches_has_empty_tables() -> None:
    """A sound file may hold nothing."""
    report = make_report([])
    assert len(report) == 0
    assert report.metrics.num_rows == 0
    assert report.metric_names == ()


def test_patterns_stand_for_every_name_that_they_match() -> None:
    """Columns come in the order asked for, once each."""
    report = make_report([[("b__x", 1.0), ("a__x", 2.0), ("a__y", 3.0)]])
    table = report.metric_columns(["b__x", "a__*", "a__x"])
    assert table.column_names == ["report", "launch_id", "b__x", "a__x", "a__y"]


@pytest.mark.parametrize("name", ["dram__bytes.sum", "dram__?ytes.sum"])
def test_an_unknown_metric_is_an_error_that_names_its_neighbours(name: str) -> None:
    """The user learns what the report has instead."""
    report = make_report([[("dram__bytes.sum.per_second", 1.0)]])
    with pytest.raises(MissingMetricError, match=r"dram__bytes\.sum\.per_second") as caught:
        report.metric_columns([name])
    assert caught.value.metric == name
    assert not str(caught.value).startswith("'")


def test_joined_reports_keep_their_order_and_their_values() -> None:
    """Names of metrics are merged; rows are not."""
    first = make_report([[("a", 1.0), ("t", "x")]], "1.ncu-rep")
    second = make_report([[("b", 2.0), ("a", 3.0), ("t", "y")], []], "2.ncu-rep")
    joined = concat_reports([first, second])
    assert joined.launches["report"].to_pylist() == ["1.ncu-rep", "2.ncu-rep", "2.ncu-rep"]
    assert joined.launches["launch_id"].to_pylist() == [0, 0, 1]
    assert joined.store.column("a").to_pylist() == [1.0, 3.0, None]
    assert joined.store.column("b").to_pylist() == [None, 2.0, None]
    assert joined.store.column("t").to_pylist() == ["x", "y", None]
    assert joined.sources == ("1.ncu-rep", "2.ncu-rep")
    assert joined.column_origins["dram_bytes"].to_pylist() == [
        "1.ncu-rep:0", "2.ncu-rep:0", "2.ncu-rep:1",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no report"):
        concat_reports([])


def test_a_filtered_report_keeps_every_table_of_the_chosen_launches() -> None:
    """A mask over launches cuts metrics, rules and origins alike."""
    first = make_report([[("a", 1.0)], [("b", 2.0), ("t", "x")]], "1.ncu-rep")
    second = make_report([[("a", 3.0)]], "2.ncu-rep")
    joined = concat_reports([first, second])
    kept = joined.filter(np.array([False, True, True]))
    assert kept.launches["report"].to_pylist() == ["1.ncu-rep", "2.ncu-rep"]
    assert kept.rules["launch_id"].to_pylist() == [1, 0]
    assert kept.store.column("t").to_pylist() == ["x", None]
    assert set(kept.metric_names) == {"a", "b", "t"}
    assert kept.metrics["value"].to_pylist() == [2.0, None, 3.0]
    assert kept.column_origins["dram_bytes"].to_pylist() == ["1.ncu-rep:1", "2.ncu-rep:0"]
    nothing = joined.filter(np.zeros(3, dtype=bool))
    assert len(nothing) == 0
    assert nothing.metrics.num_rows == 0


def test_a_report_introduces_itself() -> None:
    """In a prompt, a report says how much it holds and where from."""
    assert repr(make_report([[("a", 1.0)]])) == "<Report of 1 launches, 1 metrics: a.ncu-rep>"


def test_launches_convert_to_pandas() -> None:
    """Conversion is at the edge, and only when asked for."""
    frame = make_report([[("a", 1.0)]]).to_pandas()
    assert frame["launch_id"].tolist() == [0]


@pytest.mark.parametrize("made", ["report", "nsightlens.classify(report)"])
def test_without_pandas_the_install_line_is_told(made: str) -> None:
    """And not that some module of it is missing."""
    code = (
        "import sys\n"
        "class NoPandas:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pandas': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NoPandas())\n"
        "import nsightlens, nsightlens.errors, nsightlens.example\n"
        "report = nsightlens.open_report(nsightlens.example.path())\n"
        "try:\n"
        f"    {made}.to_pandas()\n"
        "except nsightlens.errors.MissingExtraError as error:\n"
        "    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith('pip install "nsightlens[notebook]"\n')


def test_a_pattern_is_stars_and_question_marks() -> None:
    """A bracket stands for itself; the matches come sorted, and each metric once."""
    report = make_report([[("b1", 1.0), ("a1", 1.0), ("a2", 1.0)]])
    assert report.matching_metric_names(["b1", "a*", "*1"]) == ["b1", "a1", "a2"]
    with pytest.raises(MissingMetricError, match=r"a\[12\]"):
        report.matching_metric_names(["a[12]"])


@pytest.mark.parametrize("keep", [[True], [0, 1], "yes"])
def test_a_mask_that_does_not_fit_is_refused(keep: object) -> None:
    """A short mask would drop launches silently."""
    report = make_report([[("a", 1.0)], [("a", 2.0)]])
    with pytest.raises(ValueError, match="2 truth values"):
        report.filter(keep)  # type: ignore[arg-type]
