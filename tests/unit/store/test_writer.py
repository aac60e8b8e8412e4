"""A run of reports is added to a dataset whole or not at all, and each report once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from support.datasets import contents_of, files_in, reports_in, write_reports

from nsightlens.errors import DatasetFormatError, OutputError
from nsightlens.store import DatasetWriter, open_dataset
from nsightlens.store.writer import options_id_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa


def test_a_report_is_added_once(tmp_path: Path) -> None:
    """In a run as in a later one; a run that adds nothing leaves no trace."""
    ds = tmp_path / "ds"
    assert write_reports(ds, [1, 2, 1]) == ["added", "added", "present"]
    before = files_in(tmp_path)
    assert write_reports(ds, [2, 1]) == ["present", "present"]
    assert files_in(tmp_path) == before
    assert write_reports(ds, [3, 2]) == ["added", "present"]
    assert reports_in(ds) == [1, 2, 3]


def test_a_report_exported_with_other_options_is_told_and_kept(tmp_path: Path) -> None:
    """Options are compared by what they say, in whatever order."""
    ds = tmp_path / "ds"
    write_reports(ds, [1], options={"a": 1, "b": None})
    assert write_reports(ds, [1], options={"b": None, "a": 1}) == ["present"]
    assert write_reports(ds, [1, 2], options={"a": 2}) == ["differs", "added"]
    rows = open_dataset(ds).reports.to_pylist()
    assert {row["report"]: row["options"] for row in rows} == {
        "r1.ncu-rep": '{"a": 1, "b": null}',
        "r2.ncu-rep": '{"a": 2}',
    }
    assert {row["options_id"] for row in rows} == {
        options_id_of({"a": 1, "b": None}),
        options_id_of({"a": 2}),
    }


def test_the_list_of_reports_says_where_each_came_from(tmp_path: Path) -> None:
    """And how large it was, and what was noticed."""
    with DatasetWriter(tmp_path / "ds") as writer:
        writer.add(contents_of(7)._replace(warnings=("cut",)))
        assert writer.row_counts == {"launches": 3, "labels": 3, "sessions": 1, "reports": 1}
    (row,) = open_dataset(tmp_path / "ds").reports.to_pylist()
    assert (row["report"], row["size_bytes"], row["launch_count"]) == ("r7.ncu-rep", 1007, 3)
    assert (row["ncu_version"], row["warnings"]) == ("2025.1", ["cut"])


def test_nothing_of_a_run_can_be_seen_before_it_ends(tmp_path: Path) -> None:
    """Not by those who take every Parquet file below the dataset either."""
    ds = tmp_path / "ds"
    write_reports(ds, [1])
    before = files_in(ds)
    with DatasetWriter(ds) as writer:
        writer.add(contents_of(2))
        assert files_in(ds) == before
        assert reports_in(ds) == [1]
        assert list(tmp_path.rglob("*.parquet"))  # it is staged somewhere beside
    assert reports_in(ds) == [1, 2]
    assert list(tmp_path.iterdir()) == [ds]


def test_force_replaces_the_whole_dataset(tmp_path: Path) -> None:
    """No file of the earlier one stays."""
    ds = tmp_path / "ds"
    write_reports(ds, [1])
    write_reports(ds, [2])
    assert write_reports(ds, [3, 1], force=True) == ["added", "added"]
    assert reports_in(ds) == [1, 3]
    assert len(list(ds.iterdir())) == 2
    assert list(tmp_path.iterdir()) == [ds]


def test_force_without_a_report_replaces_nothing(tmp_path: Path) -> None:
    """An empty dataset is not what anybody asked for."""
    write_reports(tmp_path / "ds", [1])
    write_reports(tmp_path / "ds", [], force=True)
    assert reports_in(tmp_path / "ds") == [1]


def test_an_empty_folder_becomes_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by force, and also the one in which the user is, which stays the same folder."""
    for force in (False, True):
        ds = tmp_path / f"ds{force}"
        ds.mkdir()
        monkeypatch.chdir(ds)
        inode = ds.stat().st_ino
        write_reports(ds, [1], force=force)
        assert reports_in(ds) == [1]
        assert ds.stat().st_ino == inode


def test_a_link_to_a_dataset_stays_a_link(tmp_path: Path) -> None:
    """What it leads to is added to and replaced."""
    (tmp_path / "disk").mkdir()
    write_reports(tmp_path / "disk" / "real", [1])
    (tmp_path / "ds").symlink_to(tmp_path / "disk" / "real")
    write_reports(tmp_path / "ds", [2])
    assert reports_in(tmp_path / "disk" / "real") == [1, 2]
    write_reports(tmp_path / "ds", [3], force=True)
    assert (tmp_path / "ds").is_symlink()
    assert reports_in(tmp_path / "disk" / "real") == [3]


def disk_full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


FAILURES: list[tuple[str, Any, str]] = [
    ("when a file is opened", pq, "ParquetWriter"),
    ("when rows are written", pq.ParquetWriter, "write_table"),
    ("when a file is closed", pq.ParquetWriter, "close"),
    ("when files are brought to the disk", "os", "fsync"),
    ("at the one step that counts", "pathlib.Path", "rename"),
]


@pytest.mark.parametrize("failure", [disk_full, interrupted])
@pytest.mark.parametrize(("when", "place", "name"), FAILURES, ids=[row[0] for row in FAILURES])
@pytest.mark.parametrize("force", [False, True])
def test_a_run_that_fails_leaves_the_dataset_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
    when: str,
    place: Any,
    name: str,
    force: bool,
) -> None:
    """Every file of it; also where none was, and nothing is left beside it."""
    ds = tmp_path / "ds"
    for numbers in ([], [1]):
        write_reports(ds, numbers)
        before = files_in(tmp_path)
        with monkeypatch.context() as patched:
            if isinstance(place, str):
                patched.setattr(f"{place}.{name}", failure)
            else:
                patched.setattr(place, name, failure)
            expected = KeyboardInterrupt if failure is interrupted else OutputError
            with pytest.raises(
                expected, match="No space left" if expected is OutputError else None
            ):
                write_reports(ds, [2], force=force)
        assert files_in(tmp_path) == before, when
    assert write_reports(ds, [2]) == ["added"]
    assert reports_in(ds) == [1, 2]


def test_an_error_of_the_caller_leaves_the_dataset_as_it_was(tmp_path: Path) -> None:
    """What was added before it is not kept."""
    write_reports(tmp_path / "ds", [1])
    before = files_in(tmp_path)
    with pytest.raises(ZeroDivisionError):
        _add_and_fail(tmp_path / "ds")
    assert files_in(tmp_path) == before


def _add_and_fail(folder: Path) -> None:
    with DatasetWriter(folder) as writer:
        writer.add(contents_of(2))
        raise ZeroDivisionError


def test_a_damaged_dataset_is_not_added_to_and_can_be_replaced(tmp_path: Path) -> None:
    """What reports it holds cannot be known."""
    ds = tmp_path / "ds"
    write_reports(ds, [1])
    next(ds.glob("*/_export.json")).unlink()
    with pytest.raises(DatasetFormatError, match=r"_export\.json: the file is gone"):
        write_reports(ds, [2])
    write_reports(ds, [2], force=True)
    assert reports_in(ds) == [2]


def test_memory_is_not_kept_for_reports_that_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows go to the disk when there are many, in one table or in all together."""
    from nsightlens.store import parts

    for name in ("_ROW_GROUP_BYTES", "_ALL_BYTES"):
        with monkeypatch.context() as patched:
            patched.setattr(parts, name, 1)
            ds = tmp_path / name
            write_reports(ds, range(12))
            (file,) = ds.glob("*/table=labels/**/*.parquet")
            assert pq.read_metadata(file).num_row_groups >= 3
            assert reports_in(ds) == list(range(12))


def test_the_tables_of_many_reports_are_joined_until_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small one takes ten times the memory of its bytes; the rows stay what they are."""
    from nsightlens.store import parts

    held: list[int] = []
    join = parts._joined

    def noted(tables: list[pa.Table]) -> pa.Table:
        held.append(len(tables))
        return join(tables)

    monkeypatch.setattr(parts, "_PIECES", 4)
    monkeypatch.setattr(parts, "_joined", noted)
    write_reports(tmp_path / "ds", range(18))
    assert max(held) <= 6  # four joined ones and a rest of two
    assert reports_in(tmp_path / "ds") == list(range(18))


def test_a_run_on_very_many_gpus_keeps_them_apart(tmp_path: Path) -> None:
    """Also names that a file system does not take, or takes for one."""
    names = ["A/B", "a/b", "..", "x" * 400, "y. ", "50%", "=", "\u00fc", ""]
    with DatasetWriter(tmp_path / "ds") as writer:
        for number, name in enumerate(names):
            writer.add(contents_of(number, gpus=[name]))
    dataset = open_dataset(tmp_path / "ds")
    rows = dataset.table("labels", ["gpu", "device_name", "launch_id"]).to_pylist()
    assert len(rows) == 3 * len(names)
    for row in rows:
        assert (row["gpu"] or "") == (row["device_name"] or "")[:180]
