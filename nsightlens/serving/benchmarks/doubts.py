"""What makes a result doubtful by itself: times that cannot be, rates that contradict counts.

The values are kept: nobody can tell which of them is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.serving.part import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["doubts_of"]

LEAST_MS = 0.1
"""[ms] [B] A step of the smallest models launches tens of kernels of some microseconds each."""
RATE_FACTOR = 1.5
"""[B] A rate over another window than the duration (first to last token) differs by less."""


def doubts_of(values: Mapping[str, Any], derived: Mapping[str, str]) -> list[Note]:
    """Return notes on values of a run that cannot be true, or not together.

    Parameters
    ----------
    values
        Column of ``serving_runs`` to value.
    derived
        Columns that were computed: what follows from a value cannot contradict it.

    Examples
    --------
    >>> [note.key for note in doubts_of({"mean_itl_ms": 0.08}, {})]
    ['latency_implausible']
    """
    return [*_implausible(values), *_disagreeing(values, derived)]


def _implausible(values: Mapping[str, Any]) -> Iterator[Note]:
    """Say where a time between tokens is so short that its unit must be another."""
    for column in ("mean_itl_ms", "mean_tpot_ms"):
        value = values.get(column)
        if value and value < LEAST_MS:
            yield Note(
                "latency_implausible",
                f"{column} is {value:.3g} ms by the unit of the file, which no server reaches: "
                "the unit may be wrong.",
            )
            return


def _disagreeing(values: Mapping[str, Any], derived: Mapping[str, str]) -> Iterator[Note]:
    """Say where a rate is not the count over the duration, each as the file says it."""
    for count, rate in (
        ("completed_count", "requests_per_s"),
        ("output_token_count", "output_tok_per_s"),
    ):
        if not all(values.get(name) for name in (count, rate, "duration_s")):
            continue
        found = values[count] / values["duration_s"]
        is_independent = rate not in derived and "duration_s" not in derived
        if is_independent and not 1 / RATE_FACTOR <= found / values[rate] <= RATE_FACTOR:
            yield Note(
                "rates_disagree",
                f"{rate} is {values[rate]:.4g}, but {count} over duration is {found:.4g}: one of "
                "the three is wrong.",
            )
