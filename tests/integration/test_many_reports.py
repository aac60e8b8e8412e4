"""Commands over many reports: Ctrl-C, broken reports, and what the docs promise of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.reports import gemm_launch, write_report

from nsightlens.cli.main import main
from nsightlens.example import path as example

if TYPE_CHECKING:
    from collections.abc import Iterator

CHILDREN = Path("/proc/self/task") / str(os.getpid()) / "children"


@pytest.mark.skipif(not CHILDREN.exists(), reason="this system does not list child processes")
def test_an_interrupt_ends_the_command_and_its_processes(tmp_path: Path) -> None:
    """At once, and nothing is left running."""
    first = shutil.copy(example(), tmp_path / "first.ncu-rep")
    for i in range(400):
        os.link(first, tmp_path / f"copy{i}.ncu-rep")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    with subprocess.Popen(
        [sys.executable, "-m", "nsightlens", "sweep", "--jobs", "2", *paths],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        workers = list(_workers_of(process))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "nsightlens: error: interrupted\n"
    assert len(workers) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def _workers_of(process: subprocess.Popen[str]) -> Iterator[int]:
    """Wait for both workers of a command to run."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 60
    found: list[int] = []
    while len(found) < 2:
        assert time.monotonic() < end
        assert process.poll() is None
        # Workers are started by threads of the command.
        found = [
            int(pid)
            for task in children.parents[1].iterdir()
            for pid in (task / "children").read_text().split()
        ]
        time.sleep(0.02)
    yield from found


def test_a_broken_report_among_many_is_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others make the sweep, and the exit code is that of the broken one."""
    for i in range(3):
        write_report(tmp_path, [gemm_launch()], name=f"{i}.ncu-rep")
    (tmp_path / "1.ncu-rep").write_bytes(b"\x01 no report")
    code = main(["sweep", str(tmp_path), "--jobs", "2", "-f", "csv"])
    written = capsys.readouterr()
    assert code == 4
    assert written.out.count("\n") > 1
    assert [str(tmp_path / "1.ncu-rep") in line for line in written.err.splitlines()] == [True]
