"""Tables are read whole, and what does not fit is named by its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.table_text import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.tabular.table_text import CellTable


def _read(folder: Path, data: bytes | str, most_rows: int | None = None) -> CellTable:
    path = folder / "t.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_table(OpenedFile(path, "t.csv"), most_rows=most_rows)


def _cells(table: CellTable) -> list[list[str]]:
    return [list(row) for row in zip(*(one.to_pylist() for one in table.columns), strict=True)]


def test_cells_are_text_as_it_stands(tmp_path: Path) -> None:
    """Quotes are taken off, and nothing else is changed."""
    table = _read(tmp_path, 'a,b\n1,"x, y"\n 2,""\n')
    assert _cells(table) == [["1", "x, y"], [" 2", ""]]
    assert table.names == ("a", "b")


def test_comments_and_empty_lines_are_no_rows(tmp_path: Path) -> None:
    """They may stand anywhere."""
    table = _read(tmp_path, "# made today\n\na,b\n1,2\n# pause\n\n3,4\n")
    assert _cells(table) == [["1", "2"], ["3", "4"]]
    assert table.notes == ()


def test_rows_that_do_not_fit_are_left_out_and_named_by_line(tmp_path: Path) -> None:
    """Cells of such a row may be of other columns than they seem."""
    table = _read(tmp_path, "a,b\n1,2\n\n3,4,5\n6\n7,8\n")
    assert _cells(table) == [["1", "2"], ["7", "8"]]
    (note,) = table.notes
    assert note.key == "ragged_rows"
    assert "line 4 (3), line 5 (1)" in note.text


def test_a_table_of_rows_that_do_not_fit_is_refused(tmp_path: Path) -> None:
    """Where most rows do not fit, the header does not fit."""
    rows = "1,2\n" * 10 + "1,2,3\n" * 30
    with pytest.raises(ServingFileError, match=r"2 columns in its header.*line 12 \(3\)"):
        _read(tmp_path, "a,b\n" + rows)


def test_a_quote_that_is_never_closed_is_refused(tmp_path: Path) -> None:
    """It would swallow the rows behind it."""
    with pytest.raises(ServingFileError, match="line 3: has a quote that is never closed"):
        _read(tmp_path, 'a,b\n1,2\n3,"4\n5,6\n')


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\n\n# nothing\n"])
def test_a_table_without_rows_is_refused(tmp_path: Path, text: str) -> None:
    """A header alone measures nothing."""
    with pytest.raises(ServingFileError, match="a header and no rows"):
        _read(tmp_path, text)


def test_a_text_without_columns_is_refused(tmp_path: Path) -> None:
    """Prose is no table."""
    with pytest.raises(ServingFileError, match="no table with a header"):
        _read(tmp_path, "once upon a time\nthere was\n")


def test_too_many_rows_are_refused_with_their_number(tmp_path: Path) -> None:
    """A table of a million rows is not one of runs."""
    with pytest.raises(ServingFileError, match="has 300 rows, more than the 100"):
        _read(tmp_path, "a,b\n" + "1,2\n" * 300, most_rows=100)


def test_what_is_no_text_of_utf8_is_replaced(tmp_path: Path) -> None:
    """A name in another encoding does not hide the numbers."""
    assert _cells(_read(tmp_path, b"a,b\n1,caf\xe9\n")) == [["1", "caf\ufffd"]]


def test_utf16_is_read_by_its_mark(tmp_path: Path) -> None:
    """Spreadsheets write it."""
    assert _cells(_read(tmp_path, "a\tb\n1\t2\n".encode("utf-16"))) == [["1", "2"]]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    """Numbers of Parquet need no reading."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1, 2], "b": ["x", None]}), path)
    table = read_table(OpenedFile(path))
    assert table.columns[0].type == pa.int64()
    assert table.columns[1].to_pylist() == ["x", None]


@pytest.mark.parametrize("keep", [4, 30, -10])
def test_cut_parquet_is_refused(tmp_path: Path, keep: int) -> None:
    """A diagnosis, wherever it was cut."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1, 2]}), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ServingFileError, match="Parquet that cannot be read"):
        read_table(OpenedFile(path))


def test_parquet_without_rows_is_refused(tmp_path: Path) -> None:
    """As any table without rows."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(ServingFileError, match="has no rows"):
        read_table(OpenedFile(path))


def test_parquet_of_too_many_rows_is_refused_unread(tmp_path: Path) -> None:
    """Its metadata say how many there are."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1] * 20}), path)
    with pytest.raises(ServingFileError, match="has 20 rows"):
        read_table(OpenedFile(path), most_rows=10)
