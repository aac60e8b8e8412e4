"""What several servers compare with, in sentences, and the commands that start them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.advisor.constraints import plausible, plausible_value
from nsightlens.advisor.run_columns import numbers
from nsightlens.advisor.settings import model_to_serve, server_command, settings_kept

if TYPE_CHECKING:
    from nsightlens.advisor.replica_rows import ReplicaCase

__all__ = [
    "LEAST_PREDICTED_GAIN",
    "comparisons",
    "mps_commands",
    "servers_words",
    "smaller_batch",
]

LEAST_PREDICTED_GAIN = 1.05
"""A predicted gain is a bound, of which the paper's runs reached 75 to 100 %: less is not worth
the trouble."""

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
    column = case.throughput_column
    larger = curve_rows.filter(pa.array(numbers(curve_rows, "batch_size") > case.batch_size))
    best = _best_single(case, subject, singles)
    simply = _fastest(larger, "throughput_tok_s")
    is_same = best is not None and simply is not None and best[0]["run"] == simply[0]["run"]
    found = []
    if best is not None and not (subject["replicas"] == 1 and best[0]["run"] == case.row["run"]):
        also = ", simply a larger batch" if is_same else ""
        found.append(_against(case, subject, best, f"the best single server{also}"))
    if simply is None:
        text = f"No batch size above {case.batch_size:g} ran without preemption, to compare with."
        found.append(text)
    elif not is_same:
        found.append(_against(case, subject, simply, "simply a larger batch"))
    other = _fastest(others, column)
    if other is not None:
        found.append(_against(case, subject, other, "the best measured of other batch sizes"))
    return tuple(found)


def _best_single(case: ReplicaCase, subject: Row, singles: pa.Table) -> tuple[Row, float] | None:
    """Return the fastest single server within the limits that beats the subject, else of all."""
    met = [case.meets([row.get(slo.column) for slo in case.slos]) for row in singles.to_pylist()]
    within = singles.filter(pa.array([one is True for one in met], pa.bool_()))
    best = _fastest(within, case.throughput_column)
    if best is not None and best[1] > subject["throughput_tok_s"]:
        return best
    return _fastest(singles, case.throughput_column)


def _fastest(table: pa.Table, column: str) -> tuple[Row, float] | None:
    """Return the fastest row that was not preempted, and its throughput [token/s]."""
    values = plausible(table, column)
    values[numbers(table, "preemption_count") > 0] = np.nan
    if "flags" in table.column_names:
        flags = [(one or "").split(",") for one in table["flags"].to_pylist()]
        values[np.array(["thrash" in one for one in flags], bool)] = np.nan
    if np.isnan(values).all():
        return None
    place = int(np.nanargmax(values))
    return table.slice(place, 1).to_pylist()[0], float(values[place])


def _against(case: ReplicaCase, subject: Row, other: tuple[Row, float], what: str) -> str:
    row, throughput = other
    change = 100 * (subject["throughput_tok_s"] / throughput - 1)
    verb = "give" if subject["origin"] == "measured" else "give at most"
    if subject["replicas"] == 1:
        verb = "gives"
    beyond = _limit_words(subject["meets_slo"])
    text = (
        f"{servers_words(subject)}{f' ({beyond})' if beyond else ''} {verb} "
        f"{subject['throughput_tok_s']:.1f} token/s, {abs(change):.1f} % "
        f"{'more' if change >= 0 else 'less'} than {what}, {_variant(row)} "
    )
    met = case.meets([row.get(slo.column) for slo in case.slos])
    inside = ", ".join(one for one in (f"{throughput:.1f} token/s", _limit_words(met)) if one)
    return f"{text[0].upper()}{text[1:]}({inside})."


def _limit_words(met: bool | None) -> str:
    return {True: "within the limit", False: "beyond the limit", None: ""}[met]


def _variant(row: Row) -> str:
    """Return what tells a run or a row of the curve from others."""
    names = ("batch_size", "max_num_seqs", "static_batch_size", "max_concurrency")
    batch = next((row[name] for name in names if row.get(name) is not None), None)
    words = f"run {row['run']}" if batch is None else f"batch size {batch:g}"
    if (row.get("replicas") or 1) > 1:
        words = servers_words({**row, "batch_size": batch or 0.0})
    return f"{words} with chunked prefill" if row.get("chunked_prefill") else words


def smaller_batch(case: ReplicaCase, replicas_max: int, curve_rows: pa.Table) -> str:
    """Return what servers of a smaller batch size would give within the limits; empty for nothing.

    Several servers take longer steps, so they exceed a limit that one server of the same batch size
    just meets; with a smaller one they need not. The busy share is taken as that of the choice.
    """
    base = case.row.get("throughput_tok_s")
    best: tuple[float, int, Row] | None = None
    smaller = curve_rows.filter(pa.array(numbers(curve_rows, "batch_size") < case.batch_size))
    for row in smaller.to_pylist():
        for replicas in range(2, replicas_max + 1):
            bound, alone = case.bound(replicas), plausible_value(row["throughput_tok_s"])
            if bound is None or alone is None or row["preemption_count"]:
                continue
            if case.meets_at(row, replicas) and (best is None or alone * bound > best[0]):
                best = alone * bound, replicas, row
    if best is None or not base or best[0] < LEAST_PREDICTED_GAIN * base:
        return ""
    throughput, replicas, row = best
    words = servers_words({"replicas": replicas, "batch_size": row["batch_size"], "mps": True})
    return (
        f"Within the limit, {words} would give at most {throughput:.1f} token/s, "
        f"{100 * (throughput / base - 1):.1f} % more than one of {case.batch_size:g}: measure them."
    )


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
        model_to_serve(chosen),
        batch_size=int(case.batch_size),
        gpu_memory_utilization=case.pool.gpu_memory_utilization,
        replicas=count,
        **settings_kept(chosen),
    ).splitlines()
    split = f"# Send the requests in turn to ports 8000 to {8000 + count - 1}."
    alone = "# Start one server after the other: each measures the free memory when it starts."
    alone = f"# Instead of one server, {count}. {alone.removeprefix('# ')}"
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
