"""The flags of a curve as sentences, with the batch sizes and the numbers that they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Warned
from nsightlens.advisor.flags import LONG_INPUT_TOKENS, SHORTEST_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.flags import Flagged
    from nsightlens.advisor.repeats import Joined

__all__ = ["at_batches", "flag_warnings"]

SHOWN = 6
"""Batch sizes that a sentence lists before it counts the others."""


def flag_warnings(
    joined: Joined, flagged: Flagged, running: NDArray[np.float64]
) -> tuple[Warned, ...]:
    """Return a sentence for each flag that is set.

    Parameters
    ----------
    joined, flagged
        The rows of a curve, and what weighs against them.
    running
        Sequences that ran. Shape (n,).
    """
    columns, size = joined.columns, joined.batch_size
    with np.errstate(invalid="ignore"):
        chunk = columns["mean_itl_ms"] / columns["mean_tpot_ms"]
        median = columns["mean_itl_ms"] / columns["median_itl_ms"]
    sentences = {
        "preempted": "Sequences were preempted at {at} ({count} times): such runs are not "
        "recommended, and left out of fits.",
        "thrash": "The time between tokens is shorter at {at} than at smaller batches, with a full "
        "KV pool or a growing queue ({kv}): requests were kept out, which is no better batch. "
        "Left out of fits.",
        "clock_limited": "The clock of the GPU was limited at {at}{clock}: these runs weigh a "
        "quarter in fits.",
        "too_short": f"Shorter than {SHORTEST_S:g} s, or fewer than three requests for each "
        "running sequence, at {at} ({seconds}): these runs weigh half in fits.",
        "repeats_differ": "Runs of one setting differ by a factor of up to {spread} at {at}: they "
        "may be of different setups or machines. Their median is taken, and weighs half in fits.",
        "failed_requests": "Requests failed at {at} ({failed}).",
        "nominal_beyond_running": "More was asked for than ran at {at} ({ran} ran on average): "
        "fits are over what ran, and the setting could be lower.",
        "nominal_only": "How many sequences ran is not known at {at}: the batch that was asked for "
        "stands for it. A log of the server or its metrics would tell.",
        "running_beyond_batch": "More sequences ran than the batch allows at {at} ({ran}): one of "
        "the two numbers is wrong, or is of several servers.",
        "client_bound": "The client kept fewer requests in flight than the server would run at "
        "{at}: the client's number is the batch size there.",
        "by_load": "No setting bound the batch at {at}: it is the mean number of requests in "
        "flight, or of those that ran where others waited.",
        "itl_per_chunk": "Mean ITL is {chunk} times mean TPOT at {at}: the client measured pieces "
        "of several tokens, so that TPOT is used in its place, for limits too.",
        "prefill_interference": "Mean ITL is up to {median} times the median at {at}: steps that "
        "process prompts are a part of it. The mean is used, which throughput follows.",
        "speculative": "Speculative decoding at {at}: a step gives several tokens.",
        "moe": "A mixture of experts: how many weights a step reads depends on the batch.",
        "long_input": f"Prompts of {LONG_INPUT_TOKENS:g} tokens and more on average at {{at}} "
        "({tokens} tokens): much of the time may go into them.",
        "mixed_settings": "Runs of one batch size differ in settings, and are joined all the same: "
        "{mixed}.",
        "single_run": "Measured once: {at}. How much runs differ there is not known.",
    }
    warned = []
    for key, sentence in sentences.items():
        mask = flagged.masks.get(key)
        if mask is None:
            continue
        text = sentence.format(
            at=at_batches(size[mask]),
            count=_range(columns["preemption_count"][mask]),
            kv=f"KV {_range(columns['kv_peak_pct'][mask]) or 'unknown'} %",
            clock=_clock(joined, mask),
            seconds=f"{_range(columns['duration_s'][mask]) or 'unknown'} s",
            failed=_range(columns["failed_count"][mask]),
            ran=_range(running[mask]),
            chunk=_range(chunk[mask]),
            median=f"{np.nanmax(median[mask]):.2f}" if key == "prefill_interference" else "",
            tokens=_range(columns["mean_input_tokens"][mask]),
            mixed=_mixed(joined),
            spread=f"{joined.spread.max():.3g}",
        )
        if key == "single_run" and mask.all():
            text = "Every batch size was measured once: how much runs differ is not known."
        warned.append(Warned(key, text))
    if joined.is_preempted_in_part.any():
        at = at_batches(size[joined.is_preempted_in_part])
        text = f"Some runs at {at} were preempted and others not: it is not taken as safe."
        warned.append(Warned("preempted_in_part", text))
    return tuple(warned)


def at_batches(sizes: NDArray[np.float64]) -> str:
    """Return batch sizes in words.

    Examples
    --------
    >>> at_batches(np.array([1.0, 2.0, 4.0]))
    'batch sizes 1, 2 and 4'
    >>> at_batches(np.arange(1.0, 13.0))
    'batch sizes 1, 2, 3, 4, 5, 6 and 6 more'
    """
    shown = [f"{one:g}" for one in sizes[:SHOWN]]
    if len(sizes) > SHOWN:
        shown.append(f"{len(sizes) - SHOWN} more")
    if len(shown) == 1:
        return f"batch size {shown[0]}"
    return f"batch sizes {', '.join(shown[:-1])} and {shown[-1]}"


def _range(values: NDArray[np.float64]) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return ""
    least, most = (f"{one:.3g}" if abs(one) < 1000 else f"{one:.0f}" for one in _ends(known))
    return least if least == most else f"{least} to {most}"


def _ends(known: NDArray[np.float64]) -> tuple[float, float]:
    return float(known.min()), float(known.max())


def _clock(joined: Joined, mask: NDArray[np.bool_]) -> str:
    text = _range(joined.columns["sm_clock_mhz"][mask])
    return f" ({text} MHz)" if text else ""


def _mixed(joined: Joined) -> str:
    found = [
        f"batch size {size:g} in {words}"
        for size, words in zip(joined.batch_size, joined.mixed, strict=True)
        if words
    ]
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(found[:3]) + more
