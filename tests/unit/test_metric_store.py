"""MetricStore: one column per metric, whatever the launches of several files have."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from nsightlens.metric_store import (
    ABSENT,
    MetricKind,
    concat_stores,
    store_of_values,
)


def test_what_a_launch_lacks_is_not_what_it_has_without_a_value() -> None:
    """Both are null in a column, and only one of them is stored."""
    store = store_of_values(3, {"m": [ABSENT, None, 0]})
    assert store.kind("m").tolist() == [MetricKind.ABSENT, MetricKind.NULL, MetricKind.INTEGER]
    assert store.column("m").to_pylist() == [None, None, 0]
    assert store.long().row.tolist() == [1, 2]


def test_a_text_that_many_launches_share_is_kept_once() -> None:
    """Breakdown metrics say the same for most launches."""
    store = store_of_values(3, {"m": ["a", "b", "a"], "n": ["b", ABSENT, 1.5]})
    assert len(store.parts[0].texts) == 2
    assert store.column("m").to_pylist() == ["a", "b", "a"]
    # A column is text only where every value is.
    assert store.column("n").to_pylist() == [None, None, 1.5]


def test_numbers_are_kept_to_the_bit_and_say_what_they_are() -> None:
    """Integers beyond 2**63, the sign of zero, and NaN."""
    store = store_of_values(2, {"i": [2**64 - 1, 0], "d": [-0.0, float("nan")], "b": [True, 1]})
    columns = store.parts[0].columns
    assert columns["i"].raw.tolist() == [2**64 - 1, 0]
    assert columns["d"].raw.tolist() == [1 << 63, 0x7FF8 << 48]
    assert [columns[name].kinds for name in "id"] == [
        1 << MetricKind.INTEGER,
        1 << MetricKind.DOUBLE,
    ]
    assert store.column("b").to_pylist() == [1, 1]


def test_the_long_form_says_every_value_by_launch() -> None:
    """Row, name, kind and the value in the column of its kind."""
    found = store_of_values(2, {"i": [2**63, ABSENT], "d": [0.5, None], "t": [ABSENT, "x"]}).long()
    assert found.row.tolist() == [0, 0, 1, 1]
    assert found.name.tolist() == [0, 1, 1, 2]
    assert found.value.tolist()[:2] == [float(2**63), 0.5]
    assert found.integer.tolist() == [2**63, 0, 0, 0]
    assert found.text.to_pylist() == [None, None, None, "x"]


def test_joined_stores_keep_their_columns_apart() -> None:
    """Text of one file is not mistaken for that of another, and names are merged."""
    first = store_of_values(1, {"t": ["x"], "a": [1]})
    second = store_of_values(2, {"a": [2.5, 3.5], "t": ["y", ABSENT], "b": [ABSENT, 7]})
    joined = concat_stores([first, second])
    assert joined.names == ("t", "a", "b")
    assert joined.launch_count == 3
    assert joined.column("t").to_pylist() == ["x", "y", None]
    assert joined.column("a").to_pylist() == [1.0, 2.5, 3.5]
    assert joined.column("b").to_pylist() == [None, None, 7]
    assert joined.column("unknown").to_pylist() == [None, None, None]
    assert joined.long().text.to_pylist() == ["x", None, None, "y", None, None]


@pytest.mark.parametrize("rows", [[], [0], [2], [0, 2], [1, 2], [0, 1, 2]])
def test_some_launches_are_taken_across_files(rows: list[int]) -> None:
    """What is taken is what the columns said, and names that nobody has are gone."""
    parts = [store_of_values(1, {"a": [1]}), store_of_values(2, {"b": ["x", ABSENT], "a": [2, 3]})]
    joined = concat_stores(parts)
    taken = joined.take(np.array(rows, dtype=np.intp))
    for name in ("a", "b"):
        assert taken.column(name).to_pylist() == [joined.column(name).to_pylist()[r] for r in rows]
    assert set(taken.names) == {
        name for name in ("a", "b") if any(v is not None for v in taken.column(name).to_pylist())
    }


def test_a_value_knows_how_far_it_was_rounded() -> None:
    """Exact unless said otherwise; unknown where there is no number."""
    rounding = {"m": np.array([0.5, 0.0, 0.0])}
    rounded = store_of_values(3, {"m": [10.0, 7, None], "n": [1, 2, 3]}, rounding)
    joined = concat_stores([rounded, store_of_values(1, {"m": [1.0]})])
    assert joined.rounding("m").tolist()[:2] == [0.5, 0.0]
    assert np.isnan(joined.rounding("m")[2])
    assert joined.rounding("m")[3] == 0
    assert joined.rounding("n").tolist()[:3] == [0, 0, 0]
    assert joined.take(np.array([0, 3])).rounding("m").tolist() == [0.5, 0.0]
    assert joined.long().rounding[0] == 0.5


@pytest.mark.parametrize("values", [{}, {"t": ["x", ABSENT], "d": [None, 0.5], "i": [1, 2**63]}])
def test_a_store_that_was_pickled_says_the_same(values: dict[str, list[object]]) -> None:
    """As on the way from a worker process, rounding included."""
    rounding = {"d": np.array([0.0, 0.25])} if values else {}
    store = store_of_values(2, values, rounding)  # type: ignore[arg-type]
    copy = pickle.loads(pickle.dumps(store))
    assert (copy.names, copy.launch_count) == (store.names, 2)
    for name in store.names:
        assert copy.column(name).equals(store.column(name))
        assert copy.kind(name).tolist() == store.kind(name).tolist()
        assert str(copy.rounding(name)) == str(store.rounding(name))


def test_numbers_that_are_none_are_counted_by_launch() -> None:
    """NaN and infinity of chosen metrics; no integer, however large, and no text."""
    first = store_of_values(
        2, {"a": [np.nan, 1.0], "b": [np.inf, ABSENT], "c": [2**64 - 1, None], "d": ["nan", ""]}
    )
    second = store_of_values(1, {"a": [-np.inf], "x": [np.nan]})
    store = concat_stores([first, second])
    assert store.non_finite_count(lambda name: name != "x").tolist() == [2, 0, 1]
