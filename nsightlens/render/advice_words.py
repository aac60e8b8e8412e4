"""The sentences of advice: the choice, its neighbours, what steps cost.

Every number that is said here is one of `nsightlens.advisor.answers`; where it is not known, the
sentence says so or leaves out the clause, and never says zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.columns import gpu_words

if TYPE_CHECKING:
    from nsightlens.advisor.answers import (
        Advice,
        BatchChoice,
        Cost,
        Neighbour,
        Slo,
        StepCosts,
    )

__all__ = [
    "batch_words",
    "cost_sentence",
    "headline",
    "latency_words",
    "milliseconds",
    "neighbour_sentence",
    "setup_words",
]

_EXCLUDED = {
    "slo": "beyond the limit of latency",
    "efficiency": "below the least efficiency",
    "preemption": "it was preempted",
    "thrash": "the server thrashed",
}
_SETUP_FIRST = ("model", "engine", "engine_version", "device_name")
"""Keys of a setup whose values speak for themselves; others are named."""


def batch_words(batch_size: float | None) -> str:
    """Return a batch size as a person writes it.

    Examples
    --------
    >>> batch_words(96.0), batch_words(26.374), batch_words(None)
    ('96', '26.4', '-')
    """
    if batch_size is None or numbers.is_missing(batch_size):
        return numbers.MISSING
    is_whole = abs(batch_size) < 1e15 and float(batch_size).is_integer()
    return f"{batch_size:.0f}" if is_whole else numbers.significant(batch_size)


def milliseconds(value: float | None) -> str:
    """Return a latency in the unit that fits.

    Parameters
    ----------
    value
        [ms] The latency.

    Examples
    --------
    >>> milliseconds(13.894), milliseconds(1072250.0), milliseconds(None)
    ('13.9 ms', '1072 s', '-')
    """
    return numbers.duration(None if value is None else value * 1e6)


def _known(value: float | None) -> str:
    return "not known" if value is None or numbers.is_missing(value) else milliseconds(value)


def latency_words(slo: Slo | None) -> str:
    """Return the name of a latency.

    Examples
    --------
    >>> from nsightlens.advisor.answers import Slo
    >>> latency_words(Slo("tpot", "p99")), latency_words(None)
    ('p99 TPOT', 'ITL')
    """
    return "ITL" if slo is None else f"{slo.statistic} {slo.metric.upper()}"


def setup_words(advice: Advice) -> list[str]:
    """Return what the advice is for: model, engine, GPU, other settings, batch sizes."""
    setup = advice.setup
    engine = [str(setup[key]) for key in ("engine", "engine_version") if _is_said(setup.get(key))]
    device = setup.get("device_name")
    first = [
        str(setup["model"]) if _is_said(setup.get("model")) else "model not known",
        *([" ".join(engine)] if engine else []),
        *([gpu_words(str(device))] if _is_said(device) else []),
    ]
    others = [
        f"{key.replace('_', ' ')} {value}".removesuffix(" True")
        for key, value in setup.items()
        if key not in _SETUP_FIRST and _is_said(value) and not _is_usual(value)
    ]
    count = advice.curve.rows.num_rows
    return [*first, *others, numbers.counted(count, "batch size") if count else "no batch size"]


def _is_usual(value: object) -> bool:
    """Return whether a setting is what one expects: off, or one GPU, one step."""
    return value is False or (value == 1 and value is not True)


def _is_said(value: object) -> bool:
    return value is not None and value != ""


def headline(advice: Advice) -> str:
    """Return the answer in a sentence: the batch size and what it gives, or that there is none."""
    choice = advice.choice
    if choice.batch_size is None:
        return _nothing(choice)
    row = choice.row or {}
    parts = [_throughput(row)]
    limited = {slo.column for slo in choice.slos}
    if not limited & {"mean_itl_ms", row.get("itl_source")}:
        parts.append(f"ITL {_known(row.get('itl_ms'))}")
    parts += [
        f"{latency_words(slo)} {_known(row.get(slo.column))} of {_limit(slo, limit, ' allowed')}"
        for slo, limit in zip(choice.slos, choice.limits_ms, strict=False)
    ]
    if not choice.slos:
        parts.append("no limit of latency was given")
    between = ", which lies between measured ones" if choice.is_interpolated else ""
    return f"Serve with batch size {batch_words(choice.batch_size)}{between}: {', '.join(parts)}."


def _throughput(row: dict[str, Any]) -> str:
    rate = row.get("throughput_tok_s")
    if rate is None:
        return "throughput not known"
    share = row.get("share_of_best")
    of_best = "" if share is None else f" ({numbers.percent(100 * share)} % of the best)"
    return f"{numbers.significant(rate)} token/s{of_best}"


def _limit(slo: Slo, limit_ms: float | None, word: str = "") -> str:
    if slo.factor is None:
        return f"{milliseconds(limit_ms)}{word}"
    at = f"{slo.factor:g} x that at batch size {batch_words(slo.reference_batch)}"
    return f"{milliseconds(limit_ms)}{word} ({at})"


def _nothing(choice: BatchChoice) -> str:
    if not choice.slos:
        key = choice.binding_constraint
        return f"No batch size is feasible, for the {_CONSTRAINTS.get(key, key)}."
    limits = " and ".join(
        f"a {latency_words(slo)} of {_limit(slo, limit)}"
        for slo, limit in zip(choice.slos, choice.limits_ms, strict=False)
    )
    text = f"No batch size meets {limits}"
    if choice.nearest_feasible_slo_ms is not None:
        return f"{text}: the nearest feasible limit is {_exact(choice.nearest_feasible_slo_ms)}."
    return f"{text}, and no other limit alone would be enough."


_CONSTRAINTS = {
    "slo": "limit of latency",
    "efficiency": "least efficiency",
    "preemption": "preemptions",
    "thrash": "a server that thrashed",
    "throughput": "throughput",
    "measured_range": "measured range",
}


def _exact(value_ms: float) -> str:
    """Return a limit so that it may be given as it stands: rounded up, never down."""
    if not 0 < value_ms < math.inf:
        return milliseconds(value_ms)
    unit = 10.0 ** (math.floor(math.log10(value_ms)) - 3)
    rounded = math.ceil(value_ms / unit * (1 - 1e-12)) * unit
    return f"{rounded:.0f} ms" if 1e3 <= rounded < 1e9 else f"{rounded:.4g} ms"


def neighbour_sentence(neighbour: Neighbour | None, choice: BatchChoice) -> str | None:
    """Return what a neighbour would cost and gain; None where nothing was chosen."""
    if choice.batch_size is None:
        return None
    if neighbour is None:
        return "None was measured."
    slo = choice.slos[0] if choice.slos else None
    parts = [
        _throughput_change(neighbour),
        _latency_change(neighbour, latency_words(slo)),
    ]
    excluded = neighbour.excluded_by
    tail = "" if excluded is None else f"; not allowed: {_EXCLUDED.get(excluded, excluded)}"
    return f"{batch_words(neighbour.batch_size)}: {', '.join(parts)}{tail}."


def _throughput_change(neighbour: Neighbour) -> str:
    if neighbour.throughput_tok_s is None:
        return "throughput not known"
    value = f"{numbers.significant(neighbour.throughput_tok_s)} token/s"
    if neighbour.throughput_change_pct is None:
        return value
    return f"{_change(neighbour.throughput_change_pct, 'more', 'less')} throughput ({value})"


def _latency_change(neighbour: Neighbour, name: str) -> str:
    if neighbour.latency_ms is None:
        return f"{name} not known"
    value = milliseconds(neighbour.latency_ms)
    if neighbour.latency_change_pct is None:
        return f"{name} {value}"
    return f"{name} {_change(neighbour.latency_change_pct, 'higher', 'lower')} ({value})"


def _change(pct: float, above: str, below: str) -> str:
    return f"{numbers.percent(abs(pct))} % {above if pct >= 0 else below}"


def cost_sentence(costs: StepCosts) -> str:
    """Return what a step spends beside its work, and what of it is worth acting on."""
    step = numbers.duration(costs.step_us * 1e3)
    at = "" if costs.batch_size is None else f" at batch size {batch_words(costs.batch_size)}"
    busy = f"A step of {step}{at}, GPU busy {numbers.percent(100 * costs.gpu_busy_share)} % of it"
    worth = [_cost(one) for one in costs.costs if one.is_worth_acting]
    if not costs.costs:
        return f"{busy}: no cost of copies, gaps or short kernels is known."
    if not worth:
        return f"{busy}: nothing is worth acting on."
    return f"{busy}; worth acting on: {'; '.join(worth)}."


def _cost(cost: Cost) -> str:
    name = cost.key.replace("_", " ")
    share = numbers.percent(cost.share_of_step_pct)
    saving = numbers.duration(cost.saving_us * 1e3)
    return f"{name} {share} % (saves up to {saving})"
