"""Time and memory of reading reports, ours and NVIDIA's `ncu_report`, in one run.

Usage: make bench, or python -m benchmarks [--quick] [--only NAME] [--profile] [--folder DIR]

Writes reports as heavy as real ones and reads each in every way, every measurement in a process
of its own. In process: the best of some reads after the imports and one read of a tiny report.
Whole: one read in a new process from start to end, and its peak resident memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.many_reports import COUNTS, measure_many
from benchmarks.measure import cheapest, run
from benchmarks.results import PEER, Measured, NamesMeasured, Results, heading, row
from benchmarks.targets import names_verdict, verdicts
from benchmarks.workloads import WORKLOADS, Workload, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OURS = {"c": "nsightlens, C", "python": "nsightlens, pure"}
# What is read, and which read of `benchmarks.worker` that is: ours, NVIDIA's.
READS = {
    "all metrics": ("our-all", "their-all"),
    "40 metrics": ("our-forty", "their-forty"),
    "every table": ("our-tables", None),
}
# With that many launches, one way of reading says enough about the pure reader.
MANY = 10_000
# [s] A read that takes so long is not done again in a warm process: the imports no longer count.
LONG_S = 20.0
_MANY = "many-reports"
IMPORTS = "import numpy, pyarrow, pyarrow.compute"
# In a process of its own: this one stays small (see `benchmarks.measure`).
HAS_COMPILED_SCANNER = """
import importlib.util
print(importlib.util.find_spec("nsightlens.ncurep._scanner") is not None)
"""


class Bench:
    """One run: where the reports go, which readers there are, and what was measured."""

    def __init__(self, folder: Path, *, is_kept: bool) -> None:
        self.results: Results = {}
        self.names: NamesMeasured | None = None
        is_compiled = run(["-c", HAS_COMPILED_SCANNER]).output.strip() == "True"
        self.scanners = ["c", "python"] if is_compiled else ["python"]
        self.has_peer = importlib.util.find_spec(PEER) is not None
        self._folder = folder
        self._is_kept = is_kept
        self._tiny = self._write(replace(WORKLOADS[-1], launch_count=2), "tiny")

    @contextmanager
    def report(self, workload: Workload) -> Iterator[Path]:
        """Write the report of a workload, and remove it afterwards unless it is to be kept."""
        path = self._write(workload, workload.name)
        yield path
        if not self._is_kept:
            path.unlink()

    def measure(self, workload: Workload) -> None:
        """Read a report in every way, and print a line for each."""
        with self.report(workload) as path:
            print(heading(workload, _facts(path), has_peer=self._has_peer_of(workload)))
            for what, (ours, theirs) in READS.items():
                if theirs is not None and self._has_peer_of(workload):
                    self._keep(workload, what, PEER, self._read(theirs, path))
                for scanner in self._scanners_of(workload, what):
                    self._keep(workload, what, OURS[scanner], self._read(ours, path, scanner))
            for scanner in self._scanners_of(workload, "classify"):
                argv = ["-m", "nsightlens", "classify", str(path)]
                cost = run(argv, scanner, is_output_kept=False)
                found = Measured(None, cost.seconds, cost.megabytes)
                self._keep(workload, "classify", OURS[scanner], found)
            self._compare_values(workload, path)
        if workload.heavier is not None:
            self._measure_heavier(workload.heavier)

    def profile(self, workload: Workload) -> None:
        """Print in which functions our reads of a report spend their time."""
        with self.report(workload) as path:
            for scanner in self.scanners:
                for read in ("our-all", "our-tables"):
                    print(f"{workload.name}, {read}, {OURS[scanner]}")
                    print(run([*self._warm(read, path), "--profile"], scanner).output)

    def measure_commands(self, repeat: int) -> None:
        """Print what short commands take, beside what no command can do without."""
        command = ["-m", "nsightlens"]
        print(f"\n{'short commands':44}{'whole':>11}")
        for what, argv in (
            ("classify, 2 launches", [*command, "classify", str(self._tiny)]),
            (IMPORTS, ["-c", IMPORTS]),
            ("--help", [*command, "--help"]),
            ("python alone", ["-c", "pass"]),
        ):
            print(f"{what:44}{cheapest(argv, repeat).seconds:9.2f} s")

    def measure_names(self, count: int) -> None:
        """Print what a column of distinct kernel names takes, and one that repeats some."""
        _progress(f"reading {count:,} kernel names")
        found = run(["-m", "benchmarks.names", "--count", str(count)])
        took = json.loads(found.output)
        self.names = NamesMeasured(count, took["seconds"], took["repeated_seconds"])
        print(f"\n{'kernel names':44}{'in process':>11}{'a name':>11}")
        about = f"{count:,} distinct, {took['mean_length']:.0f} characters"
        print(f"{about:44}{took['seconds']:9.2f} s{took['seconds'] / count * 1e6:8.1f} us")
        repeated = took["repeated_seconds"]
        print(f"{'as many, of 1,000':44}{repeated:9.2f} s{repeated / count * 1e6:8.1f} us")

    def measure_many_reports(self, counts: tuple[int, ...]) -> None:
        """Print what commands over many reports take, and how much memory."""
        _progress(f"writing {max(counts):,} reports")
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            measure_many(self._folder if self._is_kept else Path(folder), counts)

    def _write(self, workload: Workload, name: str) -> Path:
        path = self._folder / f"{name}.ncu-rep"
        _progress(f"writing {path.name}")
        count = ["--launches", str(workload.launch_count)]
        run(["-m", "benchmarks.reports", workload.name, str(path), *count])
        return path

    def _read(self, read: str, path: Path, scanner: str | None = None) -> Measured:
        """Measure one way of reading: in a new process, then in one that is warm."""
        _progress(f"{path.name}: {read} {scanner or ''}")
        whole = run(["-m", "benchmarks.worker", read, str(path)], scanner)
        output = whole.output
        if whole.seconds < LONG_S:
            output = run([*self._warm(read, path), "--reads", "5"], scanner).output
        return Measured(json.loads(output)["seconds"], whole.seconds, whole.megabytes)

    def _warm(self, read: str, path: Path) -> list[str]:
        return ["-m", "benchmarks.worker", read, str(path), "--warm-up", str(self._tiny)]

    def _keep(self, workload: Workload, what: str, reader: str, found: Measured) -> None:
        self.results[workload.name, what, reader] = found
        peer = self.results.get((workload.name, what, PEER)) if reader != PEER else None
        print(row(what, reader, found, workload.launch_count, peer), flush=True)

    def _scanners_of(self, workload: Workload, what: str) -> list[str]:
        is_enough = workload.launch_count >= MANY and what != "all metrics"
        return [one for one in self.scanners if one == "c" or not is_enough]

    def _has_peer_of(self, workload: Workload) -> bool:
        return self.has_peer and workload.is_read_by_ncu_report

    def _compare_values(self, workload: Workload, path: Path) -> None:
        if not self.has_peer:
            return
        if not workload.is_read_by_ncu_report:
            print(f"{PEER} is left out: it would take more than 10 GB of memory")
        elif workload.launch_count < MANY:
            output = run(["-m", "benchmarks.worker", "check", str(path)], self.scanners[0]).output
            values = json.loads(output)["values"]
            print(f"{values:,} values of three launches are the ones that {PEER} finds")

    def _measure_heavier(self, workload: Workload) -> None:
        """Measure what the same launches take with heavier parts that we skip."""
        with self.report(workload) as path:
            print(heading(workload, _facts(path), has_peer=False))
            for scanner in self.scanners:
                found = self._read("our-all", path, scanner)
                self._keep(workload, "all metrics", OURS[scanner], found)


def _facts(path: Path) -> dict[str, float]:
    facts: dict[str, float] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return facts


def _progress(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


def _chosen(args: argparse.Namespace) -> list[Workload]:
    chosen = [one for one in WORKLOADS if args.only is None or one.name in args.only]
    if args.launches is not None:
        return [shortened(one, args.launches) for one in chosen]
    return [shortened(one, one.launch_count // 10) for one in chosen] if args.quick else chosen


def _about_this_run(bench: Bench) -> str:
    libraries = ["numpy", "pyarrow", *(["ncu-report"] if bench.has_peer else [])]
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    return (
        f"{date.today()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()},"
        f" Python {platform.python_version()}, {versions}\n"
        "Files are in the system's cache. Memory is the peak of a whole process. Load average of"
        f" the machine before this began: {os.getloadavg()[0]:.1f}"
    )


def _print_targets(bench: Bench, workloads: Mapping[str, Workload]) -> None:
    reader = OURS[bench.scanners[0]]
    lines = [*verdicts(bench.results, workloads, reader), *names_verdict(bench.names)]
    if lines:
        title = f"targets, {reader} (times in process)"
        print(f"\n{title:74}{'measured':>9}{'wanted':>9}")
        print("\n".join(lines))


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*(one.name for one in WORKLOADS), _MANY]
    parser.add_argument("--quick", action="store_true", help="a tenth of the launches: a try")
    parser.add_argument("--launches", type=int, metavar="N", help="so many launches, for a try")
    parser.add_argument("--only", metavar="NAME", action="append", choices=names, help=str(names))
    parser.add_argument("--profile", action="store_true", help="say where our time goes instead")
    parser.add_argument("--folder", type=Path, help="write the reports here and keep them")
    args = parser.parse_args()
    workloads = _chosen(args)
    is_try = args.quick or args.launches is not None
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, is_kept=args.folder is not None)
        print(_about_this_run(bench))
        if "c" not in bench.scanners:
            print("the compiled scanner is not built here: pure Python only")
        if is_try:
            print("a try with fewer launches: what the targets say of it means nothing")
        if not bench.has_peer:
            print(f"{PEER} is not installed, ours only: pip install ncu-report")
        for workload in workloads:
            if args.profile:
                bench.profile(workload)
            else:
                bench.measure(workload)
        if args.profile:
            return
        bench.measure_commands(repeat=1 if is_try else 5)
        bench.measure_names(20_000 if is_try else 1_000_000)
        if args.only is None or _MANY in args.only:
            bench.measure_many_reports(tuple(n // 10 for n in COUNTS) if is_try else COUNTS)
        _print_targets(bench, {one.name: one for one in workloads})


if __name__ == "__main__":
    main()
