"""Numbers and clauses of whole columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nsightlens.analysis.phrase import (
    choose,
    concat,
    percent,
    scaled_rate,
    sentence,
    significant,
    when,
)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.914, "91 %"),
        (0.0995, "10 %"),
        (0.0994, "9.9 %"),
        (0.0426, "4.3 %"),
        (0.01, "1.0 %"),
        (0.001, "0.1 %"),
        (0.0009, "<0.1 %"),
        (0.0, "0 %"),
        (1.047, "105 %"),
        (5.5e9, "5.5e+11 %"),
        (1.8e17, "1.8e+19 %"),
        (np.nan, None),
    ],
)
def test_a_percentage_is_whole_from_ten_on(fraction: float, text: str | None) -> None:
    """One decimal below ten, none above, and never a zero for what is there."""
    assert percent(np.array([fraction])).to_pylist() == [text]


def test_a_number_has_three_significant_digits() -> None:
    """Without an exponent where it can be read."""
    values = np.array([0.98765, 12.345, 99.96, 1234.5, 3e9, 0.0, np.nan])
    assert significant(values).to_pylist() == ["0.988", "12.3", "100", "1234", "3e+09", "0", None]


def test_a_rate_has_the_prefix_of_its_peak() -> None:
    """Giga, tera and peta; no text where either is missing."""
    achieved = np.array([1.2e9, 0.5e12, 1e15, np.nan])
    peak = np.array([320e9, 50.7e12, 1.98e15, 1e12])
    unit = pa.array(["B", "FLOP", "op", "B"])
    assert scaled_rate(achieved, peak, unit).to_pylist() == [
        "1.2 of 320 GB/s",
        "0.5 of 50.7 TFLOP/s",
        "1 of 1.98 Pop/s",
        None,
    ]


def test_clauses_that_are_null_are_left_out() -> None:
    """In every place, and in rows in which all of them are."""
    a, b = pa.array(["a", None, "a", None]), pa.array(["b", "b", None, None])
    assert sentence(a, b).to_pylist() == ["a; b", "b", "a", None]
    assert sentence(b, a, a, separator=", ").to_pylist() == ["b, a, a", "b", "a, a", None]


def test_a_text_stands_only_where_its_condition_holds() -> None:
    """Constants spread over the column; a null part makes the whole null."""
    condition = np.array([True, False])
    assert when(condition, "yes").to_pylist() == ["yes", None]
    assert concat("a", when(condition, "b"), "c").to_pylist() == ["abc", None]
    assert choose(np.array([1, -1]), ("x", "y")).to_pylist() == ["y", None]


def test_a_text_is_not_made_where_no_row_needs_it() -> None:
    """Most cases do not occur in most reports, and words cost time."""

    def made() -> pa.Array:
        raise AssertionError("made")

    nothing = when(np.array([False, False]), made)
    assert (nothing.to_pylist(), nothing.type) == ([None, None], pa.string())
    some = when(np.array([True, False]), lambda: pa.array(["a", "b"]))
    assert some.to_pylist() == ["a", None]
