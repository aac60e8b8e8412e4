"""Cells become texts, statements and codes, and empty ones null."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.serving.tabular.table_cells import codes_of, flags_of, texts_of


def test_statements_are_read_in_several_spellings() -> None:
    """What is neither true nor false is unknown."""
    assert flags_of(pa.array(["True", "no", "1", "OFF", "maybe", ""])) == [
        True, False, True, False, None, None,
    ]  # fmt: skip
    assert flags_of(pa.array([1, 0, 2])) == [True, False, None]
    assert flags_of(pa.array([True, None])) == [True, None]


def test_texts_are_taken_from_any_column() -> None:
    """Parquet has numbers where CSV has text."""
    assert texts_of(pa.array([1, None])) == ["1", None]
    assert texts_of(pa.array(["a ", "n/a"]).dictionary_encode()) == ["a", None]
    assert texts_of(pa.array([b"a"])) in (["a"], [None])


def test_codes_follow_the_order_of_texts() -> None:
    """The first rank is the lowest one, wherever it stands."""
    codes, distinct = codes_of(pa.array([3, 1, 3, None]))
    assert distinct == ["1", "3", "None"]
    assert codes.tolist() == [1, 0, 1, 2]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=10))
def test_any_text_is_a_cell(cells: list[str]) -> None:
    """No cell makes a reader fail."""
    column = pa.array(cells, pa.string())
    assert len(flags_of(column)) == len(texts_of(column)) == len(cells)
    codes, distinct = codes_of(column)
    assert [distinct[code] for code in codes] == column_text(cells)


def column_text(cells: list[str]) -> list[str]:
    """Return cells as Arrow trims them."""
    return [str(one) for one in pc.utf8_trim_whitespace(pa.array(cells)).to_pylist()]
