"""`sweep`: a report along the batch size; `part_of` and `sweep_of_parts`: many, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.steps import NO_STEP_RULES
from nsightlens.sweeps.model import DEFAULT_OPTIONS, SweepOptions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nsightlens.kernels import KernelRules
    from nsightlens.models import ModelConfig
    from nsightlens.report import Report
    from nsightlens.steps import StepRules
    from nsightlens.sweeps.model import By, Sweep

__all__ = ["SweepPart", "part_of", "sweep", "sweep_of_parts"]


class SweepPart(NamedTuple):
    """Sums over the launches of some reports, which can be added to those of others.

    Small, and can be pickled: it grows with the number of rows, not with that of launches.
    """


def sweep(
    report: Report,
    *,
    by: By = "family",
    device: str | None = None,
    peaks: str | Path | None = None,
    kernel_rules: KernelRules | None = None,
    step_rules: StepRules = NO_STEP_RULES,
    model: str | Path | ModelConfig | None = None,
) -> Sweep:
    """Say of every family how it changes along the batch size, and what limits decode."""
    options = SweepOptions(by, device, peaks, kernel_rules, step_rules, model)
    return sweep_of_parts([part_of(report, options)], options)


def part_of(report: Report, options: SweepOptions = DEFAULT_OPTIONS) -> SweepPart:
    """Return the sums of a report."""
    raise NotImplementedError


def sweep_of_parts(parts: Iterable[SweepPart], options: SweepOptions = DEFAULT_OPTIONS) -> Sweep:
    """Add parts up to a sweep; in any order, and each may be forgotten once it was taken."""
    raise NotImplementedError
