"""Results reach their place whole or not at all.

A file or folder is written under another name beside its place and then renamed, so a failure or
an interruption leaves what was there before as it was.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import OutputError, OutputExistsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check_place", "new_folder", "write_file"]


def check_place(path: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a place that must not or cannot be written, before any work is done for it.

    Parameters
    ----------
    path
        The file or folder to be written.
    force
        Whether it may exist already.
    inputs
        Files that are read: none of them is ever replaced.

    Raises
    ------
    OutputExistsError
        It exists and ``force`` is false.
    OutputError
        Its folder does not exist, or it is one of the inputs.
    """
    if any(_is_same(path, source) for source in inputs):
        raise OutputError(f"{path} is one of the reports that are read: choose another name.")
    if not path.parent.is_dir():
        raise OutputError(
            f"{path}: the folder {path.parent} does not exist. Make it first, or choose another."
        )
    if os.path.lexists(path) and not force and not _is_device(path):
        raise OutputExistsError(str(path))


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _is_device(path: Path) -> bool:
    """Return whether writing to it adds to nothing that could be lost: a pipe, /dev/null."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_file(path: Path, pieces: Iterable[str], *, force: bool) -> None:
    """Write text to a file as UTF-8.

    Parameters
    ----------
    path
        The file. A link is followed.
    pieces
        The text; read once. An error raised by it leaves the place as it was.
    force
        Whether the file may exist already.

    Raises
    ------
    OutputExistsError
        It exists and ``force`` is false.
    OutputError
        It could not be written.
    """
    check_place(path, force=force)
    if path.is_dir():
        raise OutputError(f"{path} is a folder: name a file.")
    place = Path(os.path.realpath(path))
    if _is_device(path):
        with _told_as_output_error(path), path.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(pieces)
        return
    beside = _name_beside(place)
    try:
        with _told_as_output_error(path):
            with beside.open("x", encoding="utf-8", newline="", errors="backslashreplace") as out:
                out.writelines(pieces)
                out.flush()
                os.fsync(out.fileno())
            if place.exists():
                shutil.copymode(place, beside)
            beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill that takes its place when the block ends without an error.

    Parameters
    ----------
    path
        The folder to be. One that exists is replaced as a whole: whether it may be is for the
        caller to check.

    Yields
    ------
    pathlib.Path
        An empty folder beside ``path``.

    Raises
    ------
    OutputError
        It could not be written; what was there before is as it was.
    """
    place = Path(os.path.realpath(path))
    beside, former = _name_beside(place), _name_beside(place, "old")
    try:
        with _told_as_output_error(path):
            beside.mkdir()
        yield beside
        with _told_as_output_error(path):
            if place.exists():
                place.rename(former)
            try:
                beside.rename(place)
            except OSError:
                if former.exists():
                    former.rename(place)
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if place.exists():
            shutil.rmtree(former, ignore_errors=True)


def _name_beside(place: Path, what: str = "new") -> Path:
    # In the same folder, because a rename is atomic only within one file system.
    return place.with_name(f".{place.name}.{os.getpid()}.{what}")


@contextlib.contextmanager
def _told_as_output_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (OutputError, OutputExistsError, BrokenPipeError):
        raise
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.") from error
