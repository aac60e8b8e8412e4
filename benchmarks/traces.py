"""Time and memory of reading a trace of Nsight Systems with a million kernels and NVTX ranges.

Usage: python -m benchmarks.traces [--kernels N] [--folder DIR]

Writes an export like that of a decode run, as SQLite and as Parquet: every kernel with its API
call and a range of its own, in the ranges of its layer and its step. Then, each in a process of its
own: the attribution alone, and the whole reading with its peak resident memory.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import run
from nsightlens.nsys import opened
from nsightlens.nsys.correlation import calls_of
from nsightlens.nsys.paths import Moments, RangesOpen
from nsightlens.readers.trace_columns import Strings, column_of, numbers, process_of
from nsightlens.readers.trace_host import nvtx_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.nsys.raw import Kind

__all__ = ["attribution_s", "decode_run", "write_export"]

TARGET_S = 10.0
"""[s] For the attribution of a million kernels to a million ranges."""

_PROCESS = 1 << 48 | 4242 << 24
_THREAD = _PROCESS | 4242
_KERNELS_PER_LAYER, _LAYERS = 10, 32
_PERIOD_NS = 5_000
_NAMES = (
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_32x6_tn_align8>",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
    "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(Flash_fwd_params)",
    "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, float, int)",
)


def decode_run(kernel_count: int) -> dict[str, pa.Table]:
    """Return the tables of an export with so many kernels and calls, and some more ranges."""
    number = np.arange(kernel_count)
    call = 1_000_000 + number * _PERIOD_NS
    strings = [*_NAMES, "cudaLaunchKernel_v7000"]
    name = 1 + number % len(_NAMES)
    kernels = _table(
        start=call + 4_000, end=call + 7_000 + number % 900, deviceId=0, contextId=1, streamId=7,
        correlationId=number + 1, globalPid=_PROCESS, demangledName=name, shortName=name,
        mangledName=None, registersPerThread=64, gridX=1 + number % 512, gridY=1 + number % 3,
        gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=0,
        dynamicSharedMemory=1024 * (number % 5), graphNodeId=None,
    )  # fmt: skip
    calls = _table(
        start=call, end=call + 3_000, eventClass=0, globalTid=_THREAD, correlationId=number + 1,
        nameId=len(strings), returnValue=0,
    )  # fmt: skip
    return {
        "StringIds": pa.table({"id": range(1, len(strings) + 1), "value": strings}),
        "CUPTI_ACTIVITY_KIND_KERNEL": kernels,
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "NVTX_EVENTS": pa.concat_tables(
            [
                _around(call, 1, [f"op {one}" for one in range(10)], 100),
                _around(call, _KERNELS_PER_LAYER, [f"layer {one}" for one in range(_LAYERS)], 200),
                _around(call, _KERNELS_PER_LAYER * _LAYERS, ["decode_step bs=32 ctx=500"], 300),
            ]
        ),
    }


def _around(call: Any, size: int, texts: list[str], margin: int) -> pa.Table:
    """Return ranges around so many calls each; the larger the margin, the further out they lie."""
    start = call[::size] - margin
    number = np.arange(len(start))
    text = pa.array(texts).take(pa.array(number % len(texts)))
    return _table(
        start=start, end=call[::size] + size * _PERIOD_NS - 1_000 + margin, eventType=59,
        text=text, globalTid=_THREAD, textId=None, domainId=0,
    )  # fmt: skip


def _table(**columns: Any) -> pa.Table:
    count = len(columns["start"])
    return pa.table(
        {
            name: pa.nulls(count, pa.int64())
            if value is None
            else (pa.array(np.full(count, value)) if isinstance(value, int) else value)
            for name, value in columns.items()
        }
    )


def write_export(tables: dict[str, pa.Table], path: Path) -> None:
    """Write an export: as SQLite where the name says so, else as a folder of Parquet files."""
    if path.suffix != ".sqlite":
        path.mkdir(exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table, path / f"{name}.parquet")
        return
    with closing(sqlite3.connect(path)) as file:
        for name, table in tables.items():
            listed = ", ".join(f'"{one}"' for one in table.column_names)
            file.execute(f'CREATE TABLE "{name}" ({listed})')
            places = ", ".join("?" * table.num_columns)
            file.executemany(f'INSERT INTO "{name}" VALUES ({places})', _rows(table))
        file.commit()


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=50_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


_WHOLE = """
import sys, nsightlens
trace = nsightlens.open_trace(sys.argv[1])
assert trace.kernels["nvtx_path"].null_count == 0, trace.warnings
assert not any("nest" in one for one in trace.warnings), trace.warnings
print(len(trace), trace.ranges.num_rows)
"""


def _whole(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, "whole")


def attribution_s(path: Path) -> dict[str, float]:
    """Return how long each part of the attribution takes [s], with everything read before."""
    with opened(path) as export:
        kernels = export.read("CUPTI_ACTIVITY_KIND_KERNEL", _whole("globalPid", "correlationId"))
        wanted = _whole("globalTid", "correlationId", "start")
        calls = export.read("CUPTI_ACTIVITY_KIND_RUNTIME", wanted)
        ranges = nvtx_events(export, Strings(export), []).ranges
    process, correlation = (numbers(column_of(kernels, one)) for one in kernels.column_names)
    thread, call_correlation, start = (numbers(column_of(calls, one)) for one in wanted)
    began = time.perf_counter()
    call = calls_of(process, correlation, process_of(thread), call_correlation)
    joined = time.perf_counter()
    is_open = RangesOpen(ranges, str(path))
    built = time.perf_counter()
    paths = is_open.at(Moments(thread[call], process_of(thread)[call], start[call]))
    ended = time.perf_counter()
    assert (paths.code >= 0).all()
    return {"calls": joined - began, "stacks": built - joined, "paths": ended - built}


def main() -> None:
    """Write the exports, read them, and print what that took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traces")
    parser.add_argument("--kernels", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the exports go and stay")
    parser.add_argument("--attribution", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attribution:
        print(json.dumps(attribution_s(options.attribution)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for name in ("trace.sqlite", "trace_pqtdir"):
            path = folder / name
            write = "from benchmarks.traces import *; from pathlib import Path; import sys;"
            write += " write_export(decode_run(int(sys.argv[2])), Path(sys.argv[1]))"
            run(["-c", write, str(path), str(options.kernels)])
            whole = run(["-c", _WHOLE, str(path)])
            kernels, ranges = whole.output.split()
            told = run(["-m", "benchmarks.traces", "--attribution", str(path)]).output
            parts = json.loads(told)
            total = sum(parts.values())
            listed = ", ".join(f"{name} {seconds:.2f}" for name, seconds in parts.items())
            print(f"{name}: {kernels} kernels, {ranges} ranges")
            print(f"  whole       {whole.seconds:6.2f} s  {whole.megabytes:8.0f} MB")
            print(f"  attribution {total:6.2f} s  ({listed})")
            if options.kernels >= 1_000_000:
                verdict = "met" if total <= TARGET_S else "NOT MET"
                print(f"  attribution in at most {TARGET_S:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
