"""`what_if`: a batch size, context or GPU that was not measured, always marked as predicted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Prediction, Question, Warned
from nsightlens.advisor.busy import busy_share_at
from nsightlens.advisor.measured_law import measured_law
from nsightlens.advisor.questions import LARGEST, parse_question, words_of
from nsightlens.advisor.run_columns import positives
from nsightlens.advisor.scaling import analytic_knee, mean_context, rates_of, sizes_of
from nsightlens.advisor.what_if_memory import memory_case
from nsightlens.advisor.what_if_steps import Case, predicted_step
from nsightlens.devices.products import folded_name
from nsightlens.errors import AdviceError, UnknownDeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from nsightlens.advisor.answers import Curve, Fit, Plateau, StepCosts
    from nsightlens.advisor.scaling import Rates
    from nsightlens.advisor.what_if_memory import MemoryCase
    from nsightlens.models import ModelConfig

__all__ = ["analytic_knee", "parse_question", "what_if"]

_MEMORY_MARGIN = 0.12
"""[1] Drivers keep some of the memory, and data sheets round it: more is another product."""


def what_if(
    curve: Curve,
    plateau: Plateau,
    *,
    batch_size: float | None = None,
    context_length: float | None = None,
    device: str | None = None,
    model: ModelConfig | None = None,
    runs: pa.Table | None = None,
    costs: Sequence[StepCosts] = (),
    measured_device: str | None = None,
    measured_context: float | None = None,
    weight_bytes: float | None = None,
    kv_bytes: float | None = None,
) -> Prediction:
    """Predict what was not measured.

    Parameters
    ----------
    curve, plateau
        What was measured, and the law that was fitted to it.
    batch_size
        As it would be set; None for that with the most throughput.
    context_length
        [token] In the cache of a running sequence, on average; None as measured.
    device
        Name of another GPU; None as measured.
    model
        Sizes of the model: needed for another GPU, and for a bound where there is no law.
    runs
        With the schema ``SERVING_RUNS``: memory, lengths, data types, and share of the host.
    costs
        From `nsightlens.advisor.step_costs.step_costs`, for the share of the host.
    measured_device
        Name of the GPU that was measured.
    measured_context
        [token] As ``context_length``; None for what the runs say.
    weight_bytes, kv_bytes
        [B] Per element; None for what the runs say, else two bytes.

    Returns
    -------
    Prediction
        The fitted law at the batch that would run, which is measured too. Another context scales
        the part of the time per sequence that reads its cache; another GPU scales all but the time
        without a kernel, by the least times of the step on both by `step_time_bound_s`. The
        interval is widened by the largest error of the back-test. Without a law, ``itl_low_ms``
        alone is given: the least time. Without a place in the KV pool, nothing is predicted, and
        ``text`` says why.

    Raises
    ------
    AdviceError
        A number cannot be, or what is needed is not known.
    UnknownDeviceError
        No GPU has the name that was asked for.

    Examples
    --------
    >>> from nsightlens.advisor.curve import curve_of
    >>> from nsightlens.advisor.plateau import plateau
    >>> from nsightlens.tables import SERVING_RUNS, schema_of, table_of
    >>> data = {"static_batch_size": [1, 16, 64, 256], "mean_itl_ms": [10.2, 13.2, 22.8, 61.2]}
    >>> curve = curve_of(table_of(schema_of(SERVING_RUNS), data, 4))
    >>> found = what_if(curve, plateau(curve), batch_size=128)
    >>> round(found.itl_ms, 1), found.text[:44]
    (35.6, 'Predicted for batch 128: 35.6 ms between tok')
    """
    asked = _asked(Question(batch_size, context_length, device), plateau)
    for name, number in (("measured_context", measured_context), ("weight_bytes", weight_bytes),
                         ("kv_bytes", kv_bytes)):  # fmt: skip
        _check(name, number, least=0.0 if name.endswith("bytes") else 1.0)
    law = measured_law(curve)
    sizes = None if model is None else sizes_of(model, runs, weight_bytes, kv_bytes)
    was_on, problem = _measured_rates(measured_device, sizes.weight_bytes if sizes else 2.0)
    on = None
    if asked.device is not None and not _is_same(asked.device, measured_device):
        on = rates_of(asked.device, weight_bytes=sizes.weight_bytes if sizes else 2.0)
        on = None if was_on is not None and on.name == was_on.name else on
    context = measured_context or mean_context(runs, sizes.token_bytes() if sizes else None)
    batch = asked.batch_size or 0.0
    case = Case(
        asked, batch, law, sizes, was_on, on, context, asked.context_length,
        busy_share_at(batch, costs, runs),
    )  # fmt: skip
    lacking = _lacking(case, plateau, problem)
    memory = memory_case(case, runs)
    if memory.refused is not None:
        return _refused(case, memory)
    if lacking or plateau.fit is None:
        return _bound(case, memory, lacking)
    return _predicted(case, plateau.fit, memory, curve, runs)


def _asked(question: Question, plateau: Plateau) -> Question:
    _check("batch", question.batch_size)
    _check("context", question.context_length)
    if question == Question():
        raise AdviceError("nothing is asked: give a batch size, a context length or a GPU.")
    batch = question.batch_size or plateau.best_batch
    if batch is None:
        raise AdviceError("the question needs a batch size: batch=B.")
    return Question(float(batch), question.context_length, question.device)


def _check(name: str, number: float | None, *, least: float = 1.0) -> None:
    if number is None:
        return
    if not (math.isfinite(number) and least <= number <= LARGEST and number > 0):
        raise AdviceError(f"{name} must be a number up to {LARGEST:.0f}, above zero: not {number}.")


def _measured_rates(device: str | None, weight_bytes: float) -> tuple[Rates | None, str]:
    """Return the peaks of the GPU that was measured, and what is wrong where there are none."""
    if device is None:
        return None, "which GPU was measured is not known (--device)"
    try:
        return rates_of(device, weight_bytes=weight_bytes), ""
    except UnknownDeviceError:
        return None, f"the peaks of the GPU that was measured, {device!r}, are not known (--device)"


def _is_same(asked: str, measured: str | None) -> bool:
    return measured is not None and folded_name(asked) == folded_name(measured)


def _lacking(case: Case, plateau: Plateau, problem: str) -> str:
    """Say why measured times cannot be scaled to the case; empty where they can."""
    if plateau.fit is None:
        why = f" ({plateau.refused.text.rstrip('.')})" if plateau.refused else ""
        return f"no law of the time between tokens holds{why}"
    if case.context is not None and case.context_was is None:
        return "the context that was measured is not known"
    if case.on is None:
        return ""
    if case.sizes is None:
        return "another GPU needs the sizes of the model (--model)"
    if case.context is None and case.context_was is None:
        return "another GPU needs the context length (context=TOKENS)"
    return "" if case.was_on is not None else problem


def _predicted(
    case: Case, fit: Fit, memory: MemoryCase, curve: Curve, runs: pa.Table | None
) -> Prediction:
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
    warnings = [
        *step.warnings, *memory.warnings, *_below_bound(case, step.itl_ms), *_other_memory(case, runs),
    ]  # fmt: skip
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


def _bound(case: Case, memory: MemoryCase, lacking: str) -> Prediction:
    """Return the least time alone, where measured times say nothing of the case."""
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


def _refused(case: Case, memory: MemoryCase) -> Prediction:
    text = f"Predicted not to run: {memory.refused}. No latency is predicted of it."
    return Prediction(
        words_of(case.question), case.batch_size, case.question.context_length,
        case.question.device, None, None, None, None, memory.kv_peak_pct,
        "The use of the KV pool that was measured, in proportion", None, None, text,
        (Warned("does_not_fit", text),),
    )  # fmt: skip
