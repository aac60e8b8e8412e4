"""Advice as plain Python values for JSON: the schema ``nsightlens.advice``.

What is asked for most stands at the top level by a name of its own, and again in the part that it
belongs to. Nothing is rounded; a number that is not known, NaN or infinite is null.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from nsightlens.render.envelope import ENVELOPE_VERSION, envelope_pieces
from nsightlens.render.rows import plain_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nsightlens.advisor.answers import Advice, BatchChoice

__all__ = ["SCHEMA", "advice_json", "advice_pieces"]

SCHEMA = "nsightlens.advice"

_SHARES = ("batch_size", "attention_pct", "matmul_pct", "other_pct", "host_pct")
"""What the numbers of a tuple of `Why.shares` are."""


def advice_json(advice: Advice, tool_version: str | None = None) -> dict[str, Any]:
    """Return advice as what JSON can hold: strings, numbers, truth values, lists and objects.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    tool_version
        Of this package, as ``source`` names it.

    Returns
    -------
    dict
        ``rows`` are the runs of the setup, ``curve`` the rows that the advice rests on.
    """
    return {
        "schema": SCHEMA,
        "schema_version": ENVELOPE_VERSION,
        "source": _source(advice, tool_version),
        **_parts(advice),
        "rows": list(plain_rows(advice.runs)),
    }


def advice_pieces(advice: Advice, tool_version: str | None = None) -> Iterator[str]:
    """Yield the text of the same as JSON; see `nsightlens.render.envelope`.

    Parameters
    ----------
    advice, tool_version
        As for `advice_json`.
    """
    return envelope_pieces(
        SCHEMA, _source(advice, tool_version), plain_rows(advice.runs), _parts(advice)
    )


def _source(advice: Advice, tool_version: str | None) -> dict[str, Any]:
    return {
        "tool": "nsightlens",
        "tool_version": tool_version,
        "files": list(advice.sources),
    }


def _parts(advice: Advice) -> dict[str, Any]:
    choice, memory, replicas = advice.choice, advice.memory, advice.replicas
    return {
        **_answer(advice),
        "setup": _plain(advice.setup),
        "command": advice.command,
        "confidence": advice.confidence,
        "confidence_text": advice.confidence_text,
        "reasons": list(advice.reasons),
        "would_change": list(advice.would_change),
        "warnings": _plain(advice.warnings),
        "lacking": _plain(advice.lacking),
        "throughput": advice.curve.throughput,
        "single_throughput_tok_s": _plain(advice.curve.single_throughput_tok_s),
        "choice": {**_plain(choice), "slos": _slos(choice)},
        "plateau": _plain(advice.plateau),
        "memory": _plain(memory),
        "replicas": [] if replicas is None else _plain(replicas.rows),
        "replication": None if replicas is None else _without(_plain(replicas), "rows"),
        "why": {
            **_plain(advice.why),
            "shares": [dict(zip(_SHARES, _plain(row), strict=True)) for row in advice.why.shares],
        },
        "step_costs": _plain(advice.costs),
        "predictions": _plain(advice.predictions),
        "sources": list(advice.sources),
        "curve": _plain(advice.curve.rows),
    }


def _answer(advice: Advice) -> dict[str, Any]:
    """Return the numbers that a program asks for first."""
    choice, memory, replicas = advice.choice, advice.memory, advice.replicas
    row: Mapping[str, Any] = choice.row or {}
    fit = advice.plateau.fit
    limits = [_plain(limit) for limit in choice.limits_ms]
    kv_peak_pct = None if memory is None else memory.kv_peak_pct
    return {
        "b_opt": _whole(choice.batch_size),
        "binding_constraint": choice.binding_constraint,
        "rule": choice.rule,
        "epsilon": _plain(choice.epsilon),
        "slo_ms": limits[0] if len(limits) == 1 else None,
        "slos_ms": limits,
        "nearest_feasible_slo_ms": _plain(choice.nearest_feasible_slo_ms),
        "itl_ms": _plain(row.get("itl_ms")),
        "throughput_tok_s": _plain(row.get("throughput_tok_s")),
        "efficiency": _plain(row.get("efficiency")),
        "knee": None if fit is None else _plain(fit.knee),
        "kv_peak_pct": _plain(row.get("kv_peak_pct") if kv_peak_pct is None else kv_peak_pct),
        "kv_freed_gib": None if memory is None else _plain(memory.kv_freed_gib),
        "gpu_memory_utilization": None if memory is None else _plain(memory.gpu_memory_utilization),
        "replicas_max": None if replicas is None else replicas.replicas_max,
        "gain_bound": None if replicas is None else _plain(replicas.gain_bound),
    }


def _slos(choice: BatchChoice) -> list[dict[str, Any]]:
    """Return the limits as they were asked for, each with what it is in ms."""
    pairs = zip(choice.slos, choice.limits_ms, strict=False)
    return [
        {**_plain(slo), "column": slo.column, "resolved_ms": _plain(limit)} for slo, limit in pairs
    ]


def _without(part: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != name}


def _whole(batch_size: float | None) -> float | None:
    """Return a batch size as an integer where it is one, as one puts it into a setting."""
    found: float | None = _plain(batch_size)
    return int(found) if found is not None and float(found).is_integer() else found


def _plain(value: Any) -> Any:
    """Return a value of an answer as what JSON can hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "to_batches"):
        return list(plain_rows(value))
    if hasattr(value, "item"):  # a scalar of NumPy, which knows what it is in Python
        return _plain(value.item())
    return _plain_parts(value)


def _plain_parts(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else str(value)
