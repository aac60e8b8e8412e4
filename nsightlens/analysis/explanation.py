"""`explain`: everything that is known of one launch, and how its label came about.

Facts and arithmetic as data; `nsightlens.render.explanation` makes a page of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis.advice import Advice, advise
from nsightlens.analysis.arithmetic import Step, steps
from nsightlens.analysis.classification import classify
from nsightlens.analysis.find_launch import find_launch
from nsightlens.analysis.lacking import Lack, lacking
from nsightlens.analysis.quantities import Quantities
from nsightlens.analysis.stall_meanings import kind_of, stall_meaning
from nsightlens.kernels.parse import parse_launch_kernel
from nsightlens.report import check_report, rows_of_launches

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.analysis.classification import Classification
    from nsightlens.kernels.model import KernelName
    from nsightlens.kernels.user_rules import UserRules
    from nsightlens.report import Report

__all__ = ["Explanation", "Stall", "explain"]


@dataclass(frozen=True, slots=True)
class Stall:
    """One warp state of a launch.

    Parameters
    ----------
    reason
        Name of the state, in NVIDIA's words.
    share_pct
        [%] Of warp latency; of the samples where only the sampler ran. May exceed 100.
    cycles_per_issue
        [cycle] Cycles in the state per issued instruction; ``None`` where it was not counted.
    meaning
        What it usually means in this kind of kernel.
    """

    reason: str
    share_pct: float
    cycles_per_issue: float | None
    meaning: str


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One launch, explained.

    Parameters
    ----------
    launch, label
        Its rows of the tables ``launches`` and ``labels`` as plain Python values; ``None`` is
        missing.
    kernel
        What its kernel's name says; ``None`` for a result that is no kernel.
    session
        The row of ``sessions`` of the process that launched it; empty where there is none.
    resources, rooflines
        Its rows of these tables; resources by fraction of peak.
    steps
        The arithmetic from measured work to the label.
    stalls
        Its warp states, the largest first, ``selected`` aside.
    lacks
        What the report lacks for a surer answer, and how to collect it.
    advice
        What is worth trying, the most promising first, each with its measured numbers.
    """

    launch: dict[str, Any]
    label: dict[str, Any]
    kernel: KernelName | None
    session: dict[str, Any]
    resources: tuple[dict[str, Any], ...]
    rooflines: tuple[dict[str, Any], ...]
    steps: tuple[Step, ...]
    stalls: tuple[Stall, ...]
    lacks: tuple[Lack, ...]
    advice: tuple[Advice, ...]

    def __repr__(self) -> str:
        name, bound = self.label["kernel"], self.label["bound"]
        return f"<Explanation of launch {self.label['launch_id']}, {name}: {bound}>"

    def _repr_html_(self) -> str:
        # An import that points right: display, and only when a notebook asks for it.
        from nsightlens.notebook import explanation_html  # noqa: PLC0415

        return explanation_html(self)

    def text(self, *, width: int = 100) -> str:
        """Return the page that ``nsightlens explain`` prints.

        Parameters
        ----------
        width
            [character] Columns of a line.
        """
        from nsightlens.notebook import explanation_page  # noqa: PLC0415 as above

        return explanation_page(self, width)


def explain(
    report: Report,
    launch: SupportsIndex | str | pa.Scalar | None = None,
    *,
    nth: SupportsIndex | None = None,
    classification: Classification | None = None,
) -> Explanation:
    """Explain one launch of a report: what it is, its label, and the arithmetic behind it.

    Parameters
    ----------
    report
        The report.
    launch
        Its ``launch_id``, also as a number of NumPy or Arrow; its ``key`` in the labels; or a text
        or regular expression to be found in its kernel's names. ``None`` where the report has only
        one.
    nth
        Of several launches that match, which one, from 1 in the order of the report.
    classification
        Labels of the launches of this report, where `classify` was called with options of its own;
        ``None`` to make them.

    Returns
    -------
    Explanation
        Also of a launch that is unknown or failed to be collected: then of what is missing.

    Raises
    ------
    FilterError
        No launch matches.
    AmbiguousLaunchError
        Several do, and ``nth`` does not say which.
    TypeError
        ``report`` is none, or ``launch`` or ``nth`` cannot name a launch.
    ValueError
        ``classification`` is not one of the launches of this report.

    Examples
    --------
    >>> from nsightlens import explain, open_report
    >>> print(explain(open_report("report.ncu-rep"), 0).text())  # doctest: +SKIP
    """
    check_report(report)
    found = classify(report) if classification is None else classification
    if found.by != "launch" or len(found) != len(report):
        raise ValueError("classification must have one row per launch of the report")
    row = find_launch(found.labels, launch, nth)
    keep = np.zeros(len(report), dtype=bool)
    keep[row] = True
    return _explained(report.filter(keep), found.labels.slice(row, 1), found)


def _explained(report: Report, labels: pa.Table, found: Classification) -> Explanation:
    launch, label = _row(report.launches), _row(labels)
    roofs = sorted(_rows(found.resources, report), key=lambda row: -(row["fraction_of_peak"] or 0))
    levels = _rows(found.rooflines, report)
    kind = kind_of(label["family"], label["subtype"], label["phase"])
    return Explanation(
        launch=launch,
        label=label,
        kernel=_kernel(launch, found.kernel_rules),
        session=_session(report, launch),
        resources=tuple(roofs),
        rooflines=tuple(levels),
        steps=steps(launch, label, roofs, levels),
        stalls=_stalls(report, kind),
        lacks=lacking(report, label),
        advice=advise(Quantities(launch, label, roofs, report.store)),
    )


def _row(table: pa.Table) -> dict[str, Any]:
    """Return the only row of a table as plain values; what is no number is missing."""
    (row,) = table.to_pylist()
    return {name: _plain(value) for name, value in row.items()}


def _rows(table: pa.Table, report: Report) -> list[dict[str, Any]]:
    rows = rows_of_launches(table, report.launches).to_pylist()
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _kernel(launch: dict[str, Any], rules: UserRules | None) -> KernelName | None:
    spellings = ("kernel_demangled_name", "kernel_name", "kernel_mangled_name")
    return parse_launch_kernel(*[launch[name] for name in spellings], rules=rules)


def _session(report: Report, launch: dict[str, Any]) -> dict[str, Any]:
    # Without the date: to make one loads the time zones.
    table = report.sessions.drop_columns(["created_at"])
    mine = [row for row in table.to_pylist() if row["report"] == launch["report"]]
    same = [row for row in mine if row["process_id"] == launch["process_id"]]
    found: dict[str, Any] = (same or mine or [{}])[0]
    return found


def _stalls(report: Report, kind: str | None) -> tuple[Stall, ...]:
    rows = [row for row in report.stalls.to_pylist() if row["stall_reason"] != "selected"]
    samples = pc.sum(report.stalls["sample_count"]).as_py() or 0
    found = []
    for row in rows:
        share = row["share_of_warp_latency_pct"]
        if share is None and row["cycles_per_issue"] is None and row["sample_count"] and samples:
            share = 100.0 * row["sample_count"] / samples
        if share is not None and math.isfinite(share):
            reason = row["stall_reason"]
            meaning = stall_meaning(reason, kind)
            found.append(Stall(reason, share, row["cycles_per_issue"], meaning))
    return tuple(sorted(found, key=lambda stall: -stall.share_pct))
