"""The delimiter and the header of a table are found from its first lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.table_layout import is_parquet, names_of, sniff

if TYPE_CHECKING:
    from pathlib import Path


def _file(folder: Path, text: str | bytes) -> OpenedFile:
    path = folder / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return OpenedFile(path)


@pytest.mark.parametrize(
    ("text", "delimiter", "names"),
    [
        ("a,b\n1,2\n", ",", ("a", "b")),
        ("a\tb, c\n1\t2\n", "\t", ("a", "b, c")),
        ("a;b\n1,5;2,5\n", ";", ("a", "b")),
        ("sep=;\na;b\n1;2\n", ";", ("a", "b")),
        ("\ufeffa,b\n1,2\n", ",", ("a", "b")),
        ("# x\n\n a , b \n1,2\n", ",", ("a", "b")),
        (",a\n0,1\n", ",", ("", "a")),
        ("Unnamed: 0,a\n0,1\n", ",", ("", "a")),
        ('"a ""x""","b, c"\n1,2\n', ",", ('a "x"', "b, c")),
        ("a,b\r1,2\r", ",", ("a", "b")),
    ],
)
def test_the_delimiter_is_the_one_that_fits_the_rows(
    tmp_path: Path, text: str, delimiter: str, names: tuple[str, ...]
) -> None:
    """Commas in numbers or in names do not mislead."""
    found = sniff(_file(tmp_path, text))
    assert found is not None
    assert (found.delimiter, found.names) == (delimiter, names)


def test_a_second_row_of_units_is_part_of_the_header(tmp_path: Path) -> None:
    """Its units belong to the names above them."""
    found = sniff(_file(tmp_path, "batch,itl\n,ms\n1,3\n"))
    assert found is not None
    assert found.units == ("", "ms")
    assert found.skipped_line_count == 2


@pytest.mark.parametrize(
    "text",
    [
        "one word a line\nand another\n",
        '{"a": 1,\n"b": 2}\n',
        b"\0\1\2,\3\n4,5\n",
        "\n\n",
        "# only, comments\n",
        "a,b\n" + "1\n" * 30,
    ],
)
def test_what_is_no_table_has_no_layout(tmp_path: Path, text: str | bytes) -> None:
    """Logs, JSON and binary files are left to others."""
    file = _file(tmp_path, text)
    assert sniff(file) is None
    assert names_of(file) == ()


def test_a_long_table_is_judged_by_whole_lines(tmp_path: Path) -> None:
    """The last line of what was looked at is cut."""
    found = sniff(_file(tmp_path, "a,b\n" + "x" * 70_000 + ",2\n"))
    assert found is None or found.names == ("a", "b")


def test_names_of_parquet_come_from_its_schema(tmp_path: Path) -> None:
    """No row is read for them; what is cut has none."""
    path = tmp_path / "t"
    parquet.write_table(pa.table({"a": [1], "b": [2]}), path)
    file = OpenedFile(path)
    assert is_parquet(file)
    assert names_of(file) == names_of(file) == ("a", "b")
    path.write_bytes(path.read_bytes()[:50])
    assert names_of(OpenedFile(path)) == ()
