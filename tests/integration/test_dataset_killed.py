"""An export that is killed at whatever moment leaves the dataset as it was, or is in it whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.datasets import files_in, reports_in, write_reports

from nsightlens.errors import ReportNotFoundError

TESTS = Path(__file__).resolve().parents[1]
COUNT = 12
"""Reports of a run that is to be killed."""


def _begin(folder: Path, first: int, *, force: bool) -> subprocess.Popen[str]:
    words = [str(folder), str(first), str(COUNT), "force" if force else "add"]
    process = subprocess.Popen(
        [sys.executable, "-m", "support.exporting", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def _state(folder: Path) -> list[int] | None:
    """Return the reports of a dataset, None where there is none; anything between is an error."""
    try:
        found = reports_in(folder)
    except ReportNotFoundError:
        assert not folder.exists()
        return None
    listed = {name for name in files_in(folder) if name.endswith(".parquet")}
    assert {path.relative_to(folder).as_posix() for path in folder.glob("**/*.parquet")} == listed
    return found


def _duration_s(folder: Path) -> float:
    with _begin(folder, 0, force=False) as process:
        begin = time.monotonic()
        process.wait()
        return time.monotonic() - begin


def _kill_at_random(tmp_path: Path, times: int, seed: int) -> int:
    """Kill exports at random moments; return how many of them were killed before their end."""
    generator = random.Random(seed)
    longest_s = _duration_s(tmp_path / "other")
    ds = tmp_path / "ds"
    state: list[int] | None = None
    killed = 0
    for i in range(times):
        first = 1000 * (i + 1)
        force = i % 3 == 2
        added = list(range(first, first + COUNT))
        expected = sorted(added if force else [*(state or []), *added])
        with _begin(ds, first, force=force) as process:
            time.sleep(generator.uniform(0, longest_s))
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        found = _state(ds)
        assert found in (state, expected)
        state = found
    return killed


@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed by a signal there")
def test_a_killed_export_leaves_the_dataset_as_it_was_or_is_in_it_whole(tmp_path: Path) -> None:
    """Reports are added, merged and replaced; the next export goes on as if nothing had been."""
    _kill_at_random(tmp_path, 6, seed=1)
    write_reports(tmp_path / "ds", [1])
    assert 1 in (_state(tmp_path / "ds") or [])
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed by a signal there")
def test_many_killed_exports_never_leave_a_dataset_that_reads_wrong(tmp_path: Path) -> None:
    """Many were indeed killed on their way. NSIGHTLENS_EXHAUSTIVE=1 kills 50."""
    count = 50 if os.environ.get("NSIGHTLENS_EXHAUSTIVE") else 15
    killed = _kill_at_random(tmp_path, count, seed=2)
    assert killed >= count / 5


@pytest.mark.skipif(sys.platform == "win32", reason="no process is killed by a signal there")
def test_an_interrupted_export_leaves_nothing_behind(tmp_path: Path) -> None:
    """Ctrl-C ends it in order."""
    write_reports(tmp_path / "ds", [1])
    before = files_in(tmp_path)
    with _begin(tmp_path / "ds", 1000, force=False) as process:
        while not list(tmp_path.glob(".ds.nsightlens/staged/run/*")):
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.wait()
    if process.returncode:
        assert files_in(tmp_path) == before
    else:  # it was quicker than the signal
        assert len(reports_in(tmp_path / "ds")) == 1 + COUNT
