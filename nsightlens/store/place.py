"""Whether a folder may become a dataset, be added to, or be replaced."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import DatasetFormatError, OutputError
from nsightlens.files import is_same, status_of
from nsightlens.store.layout import MANIFEST, MARKER
from nsightlens.store.manifest import export_names, is_marked, read_export, read_marker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["REPLACED", "check_dataset_place", "check_only_ours", "is_half_marker"]

REPLACED = "not replaced, even with --force"
"""What is refused; see `check_only_ours`."""


def check_dataset_place(
    folder: str | os.PathLike[str], *, force: bool, inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse a folder that must not be written, before any work is done for it.

    An empty folder may be used, and a dataset may be added to. With ``force`` a dataset is
    replaced, and nothing else: a folder named by mistake may hold what cannot be had again.

    Parameters
    ----------
    folder
        The folder to be written.
    force
        Whether what it holds is replaced.
    inputs
        Files that are read: a folder that holds one of them is never replaced.

    Raises
    ------
    OutputError
        It is a file, its parent does not exist, or it holds something else than a dataset. With
        ``force`` also: it holds anything beside the files of the dataset, holds one of the
        inputs, or is the current folder or one above it.
    DatasetFormatError
        It is a dataset of another version, and ``force`` is false.
    """
    path = Path(folder)
    status = status_of(path)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path} is a file: name a folder.")
    names = [name for name in _names_in(path) if not is_half_marker(name)]
    if not names:
        return
    if not is_marked(path):
        raise OutputError(
            f"{path} holds files and no dataset ({_shown(names)}): nothing is written there. "
            "Choose another folder."
        )
    if force:
        _check_replaceable(path, inputs)
    else:
        read_marker(path)


def check_only_ours(path: Path, what: str, *, shown: Path | None = None) -> None:
    """Refuse to replace a dataset in which anything lies that it did not write.

    Parameters
    ----------
    path
        The dataset.
    what
        What is refused, such as `REPLACED`.
    shown
        Where people know the dataset to be, if that is somewhere else.

    Raises
    ------
    OutputError
        Something else lies in it.
    """
    others = sorted(_others_in(path))
    if others:
        raise OutputError(
            f"{shown or path} holds files that are not of its exports ({_shown(others)}): it is "
            f"{what}. Choose another folder, or move them."
        )


def _check_replaceable(path: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    # The folder is replaced by another one, which would leave the user's shell in none.
    here = Path(os.path.realpath(os.curdir))
    if any(is_same(path, above) for above in (here, *here.parents)):
        raise OutputError(f"{path} is the current folder, or one above it: name another folder.")
    for source in inputs:
        if any(is_same(path, above) for above in Path(os.path.realpath(source)).parents):
            raise OutputError(
                f"{path} holds {os.fspath(source)}, which is read: it is not replaced. "
                "Choose another folder."
            )
    check_only_ours(path, REPLACED)


def is_half_marker(name: str) -> bool:
    """Return whether a file has the name of a marker that is being written.

    A run that was killed meanwhile leaves it, in a folder that was empty before.

    Examples
    --------
    >>> is_half_marker(".nsightlens-dataset.json.4711.new"), is_half_marker("notes.new")
    (True, False)
    """
    return _HALF_MARKER.fullmatch(name) is not None


def _others_in(root: Path) -> Iterator[str]:
    """Yield what lies in a dataset and is none of its files, below its folder."""
    names = export_names(root)
    known = {MARKER}
    for name in names:
        known |= {f"{name}/{inside}" for inside in _files_of(root / name)}
    for folder, folders, files in os.walk(root):
        at = Path(folder).relative_to(root).as_posix()
        below = "" if at == "." else f"{at}/"
        yield from (
            below + name
            for name in files
            if below + name not in known and not is_half_marker(below + name)
        )
        # A link to a folder is a name among folders, and os.walk does not follow it.
        yield from (below + name for name in folders if (Path(folder) / name).is_symlink())


def _files_of(folder: Path) -> set[str]:
    """Return the names of the files of a run that its manifest speaks of.

    Where the manifest is gone or damaged, those that have the name of a file of ours.
    """
    try:
        return {MANIFEST, *(file.path for file in read_export(folder, any_version=True).files)}
    except DatasetFormatError:
        inside = (path.relative_to(folder).as_posix() for path in folder.rglob("*.parquet"))
        return {MANIFEST, *filter(_PART.fullmatch, inside)}


_HALF_MARKER = re.compile(rf"\.{re.escape(MARKER)}\.\d+\.new")
"""As `nsightlens.files` names a file that it writes."""
_PART = re.compile(r"table=\w+/(gpu=[^/]*/)?part-\d{5,}\.parquet")


def _names_in(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 - names are enough
    except OSError as error:
        raise OutputError(f"{path} cannot be looked into: {error.strerror or error}.") from error


def _shown(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
