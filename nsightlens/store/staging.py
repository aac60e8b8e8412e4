"""A place beside a dataset where a run is written, and the one step that makes it part of it.

Nothing is ever written below a dataset itself before it is whole: readers that take every file
below a folder take those of hidden folders too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import OutputError, OutputExistsError
from nsightlens.files import write_text
from nsightlens.store.exchange import FORMER, exchange, exchanged_at_once
from nsightlens.store.layout import MARKER
from nsightlens.store.lock import locked
from nsightlens.store.manifest import marker_text
from nsightlens.store.place import REPLACED, check_only_ours, is_half_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nsightlens.store.manifest import Export

__all__ = [
    "add_run",
    "can_replace_at_once",
    "place_of",
    "replace_runs",
    "staging",
    "told_as_output_error",
]

_LONGEST = 200
"""[byte] Of the name of a dataset in that of the folder beside it; file systems take 255."""
_ROOT = "dataset"
"""Name of a staged dataset, until it is at its place."""


def place_of(folder: str | os.PathLike[str]) -> Path:
    """Return where a dataset lies, links followed: it is there that folders can change places."""
    return Path(os.path.realpath(folder))


@contextlib.contextmanager
def staging(place: Path, on_wait: Callable[[], None] | None = None) -> Iterator[Path]:
    """Give an empty folder beside a dataset, and the dataset to this process alone.

    What a run that was killed has left there is removed first: whoever holds the lock knows that
    nobody writes there. The folder is removed in the end.

    Parameters
    ----------
    place
        The dataset, see `place_of`; it need not exist.
    on_wait
        Called once, if another process has it.

    Raises
    ------
    OutputError
        No folder can be made there.
    """
    beside = place.with_name(_name_beside(place.name))
    with contextlib.ExitStack() as held:
        with told_as_output_error(place):
            held.enter_context(locked(beside, on_wait))
            work = beside / "staged"
            _bring_back(work / f"{_ROOT}{FORMER}", place)
            _remove(beside)
            _remove_half_markers(place)
            work.mkdir()
        try:
            yield work
        finally:
            _remove(beside)


def _name_beside(name: str) -> str:
    if len(os.fsencode(name)) > _LONGEST:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        name = f"{name[: _LONGEST // 8]}-{digest}"
    return f".{name}.nsightlens"


def _bring_back(former: Path, place: Path) -> None:
    """Undo the first of two renames, where a run was killed between them; see `exchange`."""
    if former.exists() and not place.exists():
        former.rename(place)


def _remove(beside: Path) -> None:
    """Remove everything that was staged; what cannot be removed harms nobody."""
    with contextlib.suppress(OSError):
        for folder in beside.iterdir():
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)


def _remove_half_markers(place: Path) -> None:
    with contextlib.suppress(OSError):
        for file in place.iterdir():
            if is_half_marker(file.name):
                file.unlink()


def add_run(place: Path, export: Export) -> None:
    """Make a staged run part of a dataset, in one step; begin the dataset where there is none.

    Parameters
    ----------
    place
        The dataset, or where it is to be: nothing, or an empty folder.
    export
        The run; its folder is below the one that `staging` gave.

    Raises
    ------
    OutputError
        It failed, and the dataset is as it was.
    """
    with told_as_output_error(place):
        synchronise(export.folder)
        if not place.exists():
            root = _new_root(export.folder.parent / _ROOT)
            export.folder.rename(root / export.folder.name)
            _synchronise_folder(root)
            root.rename(place)
            _synchronise_folder(place.parent)
            return
        if not (place / MARKER).exists():
            write_text(place / MARKER, [marker_text()], force=False)
        export.folder.rename(place / export.folder.name)
        _synchronise_folder(place)


def can_replace_at_once(work: Path) -> bool:
    """Return whether the file system lets two folders change places in one step.

    Parameters
    ----------
    work
        The folder that `staging` gave.
    """
    one, other = work / "one", work / "other"
    try:
        one.mkdir()
        other.mkdir()
        return exchanged_at_once(one, other)
    except OSError:
        return False
    finally:
        for folder in (one, other):
            with contextlib.suppress(OSError):
                folder.rmdir()


def replace_runs(
    place: Path, export: Export, *, kept: Sequence[Path] = (), what: str = REPLACED
) -> None:
    """Put a staged run in the place of all others of a dataset but some, in one step.

    What somebody has put into the dataset meanwhile is not lost: the dataset stays, with it.

    Parameters
    ----------
    place
        The dataset.
    export
        The run; see `add_run`.
    kept
        Folders of the runs that stay.
    what
        What is refused where files of others lie in the dataset, see `check_only_ours`.

    Raises
    ------
    OutputError
        It failed, or files of others lie in the dataset; it is as it was.
    """
    with told_as_output_error(place):
        synchronise(export.folder)
        root = _new_root(export.folder.parent / _ROOT)
        shutil.copymode(place, root)
        export.folder.rename(root / export.folder.name)
        for folder in kept:
            shutil.copytree(folder, root / folder.name, copy_function=_linked)
            _synchronise_folders(root / folder.name)
        _synchronise_folder(root)
        check_only_ours(place, what)
        exchange(root, place)
        try:
            # Something may have come between the look and the step.
            check_only_ours(root, what, shown=place)
        except OutputError:
            exchange(root, place)
            raise
        finally:
            _synchronise_folder(place.parent)
    # What was there is below the staging folder now, and goes with it.


def _new_root(root: Path) -> Path:
    root.mkdir()
    write_text(root / MARKER, [marker_text()], force=False)
    return root


def _linked(source: str, target: str) -> None:
    """Let a second name lead to a file; copy it where the file system has no such thing."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def synchronise(folder: Path) -> None:
    """See that every file and folder below one is on the disk, not only on its way there."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    _synchronise_folders(folder)


def _synchronise_folders(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir():
            _synchronise_folder(path)
    _synchronise_folder(folder)


def _synchronise_folder(folder: Path) -> None:
    """See that the names in a folder are on the disk, where the system can be asked for it."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def told_as_output_error(path: Path) -> Iterator[None]:
    """Say of what the system refuses that it is the dataset that cannot be written."""
    try:
        yield
    except (OutputError, OutputExistsError, BrokenPipeError):
        raise
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.") from error
