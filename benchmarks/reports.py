"""Writes the report of a workload: a few launches by our writer, repeated with other values.

Usage: python -m benchmarks.reports NAME PATH [--launches N]

To write 20,000 launches of 500 metrics one value at a time would take longer than everything that
is measured. Instead a few distinct launches are encoded once, and each launch of the file is a
copy of one of them in which every measured value is replaced where it stands: a double is eight
bytes whatever it says, and the lower bits of a varint do not change its length. So a report is
written about as fast as the disk takes it, in the memory of a few launches.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.launches import distinct_launches, forty_metrics
from benchmarks.sections import section_definitions
from benchmarks.workloads import WORKLOADS, Workload
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec
from nsightlens.ncurep.wire import BYTES, FIXED64, VARINT, Field, Message, padded, scan_fields
from nsightlens.ncurep.write import encode_ncu_rep
from nsightlens.ncurep.write_result import encode_metrics, encode_result, metric_specs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ReportTemplate", "write_report"]

# ProfileResult, ProfileMetricResult and MetricValue
_METRICS, _SOURCE = 13, 15
_NAME_ID, _VALUE, _INSTANCES = 1, 2, 3
_DOUBLE, _UINT64 = 3, 5
# ncu has stored a category with each metric since 2023; 0 stands for a performance monitor.
_CATEGORY = uint_field(4, 0)

# What does not change from launch to launch of a kernel.
_CONSTANT = ("device__", "launch__", "profiler__", "sm__maximum_")
_SEED = 20240229


def write_report(path: Path, workload: Workload) -> None:
    """Write a report, and beside it as JSON what is in it.

    Parameters
    ----------
    path
        Where to write; a file that is there is replaced.
    workload
        What to write.
    """
    template = ReportTemplate(distinct_launches(workload.weight), workload)
    template.write(path, workload.launch_count, np.random.default_rng(_SEED))
    weight = workload.weight
    facts = {
        "launches": workload.launch_count,
        "metrics": weight.metric_count,
        "instances": sum(weight.instance_counts),
        "launch_bytes": template.launch_bytes,
        "sections_bytes": template.sections_bytes,
        "bytes": path.stat().st_size,
        "forty": forty_metrics(),
    }
    _facts_path(path).write_text(json.dumps(facts), encoding="utf-8")


class ReportTemplate:
    """A report whose launches are encoded once, to be written often with other values.

    Parameters
    ----------
    spec
        The launches, which are repeated in turn.
    workload
        What stands beside them.
    """

    def __init__(self, spec: ReportSpec, workload: Workload) -> None:
        weight = workload.weight
        names = list(
            dict.fromkeys(m.name for launch in spec.launches for m in metric_specs(launch))
        )
        sections = section_definitions(
            weight.section_count, weight.section_bytes, [name for name in names if "." in name]
        )
        results = [_result(launch, names, workload, sections) for launch in spec.launches]
        process = _process(spec)
        # The names in a block of their own, so that the blocks of all launches are alike.
        self._head = _before_the_results(spec, workload) + _block(process, strings=names)
        self._launches = [_Template(result, process, names) for result in results]
        self.launch_bytes = len(results[0])
        self.sections_bytes = len(sections)

    def pieces(self, launch_count: int, random: np.random.Generator) -> Iterator[bytes]:
        """Yield a report, launch by launch."""
        yield self._head
        for i in range(launch_count):
            yield self._launches[i % len(self._launches)].varied(random)

    def write(self, path: Path, launch_count: int, random: np.random.Generator) -> None:
        """Write a report."""
        with path.open("wb") as file:
            file.writelines(self.pieces(launch_count, random))
            # What the disk still has to do is not to fall into the time of whoever reads next.
            os.fsync(file.fileno())


def _facts_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _before_the_results(spec: ReportSpec, workload: Workload) -> bytes:
    """Return the header of the file, the session and the sources."""
    layout = Layout(source_count=workload.source_count, source_bytes=workload.source_bytes)
    return encode_ncu_rep(replace(spec, launches=[]), layout)


def _result(launch: LaunchSpec, names: Sequence[str], workload: Workload, sections: bytes) -> bytes:
    """Return a ProfileResult with sections and categories, which our writer leaves out."""
    index = {name: i for i, name in enumerate(names)}
    metrics = encode_metrics("kernel", metric_specs(launch), index.__getitem__)
    layout = Layout(source_count=workload.source_count)
    result = padded(encode_result(launch, metrics, layout))
    end = len(result) - len(padded(b""))
    parts, start = [], 0
    for field in scan_fields(result, 0, end):
        if field.number == _METRICS:
            parts.append(message_field(_METRICS, result[field.start : field.stop], _CATEGORY))
        else:
            parts.append(result[start : field.stop])
        if field.number == _SOURCE:
            parts.append(sections)
        start = field.stop
    return b"".join(parts)


def _process(spec: ReportSpec) -> bytes:
    process = spec.process
    if process is None:
        return b""
    name = text_field(2, process.host_name) + text_field(3, process.process_name)
    return message_field(6, uint_field(1, process.process_id), name)


def _block(process: bytes, result: bytes | None = None, strings: Sequence[str] = ()) -> bytes:
    payload = b"" if result is None else length_prefixed(result)
    header = (
        uint_field(2, int(result is not None)),
        message_field(4, *(text_field(1, name) for name in strings)),
        uint_field(5, len(payload)),
        process,
    )
    return length_prefixed(b"".join(header)) + payload


class _Template:
    """A block with one result, and where in it the values stand that differ between launches."""

    def __init__(self, result: bytes, process: bytes, names: Sequence[str]) -> None:
        block = _block(process, result)
        shift = len(block) - len(result)
        values = list(_measured(padded(result), len(result), names))
        doubles = [field.start + shift for field in values if field.wire_type == FIXED64]
        # The first byte of a varint of two bytes or more: its lower seven bits are free.
        varints = [field.start + shift for field in values if field.wire_type == VARINT]
        self._block = np.frombuffer(block, np.uint8).copy()
        self._double_bytes = np.array(doubles, np.intp)[:, None] + np.arange(8)
        self._doubles = self._block[self._double_bytes].view("<f8")[:, 0]
        self._varint_bytes = np.array(varints, np.intp)

    def varied(self, random: np.random.Generator) -> bytes:
        """Return the block with every measured value a little below that of the template."""
        block = self._block
        values = self._doubles * random.uniform(0.96, 1.0, len(self._doubles))
        block[self._double_bytes] = values.astype("<f8")[:, None].view(np.uint8)
        block[self._varint_bytes] = random.integers(0x80, 0x100, len(self._varint_bytes))
        return block.tobytes()


def _measured(data: bytes, stop: int, names: Sequence[str]) -> Iterator[Field]:
    """Yield where the values lie that were measured: wire type, and position of the first byte."""
    for metric in scan_fields(data, 0, stop):
        if metric.number != _METRICS:
            continue
        message = Message.at(data, metric.start, metric.stop)
        name = names[message.uint32(_NAME_ID) or 0]
        if name.startswith(_CONSTANT) or name.endswith(".peak_sustained"):
            continue
        holders = message.all(_VALUE, BYTES)
        for instance in message.all(_INSTANCES, BYTES):
            holders += Message.at(data, instance.start, instance.stop).all(2, BYTES)
        for holder in holders:
            for value in scan_fields(data, holder.start, holder.stop):
                if value.number == _DOUBLE:
                    yield value
                elif value.number == _UINT64 and value.stop - holder.start > 2:
                    # Our writer stores nothing else in the message: the varint follows the key.
                    yield Field(_UINT64, VARINT, holder.start + 1, value.stop)


def main() -> None:
    """Write the report that the command line names."""
    by_name = {one.name: one for one in WORKLOADS}
    by_name |= {one.heavier.name: one.heavier for one in WORKLOADS if one.heavier is not None}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports")
    parser.add_argument("name", choices=by_name)
    parser.add_argument("path", type=Path)
    parser.add_argument("--launches", type=int, help="instead of the workload's own number")
    args = parser.parse_args()
    workload = by_name[args.name]
    if args.launches is not None:
        workload = replace(workload, launch_count=args.launches)
    write_report(args.path, workload)


if __name__ == "__main__":
    main()
