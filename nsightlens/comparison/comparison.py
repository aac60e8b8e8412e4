"""`compare`: two sets of launches side by side, with a verdict for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsightlens.comparison.labels import slot_labels
from nsightlens.comparison.match import match_sides
from nsightlens.comparison.noise import NoiseRules
from nsightlens.comparison.rows import comparison_rows
from nsightlens.comparison.side import LabelOptions, measure_side, parts_of, without_copies
from nsightlens.comparison.totals import family_table, total_of
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.report import data_frame
from nsightlens.steps import NO_STEP_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.comparison.totals import Total
    from nsightlens.kernels import KernelRules
    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = ["By", "Comparison", "compare"]

By = Literal["launch", "kernel", "family"]
_PLURAL = {"launch": "launches", "kernel": "kernels", "family": "families"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Two sides, row by row.

    Parameters
    ----------
    rows
        One row per launch or group of either side, with the schema of
        `nsightlens.tables.COMPARISON`: those of the new side in their order, then those that it
        lacks.
    families
        Sums of each family, with the schema of `nsightlens.tables.COMPARISON_FAMILIES`.
    total
        Sums of everything, and the answer in one sentence.
    by
        What a row is: ``launch``, ``kernel`` or ``family``.
    noise
        What was taken for noise.
    notes
        What a reader must know of the reports, such as that one is a copy of another.
    """

    rows: pa.Table
    families: pa.Table
    total: Total
    by: str
    noise: NoiseRules
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        return f"<Comparison by {self.by}: {self.total.headline}>"

    def to_pandas(self, table: Literal["rows", "families"] = "rows") -> Any:
        """Return one of the tables as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        ValueError
            There is no such table.
        """
        if table not in ("rows", "families"):
            raise ValueError(f"table must be rows or families, not {table!r}")
        return data_frame(getattr(self, table), "Comparison.to_pandas()")


def compare(
    base: Report | Sequence[Report],
    new: Report | Sequence[Report],
    *,
    by: By = "launch",
    device: str | None = None,
    peaks: str | Path | None = None,
    kernel_rules: KernelRules | None = None,
    step_rules: StepRules = NO_STEP_RULES,
    noise: NoiseRules = NoiseRules(),  # noqa: B008 - it cannot be changed
) -> Comparison:
    """Compare the launches of two sides.

    Parameters
    ----------
    base, new
        A report, or several of them. The same launch in several reports of one side is a repeat:
        repeats say what is noise, and their mean is compared. Launches of one report are never
        repeats of one another: a kernel that runs once per layer is a launch of its own in each.
        How they scatter widens the default noise, though.
    by
        ``launch`` for one row per launch; ``kernel`` or ``family`` for one row per group of equal
        family, subtype, phase and batch size, and equal kernel in the former.
    device, peaks, kernel_rules, step_rules
        As for `nsightlens.classify`, for both sides.
    noise
        What counts as noise.

    Returns
    -------
    Comparison
        Nothing is dropped: rows without counterpart are ``added`` or ``removed``, and rows whose
        durations are no measure of one another are ``not_comparable``, with the reason.

    Raises
    ------
    TypeError
        A side is no report, such as the name of a file, or ``noise`` is a number.
    ValueError
        A side is empty, or ``by`` is none of the three.
    UnknownDeviceError, SettingsFileError
        See `nsightlens.classify`.

    Examples
    --------
    >>> from nsightlens import compare, open_report
    >>> from nsightlens.example import path
    >>> report = open_report(path())
    >>> compare(report, report, by="family").total.verdict
    'indistinguishable'
    """
    if by not in _PLURAL:
        raise ValueError(f"by must be 'launch', 'kernel' or 'family', not {by!r}")
    if not isinstance(noise, NoiseRules):
        raise TypeError(f"noise must be NoiseRules(unrepeated_pct=...), not {noise!r}")
    parts = (parts_of(base), parts_of(new))
    options = LabelOptions(device, peaks, as_user_rules(kernel_rules), step_rules)
    # A number that cannot be, from a damaged file, becomes NaN: unknown.
    with np.errstate(all="ignore"):
        measured = [without_copies(measure_side(part, options)) for part in parts]
        sides = (measured[0][0], measured[1][0])
        pairs = match_sides(*sides, by)
        labels = [
            slot_labels(side, slots, part, by, options)
            for side, slots, part in zip(sides, pairs.slots, parts, strict=True)
        ]
        rows = comparison_rows(sides, pairs, by, noise, (labels[0], labels[1]))
        families = family_table(sides, pairs, rows, noise)
        total = total_of(sides, pairs, rows, noise, _PLURAL[by])
    notes = tuple(note for _, found in measured for note in found)
    return Comparison(rows.table, families, total, by, noise, notes)
