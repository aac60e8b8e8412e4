"""What a prediction can be asked for; anything else is refused in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.models.checks import check_counts
from nsightlens.models.work import check_phase, phase_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.models.work import Phase

__all__ = ["LARGEST_BATCH_SIZE", "LARGEST_CONTEXT", "PredictedSteps", "steps_to_predict"]

LARGEST_BATCH_SIZE = 1_000_000
"""Sequences; the command line has the same limit."""
LARGEST_CONTEXT = 1_000_000_000
"""[token] A thousand times what models are made for; the command line has the same limit."""


class PredictedSteps(NamedTuple):
    """The steps of a prediction.

    Parameters
    ----------
    batch_sizes
        Sequences in each, ascending.
    context_length, query_length
        [token] Of each sequence.
    phase
        ``decode`` or ``prefill``.
    """

    batch_sizes: list[int]
    context_length: int
    query_length: int
    phase: Phase


def steps_to_predict(
    batch_sizes: Iterable[int],
    context_length: int,
    query_length: int | None = None,
    phase: Phase | None = None,
) -> PredictedSteps:
    """Check and complete what was asked for.

    Parameters
    ----------
    batch_sizes, context_length, query_length, phase
        As for `nsightlens.sweeps.predict.prediction`.

    Raises
    ------
    ValueError
        A number is no whole one, not above zero or too large, there is no batch size, or the phase
        is not known.

    Examples
    --------
    >>> steps_to_predict([8, 1, 8], 512)
    PredictedSteps(batch_sizes=[1, 8], context_length=512, query_length=1, phase='decode')
    >>> steps_to_predict("1,8", 512)
    Traceback (most recent call last):
    ValueError: batch_sizes must be whole numbers such as [1, 8, 64], not '1,8'
    """
    batches = _batches(batch_sizes)
    context = _count("context_length", context_length, LARGEST_CONTEXT)
    check_phase(phase)
    if query_length is None:
        query_length = context if phase == "prefill" else 1
    query = _count("query_length", query_length, LARGEST_CONTEXT)
    return PredictedSteps(batches, context, query, phase or phase_of(context, query))


def _batches(given: Iterable[int]) -> list[int]:
    try:
        if isinstance(given, (str, bytes)):
            raise TypeError
        batches = list(given)
    except TypeError:
        raise ValueError(
            f"batch_sizes must be whole numbers such as [1, 8, 64], not {given!r}"
        ) from None
    if not batches:
        raise ValueError("there must be at least one batch size")
    return sorted({_count("each of batch_sizes", one, LARGEST_BATCH_SIZE) for one in batches})


def _count(name: str, value: int, most: int) -> int:
    check_counts(**{name: value})
    if value > most:
        raise ValueError(f"{name} must be no more than {most}, not {value}")
    return int(value)
