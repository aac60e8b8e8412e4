"""What several servers compare with, in sentences, and the commands that start them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.advisor.constraints import is_within
from nsightlens.advisor.run_columns import numbers, positives
from nsightlens.advisor.settings import server_command

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.replica_rows import ReplicaCase

__all__ = ["comparisons", "mps_commands", "servers_words"]

Row = dict[str, Any]


def servers_words(row: Row) -> str:
    """Return what a row is, as words.

    Examples
    --------
    >>> servers_words({"replicas": 2, "batch_size": 96.0, "mps": False})
    '2 servers of batch size 96 without MPS'
    """
    count = "one server" if row["replicas"] == 1 else f"{row['replicas']} servers"
    beside = {True: " under MPS", False: " without MPS", None: ""}[row["mps"]]
    return f"{count} of batch size {row['batch_size']:g}{beside if row['replicas'] > 1 else ''}"


def comparisons(
    case: ReplicaCase, subject: Row, singles: pa.Table, others: pa.Table, curve_rows: pa.Table
) -> tuple[str, ...]:
    """Return what servers give against the best single one, and against simply a larger batch.

    Parameters
    ----------
    case
        What the rows were made from.
    subject
        The row to compare.
    singles
        Runs of one server, chunked prefill and other variants included.
    others
        Measured runs of several servers of other batch sizes.
    curve_rows
        With the schema ``ADVICE_CURVE``.
    """
    if subject["throughput_tok_s"] is None:
        return ()
    found = [_against(case, subject, singles, "the best single server")]
    batch = numbers(curve_rows, "batch_size")
    larger = curve_rows.filter(pa.array(batch > case.batch_size))
    simply = _against(case, subject, larger, "simply a larger batch")
    if not simply:
        simply = f"No batch size above {case.batch_size:g} ran without preemption, to compare with."
    found += [simply, _against(case, subject, others, "the best measured of other batch sizes")]
    return tuple(one for one in found if one)


def _against(case: ReplicaCase, subject: Row, table: pa.Table, what: str) -> str:
    """Compare with the fastest row that was not preempted; empty where there is none."""
    column = "throughput_tok_s" if "throughput_tok_s" in table.schema.names else None
    values = positives(table, column or case.throughput_column)
    values[numbers(table, "preemption_count") > 0] = np.nan
    if np.isnan(values).all():
        return ""
    place = int(np.nanargmax(values))
    row = table.slice(place, 1).to_pylist()[0]
    change = 100 * (subject["throughput_tok_s"] / values[place] - 1)
    verb = "give" if subject["origin"] == "measured" else "give at most"
    if subject["replicas"] == 1:
        verb = "gives"
    text = (
        f"{servers_words(subject)} {verb} {subject['throughput_tok_s']:.1f} token/s, "
        f"{abs(change):.1f} % {'more' if change >= 0 else 'less'} than {what}, {_variant(row)} "
        f"({values[place]:.1f} token/s{_latency_words(case, table, place)})."
    )
    return text[0].upper() + text[1:]


def _variant(row: Row) -> str:
    """Return what tells a run or a row of the curve from others."""
    names = ("batch_size", "max_num_seqs", "static_batch_size", "max_concurrency")
    batch = next((row[name] for name in names if row.get(name) is not None), None)
    words = f"run {row['run']}" if batch is None else f"batch size {batch:g}"
    if (row.get("replicas") or 1) > 1:
        words = servers_words({**row, "batch_size": batch or 0.0})
    return f"{words} with chunked prefill" if row.get("chunked_prefill") else words


def _latency_words(case: ReplicaCase, table: pa.Table, place: int) -> str:
    """Return whether a row meets the limits, where there are some."""
    latencies = [_value(numbers(table, slo.column), place) for slo in case.slos]
    pairs = zip(latencies, case.limits_ms, strict=True)
    if any(one is not None and not is_within(one, limit) for one, limit in pairs):
        return ", beyond the limit of latency"
    if latencies and None not in latencies:
        return ", within the limit of latency"
    return ""


def _value(values: NDArray[np.float64], place: int) -> float | None:
    return None if np.isnan(values[place]) else float(values[place])


def mps_commands(case: ReplicaCase, row: Row, chosen: pa.Table) -> tuple[str, ...]:
    """Return the lines that start several servers under MPS, and those that stop MPS again.

    Parameters
    ----------
    case
        What the row was made from.
    row
        The recommended one, of several servers.
    chosen
        Runs that the choice was measured with: they name model and engine.
    """
    count = row["replicas"]

    def first(name: str) -> Any:
        return next((one for one in chosen[name].to_pylist() if one is not None), None)

    servers = server_command(
        first("engine"),
        first("model"),
        batch_size=int(case.batch_size),
        gpu_memory_utilization=case.pool.gpu_memory_utilization,
        tensor_parallel_size=None
        if first("tensor_parallel_size") == 1
        else first("tensor_parallel_size"),
        replicas=count,
    ).splitlines()
    split = f"# Send the requests in turn to ports 8000 to {8000 + count - 1}."
    alone = "# Start one server after the other: each measures the free memory when it starts."
    if row["mps"] is False:
        return (alone, *servers, split)
    stop = "# Afterwards stop the servers, and then MPS:"
    return (
        "nvidia-cuda-mps-control -d",
        alone,
        *servers,
        split,
        stop,
        "echo quit | nvidia-cuda-mps-control",
    )
