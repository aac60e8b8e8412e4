"""Compare what was counted on a GPU with what the shapes need: the last stage of gpu_check.sh.

    python scripts/gpu_check.py FOLDER

FOLDER holds ``stages.tsv``, ``doctor.json`` and ``runs/MODEL/reports/*.ncu-rep``. Writes
``summary.json`` there and prints a table. What was not measured is said to be so, and is no
success: exit status 1.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens import __version__, open_report, sweep
from nsightlens.errors import NsightLensError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.report import Report

LARGE_BATCH = 128
"""From here on DRAM bytes are to agree with the algorithmic ones."""
BYTES_TOLERANCE = 0.10
LARGEST_TILE = 256
"""Rows of the largest tile that a GEMM pads its batch to."""
FLAT = 0.1
"""Largest slope of intensity over batch size, in logarithms, that is called flat."""
MOST_PASSES = 12
"""Passes that the smallest collection was designed for, with room for one more architecture."""
_ATTRIBUTES = (
    "display_name", "compute_capability_major", "compute_capability_minor", "multiprocessor_count",
    "clock_rate", "memory_clock_rate", "global_memory_bus_width", "fb_bus_width", "l2_cache_size",
    "l2s_count", "total_memory",
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One comparison. ``has_passed`` is None where nothing was measured."""

    model: str
    what: str
    measured: str
    expected: str
    has_passed: bool | None


def main() -> int:
    """Check a folder, and return 0 where everything was measured and agrees."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    stages = _stages(folder / "stages.tsv")
    models = sorted(each for each in (folder / "runs").glob("*") if each.is_dir())
    checks: list[Check] = []
    found: dict[str, Any] = {}
    for model in models:
        reports = sorted((model / "reports").glob("*.ncu-rep"))
        try:
            of_model, facts = _check(model.name, reports)
        except NsightLensError as error:
            of_model = [Check(model.name, "reports", str(error), "can be read", None)]
            facts = {}
        checks += of_model
        found[model.name] = facts
    summary = {
        "nsightlens": __version__,
        "stages": stages,
        "doctor": _json(folder / "doctor.json"),
        "ceilings": _text(folder / "ceilings.toml"),
        "models": found,
        "checks": [asdict(check) for check in checks],
    }
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(_table(["stage", "exit", "s"], [list(map(str, each.values())) for each in stages]))
    print()
    heads = ["model", "check", "measured", "expected", ""]
    print(_table(heads, [_row(check) for check in checks]))
    is_well = all(stage["exit_status"] == "0" for stage in stages if _is_needed(stage["stage"]))
    return 0 if is_well and checks and all(check.has_passed for check in checks) else 1


def _check(model: str, reports: Sequence[Path]) -> tuple[list[Check], dict[str, Any]]:
    """Return the comparisons of one model, and the numbers behind them."""
    if not reports:
        return [Check(model, "reports", "none", "one for each part", None)], {}
    report = open_report([str(path) for path in reports])
    rows = [row for row in sweep(report).rows.to_pylist() if row["phase"] == "decode"]
    gemm = [row for row in rows if row["component"] == "matmul"]
    attention = [row for row in rows if row["component"] == "attention"]
    checks = [
        *(_bytes(model, "GEMM", row) for row in gemm if _is_large(row)),
        *(_bytes(model, "attention", row) for row in attention if _is_large(row)),
        *(_operations(model, row) for row in gemm),
        _flatness(model, attention),
        _passes(model, report),
    ]
    names = (
        "component", "family", "subtype", "batch_size", "launch_count", "duration_ns", "dram_bytes",
        "algorithmic_bytes", "dram_per_algorithmic_byte", "flop_count", "useful_flop_count",
        "executed_per_useful_flop", "bound", "regime", "dram_throughput_pct", "sm_throughput_pct",
    )  # fmt: skip
    facts = {
        "device": _device(report),
        "launch_count": report.launches.num_rows,
        "replay_pass_counts": sorted(set(_known(report, "replay_pass_count"))),
        "rows": [{name: row[name] for name in names} for row in rows],
    }
    return checks, facts


def _is_large(row: dict[str, Any]) -> bool:
    return bool(row["batch_size"] is not None and row["batch_size"] >= LARGE_BATCH)


def _bytes(model: str, what: str, row: dict[str, Any]) -> Check:
    """Compare DRAM bytes with those that the shapes need at least."""
    ratio = row["dram_per_algorithmic_byte"]
    return Check(
        model,
        f"DRAM bytes of {what} ({row['subtype']}), batch {row['batch_size']}",
        _times(ratio),
        f"1 ± {BYTES_TOLERANCE:g} times the algorithmic ones",
        None if ratio is None else abs(ratio - 1) <= BYTES_TOLERANCE,
    )


def _operations(model: str, row: dict[str, Any]) -> Check:
    """Compare executed operations with 2 M N K, of which tiles pad the batch."""
    ratio, batch = row["executed_per_useful_flop"], row["batch_size"] or 1
    most = 1.02 * LARGEST_TILE * math.ceil(batch / LARGEST_TILE) / batch
    return Check(
        model,
        f"operations of GEMM ({row['subtype']}), batch {row['batch_size']}",
        _times(ratio),
        f"1 to {most:.3g} times 2MNK",
        None if ratio is None else 0.98 <= ratio <= most,
    )


def _flatness(model: str, rows: Sequence[dict[str, Any]]) -> Check:
    """Return whether useful operations per counted DRAM byte stay the same along the batch."""
    points: dict[int, list[float]] = {}
    for row in rows:
        if row["batch_size"] and row["useful_flop_count"] and row["dram_bytes"]:
            sums = points.setdefault(row["batch_size"], [0.0, 0.0])
            sums[0] += row["useful_flop_count"]
            sums[1] += row["dram_bytes"]
    slope = _slope([(math.log(b), math.log(f / m)) for b, (f, m) in points.items()])
    return Check(
        model,
        "attention intensity along the batch",
        "not measured" if slope is None else f"slope {slope:.3f}",
        f"slope within ± {FLAT:g}",
        None if slope is None else abs(slope) <= FLAT,
    )


def _slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the least-squares slope; None with fewer than two places."""
    if len({x for x, _ in points}) < 2:
        return None
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * y for x, y in points) / spread


def _passes(model: str, report: Report) -> Check:
    counts = _known(report, "replay_pass_count")
    return Check(
        model,
        "replay passes of a launch",
        f"{min(counts)} to {max(counts)}" if counts else "not measured",
        f"at most {MOST_PASSES}",
        max(counts) <= MOST_PASSES if counts else None,
    )


def _device(report: Report) -> dict[str, Any]:
    """Return what the driver says of the GPU, of the first launch that says it."""
    facts = {}
    for name in _ATTRIBUTES:
        metric = f"device__attribute_{name}"
        values: list[Any] = []
        if metric in report.store.names:
            values = report.store.column(metric).drop_null().to_pylist()
        facts[name] = values[0] if values else None
    return facts


def _known(report: Report, column: str) -> list[Any]:
    return [value for value in report.launches[column].to_pylist() if value is not None]


def _is_needed(stage: str) -> bool:
    """Return whether the answer rests on a stage: nsys is used where it works."""
    return not stage.startswith("both-")


def _stages(path: Path) -> list[dict[str, str]]:
    heads, *rows = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _times(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:.3g} times"


def _row(check: Check) -> list[str]:
    verdict = {True: "ok", False: "DIFFERS", None: "NOT MEASURED"}[check.has_passed]
    return [check.model, check.what, check.measured, check.expected, verdict]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    cells = ("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(re.sub(" +$", "", line) for line in cells)


if __name__ == "__main__":
    sys.exit(main())
