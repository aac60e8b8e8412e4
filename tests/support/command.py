"""Running the command line in a folder of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.cli.main import main
from support.reports import everything, write_empty_report, write_report

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Done(NamedTuple):
    """What a run of the command line ended with."""

    code: int
    out: str
    err: str


class CommandLine:
    """The command line, run in this process.

    Parameters
    ----------
    capsys
        Takes what is written.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        """Run it and return what it ended with."""
        self._capsys.readouterr()
        try:
            code = int(main(words))
        except SystemExit as leave:
            code = int(leave.code or 0)
        out, err = self._capsys.readouterr()
        return Done(code, out, err)


def fill_folder(folder: Path) -> None:
    """Write a report of every kind of launch, one of none, a cut one and a file of text."""
    write_report(folder, everything(), name="all.ncu-rep")
    write_empty_report(folder, name="none.ncu-rep")
    data = (folder / "all.ncu-rep").read_bytes()
    (folder / "cut.bin").write_bytes(data[: len(data) * 2 // 3])
    (folder / "text.bin").write_bytes(b"not a report")
