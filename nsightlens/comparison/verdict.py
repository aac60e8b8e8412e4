"""From a change and its noise to a verdict, and to the sentence that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.phrase import choose, concat, digits, sentence, significant, when
from nsightlens.comparison.change import NOISE_SOURCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.comparison.change import Change
    from nsightlens.comparison.noise import NoiseRules, Spread

__all__ = [
    "LOST",
    "VERDICTS",
    "duration_words",
    "noise_words",
    "reason_of",
    "signed_percent",
    "verdict_codes",
]

VERDICTS = (
    "improved", "regressed", "indistinguishable", "not_comparable", "added", "removed",
)  # fmt: skip
LOST = "too few repeats that scatter too much: no change can be told"
_STEPS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))


def verdict_codes(
    change: Change,
    has: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    is_comparable: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the verdict of each row as an index into `VERDICTS`. Shape (n,).

    Parameters
    ----------
    change
        Of the duration.
    has
        Whether the row is there in base and in new.
    is_comparable
        Whether nothing speaks against comparing its durations.
    """
    base, new = has
    cases = [~base, ~new, ~is_comparable, change.direction < 0, change.direction > 0]
    names = ("added", "removed", "not_comparable", "improved", "regressed")
    codes = [VERDICTS.index(name) for name in names]
    return np.select(cases, codes, VERDICTS.index("indistinguishable")).astype(np.int64)


def reason_of(
    change: Change,
    repeats: tuple[Spread, Spread],
    code: NDArray[np.int64],
    why_not: Any,
    *,
    other_work: Any,
    rules: NoiseRules,
) -> Any:
    """Say why each row has its verdict, with the numbers; a text column of shape (n,).

    Parameters
    ----------
    change, repeats
        Of the duration.
    code
        Verdicts.
    why_not
        Why rows cannot be compared; null where they can.
    other_work
        What speaks against equal work, of those that can; null where nothing does.
    rules
        What is taken for noise.
    """
    of = {name: code == i for i, name in enumerate(VERDICTS)}
    is_judged = of["improved"] | of["regressed"] | of["indistinguishable"]
    spans = concat(duration_words(change.base), " to ", duration_words(change.new))
    numbers = concat(signed_percent(change.change_pct), ": ", spans)
    place = choose(of["indistinguishable"].astype(np.int64), ("beyond", "within"))
    band = concat(place, " the noise of ", noise_words(change), " (")
    told = concat(numbers, ", ", band, _source_words(change, repeats, rules), ")")
    count = concat(digits(repeats[0].repeats), " and ", digits(repeats[1].repeats))
    untold = concat(numbers, "; ", LOST, " (", count, " repeats)")
    judged = sentence(pc.coalesce(told, when(change.is_lost, untold)), other_work)
    removed = concat("not in the new reports; took ", duration_words(change.base))
    added = concat("not in the base; takes ", duration_words(change.new))
    shown = when(~np.isnan(change.log_ratio), numbers)
    return pc.coalesce(
        when(is_judged, judged),
        when(of["not_comparable"], lambda: sentence(why_not, shown)),
        when(of["removed"], lambda: pc.coalesce(removed, _texts("not in the new reports", code))),
        when(of["added"], lambda: pc.coalesce(added, _texts("not in the base", code))),
    )


def _source_words(change: Change, repeats: tuple[Spread, Spread], rules: NoiseRules) -> Any:
    base, new = (digits(one.repeats) for one in repeats)
    interval = f" repeats, {rules.confidence_pct:g} % interval"
    words = {
        "repeats": concat(base, " and ", new, interval),
        "equal_launches": _texts("equal launches of one report; no repeats were given", base),
        "default": _texts("the default, as no repeats were given", base),
    }
    found = pa.nulls(len(base), pa.string())
    for i, name in enumerate(NOISE_SOURCES):
        found = pc.coalesce(found, when(change.source == i, words[name]))
    return found


def _texts(text: str, like: Any) -> Any:
    return pa.array([text], pa.string()).take(pa.array(np.zeros(len(like), dtype=np.int64)))


def noise_words(change: Change) -> Any:
    """Return both ends of the noise: what noise may take off, and what it may add."""
    return concat(significant(change.noise_down_pct), " to +", significant(change.noise_pct), " %")


def signed_percent(values: NDArray[np.float64]) -> Any:
    """Return changes with sign and three digits; null for NaN.

    Examples
    --------
    >>> signed_percent(np.array([6.531, -0.1, np.nan])).to_pylist()
    ['+6.53 %', '-0.1 %', None]
    """
    return concat(when(values > 0, _texts("+", values)).fill_null(""), significant(values), " %")


def duration_words(nanoseconds: NDArray[np.float64]) -> Any:
    """Return durations in the unit that suits each; null for NaN.

    Examples
    --------
    >>> duration_words(np.array([850.0, 12345.6, np.nan])).to_pylist()
    ['850 ns', '12.3 us', None]
    """
    with np.errstate(invalid="ignore"):
        at = np.select([nanoseconds >= step for step, _ in _STEPS[:-1]], range(3), 3)
    scale = np.array([step for step, _ in _STEPS])[at]
    unit = choose(at, tuple(name for _, name in _STEPS))
    return concat(significant(nanoseconds / scale), " ", unit)
