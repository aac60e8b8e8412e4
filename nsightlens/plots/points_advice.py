"""The points of the figures of advice: throughput and latency, KV use, shares of time.

A table each, and what is marked on it: limits, knee and choice. Of an `Advice`, without matplotlib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.arrays import known_numbers, number_array
from nsightlens.devices.columns import number_column
from nsightlens.errors import NothingToPlotError
from nsightlens.plots import words
from nsightlens.plots.points import points_table
from nsightlens.tables.column import Column, category, flag, real

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Advice

__all__ = [
    "ADVICE_CURVE_POINTS",
    "ADVICE_KV_POINTS",
    "ADVICE_SHARES_POINTS",
    "SHARE_PARTS",
    "CurveMarks",
    "curve_marks",
    "curve_points",
    "kv_points",
    "setup_title",
    "share_points",
]

_BATCH = real("batch_size", "sequences", "batch size as it was set")
_IS_CHOSEN = flag("is_chosen", "the batch size to serve with")
_IS_HOLLOW = flag("is_hollow", "preempted, or flagged as others are not: drawn hollow")

ADVICE_CURVE_POINTS: tuple[Column, ...] = (
    _BATCH,
    real("throughput_tok_s", "token/s", "throughput that is maximised"),
    real("latency_ms", "ms", "the latency that is limited, or the time between tokens"),
    real("fitted_ms", "ms", "the same by the fitted law; null where it is of another latency"),
    _IS_HOLLOW,
    _IS_CHOSEN,
)

ADVICE_KV_POINTS: tuple[Column, ...] = (
    _BATCH,
    real("kv_peak_pct", "%", "largest use of the KV pool"),
    real("kv_used_gib", "GiB", "the same; null where the pool is not known"),
    real("kv_pool_gib", "GiB", "size of the KV pool"),
    _IS_HOLLOW,
    _IS_CHOSEN,
)

ADVICE_SHARES_POINTS: tuple[Column, ...] = (
    _BATCH,
    category("part", "attention, matmul, other or host"),
    real("share_pct", "%", "share of the time of a decode step"),
)

SHARE_PARTS = ("attention", "matmul", "other", "host")
"""What the time of a step is divided into; ``host`` is where no kernel runs."""

_PER_TOKEN = ("itl", "tpot")


class CurveMarks(NamedTuple):
    """What is marked on the curve.

    Parameters
    ----------
    latency
        What the latency is called.
    limits_ms
        [ms] Limits of it.
    knee
        Of the fitted law [sequences]; None where it does not hold.
    knee_over
        ``running`` or ``nominal``: which batch the knee is of.
    batch_size, throughput_tok_s, latency_ms
        The choice; None where nothing is feasible, or not known.
    """

    latency: str
    limits_ms: tuple[float, ...]
    knee: float | None
    knee_over: str
    batch_size: float | None
    throughput_tok_s: float | None
    latency_ms: float | None


def curve_marks(advice: Advice) -> CurveMarks:
    """Return what is marked on the figure of the curve."""
    column, name = _latency(advice)
    choice, fit = advice.choice, advice.plateau.fit
    row: dict[str, Any] = choice.row or {}
    pairs = zip(choice.slos, choice.limits_ms, strict=False)
    return CurveMarks(
        latency=name,
        limits_ms=tuple(limit for slo, limit in pairs if slo.column == column),
        knee=None if fit is None else _positive(fit.knee),
        knee_over="running" if fit is None else fit.over,
        batch_size=_positive(choice.batch_size),
        throughput_tok_s=_positive(row.get("throughput_tok_s")),
        latency_ms=_positive(row.get(column)),
    )


def _positive(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) and value > 0 else None


def _latency(advice: Advice) -> tuple[str, str]:
    """Return the column of the latency that is drawn, and what it is called."""
    for slo in advice.choice.slos:
        if slo.metric in _PER_TOKEN:
            return slo.column, f"{slo.statistic} {slo.metric.upper()}"
    return "itl_ms", "ITL"


def curve_points(advice: Advice) -> pa.Table:
    """Return throughput and latency at each batch size.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.

    Returns
    -------
    pyarrow.Table
        Columns `ADVICE_CURVE_POINTS`.

    Raises
    ------
    NothingToPlotError
        No row has a batch size and a throughput or a latency.
    """
    rows, notes = _with_batch(advice.curve.rows)
    column, _ = _latency(advice)
    throughput, latency = number_column(rows, "throughput_tok_s"), number_column(rows, column)
    fitted = number_column(rows, "fitted_itl_ms")
    sources = set(rows["itl_source"].to_pylist())
    if column != "itl_ms" and sources != {column}:
        if not np.isnan(fitted).all():
            notes.append("The fitted law is of the time between tokens, and not shown.")
        fitted = np.full(rows.num_rows, np.nan)
    if not (np.isfinite(throughput) | np.isfinite(latency)).any():
        raise NothingToPlotError("no run says its throughput or its latency.")
    data = {
        **_common(advice, rows),
        "throughput_tok_s": _known(throughput),
        "latency_ms": _known(latency),
        "fitted_ms": _known(fitted),
    }
    notes += _limits_not_shown(advice, column)
    return points_table("advice_curve", ADVICE_CURVE_POINTS, data, rows.num_rows, notes)


def _limits_not_shown(advice: Advice, column: str) -> list[str]:
    pairs = zip(advice.choice.slos, advice.choice.limits_ms, strict=False)
    return [
        f"Not shown: the limit of {slo.statistic} {slo.metric.upper()}, "
        f"{words.significant(limit)} ms."
        for slo, limit in pairs
        if slo.column != column
    ]


def kv_points(advice: Advice) -> pa.Table:
    """Return the use of the KV pool at each batch size.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.

    Returns
    -------
    pyarrow.Table
        Columns `ADVICE_KV_POINTS`: rows whose use is known.

    Raises
    ------
    NothingToPlotError
        No row says how much of the KV pool is used.
    """
    rows, notes = _with_batch(advice.curve.rows)
    is_known = np.isfinite(number_column(rows, "kv_peak_pct"))
    if not is_known.any():
        raise NothingToPlotError("no run says how much of the KV pool is used.")
    missing = int((~is_known).sum())
    if missing:
        notes.append(f"Not known: KV use at {words.counted(missing, 'batch size')}.")
    rows = rows.filter(number_array(is_known))
    peak, pool = number_column(rows, "kv_peak_pct"), number_column(rows, "kv_pool_gib")
    data = {
        **_common(advice, rows),
        "kv_peak_pct": _known(peak),
        "kv_pool_gib": _known(pool),
        "kv_used_gib": _known(pool * peak / 100),
    }
    return points_table("advice_kv", ADVICE_KV_POINTS, data, rows.num_rows, notes)


def share_points(advice: Advice) -> pa.Table:
    """Return the shares of the time of a decode step at each batch size.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.

    Returns
    -------
    pyarrow.Table
        Columns `ADVICE_SHARES_POINTS`: four rows per batch size.

    Raises
    ------
    NothingToPlotError
        No profile says how a step divides.
    """
    placed = [row for row in advice.why.shares if _positive(row[0]) is not None]
    kept = sorted(placed, key=lambda row: row[0])
    if not any(share is not None for row in kept for share in row[1:]):
        raise NothingToPlotError("no profile says what a decode step spends its time on.")
    count = len(kept) * len(SHARE_PARTS)
    data = {
        "batch_size": [row[0] for row in kept for _ in SHARE_PARTS],
        "part": list(SHARE_PARTS) * len(kept),
        "share_pct": [share for row in kept for share in row[1:]],
    }
    return points_table("advice_shares", ADVICE_SHARES_POINTS, data, count)


def setup_title(advice: Advice) -> str:
    """Return model, engine and GPU, as far as they are known."""
    setup = advice.setup
    parts = [str(setup[key]) for key in ("model", "engine") if setup.get(key)]
    if setup.get("device_name"):
        parts.append(words.gpu(str(setup["device_name"])))
    return words.harmless(", ".join(parts))


def _with_batch(rows: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the rows with a batch size that an axis can have, and a note on the others."""
    batch = number_column(rows, "batch_size")
    has_batch = np.isfinite(batch) & (batch > 0)
    missing = int((~has_batch).sum())
    note = f"Not shown: {words.counted(missing, 'run')} without a batch size."
    return rows.filter(number_array(has_batch)), [note] if missing else []


def _common(advice: Advice, rows: pa.Table) -> dict[str, Any]:
    batch = number_column(rows, "batch_size")
    chosen = advice.choice.batch_size
    return {
        "batch_size": batch,
        "is_hollow": number_array(_hollow(rows)),
        "is_chosen": number_array(batch == (np.nan if chosen is None else chosen)),
    }


def _hollow(rows: pa.Table) -> NDArray[np.bool_]:
    """Return where a row was preempted, counts less, or has a flag that others do not have."""
    flags = [set(filter(None, (text or "").split(","))) for text in rows["flags"].to_pylist()]
    # What weighs on every row tells none of them from the others.
    common = set.intersection(*flags) if len(flags) > 1 else {"single_run"}
    with np.errstate(invalid="ignore"):
        weak = number_column(rows, "fit_weight") < 1
        preempted = number_column(rows, "preemption_count") > 0
    hollow: NDArray[np.bool_] = np.array([bool(one - common) for one in flags], bool)
    return hollow | weak | preempted


def _known(values: NDArray[np.float64]) -> Any:
    return known_numbers(np.where(np.isfinite(values), values, np.nan))
