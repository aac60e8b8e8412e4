"""`replica_advice`: how many servers of the chosen batch size share the GPU, and what they gain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.advisor.answers import ReplicaAdvice
from nsightlens.advisor.busy import batches_of, single_servers
from nsightlens.advisor.constraints import limits_of, plausible_value
from nsightlens.advisor.kv_pool import kv_pool_of, runs_of_choice
from nsightlens.advisor.memory import checked_margin
from nsightlens.advisor.replica_rows import ReplicaCase, replica_rows
from nsightlens.advisor.replica_text import replica_text, replica_warnings
from nsightlens.advisor.replica_words import (
    LEAST_PREDICTED_GAIN,
    comparisons,
    mps_commands,
    smaller_batch,
)
from nsightlens.errors import AdviceError
from nsightlens.tables import ADVICE_REPLICAS, schema_of, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.advisor.answers import BatchChoice, Curve, Slo
    from nsightlens.models import ModelConfig

__all__ = ["replica_advice"]

MOST_SERVERS = 60
"""More is no count of servers: MPS serves 48 to 60 processes on one GPU."""

Row = dict[str, Any]


def replica_advice(
    runs: pa.Table,
    curve: Curve,
    choice: BatchChoice,
    *,
    slos: Sequence[Slo] = (),
    busy_share: tuple[float, str] | None = None,
    margin: float = 0.0,
    most: int = 8,
    extra_gib: float = 0.3,
    model: ModelConfig | None = None,
) -> ReplicaAdvice:
    """Say how many servers of the chosen batch size fit on the GPU, and what they could gain.

    After arXiv 2503.08311: R servers have ``gpu_memory_utilization / R`` each, and fit if the KV
    blocks of each hold the largest use of one server alone::

        blocks_R >= ceil(peak / 100 blocks_1 (1 + margin))

    They can fill the time in which the GPU has nothing to do, and no more. Steps of R servers that
    gain a factor g in throughput take R / g times as long::

        gain <= min(R, 1 / busy share),     ITL_R = ITL R / gain

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``: those of the curve, and measured ones of several servers
        (``replicas`` > 1), which stand in place of predictions.
    curve, choice
        What was chosen, and from what.
    slos
        Limits to check again; those of the choice where none are given.
    busy_share
        [1] Share of a step's time with a kernel on the GPU, at one server, and where it came from.
        Not what nvidia-smi calls utilization.
    margin
        Part of the largest KV use that is kept beside it.
    most
        Servers to look at.
    extra_gib
        [GiB] What each of several servers needs beside what one server alone does; in the paper's
        runs 0.3 to 0.5.
    model
        Sizes of the model, which give the size of a block exactly.

    Raises
    ------
    AdviceError
        Nothing was chosen, or a number is out of its range.

    Examples
    --------
    >>> from nsightlens.advisor.answers import Curve
    >>> from nsightlens.advisor.batch import choose_batch
    >>> from nsightlens.tables import ADVICE_CURVE, SERVING_RUNS
    >>> data = {"run": ["a"], "kv_pool_gib": [54.0], "kv_peak_pct": [38.0]}
    >>> row = {**data, "batch_size": [256], "throughput_tok_s": [10810.0], "itl_ms": [29.3]}
    >>> curve = Curve(table_of(schema_of(ADVICE_CURVE), row, 1), "total", None)
    >>> memory = {"total_memory_gib": [63.4], "gpu_memory_utilization": [0.9]}
    >>> memory |= {"kv_block_count": [18446]}
    >>> runs = table_of(schema_of(SERVING_RUNS), data | memory, 1)
    >>> advice = replica_advice(runs, curve, choose_batch(curve), busy_share=(0.66, "a trace"))
    >>> advice.replicas_max, round(advice.gain_bound, 2), advice.recommended
    (2, 1.52, 2)
    """
    _check(busy_share, margin, most, extra_gib)
    if choice.row is None or choice.batch_size is None:
        raise AdviceError("Nothing was chosen, so there is nothing to run several servers of.")
    pool = kv_pool_of(runs, choice, model)
    count = pc.fill_null(runs["replicas"], 1)
    several = runs.filter(pc.and_(pc.greater(count, 1), pc.less_equal(count, MOST_SERVERS)))
    singles = _without_thrash(single_servers(runs), curve)
    asked = tuple(slos) or choice.slos
    case = ReplicaCase(
        row=_plausible_row(choice.row, asked),
        batch_size=choice.batch_size,
        is_measured=not choice.is_interpolated,
        runs=several.filter(_has_batch(several, choice.batch_size)),
        singles=singles.filter(_has_batch(singles, choice.batch_size)),
        pool=pool,
        needed_blocks=pool.blocks_needed(margin),
        needed_gib=pool.needed_gib(margin),
        slos=asked,
        limits_ms=limits_of(curve, asked),
        busy_share=None if busy_share is None else busy_share[0],
        throughput_column=f"{curve.throughput}_tok_per_s",
        most=most,
        extra_gib=extra_gib,
    )
    rows = replica_rows(case)
    fitting = [one["replicas"] for one in rows if one["fits"]]
    is_known = any(one["fits"] is not None for one in rows if one["replicas"] > 1)
    replicas_max = max(fitting) if is_known else None
    best = _recommended(rows, case)
    chosen = runs_of_choice(runs, choice)
    others = several.filter(pc.invert(_has_batch(several, choice.batch_size)))
    subject = best if best["replicas"] > 1 else _fastest(rows)
    compared = comparisons(case, subject, singles, others, curve.rows)
    if best["replicas"] == 1 and case.slos and replicas_max:
        smaller = smaller_batch(case, replicas_max, curve.rows)
        compared += (smaller,) if smaller else ()
    return ReplicaAdvice(
        rows=_table(rows),
        replicas_max=replicas_max,
        recommended=best["replicas"],
        gpu_busy_share=case.busy_share,
        busy_source=None if busy_share is None else busy_share[1],
        gain_bound=None if replicas_max is None else case.bound(replicas_max),
        comparisons=compared,
        commands=mps_commands(case, best, chosen) if best["replicas"] > 1 else (),
        missing=_missing(case),
        text=replica_text(case, rows, replicas_max, best),
        warnings=replica_warnings(case, rows, best),
    )


def _check(
    busy_share: tuple[float, str] | None, margin: float, most: int, extra_gib: float
) -> None:
    checked_margin(margin)
    if not (math.isfinite(extra_gib) and extra_gib >= 0):
        raise AdviceError(f"A further server takes {extra_gib} GiB: that must be 0 or more.")
    if not 1 <= most <= MOST_SERVERS:
        raise AdviceError(f"{most} servers cannot be looked at: that must be 1 to {MOST_SERVERS}.")
    if busy_share is not None and not 0 < busy_share[0] <= 1:
        raise AdviceError(
            f"The busy share of the GPU is {busy_share[0]}; it must be above 0 and at most 1."
        )


def _without_thrash(runs: pa.Table, curve: Curve) -> pa.Table:
    """Leave out runs whose server thrashed: they are nothing to compare with."""
    pairs = zip(curve.rows["run"].to_pylist(), curve.rows["flags"].to_pylist(), strict=True)
    thrashed = {
        name
        for run, flags in pairs
        if run and "thrash" in (flags or "").split(",")
        for name in run.split(" + ")
    }
    return runs.filter(
        pa.array([name not in thrashed for name in runs["run"].to_pylist()], pa.bool_())
    )


def _plausible_row(row: Row, slos: Sequence[Slo]) -> Row:
    """Return the row of a choice without numbers that are beyond reason."""
    names = ("throughput_tok_s", "itl_ms", *(slo.column for slo in slos))
    return {**row, **{name: plausible_value(row[name]) for name in names}}


def _has_batch(runs: pa.Table, batch_size: float) -> Any:
    return pa.array(batches_of(runs) == batch_size, pa.bool_())


def _recommended(rows: Sequence[Row], case: ReplicaCase) -> Row:
    """Return the row with the most gain that fits within the limits: measured before predicted."""
    allowed = [
        one
        for one in rows
        if one["replicas"] > 1
        and one["fits"]
        and one["gain"] is not None
        and (one["meets_slo"] or not case.slos)
    ]
    measured = [one for one in allowed if one["origin"] == "measured" and one["gain"] > 1]
    predicted = [
        one
        for one in allowed
        if one["origin"] == "predicted" and one["gain"] >= LEAST_PREDICTED_GAIN
    ]
    # The rows rise in R, and max takes the first of equals: the fewest servers.
    return max(measured or predicted or rows[:1], key=lambda one: one["gain"])


def _fastest(rows: Sequence[Row]) -> Row:
    """Return what to compare where one server is recommended: the fastest that fits."""
    fitting = [one for one in rows if one["fits"] and one["throughput_tok_s"] is not None]
    # What was measured of several servers says more than any bound.
    several = [one for one in fitting if one["origin"] == "measured" and one["replicas"] > 1]
    fitting = several or fitting
    return max(fitting, key=lambda one: one["throughput_tok_s"], default=rows[0])


def _missing(case: ReplicaCase) -> tuple[str, ...]:
    pool = case.pool
    wanted = {
        "the size of the KV pool": pool.pool_gib,
        "the largest use of the KV pool": pool.peak_pct,
        "the memory of the GPU": pool.total_gib,
        "gpu_memory_utilization of the runs": pool.gpu_memory_utilization,
        "how busy the GPU is in a step": case.busy_share,
    }
    return tuple(what for what, value in wanted.items() if value is None)


def _table(rows: Sequence[Row]) -> pa.Table:
    names = [column.name for column in ADVICE_REPLICAS]
    data = {name: [one.get(name) for one in rows] for name in names}
    return table_of(schema_of(ADVICE_REPLICAS), data, len(rows))
