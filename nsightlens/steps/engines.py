"""The labels of engines around one launch: which of them counts.

The outermost step on the thread counts. A pass that serves nobody, such as one of a draft model or
a graph capture, takes the launch out of the served steps wherever it lies. Labels that people wrote
by hand give way to those of an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.steps.label import read_label
from nsightlens.steps.model import (
    LAUNCH_PHASES,
    NOT_SERVED,
    SCRIPT,
    StepAnnotation,
    StepLabel,
)
from nsightlens.steps.nsightlens_v1 import DOMAIN as OWN_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.steps.path import DomainRanges

__all__ = ["read_engines"]

_INITIALIZATION = "Initialization"
"""Range of the memory-gap study in which its warm-up steps lie."""


def read_engines(domains: Iterable[DomainRanges]) -> StepAnnotation:
    """Return what the labels of engines say of a launch.

    Parameters
    ----------
    domains
        Its ranges, as `nsightlens.steps.path.ranges_of` gives them.
    """
    ranges = [
        (name, read_label(name, one.domain))
        for one in domains
        if one.domain != OWN_DOMAIN
        for name in one.names
    ]
    labels = [label for _, label in ranges]
    steps = [label for label in labels if label.is_step]
    served = [label for label in steps if label.phase != "capture"]
    of_engines = [label for label in served if label.engine != SCRIPT] or served
    unserved = _unserved(ranges)
    if unserved is not None:
        named = next((label.engine for label in labels if label.phase == unserved), None)
        phase = "capture" if unserved == "capture" else None
        return StepAnnotation(phase=phase, step_engine=named, unserved=unserved)
    if not of_engines:
        return StepAnnotation(phase=_plain_phase(labels))
    return _annotation(_merged(of_engines), _conflict(of_engines))


def _unserved(ranges: Sequence[tuple[str, StepLabel]]) -> str | None:
    phases = [label.phase for _, label in ranges]
    for phase in ("capture", *NOT_SERVED):
        if phase in phases:
            return phase
    return "initialization" if any(name == _INITIALIZATION for name, _ in ranges) else None


def _plain_phase(labels: Sequence[StepLabel]) -> str | None:
    """Return the phase of ranges that are no single step, such as ``prefill_phase``."""
    phases = {label.phase for label in labels} & set(LAUNCH_PHASES)
    return phases.pop() if len(phases) == 1 else None


def _merged(steps: Sequence[StepLabel]) -> StepLabel:
    """Return the outermost step, with what it lacks from those of its engine that agree with it."""
    merged = steps[0]
    for step in steps[1:]:
        if step.engine == merged.engine and _agree(merged, step):
            merged = _filled(merged, step)
    return merged


def _agree(outer: StepLabel, inner: StepLabel) -> bool:
    # A step whose numbers are known is not made larger by a step inside it.
    is_phase_open = "unknown" in (outer.phase, inner.phase) or outer.phase == inner.phase
    return is_phase_open and (outer.batch_size is None or outer.batch_size == inner.batch_size)


def _filled(outer: StepLabel, inner: StepLabel) -> StepLabel:
    values = {name: getattr(inner, name) for name in outer._fields if getattr(outer, name) is None}
    phase = inner.phase if outer.phase == "unknown" else outer.phase
    return outer._replace(**values, phase=phase)


def _conflict(steps: Sequence[StepLabel]) -> str | None:
    engines = list(dict.fromkeys(step.engine or "" for step in steps))
    return "+".join(engines) if len(engines) > 1 else None


def _annotation(step: StepLabel, conflict: str | None) -> StepAnnotation:
    return StepAnnotation(
        phase=step.phase if step.phase in LAUNCH_PHASES else None,
        batch_size=step.batch_size or None,
        batch_source=step.engine if step.batch_size else None,
        step_engine=step.engine,
        step_index=step.step_index,
        query_tokens=step.query_tokens,
        kv_tokens=step.kv_tokens,
        # Of one sequence, the sum over the sequences is its own length.
        context_length=step.kv_tokens if step.batch_size == 1 else None,
        conflict=conflict,
    )
