"""A report that only nsys can read, exported by the nsys that is installed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import (
    OutputError,
    OutputExistsError,
    ProfilingError,
    ProgramNotFoundError,
)
from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.programs import Ended

__all__ = ["exported"]

_LONGEST_S = 3600.0
"""[s] A report of some gigabytes takes minutes."""

_NEWER = re.compile(
    r"created in Nsight Systems version \((?P<report>[^)]*)\),?\s*newer than your"
    r"\s*current version \((?P<own>[^)]*)\)"
)


@contextmanager
def exported(
    report: Path,
    shown: str,
    *,
    nsys: str | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> Iterator[Path]:
    """Export a report, and yield the SQLite file.

    Parameters
    ----------
    report
        The ``.nsys-rep``.
    shown
        What messages call it.
    nsys
        The program; None for the first on ``PATH``.
    keep
        Where the export is kept; None for a temporary place, which is gone afterwards.

    Raises
    ------
    ProgramNotFoundError
        There is no nsys.
    ProfilingError
        nsys did not export it; the message says why.
    OutputExistsError, OutputError
        ``keep`` exists already, or cannot be written.
    """
    program = _program(nsys, shown)
    place = None if keep is None else Path(keep)
    if place is not None:
        _check_free(place)
    # Beside the place, so that the finished export reaches it by one rename.
    folder = None if place is None else place.absolute().parent
    try:
        made = tempfile.TemporaryDirectory(prefix=".nsightlens-export-", dir=folder)
    except OSError as error:
        where = folder or tempfile.gettempdir()
        raise OutputError(
            f"{where}: nothing can be written there: {error.strerror}. Choose another folder"
            " (exported_to, or TMPDIR for a temporary one)."
        ) from error
    with made as temporary:
        output = Path(temporary) / "export.sqlite"
        _export(program, report, shown, output)
        if place is None:
            yield output
            return
        _check_free(place)
        output.replace(place)
    yield place


def _check_free(place: Path) -> None:
    if place.exists():
        raise OutputExistsError(str(place), remedy="remove it")


def _program(nsys: str | None, shown: str) -> str:
    found = shutil.which(nsys or "nsys")
    if found is not None:
        return found
    missing = "nsys is not on PATH" if nsys is None else f"there is no program {nsys}"
    raise ProgramNotFoundError(
        f"{shown}: only nsys can read a report of Nsight Systems, and {missing}. On the machine"
        f" that has nsys run: nsys export --type sqlite {Path(shown).name}   and name the .sqlite"
        " file that it makes."
    )


def _export(program: str, report: Path, shown: str, output: Path) -> None:
    argv = [
        program, "export", "--type", "sqlite", "--output", os.fspath(output),
        "--force-overwrite", "true", "--quiet", "true", os.fspath(report.absolute()),
    ]  # fmt: skip
    try:
        ended = run_quietly(argv, timeout_s=_LONGEST_S)
    except OSError as error:
        raise ProgramNotFoundError(
            f"{program} cannot be run: {error.strerror}. Name a working nsys, or export"
            f" {shown} on the machine that has one."
        ) from error
    # Its exit status alone is not trusted: the export has to be there.
    if ended.return_code == 0 and output.is_file() and output.stat().st_size:
        return
    raise _failure(ended, shown)


def _failure(ended: Ended, shown: str) -> ProfilingError:
    """Return the error of an export that did not succeed."""
    said = f"{ended.stdout}\n{ended.stderr}"
    name = Path(shown).name
    elsewhere = f"nsys export --type sqlite {name}"
    if newer := _NEWER.search(said):
        return ProfilingError(
            f"{shown}: was made by Nsight Systems {newer['report']}, newer than the nsys here"
            f" ({newer['own']}). Update nsys, or on the machine that made it run: {elsewhere}",
            cause="newer_report",
            remedies=("update nsys", elsewhere),
        )
    if ended.has_timed_out:
        return ProfilingError(
            f"{shown}: nsys export was ended after {_LONGEST_S:.0f} s. Export it yourself:"
            f" {elsewhere}",
            cause="timeout",
            remedies=(elsewhere,),
        )
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "")
    told = told.rstrip(".")[:300]
    ending = f"exit status {ended.return_code}" + (f": {told}" if told else ", without a word")
    return ProfilingError(
        f"{shown}: nsys export failed with {ending}. Try it yourself: {elsewhere}",
        cause="export_failed",
        remedies=(elsewhere,),
    )
