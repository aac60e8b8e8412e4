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
_COUNTS_NS = 20_000.0
"""[ns] A shorter launch has no part in the mean of its side."""
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


def _clocks(
    base: Side, new: Side, pair: LaunchPair, rules: NoiseRules, clock: tuple[str, str, str]
) -> Any:
    name, words, limit = clock
    hz = [_clock(side, at, name) for side, at in zip((base, new), pair, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(hz[1] / hz[0])) > np.log1p(getattr(rules, limit) / 100)
    return when(apart, lambda: concat(
        f"another {words} clock: ", significant(hz[0] / 1e9), " GHz in the base, ",
        significant(hz[1] / 1e9), " GHz now",
    ))  # fmt: skip


def _clock(side: Side, at: NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """Return the clock of launches, or what stands for it; NaN where it is not known."""
    duration, hz = side.number["duration_ns"], side.number[name]
    gpu, names = text_column(side.text, "gpu")
    weight = np.where((duration >= _COUNTS_NS) & (hz > 0), duration, 0.0)
    total = np.bincount(gpu, np.where(weight > 0, hz, 0.0) * weight, minlength=len(names))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (total / np.bincount(gpu, weight, minlength=len(names)))[gpu]
    own = (duration >= LONG_ENOUGH_NS) & (hz > 0)
    return np.where(own, hz, mean)[at]
