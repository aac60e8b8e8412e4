"""Writes a folder of many reports, as a benchmark of a serving stack leaves behind.

Usage: python -m benchmarks.many FOLDER [--reports N] [--broken N] [--seed N]

Each report is one batch size of the bundled model's decode step, a few steps long, on one of three
GPUs and with one of three contexts, as heavy as one that ``ncu --set basic`` collects. Every tenth
is compressed. The values of all are their own.
"""

from __future__ import annotations

import argparse
import gzip
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.launches import distinct_launches
from benchmarks.reports import ReportTemplate
from benchmarks.workloads import WORKLOADS
from nsightlens.example.decode_sweep import BATCH_SIZES
from nsightlens.ncurep.write_result import metric_specs

if TYPE_CHECKING:
    from nsightlens.ncurep.spec import LaunchSpec, ReportSpec

__all__ = ["write_many"]

GPUS = ("NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H200")
CONTEXTS = (250, 500, 2000)
MOST_STEPS = 4
_NAME = "device__attribute_display_name"
_BASIC = next(one for one in WORKLOADS if one.name == "basic-2000")


def write_many(folder: Path, count: int, *, broken: int = 0, seed: int = 20240229) -> list[Path]:
    """Write reports, and return their paths in the order of their names.

    Parameters
    ----------
    folder
        Where; it is made.
    count
        How many.
    broken
        How many of them end too early, as one does whose profiler was stopped.
    seed
        Of the values: the same one gives the same reports.
    """
    random = np.random.default_rng(seed)
    templates: dict[tuple[str, int, int], ReportTemplate] = {}
    kinds = list(product(CONTEXTS, GPUS, BATCH_SIZES))
    cut = set(random.choice(count, size=min(broken, count), replace=False).tolist())
    paths = []
    for i in range(count):
        context, gpu, batch_size = kinds[i % len(kinds)]
        template = templates.get((gpu, context, batch_size))
        if template is None:
            template = ReportTemplate(_spec(gpu, context, batch_size), _BASIC)
            templates[gpu, context, batch_size] = template
        launch_count = 11 * int(random.integers(1, MOST_STEPS + 1))
        content = b"".join(template.pieces(launch_count, random))
        if i in cut:
            content = content[: len(content) * 2 // 3]
        is_compressed = i % 10 == 9
        run = folder / f"run{i // len(kinds):03d}"
        run.mkdir(parents=True, exist_ok=True)
        suffix = ".gz" if is_compressed else ""
        gpu_name = gpu.removeprefix("NVIDIA ").replace(" ", "-").lower()
        path = run / f"{gpu_name}-context{context}-batch{batch_size:03d}.ncu-rep{suffix}"
        path.write_bytes(gzip.compress(content, 1) if is_compressed else content)
        paths.append(path)
    return sorted(paths)


def _spec(gpu: str, context: int, batch_size: int) -> ReportSpec:
    """Return one step on a GPU of that name; its rates stay those of the modelled one."""
    spec = distinct_launches(_BASIC.weight, [batch_size], context)
    sessions = [replace(session, device_names=(gpu,)) for session in spec.sessions]
    return replace(spec, launches=[_on(gpu, launch) for launch in spec.launches], sessions=sessions)


def _on(gpu: str, launch: LaunchSpec) -> LaunchSpec:
    metrics = [
        replace(one, value=gpu) if one.name == _NAME else one for one in metric_specs(launch)
    ]
    return replace(launch, metrics=metrics)


def main() -> None:
    """Write the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reports", type=int, default=1000, metavar="N")
    parser.add_argument("--broken", type=int, default=0, metavar="N", help="that end too early")
    parser.add_argument("--seed", type=int, default=20240229, metavar="N")
    args = parser.parse_args()
    paths = write_many(args.folder, args.reports, broken=args.broken, seed=args.seed)
    size = sum(path.stat().st_size for path in paths)
    print(f"{len(paths)} reports, {size / 1e6:.0f} MB, in {args.folder}")


if __name__ == "__main__":
    main()
