"""`gate`: rules that the launches of a report have to keep, alone or against a base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.analysis import select
from nsightlens.comparison.checks import Found, check_label, check_value
from nsightlens.comparison.gate_changes import check_change
from nsightlens.comparison.gate_rules import GateRules, read_gate_rules
from nsightlens.comparison.side import LabelOptions, parts_of
from nsightlens.errors import SettingsFileError
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.steps import NO_STEP_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    from numpy.typing import NDArray

    from nsightlens.comparison.gate_rule import GateRule
    from nsightlens.kernels import KernelRules
    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = ["GateResult", "gate"]

_SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False)
class GateResult:
    """What became of the rules.

    Parameters
    ----------
    rows
        One row per rule, in the order of the file, with the schema of `nsightlens.tables.GATE`.
    """

    rows: pa.Table

    @property
    def passed(self) -> bool:
        """Whether every rule holds."""
        return "failed" not in self.rows["status"].to_pylist()

    def __repr__(self) -> str:
        statuses = self.rows["status"].to_pylist()
        return f"<GateResult: {statuses.count('failed')} of {len(statuses)} rules failed>"


class _Labelled(NamedTuple):
    """The reports of a side and the labels of their launches."""

    parts: list[Report]
    labels: list[pa.Table]

    def within(self, rule: GateRule, options: LabelOptions) -> list[Report]:
        """Return the reports with the launches that a rule is about."""
        return [
            part.filter(_scope(rule, labels, options))
            for part, labels in zip(self.parts, self.labels, strict=True)
        ]


def gate(
    rules: GateRules | str | PathLike[str],
    new: Report | Sequence[Report],
    base: Report | Sequence[Report] | None = None,
    *,
    device: str | None = None,
    peaks: str | Path | None = None,
    kernel_rules: KernelRules | None = None,
    step_rules: StepRules = NO_STEP_RULES,
) -> GateResult:
    """Check the launches of reports against rules.

    Parameters
    ----------
    rules
        A TOML file of rules, or what `read_gate_rules` made of it.
    new
        A report, or several of them, which are repeats as in `nsightlens.compare`.
    base
        What changes are measured against; needed where a rule is about a change.
    device, peaks, kernel_rules, step_rules
        As for `nsightlens.classify`.

    Returns
    -------
    GateResult
        A rule never passes empty: it fails where no launch is in its scope, where a value that it
        is about is not known (unless its ``missing`` is ``ignore``), and where nothing is left to
        check. A change within the noise is no failure.

    Raises
    ------
    SettingsFileError
        The file cannot be used, or a rule needs a base and there is none.
    TypeError, ValueError
        See `nsightlens.compare`.
    """
    known = rules if isinstance(rules, GateRules) else read_gate_rules(rules)
    options = LabelOptions(device, peaks, as_user_rules(kernel_rules), step_rules)
    for i, rule in enumerate(known.rules, 1):
        if rule.is_change and base is None:
            raise SettingsFileError(
                known.path,
                "is about a change, and no base was given",
                "Name the reports of the base (--base REPORT...).",
                where=f"[[rule]] {i}",
            )
    of_new = _labelled(new, options)
    of_base = None if base is None else _labelled(base, options)
    with np.errstate(all="ignore"):
        rows = [_row(rule, known, of_new, of_base, options) for rule in known.rules]
    names = [column.name for column in tables.GATE]
    data = {name: [row[name] for row in rows] for name in names}
    return GateResult(tables.table_of(tables.schema_of(tables.GATE), data, len(rows)))


def _labelled(reports: Report | Sequence[Report], options: LabelOptions) -> _Labelled:
    parts = parts_of(reports)
    return _Labelled(parts, [options.classify(part).labels for part in parts])


def _scope(rule: GateRule, labels: pa.Table, options: LabelOptions) -> NDArray[np.bool_]:
    keep = select(
        labels,
        kernel=rule.kernel or None,
        families=rule.families or None,
        nvtx=rule.nvtx or None,
        kernel_rules=options.kernel_rules,
    )
    for name, values, kind in (
        ("phase", rule.phases, pa.string()),
        ("batch_size", rule.batch_sizes, pa.int64()),
    ):
        if values:
            is_in = pc.is_in(labels[name].cast(kind), value_set=pa.array(values, kind))
            keep &= is_in.to_numpy()
    return keep


def _row(
    rule: GateRule,
    rules: GateRules,
    new: _Labelled,
    base: _Labelled | None,
    options: LabelOptions,
) -> dict[str, Any]:
    kept = new.within(rule, options)
    if not any(map(len, kept)):
        found = None
    elif rule.is_change and base is not None:
        found = check_change(rule, base.within(rule, options), kept, options, rules.noise)
    elif rule.expected:
        found = check_label(rule, kept, options)
    else:
        found = check_value(rule, kept, options)
    status, message = _judged(rule, found)
    return {
        "rule": rule.name,
        "status": status,
        "message": message,
        "metric": rule.metric,
        "unit": "%" if rule.is_change else rule.unit,
        "aggregate": rule.aggregate,
        "scope": rule.scope or None,
        "limit": rule.limit,
        "worst_value": None if found is None else found.worst_value,
        "worst_key": None if found is None else found.worst_key,
        "checked_count": 0 if found is None else found.checked,
        "failed_count": 0 if found is None else len(found.broken),
        "missing_count": 0 if found is None else len(found.missing),
        "noise_count": 0 if found is None else found.noise_count,
    }


def _judged(rule: GateRule, found: Found | None) -> tuple[str, str]:
    """Return status and message of a rule."""
    if found is None:
        return "failed", f"no launch is in its scope ({rule.scope or 'there is none at all'})"
    said = []
    if found.broken:
        of = f"{len(found.broken)} of {found.checked} beyond the limit: "
        said.append(f"{of if found.checked > 1 else ''}{_listed(found.broken)}")
    is_missing = bool(found.missing) and rule.missing == "fail"
    if is_missing:
        verb = "are" if len(found.missing) > 1 else "is"
        said.append(f"{len(found.missing)} {verb} missing: {_listed(found.missing)}")
    if not found.checked and (not is_missing or found.nothing):
        said.append(f"nothing is left to check: {found.nothing or 'every value is missing'}")
    if said:
        return "failed", "; ".join(said)
    within = f", {found.noise_count} beyond it within the noise" if found.noise_count else ""
    ignored = f", {len(found.missing)} missing" if found.missing else ""
    return "passed", f"{found.summary}{within}{ignored}"


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
