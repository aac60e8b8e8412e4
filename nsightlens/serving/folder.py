"""Which files a user means: single ones as they are, folders searched to the bottom."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ReportNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["PROFILE_SUFFIXES", "Found", "find_files", "natural_key", "shown_path"]

PROFILE_SUFFIXES = (".ncu-rep", ".nsys-rep", ".sqlite", ".qdstrm", ".ncu-repz")
"""Files of profilers: other commands read them; a folder of results may hold some."""

_SKIPPED = (
    ".png", ".svg", ".pdf", ".jpg", ".html", ".py", ".sh", ".ipynb", ".md5", ".lock", ".so", ".bin",
    ".safetensors", ".pt",
)  # fmt: skip
MOST_FILES = 200_000


class Found(NamedTuple):
    """A file: where it lies, how it is named in messages, and its path below what was given."""

    path: Path
    shown: str
    relative: Path
    is_named: bool
    """Whether the user named the file itself."""


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return a path as text that can be written: what is no UTF-8 in it as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts ``run_2`` before ``run_10``."""
    return [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in re.split(r"(\d+)", text)
        if part
    ]


def find_files(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Found], list[str]]:
    """Return the files that may hold serving results, and those of profilers.

    Parameters
    ----------
    paths
        Files and folders. Hidden files and folders, and files that hold no results by their
        suffix, are left out of folders; links to folders are followed once.

    Raises
    ------
    ReportNotFoundError
        A path does not exist, a folder cannot be listed, or has too many files.
    """
    found: dict[Path, Found] = {}
    profiles: list[str] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            name = path.resolve().name
            for file, real in _below(path):
                if file.name.lower().endswith(PROFILE_SUFFIXES):
                    profiles.append(str(file))
                elif not file.name.lower().endswith(_SKIPPED):
                    relative = file.relative_to(path)
                    one = Found(file, shown_path(file), Path(name) / relative, False)
                    found.setdefault(real, one)
        elif path.exists():
            found[path.resolve()] = Found(path, str(given), Path(path.name), True)
        else:
            raise ReportNotFoundError(f"{given}: there is no such file or folder.")
        if len(found) > MOST_FILES:
            raise ReportNotFoundError(
                f"{given}: holds more than {MOST_FILES} files: give a folder of results alone."
            )
    return list(found.values()), profiles


def _below(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each file, and where it really lies."""
    seen: set[Path] = set()

    closed: list[Path] = []

    def fail(error: OSError) -> None:
        if Path(error.filename) == folder:
            reason = error.strerror or str(error)
            raise ReportNotFoundError(f"{folder}: cannot be listed: {reason}.") from None
        closed.append(Path(error.filename))

    for where, folders, files in os.walk(folder, followlinks=True, onerror=fail):
        here = Path(where)
        real = here.resolve()
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted((one for one in folders if not one.startswith(".")), key=natural_key)
        for name in sorted(files, key=natural_key):
            file = here / name
            if not name.startswith(".") and file.is_file():
                yield file, (file.resolve() if file.is_symlink() else real / name)
    # Each is refused when it is opened, with the reason, and does not end the others.
    yield from ((one, one) for one in closed)
