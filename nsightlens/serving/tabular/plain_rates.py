"""A throughput whose header does not say which tokens it counts: what the rest of the table tells.

Where the table has tokens and time, arithmetic decides. Where it has none of prompts, the column is
taken as the total: nothing is derived from that but its growth, which is the same for both. A rate
that one request sees is neither, and is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Verdict", "verdict_of"]

_TOLERANCE = 0.03
_BATCH_OF_DOUBT = 4.0


class Verdict(NamedTuple):
    """What an unclear throughput is.

    Parameters
    ----------
    column
        Of ``serving_runs``; None where it is left out.
    key, text
        Of the note; the text follows the name of the column.
    """

    column: str | None
    key: str
    text: str


def verdict_of(rate: NDArray[Any], others: Mapping[str, NDArray[Any]]) -> Verdict:
    """Return what a throughput counts.

    Parameters
    ----------
    rate
        Cells as they stand, NaN where there is none.
    others
        The other numeric columns of ``serving_runs`` that the table has, of the same length.

    Examples
    --------
    >>> import numpy as np
    >>> others = {"output_token_count": np.array([100.0]), "duration_s": np.array([2.0])}
    >>> verdict_of(np.array([50.0]), others).column
    'output_tok_per_s'
    """
    expected = _expected(others)
    matching = [
        column
        for column, values in expected.items()
        if column not in others and _agrees(rate, values)
    ]
    if matching:
        return Verdict(
            matching[0], "throughput_resolved", f"is {matching[0]}, by the tokens and the time"
        )
    if _is_per_request(rate, others):
        return Verdict(
            None,
            "throughput_per_request",
            "is what one request sees: left out. Name what all requests together reach total_tok_s "
            "or out_tok_s",
        )
    if {"total_tok_per_s", "output_tok_per_s"} & set(others):
        return Verdict(
            None, "throughput_unclear", "does not say which tokens it counts, and others do: unused"
        )
    known_prompts = {"input_token_count", "mean_input_tokens"} & set(others)
    if known_prompts and expected:
        return Verdict(
            None,
            "throughput_unclear",
            "fits neither generated tokens nor all tokens over the time: left out. Name it "
            "total_tok_s or out_tok_s",
        )
    return Verdict(
        "total_tok_per_s",
        "throughput_unclear",
        "does not say whether prompts count: read as tokens per second, prompts and all. Name it "
        "total_tok_s or out_tok_s",
    )


def _expected(others: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the rates that follow from tokens and time."""
    found: dict[str, NDArray[Any]] = {}
    inputs = outputs = None
    if "duration_s" in others:
        inputs, outputs = (
            others[name] / others["duration_s"] if name in others else None
            for name in ("input_token_count", "output_token_count")
        )
    if outputs is None and "requests_per_s" in others:
        inputs, outputs = (
            others[name] * others["requests_per_s"] if name in others else None
            for name in ("mean_input_tokens", "mean_output_tokens")
        )
    if outputs is not None:
        found["output_tok_per_s"] = outputs
        if inputs is not None:
            found["total_tok_per_s"] = inputs + outputs
    return found


def _agrees(one: NDArray[Any], other: NDArray[Any]) -> bool:
    known = np.isfinite(one) & np.isfinite(other) & (other > 0)
    if not known.any():
        return False
    return bool((np.abs(one[known] / other[known] - 1) < _TOLERANCE).all())


def _is_per_request(rate: NDArray[Any], others: Mapping[str, NDArray[Any]]) -> bool:
    """Whether the rate is 1 over the latency of a token, or falls while the batch grows."""
    batch = next(
        (
            others[name]
            for name in ("mean_running", "static_batch_size", "max_num_seqs", "max_concurrency")
            if name in others and np.isfinite(others[name]).any()
        ),
        None,
    )
    if batch is None:
        return False
    large = np.isfinite(batch) & np.isfinite(rate) & (batch >= _BATCH_OF_DOUBT)
    if not large.any():
        return False
    for name in ("mean_itl_ms", "mean_tpot_ms", "median_itl_ms", "median_tpot_ms"):
        if name in others:
            product = rate[large] * others[name][large] / 1e3
            product = product[np.isfinite(product)]
            if product.size:
                return bool((np.abs(product - 1) < 0.5).all())
    known = np.isfinite(batch) & np.isfinite(rate)
    smallest, largest = (
        int(np.flatnonzero(known)[at(batch[known])]) for at in (np.argmin, np.argmax)
    )
    grew = batch[largest] >= _BATCH_OF_DOUBT * batch[smallest]
    return bool(grew and rate[largest] < rate[smallest])
