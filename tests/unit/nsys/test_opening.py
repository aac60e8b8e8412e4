"""Exports open in every format; everything else is refused by what it is, with what to do."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.traces import FORMS, Call, Events, Kernel, Range, tables_of, write_tables, write_trace

from nsightlens.errors import NotATraceError, ReportNotFoundError
from nsightlens.nsys import opened

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = Events(
    kernels=[Kernel(10, 20, correlation=1), Kernel(30, 40, correlation=2)],
    calls=[Call(1, 2, correlation=1), Call(3, 4, correlation=2)],
    ranges=[Range(0, 5, "step"), Range(2, 4, "inner", is_registered=True)],
)
WANTED = {"start": "whole", "mangledName": "whole", "no_such_column": "text"}


def _refusal(path: Path) -> NotATraceError:
    with pytest.raises(NotATraceError) as told, opened(path):
        pass
    assert str(told.value).startswith(f"{path}:")
    assert "\n" not in str(told.value)
    return told.value


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_columns(tmp_path: Path, form: str) -> None:
    """What is asked for is there with its type, null where the export lacks it."""
    path = write_trace(EVENTS, tmp_path / "trace", form=form)  # type: ignore[arg-type]
    with opened(path) as export:
        assert export.form == form
        table = export.read("CUPTI_ACTIVITY_KIND_KERNEL", WANTED)  # type: ignore[arg-type]
        assert table.to_pylist() == [
            {"start": 10, "mangledName": None, "no_such_column": None},
            {"start": 30, "mangledName": None, "no_such_column": None},
        ]
        assert table.schema.types == [
            pa.int64(),
            pa.int64(),
            pa.dictionary(pa.int32(), pa.string()),
        ]
        assert export.read("NO_SUCH_TABLE", {"start": "whole"}).num_rows == 0
        assert export.columns_of("NO_SUCH_TABLE") == ()
        texts = export.read("NVTX_EVENTS", {"text": "text", "doubleValue": "real"})
        assert texts["text"].to_pylist() == ["step", None]
        assert texts["doubleValue"].null_count == 2


def test_many_rows_are_read_in_windows_that_meet(tmp_path: Path) -> None:
    """A column that stays the same for long and then does not is read as it is."""
    count = 40_000
    same = [7] * 20_000 + [None] * 10_000 + [8] * 10_000
    text = [None] * 39_999 + ["last"]
    table = pa.table({"start": range(count), "same": pa.array(same, pa.int64()), "text": text})
    path = write_tables({"NVTX_EVENTS": table}, tmp_path / "t.sqlite")
    with closing(sqlite3.connect(path)) as file:
        file.execute("DELETE FROM NVTX_EVENTS WHERE start BETWEEN 100 AND 19000")
        file.commit()
    kept = [at for at in range(count) if not 100 <= at <= 19_000]
    with opened(path) as export:
        read = export.read("NVTX_EVENTS", {"start": "whole", "same": "whole", "text": "text"})
    assert read["start"].to_pylist() == kept
    assert read["same"].to_pylist() == [same[at] for at in kept]
    assert read["text"].to_pylist() == [text[at] for at in kept]


def test_a_table_without_row_numbers_reads(tmp_path: Path) -> None:
    """Its rows are read in one go."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID")
        file.execute("INSERT INTO StringIds VALUES (1, 'a'), (2, 'b')")
        file.commit()
    with opened(path) as export:
        read = export.read("StringIds", {"id": "whole", "value": "text"})
    assert read.to_pylist() == [{"id": 1, "value": "a"}, {"id": 2, "value": "b"}]


def test_text_that_is_not_utf8_is_kept_as_it_is(tmp_path: Path) -> None:
    r"""Bytes that are no UTF-8 become \xNN, as in reports."""
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        file.execute("INSERT INTO StringIds VALUES (1, 'plain'), (2, CAST(x'476569DF' AS TEXT))")
        file.commit()
    with opened(path) as export:
        assert export.read("StringIds", {"value": "text"})["value"].to_pylist() == [
            "plain",
            "Gei\\xdf",
        ]


@pytest.mark.parametrize("form", FORMS)
def test_text_where_a_number_must_be_is_refused(tmp_path: Path, form: str) -> None:
    """The message names the table, the column and what it holds."""
    tables = tables_of(EVENTS)
    table = tables["CUPTI_ACTIVITY_KIND_KERNEL"]
    odd = pa.array(["soon", "later"])
    place = table.column_names.index("start")
    tables["CUPTI_ACTIVITY_KIND_KERNEL"] = table.set_column(place, "start", odd)
    path = write_tables(tables, tmp_path / "trace", form=form)  # type: ignore[arg-type]
    with pytest.raises(NotATraceError) as told, opened(path) as export:
        export.read("CUPTI_ACTIVITY_KIND_KERNEL", {"end": "whole", "start": "whole"})
    assert "in CUPTI_ACTIVITY_KIND_KERNEL: column start holds " in str(told.value)
    assert "where a whole number must be" in str(told.value)


def test_nothing_appears_beside_the_file_and_it_stays_as_it_is(tmp_path: Path) -> None:
    """An export on a read-only disk reads, and is not locked or changed."""
    path = write_trace(EVENTS, tmp_path / "t.sqlite")
    content = path.read_bytes()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with opened(path) as export:
            export.read("NVTX_EVENTS", {"start": "whole"})
            assert [one.name for one in tmp_path.iterdir()] == ["t.sqlite"]
    finally:
        tmp_path.chmod(0o755)
    assert path.read_bytes() == content


def test_a_name_that_means_something_in_an_address_is_a_name(tmp_path: Path) -> None:
    """Question marks, percent signs and hashes do not end the path."""
    path = write_trace(EVENTS, tmp_path / "50%20?mode=rwc#1.sqlite")
    with opened(path) as export:
        assert "NVTX_EVENTS" in export.table_names


REFUSED = {
    "empty": (b"", "is empty"),
    "ncu": (b"NVR\0\x02\0\0\0", "is a report of Nsight Compute"),
    "hdf": (b"\x89HDF\r\n\x1a\n\0\0", "is an export of the type hdf"),
    "json": (b'{"data": []}', "is JSON, as an export of the type json is"),
    "jsonlines": (b"\n [1]\n[2]", "is JSON"),
    "text": ("Kernel: größer\n".encode(), "is text, as an export of the type text"),
    "parquet": (b"PAR1\x15\0", "is one table in Parquet. Name the folder"),
    "arrow": (b"\xff\xff\xff\xff\x10\0\0\0", "as an Arrow stream. Name the folder"),
    "arrow_file": (b"ARROW1\0\0", "is a single file in the Arrow format"),
    "gzip": (b"\x1f\x8b\x08\0", "is compressed with gzip. Unpack it first"),
    "binary": (b"\x00\x01\x02\x03\xff", "it begins with the bytes 00 01 02 03 ff"),
    "header": (b"SQLite format 3\0" + bytes(20), "ends within the header"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_export_is_told_what_it_is(tmp_path: Path, kind: str) -> None:
    """The message says what was found, and what to do."""
    content, told = REFUSED[kind]
    path = tmp_path / "trace.sqlite"
    path.write_bytes(content)
    assert told in str(_refusal(path))


def test_only_types_that_are_read_are_recommended(tmp_path: Path) -> None:
    """Who has an export of another type is told which ones are read."""
    path = tmp_path / "trace.json"
    path.write_text("{}")
    text = str(_refusal(path))
    assert "Only exports of the types sqlite, arrowdir and parquetdir are read" in text
    assert "nsys export --type sqlite" in text


def test_a_stream_that_nsys_did_not_finish_is_told_from_a_report(tmp_path: Path) -> None:
    """QdstrmImporter makes a report of it."""
    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"\x00\x01\x02")
    assert "QdstrmImporter" in str(_refusal(path))


def test_a_file_that_was_cut_says_where(tmp_path: Path) -> None:
    """The header knows how long it must be."""
    path = write_trace(EVENTS, tmp_path / "t.sqlite")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    error = _refusal(path)
    assert f"ends after {len(whole) // 2} of {len(whole)} bytes" in str(error)


def test_a_damaged_file_is_refused_and_not_read_in_part(tmp_path: Path) -> None:
    """What SQLite says of it is in the message, with the table."""
    path = write_trace(EVENTS, tmp_path / "t.sqlite")
    content = bytearray(path.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for begin in range(page, len(content), page):
        content[begin : begin + 200] = b"\xaa" * 200
    path.write_bytes(content)
    with pytest.raises(NotATraceError, match="SQLite cannot read it"), opened(path) as export:
        export.read("CUPTI_ACTIVITY_KIND_KERNEL", {"start": "whole"})
    path.write_bytes(content[:100] + b"\xaa" * (len(content) - 100))
    assert "in list of tables: SQLite cannot read it" in str(_refusal(path))


@pytest.mark.parametrize("ending", ["-journal", "-wal"])
def test_a_file_that_is_being_written_is_refused(tmp_path: Path, ending: str) -> None:
    """Part of what it holds lies beside it."""
    path = write_trace(EVENTS, tmp_path / "t.sqlite")
    (tmp_path / f"t.sqlite{ending}").write_bytes(b"pages")
    assert f"t.sqlite{ending} lies beside it: it is being written" in str(_refusal(path))


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    """The message names its tables; one without any is refused too."""
    path = write_tables({"moz_places": pa.table({"id": [1]})}, tmp_path / "a.sqlite")
    assert "of something else than Nsight Systems: its tables are moz_places" in str(_refusal(path))
    path = tmp_path / "b.sqlite"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE gone (id)")
        file.execute("DROP TABLE gone")
        file.commit()
    assert "it has no table" in str(_refusal(path))


def test_a_folder_is_told_what_it_lacks(tmp_path: Path) -> None:
    """A folder of exports is not an export, and neither is an empty one or a mixture."""
    assert "is a folder without .arrow or .parquet files" in str(_refusal(tmp_path))
    write_trace(EVENTS, tmp_path / "t.sqlite")
    assert "holds t.sqlite, and no tables. Name one" in str(_refusal(tmp_path))
    mixed = write_trace(EVENTS, tmp_path / "mixed", form="arrowdir")
    write_trace(EVENTS, mixed, form="parquetdir")
    assert "both .arrow and .parquet" in str(_refusal(mixed))
    other = write_tables({"sales": pa.table({"id": [1]})}, tmp_path / "other", form="parquetdir")
    assert "is a folder of tables of something else" in str(_refusal(other))


@pytest.mark.parametrize("form", ["arrowdir", "parquetdir"])
def test_a_damaged_table_of_a_folder_is_named(tmp_path: Path, form: str) -> None:
    """A file that was cut, or is empty, is an error when it is read."""
    path = write_trace(EVENTS, tmp_path / "t", form=form)  # type: ignore[arg-type]
    file = next(one for one in path.iterdir() if one.stem == "NVTX_EVENTS")
    for content in (file.read_bytes()[:-200], b""):
        file.write_bytes(content)
        with pytest.raises(NotATraceError) as told, opened(path) as export:
            export.read("NVTX_EVENTS", {"start": "whole"})
        assert f"in {file.name}: Arrow cannot read it" in str(told.value)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    """A path that does not exist is another error than a file that is no export."""
    for path in (tmp_path / "no.sqlite", tmp_path / "no.nsys-rep"):
        with pytest.raises(ReportNotFoundError, match="there is no such file"), opened(path):
            pass


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    """An export has to lie on a disk."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert "is neither a file nor a folder" in str(_refusal(path))
