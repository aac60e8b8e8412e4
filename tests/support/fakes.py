"""The fake profilers as programs for a test: where they are, and what one of them was told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.readers import open_report
from support import fake_ncu, fake_nsys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.report import Report

FAKES = Path(__file__).resolve().parents[1] / "fakes"
MY_DECODE = FAKES / "my_decode.py"
# Every run asks for the version: that needs no Python.
_VERSIONS = {
    "ncu": (
        '[ "$1" = --version ] && [ -z "$FAKE_NCU_VERSION" ] &&'
        f" echo 'Version {fake_ncu.VERSION} (public-release)' && exit"
    ),
    "nsys": (
        '[ "$1" = --version ] && [ -z "$FAKE_NSYS_VERSION" ] &&'
        f" echo 'NVIDIA Nsight Systems version {fake_nsys.VERSION}' && exit"
    ),
}
TARGET = (sys.executable, str(MY_DECODE))
_ROOT = FAKES.parents[1]


class Said(NamedTuple):
    """How a program ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """Lines of errors, without what marks them."""
        return re.findall(r"^==ERROR== (.*)$", self.out, re.MULTILINE)


def install(folder: Path) -> tuple[Path, Path]:
    """Put both profilers into a folder, as programs of the Python that runs the tests.

    ``nvidia-smi`` lies beside them.

    Returns
    -------
    tuple
        The paths of ncu and of nsys.
    """
    folder.mkdir(parents=True, exist_ok=True)
    programs = []
    for name in ("ncu", "nsys"):
        program = folder / name
        run = f'exec "{sys.executable}" "{FAKES / name}" "$@"'
        program.write_text(f"#!/bin/sh\n{_VERSIONS[name]}\n{run}\n")
        program.chmod(0o755)
        programs.append(program)
    (folder / "nvidia-smi").symlink_to(FAKES / "nvidia-smi")
    return programs[0], programs[1]


def run(program: str, *words: str, folder: Path, **variables: str) -> Said:
    """Run a fake (``ncu`` or ``nsys``) in a folder and return what it said."""
    done = subprocess.run(
        [sys.executable, str(FAKES / program), *words],
        cwd=folder,
        env=environment(variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which targets find nsightlens, with some variables."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FAKE_")}
    ahead = [str(_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(ahead), **variables}


def kernels(folder: Path, name: str = "out.ncu-rep") -> list[str]:
    """Return the names of the launches of a report, in order."""
    return _column(open_report(folder / name), "kernel_name")


def operations(folder: Path, name: str = "out.ncu-rep") -> list[str]:
    """Return what our annotations call the launches of a report, in order."""
    paths = _column(open_report(folder / name), "nvtx_path")
    return [re.sub(r".*name=(\w+).*", r"\1", path) for path in paths]


def _column(report: Report, name: str) -> list[str]:
    return [str(value) for value in report.launches[name].to_pylist()]


def command_lines(log: Path) -> list[list[str]]:
    """Return the command lines that a fake noted (``FAKE_NCU_LOG``), without ``--version``."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if "--version" not in line]


def program(text: str) -> Sequence[str]:
    """Return the command line of a Python program."""
    return (sys.executable, "-c", text)
