"""Runs of ``nsightlens profile`` under the fake profilers, and what a run folder holds."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from nsightlens.readers import open_report
from support.fakes import FAKES, MY_DECODE, TARGET, command_lines, environment, install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from support.command import CommandLine, Done

PYTHON_PATH = os.pathsep.join([str(FAKES / "models"), environment({})["PYTHONPATH"]])
"""With decode steps that need no torch in front of the real ones."""
# What differs between two runs of the same thing: when, by which process, and how long it took.
_OF_A_RUN = ("process_id", "thread_id")


class Profile:
    """The command line with both fakes, in a folder of its own.

    Parameters
    ----------
    command
        Runs a command of nsightlens.
    folder
        Gets the fakes, the run folder ``run`` and the log of command lines.
    patch
        Sets the environment, in which a target finds nsightlens.
    """

    def __init__(self, command: CommandLine, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._command = command
        self._patch = patch
        self.folder = folder
        self.run = folder / "run"
        self.log = folder / "commands"
        self.ncu, self.nsys = install(folder / "bin")
        for name in [name for name in os.environ if name.startswith("FAKE_")]:
            patch.delenv(name)
        patch.setenv("PATH", os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]))
        # `python -m` looks into the working directory first, where the real ones lie.
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", PYTHON_PATH)
        patch.setenv("FAKE_NCU_LOG", str(self.log))
        patch.setenv("FAKE_NSYS_LOG", str(folder / "commands_of_nsys"))

    def __call__(
        self,
        *words: str,
        target: Sequence[str] = (*TARGET, "--batch-sizes", "1,8"),
        tools: str = "ncu",
        **variables: str,
    ) -> Done:
        """Profile a program, with variables in its environment."""
        command = ["profile", *self.options(tools), *words]
        with self._patch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return self._command(*command, *(["--", *target] if target else []))

    def options(self, tools: str = "ncu") -> list[str]:
        """Return the options that every run has."""
        return [
            "-o", str(self.run), "--ncu", str(self.ncu), "--nsys", str(self.nsys),
            "--tools", tools,
        ]  # fmt: skip

    def commands(self) -> list[list[str]]:
        """Return the command lines of ncu so far."""
        return command_lines(self.log) if self.log.exists() else []

    def reports(self) -> list[Path]:
        """Return the reports of the run."""
        return sorted((self.run / "reports").glob("*.ncu-rep"))


def contents(run: Path) -> dict[str, Any]:
    """Return what a run folder says, but for when and by which process it was made.

    Launches of every report, rows of every table, by the name of the file.
    """
    found: dict[str, Any] = {}
    for path in sorted((run / "reports").glob("*.ncu-rep")):
        found[path.name] = _rows(open_report(path).launches.drop_columns(["report"]))
    for path in sorted((run / "tables").glob("*.parquet")):
        found[path.name] = _rows(pq.read_table(path))
    return found


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name not in _OF_A_RUN}
        for row in table.to_pylist()
    ]


def manifest(run: Path) -> dict[str, Any]:
    """Return the manifest of a run."""
    content = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


# --- Processes ---


def processes_of(mark: str) -> Iterator[int]:
    """Yield the processes that have a variable ``FAKE_MARK`` with this value.

    What a profiler starts inherits it, so that none of them is missed and no other is found.
    """
    wanted = f"FAKE_MARK={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = wanted in (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if is_ours and state != "Z":
            yield int(folder.name)


def kill_all(mark: str) -> None:
    """End every process with that mark, and wait until they are gone."""
    deadline = time.monotonic() + 60
    while left := [each for each in processes_of(mark) if each != os.getpid()]:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        assert time.monotonic() < deadline
        time.sleep(0.01)


__all__ = ["FAKES", "MY_DECODE", "Profile", "contents", "kill_all", "manifest", "processes_of"]
