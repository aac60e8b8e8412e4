"""The sentences and numbers of predictions: by the law, by a bound alone, and refused ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Prediction, Warned
from nsightlens.advisor.questions import words_of
from nsightlens.advisor.run_columns import positives
from nsightlens.advisor.what_if_steps import predicted_step
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.advisor.answers import Curve, Fit
    from nsightlens.advisor.what_if_memory import MemoryCase
    from nsightlens.advisor.what_if_steps import Case

__all__ = ["bound_alone", "predicted", "refused"]

_MEMORY_MARGIN = 0.12
"""[1] Drivers keep some of the memory, and data sheets round it: more is another product."""


def predicted(
    case: Case, fit: Fit, memory: MemoryCase, curve: Curve, runs: pa.Table | None
) -> Prediction:
    """Return a prediction by the law that was fitted.

    Parameters
    ----------
    case, fit, memory
        What is asked, the law, and the KV pool.
    curve, runs
        What was measured; ``runs`` with the schema ``SERVING_RUNS``.
    """
    step = predicted_step(case, fit)
    only_output = case.context is not None
    rate = case.law.throughput_at(case.batch_size, step.itl_ms, only_output=only_output)
    tested = case.law.back_test(fit)
    mean_error, max_error = tested or (None, None)
    low = high = None
    if tested is not None:
        # The error is of the prediction against what was measured: (p - m) / m.
        low = step.low_ms / (1 + tested[1] / 100)
        high = step.high_ms / (1 - tested[1] / 100) if tested[1] < 100 else None
    warnings = [*step.warnings, *memory.warnings]
    warnings += [*_below_bound(case, step.itl_ms), *_other_memory(case, runs)]
    parts = [f"{step.itl_ms:.4g} ms between tokens"]
    if low is not None:
        parts[0] += f" ({low:.4g} to {'any' if high is None else f'{high:.4g}'})"
    if rate is not None:
        kind = "generated" if only_output or curve.throughput == "output" else "total"
        parts.append(f"{rate:,.0f} token/s ({kind})")
    if memory.kv_peak_pct is not None:
        parts.append(f"KV pool at {memory.kv_peak_pct:.1f} %")
    text = f"Predicted for {words_of(case.question)}: {', '.join(parts)}. {step.method}."
    if tested is None:
        text += " Too few batch sizes were measured for a back-test."
    else:
        text += (
            f" Back-test: without it, the law misses a measured batch size by {tested[0]:.1f} % on "
            f"average and {tested[1]:.1f} % at most."
        )
    return Prediction(
        words_of(case.question), case.batch_size, case.question.context_length,
        case.question.device, step.itl_ms, low, high, rate, memory.kv_peak_pct, step.method,
        mean_error, max_error, text + _measured(case) + _knee(case), tuple(warnings),
    )  # fmt: skip


def _measured(case: Case) -> str:
    rows = (case.law.batch_size == case.batch_size).nonzero()[0]
    if case.on is not None or case.context is not None or not len(rows):
        return ""
    return f" It was measured too: {case.law.itl_ms[rows[0]]:.4g} ms."


def _knee(case: Case) -> str:
    """Say where cache and weights weigh the same, which needs no fit."""
    if case.sizes is None:
        return ""
    held, context = case.law.held_bytes(), case.context
    if context is None and held is not None:
        context = held / case.sizes.token_bytes()
    if context is None:
        return ""
    return (
        f" By the sizes of the model alone, a step reads as much cache as weights at "
        f"{case.sizes.knee(context):.3g} sequences of {context:.0f} tokens."
    )


def _below_bound(case: Case, itl_ms: float) -> list[Warned]:
    rates, context = case.on or case.was_on, case.context or case.context_was
    if case.sizes is None or rates is None or context is None:
        return []
    least = case.sizes.bound_ms(case.law.running_at(case.batch_size), context, rates)
    if itl_ms >= least:
        return []
    text = (
        f"{itl_ms:.4g} ms is less than the {least:.4g} ms that the model needs on {rates.name} at "
        "least: the model, its data types or the GPU are not those that ran."
    )
    return [Warned("below_bound", text)]


def _other_memory(case: Case, runs: pa.Table | None) -> list[Warned]:
    """Warn where the runs had another memory than the GPU that they are said to be of."""
    if runs is None or case.was_on is None or not case.was_on.memory_bytes:
        return []
    total, sheet = positives(runs, "total_memory_gib"), case.was_on.memory_bytes / 2.0**30
    if np.isnan(total).all() or abs(np.nanmedian(total) / sheet - 1) <= _MEMORY_MARGIN:
        return []
    text = (
        f"The server's log says {np.nanmedian(total):.3g} GiB, and {case.was_on.name} has about "
        f"{sheet:.3g}: it may be another product, with another bandwidth."
    )
    return [Warned("device_mismatch", text)]


def bound_alone(case: Case, memory: MemoryCase, lacking: str) -> Prediction:
    """Return the least time alone, where measured times say nothing of the case.

    Parameters
    ----------
    case, memory
        What is asked, and the KV pool.
    lacking
        Why measured times are not used: a clause.

    Raises
    ------
    AdviceError
        What the bound needs is not known either.
    """
    rates, context = case.on or case.was_on, case.context or case.context_was
    missing = [
        words
        for value, words in (
            (case.sizes, "the sizes of the model (--model)"),
            (rates, "the GPU (--device, or device=NAME)"),
            (context, "the context length (context=TOKENS)"),
        )
        if value is None
    ]
    if case.sizes is None or rates is None or context is None:
        raise AdviceError(
            f"{words_of(case.question)} cannot be predicted: {lacking}; and for a bound, "
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing."
        )
    ran = case.law.running_at(case.batch_size)
    least = case.sizes.bound_ms(ran, context, rates)
    method = (
        f"The least time of a step of {ran:.4g} sequences of {context:.4g} tokens on {rates.name}, "
        "by the bytes and operations of the model and the peaks of the GPU"
    )
    text = (
        f"Predicted bound for {words_of(case.question)}: no step takes less than {least:.4g} ms, "
        f"so no more than {1e3 * ran / least:,.0f} token/s are generated. {method}; real steps "
        f"take longer. Measured times are not used: {lacking}.{_knee(case)}"
    )
    warned = Warned("bound_only", f"A bound alone is given: {lacking}.")
    return Prediction(
        words_of(case.question), case.batch_size, case.question.context_length,
        case.question.device, None, least, None, None, memory.kv_peak_pct, method, None, None,
        text, (warned, *memory.warnings),
    )  # fmt: skip


def refused(case: Case, memory: MemoryCase) -> Prediction:
    """Return the refusal of what the KV pool would not hold, in words."""
    text = f"Predicted not to run: {memory.refused}. No latency is predicted of it."
    return Prediction(
        words_of(case.question), case.batch_size, case.question.context_length,
        case.question.device, None, None, None, None, memory.kv_peak_pct,
        "The use of the KV pool that was measured, in proportion", None, None, text,
        (Warned("does_not_fit", text),),
    )  # fmt: skip
