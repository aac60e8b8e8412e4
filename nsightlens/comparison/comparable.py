"""Why the durations of a row cannot be compared: another GPU, other clocks, another collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.phrase import choose, concat, sentence, significant, when
from nsightlens.arrays import number_array
from nsightlens.comparison.side import CONDITIONS
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.comparison.noise import NoiseRules
    from nsightlens.comparison.side import Side

__all__ = ["LaunchPair", "incomparable"]

_WORDS = {
    "gpu": "GPU",
    "clock_control": "clock control",
    "cache_control": "cache control",
    "replay_mode": "replay mode",
    "kind": "kind of result",
}
LONG_ENOUGH_NS = 100_000.0
"""[ns] From this duration on the clock of a launch is its own. ncu measures that of a shorter one
too coarsely, 2 to 5 % off at 5 to 50 us in real reports: the mean of the side stands for it."""
COUNTS_NS = 20_000.0
"""[ns] A shorter launch has no part in the mean of its side, unless all are."""
SAME_WORK_PCT = 1.0
"""[%] How far apart context lengths may be, and counts of operations that prove equal work."""
_LENGTHS = {
    "context_length": "context length",
    "kv_tokens": "number of KV tokens",
    "query_tokens": "number of query tokens",
}
_CLOCKS = (("sm_clock_hz", "SM", "clock_pct"), ("dram_clock_hz", "DRAM", "dram_clock_pct"))


class LaunchPair(NamedTuple):
    """Rows that have both sides, by their first launch on each. Shape (n,)."""

    base: NDArray[np.int64]
    new: NDArray[np.int64]


def incomparable(
    base: Side,
    new: Side,
    pair: LaunchPair,
    is_known: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    rules: NoiseRules,
    *,
    flop_ratio: NDArray[np.float64],
) -> Any:
    """Say why durations cannot be compared.

    Parameters
    ----------
    base, new
        The sides.
    pair
        Rows. Shape (n,).
    is_known
        Whether the duration of each row is known in base and new. Shape (n,).
    rules
        How far apart clocks may be.
    flop_ratio
        ln(new / base) of the operations, NaN where they are not known or 0. Shape (n,).

    Returns
    -------
    pyarrow.Array
        Text, null where they can. Shape (n,).
    """
    clauses = [_missing(is_known)]
    for name in ("gpu", *CONDITIONS, "kind"):
        texts = [_text(side, name).take(number_array(at))
                 for side, at in zip((base, new), pair, strict=True)]  # fmt: skip
        clauses.append(_other(_WORDS[name], *texts))
    sms = [side.number["sm_count"][at] for side, at in zip((base, new), pair, strict=True)]
    differ = sms[0] != sms[1]
    differ &= ~np.isnan(sms[0]) & ~np.isnan(sms[1])
    clauses.append(
        when(differ, lambda: _versus("number of SMs", significant(sms[0]), significant(sms[1])))
    )
    clauses += [_clocks(base, new, pair, rules, clock) for clock in _CLOCKS]
    clauses.append(_lengths(base, new, pair, flop_ratio))
    return sentence(*clauses)


def _text(side: Side, name: str) -> Any:
    if name == "kind":
        return side.labels["kind"].cast(pa.string()).combine_chunks()
    return side.text[name]


def _missing(is_known: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Any:
    base, new = is_known
    where = np.select([~base & ~new, ~base, ~new], [0, 1, 2], -1)
    words = "; either it was not collected or the collection failed"
    names = ("either side", "the base", "the new side")
    return when(where >= 0, lambda: concat("no duration on ", choose(where, names), words))


def _other(what: str, base: Any, new: Any) -> Any:
    differ = pc.fill_null(pc.not_equal(base, new), False).to_numpy(zero_copy_only=False)
    return when(differ, lambda: _versus(what, base, new))


def _versus(what: str, base: Any, new: Any) -> Any:
    return concat(f"another {what}: ", base, " in the base, ", new, " now")


def _lengths(base: Side, new: Side, pair: LaunchPair, flop_ratio: NDArray[np.float64]) -> Any:
    """Say that the steps are of other lengths; null where the operations are equal all the same.

    A GEMM of a decode step does not depend on the context, attention does.
    """
    is_equal = np.abs(flop_ratio) <= np.log1p(SAME_WORK_PCT / 100)
    found = pa.nulls(len(pair.base), pa.string())
    for name, words in _LENGTHS.items():
        before, now = base.number[name][pair.base], new.number[name][pair.new]
        with np.errstate(divide="ignore", invalid="ignore"):
            is_other = np.abs(np.log(now / before)) > np.log1p(SAME_WORK_PCT / 100)
        clause = _versus(words, significant(before), significant(now))
        found = pc.coalesce(found, when(is_other & ~is_equal, clause))
    return found


def _clocks(
    base: Side, new: Side, pair: LaunchPair, rules: NoiseRules, clock: tuple[str, str, str]
) -> Any:
    name, words, limit = clock
    found = [_clock(side, at, name) for side, at in zip((base, new), pair, strict=True)]
    hz = [one for one, _ in found]
    is_coarse = found[0][1] | found[1][1]
    may_be = np.where(is_coarse, rules.short_clock_pct, getattr(rules, limit))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(hz[1] / hz[0])) > np.log1p(may_be / 100)
    return when(apart, lambda: concat(
        f"another {words} clock: ", significant(hz[0] / 1e9), " GHz in the base, ",
        significant(hz[1] / 1e9), " GHz now",
    ))  # fmt: skip


def _clock(
    side: Side, at: NDArray[np.int64], name: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the clock of launches, or what stands for it, and whether that is coarse.

    NaN where it is not known.
    """
    duration, hz = side.number["duration_ns"], side.number[name]
    long_mean = _mean_clock(side, hz, duration >= COUNTS_NS)
    is_coarse = np.isnan(long_mean)
    mean = np.where(is_coarse, _mean_clock(side, hz, duration > 0), long_mean)
    own = (duration >= LONG_ENOUGH_NS) & (hz > 0)
    return np.where(own, hz, mean)[at], (is_coarse & ~own)[at]


def _mean_clock(
    side: Side, hz: NDArray[np.float64], counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return for each launch the mean clock of those that count on its GPU, by their durations."""
    gpu, names = text_column(side.text, "gpu")
    weight = np.where(counts & (hz > 0), side.number["duration_ns"], 0.0)
    total = np.bincount(gpu, np.where(weight > 0, hz, 0.0) * weight, minlength=len(names))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: NDArray[np.float64] = total / np.bincount(gpu, weight, minlength=len(names))
    return mean[gpu]
