"""A run that is killed at whatever moment goes on, and ends as if nothing had been."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.command import CommandLine
from support.profiled import Profile, contents, kill_all, manifest, processes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

IS_EXHAUSTIVE = bool(os.environ.get("NSIGHTLENS_EXHAUSTIVE"))
BATCH_SIZES, TOOLS = ("1,8", "both") if IS_EXHAUSTIVE else ("1,8", "ncu")
MODEL = ("--model", "opt-1.3b", "--batch-sizes", BATCH_SIZES, "--context", "500", "--layers", "1")


@pytest.fixture
def profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Profile:
    return Profile(CommandLine(capsys), tmp_path, monkeypatch)


class _Runs:
    """Runs of the same command line, each into a folder of its own until it is whole."""

    def __init__(self, profile: Profile, mark: str, tools: str) -> None:
        self._profile = profile
        self._mark = mark
        self._number = 0
        self.folder = profile.folder / "run-0"
        self.words = profile.folder / "words"
        self.argv = [sys.executable, "-m", "nsightlens", "profile", *profile.options(tools), *MODEL]

    def next_folder(self) -> None:
        self._number += 1
        self.folder = self._profile.folder / f"run-{self._number}"

    def begin(self) -> subprocess.Popen[bytes]:
        argv = [str(self.folder) if word == str(self._profile.run) else word for word in self.argv]
        with self.words.open("wb") as words:
            return subprocess.Popen(
                argv,
                env={**os.environ, "FAKE_MARK": self._mark},
                stdout=subprocess.DEVNULL,
                stderr=words,
            )

    def kill(self, process: subprocess.Popen[bytes], *, with_what_it_started: bool) -> bool:
        """Kill a run; return whether it was still running."""
        process.kill()
        code = process.wait()
        was_running = code == -signal.SIGKILL
        assert was_running or code == 0, self.words.read_text()
        if with_what_it_started:
            kill_all(self._mark)
        return was_running

    def finish(self) -> None:
        """Let the run come to its end."""
        with self.begin() as process:
            assert process.wait() == 0, self.words.read_text()

    def finished(self) -> dict[str, tuple[int, bytes]]:
        """Return the finished outputs: when and with what they were written."""
        if not (self.folder / "manifest.json").exists():
            return {}
        outputs = [
            self.folder / output["path"]
            for part in manifest(self.folder)["parts"]
            if part["state"] == "finished"
            for output in part["outputs"]
        ]
        return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in outputs}


@pytest.fixture
def runs(profile: Profile) -> Iterator[Callable[[str], _Runs]]:
    mark = f"killed-{os.getpid()}"
    yield lambda tools: _Runs(profile, mark, tools)
    kill_all(mark)


def _kill_at_random(runs: _Runs, times: int, seed: int) -> int:
    """Kill runs at random moments; return how many of them were killed before their end."""
    generator = random.Random(seed)
    began = time.monotonic()
    runs.finish()
    longest_s = time.monotonic() - began
    undisturbed = contents(runs.folder)
    assert len(undisturbed) > 3
    runs.next_folder()
    killed = 0
    for i in range(times):
        before = runs.finished()
        process = runs.begin()
        time.sleep(generator.uniform(0, longest_s))
        was_running = runs.kill(process, with_what_it_started=i % 2 == 0)
        killed += was_running
        _check_kept(before, runs.finished())
        if not was_running:
            assert contents(runs.folder) == undisturbed
            runs.next_folder()
    before = runs.finished()
    runs.finish()
    _check_kept(before, runs.finished())
    assert contents(runs.folder) == undisturbed
    assert not list(runs.folder.glob(".partial/*"))
    return killed


def _check_kept(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Nothing that was finished is lost, or made again."""
    assert {name: after.get(name) for name in before} == before


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_as_an_undisturbed_one(runs: Callable[[str], _Runs]) -> None:
    """With and without what it had started. NSIGHTLENS_EXHAUSTIVE=1 kills 30 times."""
    times = 30 if IS_EXHAUSTIVE else 3
    killed = _kill_at_random(runs(TOOLS), times, seed=3)
    assert killed >= times / 3


def test_an_interrupted_run_ends_what_it_started(
    runs: Callable[[str], _Runs], profile: Profile
) -> None:
    """Ctrl-C leaves no profiler and no target behind, and the folder for the next run."""
    run = runs("ncu")
    process = run.begin()
    deadline = time.monotonic() + 60
    while not profile.commands():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert not list(processes_of(f"killed-{os.getpid()}"))
    assert run.finished() == {}
    run.finish()
    assert len(run.finished()) == len(BATCH_SIZES.split(","))
