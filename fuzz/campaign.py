"""All targets in turn, within the time that there is: two processes at a time, and a summary.

Every target has its corpus under ``fuzz/corpus``, which grows from run to run, and its log under
``fuzz/logs``.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from fuzz import findings
from fuzz.targets import TARGETS

__all__ = ["Outcome", "run_all"]

_HERE = Path(__file__).parent
_PROCESSES = 2
_WORTH_STARTING = 5.0  # [s] importing and instrumenting the package takes about half of it


class Outcome(NamedTuple):
    """What became of one target. ``edges`` counts the places of the package that were reached."""

    target: str
    runs: int
    seconds: float
    edges: int
    findings: list[Path]


class WorkerFailedError(RuntimeError):
    """A search ended without a reason that is a finding."""


def run_all(seconds: float) -> list[Outcome]:
    """Search every target; print a line as each ends.

    Parameters
    ----------
    seconds
        [s] How long all of it takes together.

    Raises
    ------
    WorkerFailedError
        A search could not begin, or broke off for no reason that lies in the package.
    """
    start = time.time()
    with (
        tempfile.TemporaryDirectory(prefix="nsightlens-fuzz-") as scratch,
        ThreadPoolExecutor(_PROCESSES) as pool,
    ):
        lanes = [pool.submit(_run_lane, lane, start, seconds, scratch) for lane in _lanes()]
        return [outcome for lane in lanes for outcome in lane.result()]


def _lanes() -> list[list[str]]:
    """Share the targets out among the processes, so that all have about the same to do."""
    lanes: list[list[str]] = [[] for _ in range(_PROCESSES)]
    for name in sorted(TARGETS, key=lambda name: -TARGETS[name].share):
        min(lanes, key=_share).append(name)
    return lanes


def _share(names: list[str]) -> int:
    return sum(TARGETS[name].share for name in names)


def _run_lane(names: list[str], start: float, seconds: float, scratch: str) -> list[Outcome]:
    outcomes, done = [], 0
    for name in names:
        done += TARGETS[name].share
        outcome = _run_target(name, start + seconds * done / _share(names), scratch)
        print(_line(outcome), flush=True)
        outcomes.append(outcome)
    return outcomes


def _line(outcome: Outcome) -> str:
    count = len(outcome.findings)
    return (
        f"{outcome.target:>12}: {outcome.runs:>10,} runs  {outcome.seconds:>6.0f} s"
        f"  {outcome.edges:>6,} edges  {count} finding{'s' * (count != 1)}"
    )


def _run_target(name: str, until: float, scratch: str) -> Outcome:
    """Search one target until a time; where a process dies, go on with another."""
    corpus, log = _corpus(name), _log(name)
    findings.FOLDER.mkdir(exist_ok=True)
    start, runs, edges = time.time(), 0, 0
    while until - time.time() > _WORTH_STARTING or not runs:
        known = findings.since(name, start)
        text, status = _run_worker(name, corpus, until, scratch)
        with log.open("a", encoding="utf-8") as file:
            file.write(text)
        runs += _last(r"stat::number_of_executed_units:\s*(\d+)", text) or _last(r"#(\d+)\t", text)
        edges = max(edges, _last(r"\bcov: (\d+)", text))
        if status and findings.since(name, start) == known:
            tail = "\n".join(text.splitlines()[-15:])
            raise WorkerFailedError(f"the search of {name} ended with status {status}:\n{tail}")
    return Outcome(name, runs, time.time() - start, edges, findings.since(name, start))


def _run_worker(name: str, corpus: Path, until: float, scratch: str) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--search", name, str(corpus), str(until)],
        env={**os.environ, "TMPDIR": scratch},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.stdout, done.returncode


def _corpus(name: str) -> Path:
    folder = _HERE / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in TARGETS[name].seeds():
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    return folder


def _log(name: str) -> Path:
    folder = _HERE / "logs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.log"
    path.unlink(missing_ok=True)
    return path


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0
