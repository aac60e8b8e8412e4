"""`sweep`: a report along the batch size; `sweep_of_parts`: many reports, one at a time."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from nsightlens import tables
from nsightlens.errors import PeaksWarning
from nsightlens.steps import NO_STEP_RULES
from nsightlens.sweeps.component_rows import component_rows
from nsightlens.sweeps.model import DEFAULT_OPTIONS, Sweep, SweepOptions
from nsightlens.sweeps.model_fit import fitting_needs
from nsightlens.sweeps.needed import needed_by_annotations
from nsightlens.sweeps.needed_by_model import needed_by_model
from nsightlens.sweeps.notes import notes_of
from nsightlens.sweeps.ordering import order_of
from nsightlens.sweeps.part import added_parts, part_of
from nsightlens.sweeps.rows import rows_of
from nsightlens.sweeps.steps import steps_of
from nsightlens.sweeps.trends import trends_of
from nsightlens.sweeps.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nsightlens.kernels import KernelRules
    from nsightlens.models import ModelConfig
    from nsightlens.report import Report
    from nsightlens.steps import StepRules
    from nsightlens.sweeps.model import By
    from nsightlens.sweeps.part import SweepPart

__all__ = ["sweep", "sweep_of_parts"]

_AT_ONCE = 64
"""Parts that are added up together: enough to spread the cost, few enough to hold."""


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
    """Say how every family changes along the batch size, and what limits decode.

    Parameters
    ----------
    report
        The report, of one or more files: one for all batch sizes or one for each.
    by
        ``family`` for one row per family, subtype, phase, batch size and GPU; ``kernel`` for one
        row per kernel of these.
    device, peaks, kernel_rules, step_rules
        As for `nsightlens.classify`.
    model
        Name or ``config.json`` of the model that ran, or what `nsightlens.models.read_model` made
        of it: its operations and bytes stand beside the measured ones where no annotation says
        them.

    Returns
    -------
    Sweep
        Labels are those of ``classify(report, by="family")``. Launches that failed are counted and
        left out of sums; launches without a batch size are rows of their own.

    Raises
    ------
    TypeError
        ``report`` is none, such as the name of a file.
    ValueError
        ``by`` is none of the two.
    UnknownDeviceError, SettingsFileError, UnknownModelError
        ``device`` is no known product, a file cannot be used, there is no such model.

    Examples
    --------
    >>> from nsightlens import open_report, sweep
    >>> from nsightlens.example import path
    >>> sweep(open_report(path()))
    <Sweep of 10 batch sizes by family: bandwidth_saturated_attention>
    """
    options = SweepOptions(by, device, peaks, kernel_rules, step_rules, model)
    result = sweep_of_parts([part_of(report, options)], options)
    for text in result.warnings:
        warnings.warn(text, PeaksWarning, stacklevel=2)
    return result


def sweep_of_parts(parts: Iterable[SweepPart], options: SweepOptions = DEFAULT_OPTIONS) -> Sweep:
    """Add parts up to a sweep.

    Parameters
    ----------
    parts
        From `part_of`, all with the same options. They may come in any order, and one at a time:
        each is forgotten once it was added.
    options
        The same.

    Returns
    -------
    Sweep
        That of all their reports. What was noticed of the peaks stands in its ``warnings`` and is
        not warned of.

    Raises
    ------
    UnknownModelError, SettingsFileError
        There is no such model, or its file cannot be used.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> from nsightlens.sweeps import part_of, sweep_of_parts
    >>> len(sweep_of_parts(part_of(open_report(one)) for one in [path()]))
    53
    """
    total = _total(parts)
    with np.errstate(all="ignore"):
        return _sweep(total, options)


def _total(parts: Iterable[SweepPart]) -> SweepPart | None:
    waiting = iter(parts)
    total: SweepPart | None = None
    while batch := list(islice(waiting, _AT_ONCE)):
        total = added_parts(batch if total is None else [total, *batch])
    return total


def _sweep(part: SweepPart | None, options: SweepOptions) -> Sweep:
    if part is None:
        rows, trends, steps = (
            tables.empty_table(columns)
            for columns in (tables.SWEEP, tables.SWEEP_TRENDS, tables.SWEEP_STEPS)
        )
        return Sweep(rows, trends, steps, verdict_of(rows, trends, steps), options.by)
    part = part.taken(order_of(part.keys))
    needed, by_model, notes = needed_by_annotations(part), {}, []
    if options.model is not None:
        from nsightlens.models import read_model  # noqa: PLC0415 only where a model is given

        model = read_model(options.model)
        of_model = fitting_needs(part, needed, needed_by_model(part, model), model.name)
        needed, by_model = needed.filled(of_model.rows), of_model.components
        notes = of_model.notes
    rows = rows_of(part, needed)
    selection = options.selection
    steps = steps_of(part, by_model)
    trends = trends_of(rows)
    return Sweep(
        rows,
        trends,
        steps,
        verdict_of(
            rows,
            trends,
            steps,
            components=component_rows(part, by_model),
            selection=selection,
            is_salvaged=part.is_salvaged,
        ),
        options.by,
        (*notes_of(part, rows, selection), *notes),
        (*part.misnamed, *part.unused),
    )
