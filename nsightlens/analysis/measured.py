"""`measure`: everything that the rules of the labels take, of every launch of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.analysis.analytic import with_annotated_shapes
from nsightlens.analysis.busiest import BusiestCounters, busiest_counters
from nsightlens.analysis.context import Context, launch_context
from nsightlens.analysis.label import decide
from nsightlens.analysis.measure import measure_usage
from nsightlens.analysis.padding import Padding, measure_padding
from nsightlens.analysis.rooflines import LevelRoofs, level_roofs

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.analysis.nvidia_verdict import NvidiaVerdict
    from nsightlens.analysis.usage import Usage
    from nsightlens.devices import PeakOverrides
    from nsightlens.report import Report

__all__ = ["Measured", "measure"]


class Measured(NamedTuple):
    """What is known of rows to label: launches, or groups of them.

    Parameters
    ----------
    usage
        Roofline times; those of annotated shapes where the measured ones decide nothing.
    context
        What else is shown and quoted.
    padding
        Work done against the work that annotated shapes need.
    levels
        Bytes and roofs of the memory levels.
    busiest
        The counters behind the activities.
    """

    usage: Usage
    context: Context
    padding: Padding
    levels: dict[str, LevelRoofs]
    busiest: BusiestCounters


def measure(
    report: Report, identity: pa.Table, verdict: NvidiaVerdict, overrides: PeakOverrides
) -> tuple[Measured, Usage]:
    """Measure every launch of a report.

    Parameters
    ----------
    report
        The report.
    identity
        What each launch is, from `nsightlens.analysis.identity.identify`.
    verdict
        What NVIDIA's rule says of it.
    overrides
        What the user says of the device.

    Returns
    -------
    measured
        One row per launch.
    usage
        The usage as it was measured, without annotated shapes.
    """
    usage = measure_usage(report, overrides)
    context = launch_context(report, usage, verdict)
    busiest = busiest_counters(report.store, usage)
    padding = measure_padding(usage, identity, report)
    undecided = decide(usage, context.number["fullness"]).bound == 0
    used, is_contradicted = with_annotated_shapes(usage, undecided, identity, report)
    context = context._replace(has_unfit_shapes=is_contradicted)
    levels = level_roofs(report, used, overrides)
    return Measured(used, context, padding, levels, busiest), usage
