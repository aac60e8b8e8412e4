"""Results reach their place whole or not at all.

A file is written under another name beside its place and then renamed, so a failure or an
interruption leaves what was there before as it was. Whole folders are `nsightlens.store.staging`'s.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from nsightlens.errors import OutputError, OutputExistsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check_place", "is_same", "status_of", "write_bytes", "write_text"]


def check_place(
    path: Path,
    *,
    force: bool,
    inputs: Iterable[Path] = (),
    remedy: str = "add --force (in Python: force=True)",
) -> None:
    """Refuse a file that must not or cannot be written, before any work is done for it.

    Parameters
    ----------
    path
        The file to be written.
    force
        Whether it may exist already.
    inputs
        Files that are read: none of them is ever replaced.
    remedy
        How the caller's user says ``force``.

    Raises
    ------
    OutputExistsError
        It exists and ``force`` is false.
    OutputError
        It is one of the inputs, a folder or a disk, its folder does not exist, or the system does
        not let it be looked at.
    """
    if any(is_same(path, source) for source in inputs):
        raise OutputError(f"{path} is one of the files that are read: choose another name.")
    status = status_of(path)
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path} is a folder: name a file.")
    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
        if not force:
            raise OutputExistsError(str(path), remedy=remedy)
    elif not _is_stream(status):
        raise OutputError(f"{path} is neither a file nor a pipe: choose another name.")


def status_of(path: Path) -> os.stat_result | None:
    """Return what lies at the place of an output, None where nothing does.

    A link is followed; of one that leads nowhere, its own status is returned.

    Raises
    ------
    OutputError
        The folder that it would lie in does not exist, or the system refuses to look.
    """
    try:
        try:
            return path.stat()
        except FileNotFoundError:
            _check_folder(path.parent, path)
            return path.lstat() if os.path.lexists(path) else None
        except NotADirectoryError:
            _check_folder(path.parent, path)
            raise
    except (OSError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{path} cannot be written: {reason}. Choose another name.") from error


def _check_folder(folder: Path, path: Path) -> None:
    if folder.is_dir():
        return
    for part in (folder, *folder.parents):
        if part.exists() and not part.is_dir():
            raise OutputError(f"{path}: {part} is a file, not a folder. Choose another name.")
    raise OutputError(
        f"{path}: the folder {folder} does not exist. Make it first, or choose another."
    )


def is_same(path: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file or folder."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


def _is_stream(status: os.stat_result) -> bool:
    """Return whether writing to it adds to nothing that could be lost: a pipe, /dev/null."""
    return stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)


def write_text(path: Path, pieces: Iterable[str], *, force: bool) -> None:
    """Write text to a file as UTF-8, whole or not at all.

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
    with _opened(path) as out:
        for piece in pieces:
            out.write(piece.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, pieces: Iterable[bytes], *, force: bool, remedy: str) -> None:
    """Write bytes to a file, whole or not at all; see `write_text` and `check_place`."""
    check_place(path, force=force, remedy=remedy)
    with _opened(path) as out:
        out.writelines(pieces)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Give a file to fill that takes its place when the block ends without an error."""
    status = status_of(path)
    if status is not None and _is_stream(status):
        with _told_as_output_error(path), _open_stream(path) as stream:
            yield stream
        return
    place = Path(os.path.realpath(path))
    beside = _name_beside(place)
    try:
        with _told_as_output_error(path):
            with beside.open("xb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            if place.exists():
                shutil.copymode(place, beside)
            beside.replace(place)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _open_stream(path: Path) -> BinaryIO:
    """Open a pipe or a device, without waiting for a reader that may never come."""
    try:
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if path.is_fifo():
            problem = f"{path}: nobody reads from this pipe. Start its reader first."
            raise OutputError(problem) from error
        raise
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return open(descriptor, "wb")  # noqa: PTH123 - pathlib opens no descriptor


def _name_beside(place: Path) -> Path:
    # In the same folder, because a rename is atomic only within one file system. Not longer than
    # the longest name by itself: where the place can be written, so can this.
    return place.with_name(f".{place.name[:_KEPT_NAME]}.{os.getpid()}.new")


_KEPT_NAME = 40
"""[character] Of the name of the place, in that of what is written beside it."""


@contextlib.contextmanager
def _told_as_output_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (OutputError, OutputExistsError, BrokenPipeError):
        raise
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.") from error
