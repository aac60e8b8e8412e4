"""Times are of a clock or count from the begin of a run, and their unit is found."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nsightlens.serving.tabular.table_times import is_time_name, times_of


@pytest.mark.parametrize(
    "name",
    ["time [s]", "Time", "timestamp", "timestamp_ms", "ts", "elapsed_s", "Time (UTC)", "# time",
     "datetime", "relative time (ms)"],
)  # fmt: skip
def test_columns_of_times_are_known(name: str) -> None:
    """By many names."""
    assert is_time_name(name)


@pytest.mark.parametrize(
    "name",
    ["duration_s", "time_per_output_token_seconds", "mean_itl_ms", "scheduler_total_time",
     "time to first token", "time (furlong)", ""],
)  # fmt: skip
def test_durations_are_no_times(name: str) -> None:
    """A time to something is not when a sample was taken."""
    assert not is_time_name(name)


@pytest.mark.parametrize(
    ("cells", "name", "unit", "seconds", "is_clock"),
    [
        (["0.5", "1.5"], "time [s]", "", [0.5, 1.5], False),
        (["500", "1500"], "time_ms", "", [0.5, 1.5], False),
        (["500", "1500"], "time", "ms", [0.5, 1.5], False),
        ([1764000000, 1764000001], "timestamp", "", [1764000000, 1764000001], True),
        ([1764000000000, 1764000001000], "timestamp", "", [1764000000, 1764000001], True),
        (["1764000000000000000"], "timestamp_ns", "", [1764000000], True),
        (["1764000000000000000"], "timestamp", "", [1764000000], True),
        (["1764000000000000"], "ts", "", [1764000000], True),
        (["1970-01-02T00:00:00Z"], "time", "", [86400], True),
        (["1970-01-02 00:00:00.25+00:00", ""], "time", "", [86400.25, np.nan], True),
        (["1970/01/02 00:00:01.500"], "timestamp", "", [86401.5], True),
        (["1970-01-02 00:00:01.12345678901"], "timestamp", "", [86401.123456789], True),
    ],
)
def test_times_become_seconds(
    cells: list[Any], name: str, unit: str, seconds: list[float], is_clock: bool
) -> None:
    """By the unit of the header, by the size of an epoch, or by the form of a date."""
    times = times_of(pa.array(cells), name, unit)
    assert times is not None
    np.testing.assert_allclose(times.seconds, seconds)
    assert times.is_clock is is_clock
    assert not times.is_unit_assumed


def test_a_small_number_without_a_unit_is_marked() -> None:
    """Seconds are what everybody samples in, and it is said that they are assumed."""
    times = times_of(pa.array(["0", "1"]), "time")
    assert times is not None
    assert times.is_unit_assumed


def test_timestamps_of_parquet_are_of_a_clock() -> None:
    """Whatever their resolution and their zone."""
    stamp = dt.datetime(1970, 1, 2, tzinfo=dt.timezone.utc)
    for kind in (pa.timestamp("ns", tz="UTC"), pa.timestamp("s"), pa.timestamp("us", tz="UTC")):
        times = times_of(pa.array([stamp, None], kind), "time")
        assert times is not None
        np.testing.assert_allclose(times.seconds, [86400.0, np.nan])


@pytest.mark.parametrize(
    "column",
    [pa.array(["noon", "midnight"]), pa.array(["", ""]), pa.array([[1]]), pa.array(["2026-13-45"])],
)
def test_what_is_no_time_is_none(column: Any) -> None:
    """The reader then says so."""
    times = times_of(column, "time")
    assert times is None or not np.isfinite(times.seconds).any()
