"""An export is a folder of Parquet files that read back as they were written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from support.labels import sessions_of, three_launches

from nsightlens import tables
from nsightlens.errors import (
    NotAReportError,
    OutputError,
    OutputExistsError,
    ReportNotFoundError,
)
from nsightlens.store import check_export_place, read_export, write_export

if TYPE_CHECKING:
    from pathlib import Path


def _tables() -> dict[str, Any]:
    return {
        "labels": three_launches(),
        "sessions": sessions_of(),
        "launches": tables.empty_table(tables.LAUNCHES, {"duration_ns": "gpu__time_duration.sum"}),
    }


def test_an_export_reads_back_equal_with_its_metadata(tmp_path: Path) -> None:
    """Also categories, lists, time stamps, and tables without a row."""
    write_export(tmp_path / "out", _tables(), sources=["a.ncu-rep"])
    found = read_export(tmp_path / "out")
    assert list(found) == list(_tables())
    for name, table in _tables().items():
        assert found[name].equals(table), name
        assert found[name].schema.equals(table.schema, check_metadata=True), name


def test_unit_meaning_and_source_can_be_read_from_the_file_itself(tmp_path: Path) -> None:
    """Without nsightlens."""
    write_export(tmp_path / "out", _tables())
    schema = pq.read_schema(tmp_path / "out" / "launches.parquet")
    assert schema.field("duration_ns").metadata[b"unit"] == b"ns"
    assert schema.field("duration_ns").metadata[b"source"] == b"gpu__time_duration.sum"
    assert schema.metadata[b"schema_version"] == str(tables.SCHEMA_VERSION).encode()


def test_the_same_tables_give_the_same_bytes(tmp_path: Path) -> None:
    """An export can be compared and cached."""
    for name in ("a", "b"):
        write_export(tmp_path / name, _tables())
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_an_existing_folder_is_replaced_only_by_force(tmp_path: Path) -> None:
    """And then as a whole: no file of the earlier export stays."""
    out = tmp_path / "out"
    write_export(out, _tables())
    with pytest.raises(OutputExistsError, match="--force"):
        write_export(out, {"labels": three_launches()})
    assert len(list(out.iterdir())) == 4
    write_export(out, {"labels": three_launches()}, force=True)
    assert sorted(file.name for file in out.iterdir()) == ["export.json", "labels.parquet"]
    assert list(tmp_path.iterdir()) == [out]


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    """Nothing can be lost."""
    out = tmp_path / "out"
    out.mkdir()
    write_export(out, {"labels": three_launches()})
    assert read_export(out)["labels"].num_rows == 3


def test_a_folder_with_other_files_is_not_replaced_even_by_force(tmp_path: Path) -> None:
    """A folder named by mistake may hold what cannot be had again."""
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(OutputError, match="no export"):
        write_export(tmp_path, _tables(), force=True)
    assert (tmp_path / "thesis.tex").exists()


def test_an_export_that_somebody_added_to_is_not_replaced_even_by_force(tmp_path: Path) -> None:
    """Whether a file or a folder that has the name of a table: the manifest knows what is ours."""
    out = tmp_path / "out"
    write_export(out, {"labels": three_launches()})
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"not of its export \(notes\.txt\)"):
        write_export(out, _tables(), force=True)
    (out / "notes.txt").unlink()
    (out / "labels.parquet").unlink()
    (out / "labels.parquet").mkdir()
    (out / "labels.parquet" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"labels\.parquet"):
        write_export(out, _tables(), force=True)
    assert (out / "labels.parquet" / "mine.txt").exists()


def test_a_folder_that_holds_an_input_is_not_replaced_even_by_force(tmp_path: Path) -> None:
    """At any depth, by any spelling, and also where the input has the name of a table."""
    out = tmp_path / "out"
    write_export(out, {"labels": three_launches()})
    for report in (out / "a.ncu-rep", out / "sub" / "a.ncu-rep", out / "labels.parquet"):
        report.parent.mkdir(exist_ok=True)
        report.write_bytes(b"NVR")
        spelling = out / ".." / "out" / report.relative_to(out)
        with pytest.raises(OutputError, match="which is read"):
            write_export(out, _tables(), sources=[str(spelling)], force=True)
        assert report.exists()


def test_the_current_folder_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell of the user would be left in a folder that is gone."""
    out = tmp_path / "out"
    write_export(out, {"labels": three_launches()})
    (tmp_path / "empty").mkdir()
    for folder in (out, tmp_path / "empty"):
        monkeypatch.chdir(folder)
        for name in (".", "..", str(folder)):
            with pytest.raises(OutputError, match="current folder"):
                write_export(name, _tables(), force=True)


def test_an_export_of_another_version_can_be_replaced(tmp_path: Path) -> None:
    """It is an export all the same."""
    out = tmp_path / "out"
    write_export(out, _tables())
    manifest = json.loads((out / "export.json").read_text(encoding="utf-8"))
    (out / "export.json").write_text(json.dumps({**manifest, "schema_version": 99}), "utf-8")
    write_export(out, {"labels": three_launches()}, force=True)
    assert list(read_export(out)) == ["labels"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    """Even by force."""
    (tmp_path / "out").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match="is a file"):
        check_export_place(tmp_path / "out", force=True)
    with pytest.raises(OutputError, match="is a file"):
        check_export_place(tmp_path / "out", force=False)


def test_a_folder_that_cannot_be_looked_into_is_an_output_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system refuses is no fault of nsightlens."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nsightlens.store.export.os.listdir", denied)
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="Permission denied"):
        check_export_place(tmp_path / "out", force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        check_export_place(tmp_path / "a\0b", force=True)


def test_a_failing_export_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new folder takes its place only when all of it is written."""
    out = tmp_path / "out"
    write_export(out, {"labels": three_launches()})

    def disk_full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", disk_full)
    with pytest.raises(OutputError, match="No space left"):
        write_export(out, _tables(), force=True)
    monkeypatch.undo()
    assert list(read_export(out)) == ["labels"]
    assert list(tmp_path.iterdir()) == [out]


def test_an_export_that_cannot_take_its_place_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last step fails, between two renames."""
    out = tmp_path / "out"
    write_export(out, {"labels": three_launches()})
    rename = type(out).rename

    def denied(path: Path, target: Path) -> Path:
        if path.name.endswith(".new"):
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(type(out), "rename", denied)
    with pytest.raises(OutputError, match="Permission denied"):
        write_export(out, _tables(), force=True)
    assert list(read_export(out)) == ["labels"]
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_is_no_export_is_told_from_one_that_is_damaged(tmp_path: Path) -> None:
    """Each error names the file and what to do."""
    with pytest.raises(ReportNotFoundError, match=r"export\.json"):
        read_export(tmp_path)
    (tmp_path / "export.json").write_text("[]", encoding="utf-8")
    with pytest.raises(NotAReportError, match="not the manifest"):
        read_export(tmp_path)


def test_an_export_of_another_schema_version_is_refused(tmp_path: Path) -> None:
    """Its columns may mean something else."""
    out = tmp_path / "out"
    write_export(out, _tables())
    manifest = json.loads((out / "export.json").read_text(encoding="utf-8"))
    (out / "export.json").write_text(json.dumps({**manifest, "schema_version": 99}), "utf-8")
    with pytest.raises(NotAReportError, match="schema version 99"):
        read_export(out)


def test_a_table_that_is_gone_or_swapped_is_noticed(tmp_path: Path) -> None:
    """An export is read whole or not at all."""
    out = tmp_path / "out"
    write_export(out, _tables())
    pq.write_table(three_launches().slice(0, 1), out / "labels.parquet")
    with pytest.raises(NotAReportError, match="1 rows instead of the 3"):
        read_export(out)
    (out / "labels.parquet").unlink()
    with pytest.raises(ReportNotFoundError, match=r"labels\.parquet"):
        read_export(out)
