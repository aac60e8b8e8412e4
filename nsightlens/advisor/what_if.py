"""`what_if`: a batch size, context or GPU that was not measured, always marked as predicted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nsightlens.advisor.answers import Question
from nsightlens.advisor.busy import busy_share_at
from nsightlens.advisor.measured_law import measured_law
from nsightlens.advisor.predictions import bound_alone, predicted, refused
from nsightlens.advisor.questions import LARGEST, parse_question
from nsightlens.advisor.scaling import analytic_knee, mean_context, rates_of, sizes_of
from nsightlens.advisor.what_if_memory import memory_case
from nsightlens.advisor.what_if_steps import Case
from nsightlens.devices.products import folded_name
from nsightlens.errors import AdviceError, UnknownDeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from nsightlens.advisor.answers import Curve, Plateau, Prediction, StepCosts
    from nsightlens.advisor.scaling import Rates
    from nsightlens.models import ModelConfig

__all__ = ["analytic_knee", "parse_question", "what_if"]


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
        return refused(case, memory)
    if lacking or plateau.fit is None:
        return bound_alone(case, memory, lacking)
    return predicted(case, plateau.fit, memory, curve, runs)


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
