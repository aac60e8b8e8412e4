"""Nothing is lost in a folder that was named by mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.datasets import contents_of, files_in, reports_in, write_reports

from nsightlens.errors import DatasetFormatError, OutputError
from nsightlens.store import DatasetWriter, check_dataset_place, exchange, merge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ds(tmp_path: Path) -> Path:
    """Return a dataset of one report."""
    write_reports(tmp_path / "ds", [1])
    return tmp_path / "ds"


def test_a_folder_with_other_files_is_not_written_even_by_force(tmp_path: Path) -> None:
    """It may hold what cannot be had again."""
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(OutputError, match=r"no dataset \(thesis\.tex\)"):
            write_reports(tmp_path, [1], force=force)
    assert list(files_in(tmp_path)) == ["thesis.tex"]


@pytest.mark.parametrize(
    "place",
    [
        "notes.txt",
        "export=mine/notes.txt",
        "export=mine/table=labels/notes.txt",
        "sub/part-00000.parquet",
        "RUN/table=labels/mine.parquet",
    ],
)
def test_a_dataset_that_somebody_added_to_is_not_replaced_even_by_force(
    ds: Path, place: str
) -> None:
    """The manifests know what is ours. It can still be added to."""
    run = next(ds.glob("export=*"))
    file = ds / place.replace("RUN", run.name)
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=f"not of its exports .*{file.name}"):
        write_reports(ds, [2], force=True)
    assert file.read_text(encoding="utf-8") == "mine"


def _add_while_a_file_comes(ds: Path, *, force: bool) -> None:
    with DatasetWriter(ds, force=force) as writer:
        writer.add(contents_of(2))
        (ds / "notes.txt").write_text("mine", encoding="utf-8")


def test_a_file_that_comes_during_an_export_is_not_lost_to_force(ds: Path, tmp_path: Path) -> None:
    """Hours may lie between the first look and the last."""
    with pytest.raises(OutputError, match=r"ds holds files .*notes\.txt.* not replaced"):
        _add_while_a_file_comes(ds, force=True)
    assert (ds / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert reports_in(ds) == [1]
    assert list(tmp_path.iterdir()) == [ds]


def test_a_file_that_comes_into_an_empty_folder_is_not_lost_to_force(tmp_path: Path) -> None:
    """The folder was nobody's when the export began."""
    (tmp_path / "ds").mkdir()
    with pytest.raises(OutputError, match=r"notes\.txt"):
        _add_while_a_file_comes(tmp_path / "ds", force=True)
    assert list(files_in(tmp_path)) == ["ds/notes.txt"]


@pytest.mark.parametrize("force", [True, False])
def test_a_file_that_comes_right_before_the_exchange_is_not_lost(
    ds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    """The dataset is put back with it; by force that is said, runs are else added unmerged."""

    def exchange_after_a_file_came(one: Path, other: Path) -> None:
        if not list(tmp_path.rglob("notes.txt")):
            (other / "notes.txt").write_text("mine", encoding="utf-8")
        exchange.exchange(one, other)

    monkeypatch.setattr(merge, "_FEW", 1)
    monkeypatch.setattr("nsightlens.store.staging.exchange", exchange_after_a_file_came)
    if force:
        with pytest.raises(OutputError, match=r"/ds holds files .*notes\.txt"):
            write_reports(ds, [2], force=True)
    else:
        write_reports(ds, [2])
    assert (ds / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert reports_in(ds) == ([1] if force else [1, 2])
    assert list(tmp_path.iterdir()) == [ds]


def test_a_file_beside_the_runs_does_not_keep_reports_from_being_added(ds: Path) -> None:
    """A README of the user's, say: nothing is lost."""
    (ds / "README").write_text("mine", encoding="utf-8")
    write_reports(ds, [2])
    assert reports_in(ds) == [1, 2]
    assert (ds / "README").exists()


def test_a_link_of_the_user_is_not_followed_to_be_removed(ds: Path, tmp_path: Path) -> None:
    """Whether to a folder or to a file."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "part-00000.parquet").write_text("mine", encoding="utf-8")
    (ds / "link").symlink_to(tmp_path / "mine")
    with pytest.raises(OutputError, match="link"):
        write_reports(ds, [2], force=True)
    assert (tmp_path / "mine" / "part-00000.parquet").exists()


def test_a_dataset_that_holds_an_input_is_not_replaced_even_by_force(ds: Path) -> None:
    """At any depth, by any spelling."""
    for report in (ds / "a.ncu-rep", ds / "sub" / "a.ncu-rep"):
        report.parent.mkdir(exist_ok=True)
        report.write_bytes(b"NVR")
        spelling = ds / ".." / "ds" / report.relative_to(ds)
        with pytest.raises(OutputError, match="which is read"):
            write_reports(ds, [2], force=True, inputs=[str(spelling)])
        assert report.exists()


def test_the_current_folder_is_not_replaced(ds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell of the user would be left in a folder that is gone. It can be added to."""
    monkeypatch.chdir(next(ds.glob("export=*")))
    for name in ("..", str(ds)):
        with pytest.raises(OutputError, match="current folder"):
            check_dataset_place(name, force=True)
    monkeypatch.chdir(ds)
    for name in (".", str(ds)):
        with pytest.raises(OutputError, match="current folder"):
            check_dataset_place(name, force=True)
    write_reports(ds, [2])
    assert reports_in(ds) == [1, 2]


@pytest.mark.parametrize("name", ["schema_version", "layout_version"])
def test_a_dataset_of_another_version_is_replaced_and_not_added_to(ds: Path, name: str) -> None:
    """Its tables would not be of one schema."""
    for file in (ds / "nsightlens-dataset.json", next(ds.glob("*/_export.json"))):
        content = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**content, name: 99}), encoding="utf-8")
    with pytest.raises(DatasetFormatError, match="--force"):
        write_reports(ds, [2])
    write_reports(ds, [2], force=True)
    assert reports_in(ds) == [2]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    """Even by force; and a folder has to have a parent."""
    (tmp_path / "out").write_text("x", encoding="utf-8")
    for force in (True, False):
        with pytest.raises(OutputError, match="is a file"):
            check_dataset_place(tmp_path / "out", force=force)
        with pytest.raises(OutputError, match="does not exist"):
            check_dataset_place(tmp_path / "no" / "out", force=force)


def test_a_folder_that_cannot_be_looked_into_is_an_output_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system refuses is no fault of nsightlens."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nsightlens.store.place.os.listdir", denied)
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="Permission denied"):
        check_dataset_place(tmp_path / "out", force=True)
    with pytest.raises(OutputError, match="cannot be written"):
        check_dataset_place(tmp_path / "a\0b", force=True)
