"""`curve_of`: the runs of one setup by batch size, with what is to be said of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from nsightlens.advisor.answers import Curve, Warned
from nsightlens.advisor.batch_of_run import BatchSizes, batch_sizes, running_batches
from nsightlens.advisor.flag_words import flag_warnings
from nsightlens.advisor.flags import Flagged, flag, joined_flags
from nsightlens.advisor.repeats import Joined, join
from nsightlens.advisor.run_columns import first_known, known_everywhere, positives
from nsightlens.arrays import known_numbers
from nsightlens.errors import AdviceError
from nsightlens.tables import ADVICE_CURVE, schema_of, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["curve_of"]

_RATES = {"total": "total_tok_per_s", "output": "output_tok_per_s"}
_SPEED = (
    "output_tok_per_s", "total_tok_per_s", "requests_per_s", "decode_tok_per_s",
    "mean_itl_ms", "median_itl_ms", "mean_tpot_ms", "median_tpot_ms",
)  # fmt: skip
_SHARES = ("attention_share_pct", "matmul_share_pct", "host_share_pct", "gpu_busy_pct")
_LATENCIES = tuple(
    f"{one}_{name}_ms" for name in ("itl", "tpot", "ttft") for one in ("mean", "median", "p99")
)
ALONE = 0.1
"""Where the batch is the mean in flight, it is 1 within this: fewer are a server that idles."""


def curve_of(runs: pa.Table, *, throughput: Literal["auto", "total", "output"] = "auto") -> Curve:
    """Put the runs of one setup in the order of batch size.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``: of one setup and single servers, in any order. Runs of
        the same batch size are joined by the median.
    throughput
        Which throughput is maximised: of prompt and generated tokens (``total``) or of generated
        ones (``output``). ``auto`` is ``total`` where it is known of every run, as in the paper,
        and ``output`` elsewhere and where prefixes are cached, since cached prompt tokens cost
        nothing and would count.

    Returns
    -------
    Curve
        Rows without a batch size or without any throughput and latency are left out, which is
        warned of. ``efficiency`` is T(B) / (B T(1)) with T in requests per second where every row
        has it: equal work, whatever lengths were drawn. T(1) is the row with a batch size of one.

    Raises
    ------
    AdviceError
        No row is left, or no row has the throughput that was asked for.

    Examples
    --------
    >>> from nsightlens.tables import SERVING_RUNS, schema_of, table_of
    >>> data = {
    ...     "run": ["a", "b"],
    ...     "max_num_seqs": [1, 32],
    ...     "total_tok_per_s": [381.4, 5734.1],
    ...     "requests_per_s": [0.947, 14.228],
    ...     "mean_itl_ms": [3.62, 7.51],
    ... }
    >>> curve = curve_of(table_of(schema_of(SERVING_RUNS), data, 2))
    >>> curve.throughput, [round(one, 3) for one in curve.rows["efficiency"].to_pylist()]
    ('total', [1.0, 0.47])
    """
    kept, sizes, warnings = _usable(runs)
    joined = join(kept, sizes.size)
    batches = sizes.of_rows(joined.first)
    running, running_source = running_batches(joined.columns, batches)
    flagged = flag(joined, batches, running, running_source)
    decode_alone = _decode_for_output(joined)
    chosen, why_chosen = _chosen_throughput(joined, throughput)
    rate = joined.columns[_RATES[chosen]]
    alone = _alone(joined, batches)
    work = _work(joined, rate)
    columns: dict[str, Any] = {
        "run": joined.names,
        "run_count": pa.array(joined.run_count, pa.int64()),
        "batch_size": joined.batch_size,
        "batch_source": batches.source.tolist(),
        "running_batch": running,
        "running_source": running_source.tolist(),
        "itl_ms": flagged.itl.itl_ms,
        "itl_source": [one or None for one in flagged.itl.source.tolist()],
        **_latencies(joined, flagged),
        "throughput_tok_s": rate,
        "total_tok_s": joined.columns["total_tok_per_s"],
        "output_tok_s": joined.columns["output_tok_per_s"],
        "requests_per_s": joined.columns["requests_per_s"],
        **_scaling(joined.batch_size, work, rate, flagged.weight > 0, alone),
        "kv_peak_pct": joined.columns["kv_peak_pct"],
        "kv_pool_gib": joined.columns["kv_pool_gib"],
        "preemption_count": joined.columns["preemption_count"],
        "fit_weight": flagged.weight,
        "flags": joined_flags(flagged.masks, len(joined.batch_size)),
    }
    ready = {
        name: known_numbers(values) if isinstance(values, np.ndarray) else values
        for name, values in columns.items()
    }
    single = None if alone is None or np.isnan(rate[alone]) else float(rate[alone])
    return Curve(
        rows=table_of(schema_of(ADVICE_CURVE), ready, len(joined.batch_size)),
        throughput=chosen,
        single_throughput_tok_s=single,
        warnings=(
            *warnings,
            *decode_alone,
            *why_chosen,
            *_without_single(joined, alone),
            *_mixed_sources(flagged, running_source),
            *flag_warnings(joined, flagged, running),
        ),
    )


def _latencies(joined: Joined, flagged: Flagged) -> dict[str, NDArray[np.float64]]:
    """Return the latencies that limits are for: TPOT in the place of an ITL that is of pieces."""
    found = {name: joined.columns[name] for name in _LATENCIES}
    pieces = flagged.itl.is_per_chunk
    for one in ("mean", "median", "p99"):
        found[f"{one}_itl_ms"] = np.where(pieces, found[f"{one}_tpot_ms"], found[f"{one}_itl_ms"])
    return found


def _usable(runs: pa.Table) -> tuple[pa.Table, BatchSizes, list[Warned]]:
    """Return the runs that say a batch and how fast it was, sorted, and what was left out."""
    order = np.argsort(np.array([one or "" for one in runs["run"].to_pylist()], str), kind="stable")
    runs = runs.take(pa.array(order))
    sizes = batch_sizes(runs)
    has_speed = _any_known(runs, _SPEED)
    has_batch = ~np.isnan(sizes.size)
    # Shares of time alone are of a profile, and no run that lacks something.
    mute = ~has_speed & ~_any_known(runs, _SHARES)
    lost = has_speed & ~has_batch
    warnings = []
    for key, rows, text in (
        ("no_speed", mute, "no throughput and no latency"),
        ("no_batch", lost, "no batch size: neither settings, log nor name say it"),
    ):
        if rows.any():
            count = int(rows.sum())
            which = _named(runs, rows)
            words = "run has" if count == 1 else "runs have"
            warnings.append(Warned(key, f"{count} {words} {text} ({which}): left out."))
    usable = has_speed & has_batch
    if not usable.any():
        raise AdviceError(
            "no run has both a batch size and a throughput or a latency. "
            + " ".join(one.text for one in warnings)
        )
    return runs.filter(pa.array(usable)), sizes.of_rows(usable), warnings


def _any_known(runs: pa.Table, names: tuple[str, ...]) -> NDArray[np.bool_]:
    return np.asarray(np.any([~np.isnan(positives(runs, name)) for name in names], axis=0))


def _named(runs: pa.Table, rows: NDArray[np.bool_]) -> str:
    names = [one or "without a name" for one in runs["run"].filter(pa.array(rows)).to_pylist()]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _decode_for_output(joined: Joined) -> list[Warned]:
    """Let the rate of decoding stand for throughput where no row has any."""
    columns = joined.columns
    rates = [columns[name] for name in _RATES.values()]
    if np.isnan(columns["decode_tok_per_s"]).all() or not all(np.isnan(one).all() for one in rates):
        return []
    columns["output_tok_per_s"] = columns["decode_tok_per_s"]
    text = "Only the rate of decoding is known: throughput has no time for prompts in it."
    return [Warned("throughput_is_decode", text)]


def _chosen_throughput(
    joined: Joined, asked: Literal["auto", "total", "output"]
) -> tuple[Literal["total", "output"], list[Warned]]:
    known = {name: ~np.isnan(joined.columns[column]) for name, column in _RATES.items()}
    if asked != "auto":
        if not known[asked].any():
            other = "output" if asked == "total" else "total"
            raise AdviceError(
                f"no run has a throughput of {asked} tokens: ask for {other} or auto."
            )
        return asked, []
    everywhere = {name: bool(one.all()) for name, one in known.items()}
    if (joined.columns["prefix_caching"] > 0).any() and known["output"].any():
        text = (
            "Prefixes are cached, and cached prompt tokens would count in total throughput: "
            "throughput is that of generated tokens."
        )
        return "output", [Warned("prefix_caching", text)]
    if everywhere["total"]:
        return "total", []
    if everywhere["output"]:
        text = "Total throughput is not known of every run: throughput is that of generated tokens."
        return "output", [Warned("throughput_is_output", text)] if known["total"].any() else []
    chosen: Literal["total", "output"] = (
        "output" if known["output"].sum() > known["total"].sum() else "total"
    )
    count = int((~known[chosen]).sum())
    text = f"Throughput ({chosen} tokens) is not known of {count} of {len(known[chosen])} rows."
    return chosen, [Warned("throughput_missing", text)]


def _work(joined: Joined, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what T is for scaling: requests per second where all rows have it, else tokens."""
    requests = joined.columns["requests_per_s"]
    return requests if known_everywhere(requests, np.ones(len(requests), bool)) else rate


def _alone(joined: Joined, batches: BatchSizes) -> int | None:
    """Return the row that T(1) is of."""
    found = joined.batch_size == 1
    in_flight, _ = first_known(
        [(name, joined.columns[name]) for name in ("concurrency", "mean_running")], len(found)
    )
    found &= ~batches.is_by_load | (np.abs(in_flight - 1) <= ALONE)
    return int(np.flatnonzero(found)[0]) if found.any() else None


def _scaling(
    size: NDArray[np.float64],
    work: NDArray[np.float64],
    rate: NDArray[np.float64],
    counted: NDArray[np.bool_],
    alone: int | None,
) -> dict[str, NDArray[np.float64]]:
    nothing = np.full(len(size), np.nan)
    best = np.fmax.reduce(rate[counted]) if counted.any() else np.nan
    columns = {"efficiency": nothing, "marginal_gain": nothing, "share_of_best": rate / best}
    if alone is not None:
        columns["efficiency"] = work / (size * work[alone])
        before = _counted_before(counted & ~np.isnan(work))
        gain = (work - work[before]) / (size - np.where(before >= 0, size[before], np.nan))
        columns["marginal_gain"] = gain / work[alone]
    return columns


def _counted_before(counted: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the nearest counted row before each row; -1 where there is none."""
    rows = np.where(counted, np.arange(len(counted)), -1)
    return np.concatenate([[-1], np.maximum.accumulate(rows)[:-1]]).astype(np.intp)


def _without_single(joined: Joined, alone: int | None) -> list[Warned]:
    if alone is not None:
        return []
    why = f"No run has a batch size of 1 (the smallest is {joined.batch_size[0]:g})"
    if joined.batch_size[0] == 1:
        why = "Where less than one request was in flight on average, the server idled between them"
    return [Warned("no_single", f"{why}: T(1), and with it efficiency, is not known.")]


def _mixed_sources(flagged: Flagged, running_source: NDArray[np.str_]) -> list[Warned]:
    """Say where rows that a fit uses are measured in different ways."""
    counted = flagged.weight > 0
    warned = []
    for key, what, sources in (
        ("mixed_itl_sources", "The time between tokens", flagged.itl.source),
        ("mixed_running_sources", "The number of running sequences", running_source),
    ):
        there = sorted(set(sources[counted & (sources != "")].tolist()))
        if len(there) > 1:
            text = f"{what} is not from one source ({', '.join(there)}): fits may be bent by that."
            warned.append(Warned(key, text))
    return warned
