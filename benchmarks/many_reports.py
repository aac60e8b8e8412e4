"""Time and memory of commands over many reports, beside reading them all into one table first.

Usage: python -m benchmarks.many_reports [--reports N ...] [--folder DIR] [--profile]

Writes as many reports as the largest N and runs each command over the first of them. Memory of
our commands should not grow with their number; that of a program that reads them all does.
Seconds of processors are those of the command and its workers together.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import run

__all__ = ["COUNTS", "measure_many"]

COUNTS = (100, 300, 1000)
_TITLE = (
    f"{'many reports':16}{'reports':>8}{'seconds':>10}{'a second':>10}{'processors':>12}"
    f"{'memory':>10}{'a worker':>10}"
)


def measure_many(folder: Path, counts: tuple[int, ...] = COUNTS, *, has_peer: bool = True) -> None:
    """Write reports, run the commands over them and print a line for each.

    Parameters
    ----------
    folder
        Where reports and datasets go; what is there is used again.
    counts
        How many reports.
    has_peer
        Measure a program that reads them all first, too.
    """
    reports = folder / f"{max(counts)}-reports"
    if not reports.is_dir():
        run(["-m", "benchmarks.many", str(reports), "--reports", str(max(counts))])
    print(f"\n{_TITLE}")
    whats = ["sweep", "sweep, jobs 1", "export", *(["all at once"] if has_peer else [])]
    for what in whats:
        for count in counts:
            argv = ["-m", "benchmarks.many_reports", "--run", what, str(reports), str(count)]
            cost = run(argv)
            found = json.loads(cost.output.splitlines()[-1])
            worker = f"{found['worker_megabytes']:7.0f} MB" if found["worker_megabytes"] else ""
            print(
                f"{what:16}{count:8,}{cost.seconds:8.1f} s{count / cost.seconds:10.1f}"
                f"{found['processor_seconds']:10.1f} s{found['megabytes']:7.0f} MB{worker}",
                flush=True,
            )


def _run(what: str, reports: list[str]) -> None:
    """Do one of them in this process, and print what memory it and its workers took."""
    with tempfile.TemporaryDirectory() as folder:
        if what == "all at once":
            _all_at_once(reports, Path(folder))
        else:
            # Imported here: nothing else is to be in this process.
            from nsightlens.cli.main import main as command  # noqa: PLC0415
            from nsightlens.no_pandas import keep_pandas_out  # noqa: PLC0415

            keep_pandas_out()  # as the command does
            name, _, jobs = what.partition(", jobs ")
            words = [name, *reports, *(["--jobs", jobs] if jobs else [])]
            place = ["-o", f"{folder}/dataset" if name == "export" else f"{folder}/sweep.json"]
            code = command([*words, *place])
            if code:
                raise SystemExit(code)
    own, workers = (
        resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    found = {
        "megabytes": _megabytes(own.ru_maxrss),
        "worker_megabytes": _megabytes(workers.ru_maxrss),
        "processor_seconds": sum(one.ru_utime + one.ru_stime for one in (own, workers)),
    }
    print(json.dumps(found))


def _all_at_once(reports: list[str], folder: Path) -> None:
    """Do what one would without our pipelines: read all, label all, write all."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    import nsightlens  # noqa: PLC0415

    report = nsightlens.open_report(reports)
    result = nsightlens.classify(report)
    for name in ("launches", "stalls", "metrics", "rules", "nvtx", "sessions"):
        pq.write_table(getattr(report, name), folder / f"{name}.parquet", compression="zstd")
    for name in ("labels", "resources", "rooflines"):
        pq.write_table(getattr(result, name), folder / f"{name}.parquet", compression="zstd")


def _megabytes(resident: int) -> float:
    """Return a peak of resident memory in MB; Linux counts in KiB, macOS in bytes."""
    return resident * (1024 if sys.platform == "linux" else 1) / 1e6


def _chosen(folder: Path, count: int) -> list[str]:
    return [str(path) for path in sorted(folder.rglob("*.ncu-rep*"))[:count]]


def main() -> None:
    """Measure, or do what a process that is measured has to do."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_reports")
    parser.add_argument("--reports", type=int, nargs="+", default=list(COUNTS), metavar="N")
    parser.add_argument("--folder", type=Path, help="write the reports here and keep them")
    parser.add_argument("--no-peer", action="store_true", help="ours only")
    parser.add_argument("--profile", action="store_true", help="say where the time goes instead")
    parser.add_argument(
        "--run", nargs=3, metavar=("WHAT", "FOLDER", "COUNT"), help=argparse.SUPPRESS
    )
    args = parser.parse_args()
    if args.run:
        what, folder, count = args.run
        reports = _chosen(Path(folder), int(count))
        if not args.profile:
            _run(what, reports)
            return
        with cProfile.Profile() as profile:
            _run(what, reports)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(40)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        measure_many(folder, tuple(args.reports), has_peer=not args.no_peer)


if __name__ == "__main__":
    main()
