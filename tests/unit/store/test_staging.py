"""One process at a time writes, what a killed one left is removed, and folders change at once."""

from __future__ import annotations

import errno
import multiprocessing
from typing import TYPE_CHECKING

import pytest
from support.datasets import contents_of, files_in, reports_in, write_reports

from nsightlens import files
from nsightlens.errors import OutputError
from nsightlens.store import DatasetWriter, exchange, lock
from nsightlens.store.layout import MARKER
from nsightlens.store.staging import staging

if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Because its lock is free. What another program put there is left alone."""
    ds = tmp_path / "ds"
    left = tmp_path / ".ds.nsightlens" / "staged" / "run" / "table=labels"
    left.mkdir(parents=True)
    (left / "part-00000.parquet").write_bytes(b"half of it")
    (tmp_path / ".ds.nsightlens" / "lock").touch()
    write_reports(ds, [1])
    assert list(tmp_path.iterdir()) == [ds]


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("marked", [True, False])
def test_a_marker_that_a_killed_run_left_half_written_is_removed_by_the_next(
    tmp_path: Path, force: bool, marked: bool
) -> None:
    """In a folder that was empty, or in what another run has made of it since."""
    ds = tmp_path / "ds"
    ds.mkdir()
    if marked:
        write_reports(ds, [2])
    half = files._name_beside(ds / MARKER)
    half.write_text("{", encoding="utf-8")
    assert write_reports(ds, [1], force=force) == ["added"]
    assert reports_in(ds) == ([1, 2] if marked and not force else [1])
    assert not half.exists()


def test_what_is_staged_is_not_removed_while_its_run_lasts(tmp_path: Path) -> None:
    """A second run waits, says so once, and then sees what the first has added."""
    ds = tmp_path / "ds"
    told: list[int] = []
    first = DatasetWriter(ds)
    first.__enter__()
    first.add(contents_of(1))

    def end_first() -> None:
        assert list(tmp_path.rglob("*.parquet"))
        told.append(1)
        first.__exit__(None, None, None)

    assert write_reports(ds, [1, 2], on_wait=end_first) == ["present", "added"]
    assert told == [1]
    assert reports_in(ds) == [1, 2]
    assert list(tmp_path.iterdir()) == [ds]


def _add(folder: Path, number: int, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    for i in range(4):
        write_reports(folder, [number + i])


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Whoever begins, ends and removes the lock between the looks of the others."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    processes = [
        context.Process(target=_add, args=(tmp_path / "ds", 10 * i, barrier)) for i in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert reports_in(tmp_path / "ds") == [10 * i + j for i in range(3) for j in range(4)]
    assert list(tmp_path.iterdir()) == [tmp_path / "ds"]


def test_a_lock_whose_file_was_removed_meanwhile_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two processes would each hold the lock of a file of their own."""
    folder = tmp_path / "beside"
    locks = lock._locks
    calls: list[int] = []

    def lost_at_first(descriptor: int) -> bool:
        if not calls:
            (folder / "lock").unlink()
        calls.append(descriptor)
        return locks(descriptor)

    monkeypatch.setattr(lock, "_locks", lost_at_first)
    with lock.locked(folder):
        assert (folder / "lock").exists()
    assert len(calls) == 2
    assert not folder.exists()


def test_long_names_of_datasets_have_a_staging_folder_each(tmp_path: Path) -> None:
    """As long as the file system takes, and not that of another."""
    names = ["n" * 255, "n" * 254 + "m"]
    with staging(tmp_path / names[0]) as one, staging(tmp_path / names[1]) as other:
        assert one != other
    write_reports(tmp_path / names[0], [1])
    assert reports_in(tmp_path / names[0]) == [1]


def test_a_parent_that_cannot_be_written_is_an_output_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system says is passed on."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(tmp_path), "mkdir", denied)
    with pytest.raises(OutputError, match="Permission denied"):
        write_reports(tmp_path / "ds", [1])


def _two_folders(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / folder.name).touch()
    return one, other


def _no_exchange(*_: object) -> bool:
    return False


@pytest.mark.parametrize("at_once", [True, False])
def test_two_folders_change_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    """In one step, or in two renames where the system has no such step."""
    if not at_once:
        monkeypatch.setattr(exchange, "exchanged_at_once", _no_exchange)
    one, other = _two_folders(tmp_path)
    exchange.exchange(one, other)
    assert sorted(files_in(tmp_path)) == ["one/other", "other/one"]


def test_a_failing_exchange_leaves_both_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the renames fails."""
    one, other = _two_folders(tmp_path)
    before = files_in(tmp_path)
    with pytest.raises(OSError, match="other"):
        exchange.exchanged_at_once(tmp_path / "absent", other)
    monkeypatch.setattr(exchange, "exchanged_at_once", _no_exchange)
    rename = type(one).rename

    def denied(path: Path, target: Path) -> Path:
        if path == one:
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(type(one), "rename", denied)
    with pytest.raises(PermissionError):
        exchange.exchange(one, other)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
def test_a_system_without_an_exchange_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """An old kernel, or a file system that does not know it."""

    class OldKernel:
        def __init__(self, *_: object, **__: object) -> None:
            self.renameat2 = self.renamex_np = lambda *_: -1

    monkeypatch.setattr("ctypes.CDLL", OldKernel)
    monkeypatch.setattr("ctypes.get_errno", lambda: number)
    one, other = _two_folders(tmp_path)
    assert not exchange.exchanged_at_once(one, other)
    exchange.exchange(one, other)
    assert sorted(files_in(tmp_path)) == ["one/other", "other/one"]


def test_a_dataset_lost_between_two_renames_is_brought_back_by_the_next_run(
    tmp_path: Path,
) -> None:
    """A run that was killed there left it beside its place."""
    ds = tmp_path / "ds"
    write_reports(ds, [1])
    former = tmp_path / ".ds.nsightlens" / "staged" / "dataset.old"
    former.parent.mkdir(parents=True)
    ds.rename(former)
    write_reports(ds, [2])
    assert reports_in(ds) == [1, 2]


@pytest.mark.parametrize("replace", [True, False])
def test_force_works_without_an_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    """In two renames."""
    monkeypatch.setattr(exchange, "exchanged_at_once", _no_exchange)
    write_reports(tmp_path / "ds", [1])
    write_reports(tmp_path / "ds", [2], force=replace)
    assert reports_in(tmp_path / "ds") == ([2] if replace else [1, 2])
    assert list(tmp_path.iterdir()) == [tmp_path / "ds"]
