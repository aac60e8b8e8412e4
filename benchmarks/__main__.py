"""Time and memory of reading a report and of the command line, against a peer, in one run.

Usage: make bench, or python -m benchmarks [--launches N] [--repeat N]

Every measurement is a process of its own, from start to end, the best of some repetitions. The
report is written by our own writer, with section definitions as heavy as real ones. NVIDIA's
`ncu_report` is measured where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from nsightlens.ncurep import LaunchSpec, Layout, write_ncu_rep

METRIC_COUNT = 250
SECTION_BYTES = 120_000
"""[byte] Section definitions of one launch collected with --set basic, rounded."""

OURS_ALL = "import sys, nsightlens; len(nsightlens.open_report(sys.argv[1]).metrics)"
THEIRS_ALL = """
import sys, ncu_report
context = ncu_report.load_report(sys.argv[1])
rows = [
    {name: action.metric_by_name(name).value() for name in action.metric_names()}
    for i in range(context.num_ranges()) for action in context.range_by_idx(i)
]
"""
IMPORTS = "import numpy, pyarrow, pyarrow.compute"


class Cost(NamedTuple):
    """Best wall time [s] of some repetitions, and peak resident memory [MB]."""

    seconds: float
    megabytes: float


def cost_of(argv: list[str], repeat: int) -> Cost:
    """Run a command some times and return what the best run cost."""
    costs = []
    for _ in range(repeat):
        start = time.perf_counter()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"failed with code {process.returncode}: {' '.join(argv)}")
        costs.append(Cost(seconds, usage.ru_maxrss / (1024 if sys.platform == "linux" else 2**20)))
    return min(costs)


def write_big_report(path: Path, launch_count: int) -> None:
    """Write a report of that many launches with section definitions."""
    launches = [
        LaunchSpec(
            name=f"kernel_{i % 20}",
            metrics={f"metric_{j}__x.sum": i + j / 8 for j in range(METRIC_COUNT)},
        )
        for i in range(launch_count)
    ]
    write_ncu_rep(path, launches, Layout(section_count=8, sections_bytes=SECTION_BYTES))


def show(what: str, ours: Cost, peer: str, theirs: Cost | None) -> None:
    """Print one line of the table."""
    line = f"{what:38} {ours.seconds:7.2f} s {ours.megabytes:6.0f} MB"
    if theirs is not None:
        ratio = theirs.seconds / ours.seconds
        line += f" | {peer:26} {theirs.seconds:7.2f} s {theirs.megabytes:6.0f} MB | {ratio:6.1f}x"
    print(line)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--launches", type=int, default=500, help="launches of the big report")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of short commands")
    args = parser.parse_args()
    python = sys.executable
    cli = [python, "-m", "nsightlens"]
    has_ncu_report = importlib.util.find_spec("ncu_report") is not None
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder) / "big.ncu-rep", Path(folder) / "small.ncu-rep"
        write_big_report(big, args.launches)
        write_big_report(small, 2)
        size = big.stat().st_size / 1e6
        print(f"{args.launches} launches x {METRIC_COUNT} metrics, {size:.0f} MB; x = peer / ours")
        floor = cost_of([python, "-c", IMPORTS], args.repeat)
        classify = cost_of([*cli, "classify", str(small)], args.repeat)
        show("classify, 2 launches, whole process", classify, "import numpy, pyarrow", floor)
        nothing = cost_of([python, "-c", "pass"], args.repeat)
        show(
            "--help, whole process", cost_of([*cli, "--help"], args.repeat), "python alone", nothing
        )
        ours = cost_of([python, "-c", OURS_ALL, str(big)], 2)
        theirs = cost_of([python, "-c", THEIRS_ALL, str(big)], 2) if has_ncu_report else None
        show("all metrics to an Arrow table", ours, "ncu_report to dicts", theirs)
        show("classify, big report", cost_of([*cli, "classify", str(big)], 2), "", None)
    if not has_ncu_report:
        print('ncu_report is not installed: pip install "nsightlens[ncu]" for the comparison')


if __name__ == "__main__":
    main()
