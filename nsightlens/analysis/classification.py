"""`classify`: a report becomes labels, for launches, kernels or families."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsightlens import tables
from nsightlens.analysis.aggregate import group_by, group_columns, grouping_columns
from nsightlens.analysis.identity import STEP_COLUMNS, identify, numbered_keys
from nsightlens.analysis.label import BOUNDS
from nsightlens.analysis.label_columns import label_columns
from nsightlens.analysis.measured import measure
from nsightlens.analysis.nvidia_verdict import VERDICTS, no_verdict, nvidia_verdict
from nsightlens.analysis.phrase import choose
from nsightlens.analysis.resources import resources_table
from nsightlens.analysis.rooflines import rooflines_table
from nsightlens.analysis.tally import tally_of
from nsightlens.arrays import known_numbers
from nsightlens.devices import peak_overrides
from nsightlens.devices.peaks import misnamed_devices, unused_ceilings
from nsightlens.errors import PeaksWarning
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.report import check_report, data_frame
from nsightlens.steps import NO_STEP_RULES

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.devices import PeakOverrides
    from nsightlens.kernels import KernelRules, UserRules
    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = ["By", "Classification", "classify"]

By = Literal["launch", "kernel", "family"]


@dataclass(frozen=True, eq=False, repr=False)
class Classification:
    """Labels, and the roofline times behind them.

    Parameters
    ----------
    labels
        One row per launch or group, with the schema of `nsightlens.tables.LABELS`.
    resources
        Roofline times of every launch, with the schema of `nsightlens.tables.RESOURCES`.
    rooflines
        Every launch against the roofs of DRAM, L2 and L1, with the schema of
        `nsightlens.tables.ROOFLINES`.
    by
        What a row of ``labels`` is: ``launch``, ``kernel`` or ``family``.
    warnings
        What was noticed, one sentence each: a named device that the report's cannot be, measured
        peaks that fit no launch.
    kernel_rules
        The user's rules for kernel names that the labels follow; None for the built-in ones alone.
    """

    labels: pa.Table
    resources: pa.Table
    rooflines: pa.Table
    by: str
    warnings: tuple[str, ...] = ()
    kernel_rules: UserRules | None = None

    def __len__(self) -> int:
        return int(self.labels.num_rows)

    def __repr__(self) -> str:
        bounds = self.labels["bound"].to_pylist()
        counts = ", ".join(f"{bounds.count(name)} {name}" for name in BOUNDS)
        return f"<Classification by {self.by}: {counts}>"

    def _repr_html_(self) -> str:
        # An import that points right: display, and only when a notebook asks for it.
        from nsightlens.notebook import classification_html  # noqa: PLC0415

        return classification_html(self)

    def to_pandas(self, table: Literal["labels", "resources", "rooflines"] = "labels") -> Any:
        """Return one of the tables as a pandas DataFrame.

        Parameters
        ----------
        table
            Which one.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        ValueError
            There is no such table.
        """
        if table not in (names := ("labels", "resources", "rooflines")):
            raise ValueError(f"table must be one of {', '.join(names)}, not {table!r}")
        return data_frame(getattr(self, table), "Classification.to_pandas()")


def classify(
    report: Report,
    *,
    by: By = "launch",
    device: str | None = None,
    peaks: str | Path | None = None,
    kernel_rules: KernelRules | None = None,
    step_rules: StepRules = NO_STEP_RULES,
) -> Classification:
    """Say what bounds every launch of a report, and why.

    Parameters
    ----------
    report
        The report.
    by
        ``launch`` for one row per launch; ``kernel`` or ``family`` for one row per group of equal
        family, subtype, phase, batch size and GPU, and equal kernel in the former.
    device
        Name of the GPU whose peaks count instead of those of the report: the driver's or the
        product's. That the launches ran on another is a `PeaksWarning`.
    peaks
        TOML file of measured ceilings, which win over every other peak; see ``docs/devices.md``.
        An entry that fits no launch is a `PeaksWarning`.
    kernel_rules
        TOML file of rules for kernel names, or what `nsightlens.kernels.read_user_rules` made of
        it; they are asked before the built-in ones. See ``docs/kernel-names.md``.
    step_rules
        What the caller says of the steps where no NVTX range does.

    Returns
    -------
    Classification
        ``bound`` is ``unknown`` wherever the metrics do not decide it, and ``reason`` says what is
        missing. In groups, failed launches are counted and left out of sums.

    Raises
    ------
    TypeError
        ``report`` is none, such as the name of a file.
    ValueError
        ``by`` is none of the three.
    UnknownDeviceError
        ``device`` is no known product, or several.
    SettingsFileError
        The file of peaks or of rules cannot be used.

    Examples
    --------
    >>> from nsightlens import classify, open_report
    >>> labels = classify(open_report("report.ncu-rep")).labels  # doctest: +SKIP
    """
    check_report(report)
    if by not in ("launch", "kernel", "family"):
        raise ValueError(f"by must be 'launch', 'kernel' or 'family', not {by!r}")
    # A number that cannot be, from a damaged file, becomes NaN or infinity: unknown.
    overrides = peak_overrides(device, peaks)
    rules = as_user_rules(kernel_rules)
    with np.errstate(all="ignore"):
        result = _classify(report, by, overrides, (rules, step_rules))
    for text in result.warnings:
        warnings.warn(text, PeaksWarning, stacklevel=2)
    return result


def _classify(
    report: Report,
    by: By,
    overrides: PeakOverrides,
    naming: tuple[UserRules | None, StepRules],
) -> Classification:
    launches = report.launches
    verdict = nvidia_verdict(report)
    identity = identify(report, *naming)
    measured, counted = measure(report, identity, verdict, overrides)
    resources = resources_table(
        counted,
        measured.busiest,
        launches["report"].combine_chunks(),
        launches["launch_id"].combine_chunks(),
    )
    rooflines = rooflines_table(report, measured.usage, measured.levels)
    if by == "launch":
        data = _launch_columns(report, identity)
    else:
        groups = group_by(grouping_columns(identity, with_kernel=by == "kernel"))
        measured = tally_of(measured, groups).measured()
        verdict = no_verdict(len(measured.usage))
        data = group_columns(report, identity, groups, with_kernel=by == "kernel")
    _, columns = label_columns(measured, verdict)
    data |= columns | {
        "duration_share_pct": _share_pct(measured.usage.duration_ns),
        "nvidia_verdict": choose(verdict.code, VERDICTS),
        "nvidia_stored_verdict": choose(verdict.stored, VERDICTS),
    }
    labels = tables.table_of(tables.schema_of(tables.LABELS), data, len(measured.usage))
    noticed = [*misnamed_devices(report, overrides), *unused_ceilings(report, overrides)]
    return Classification(labels, resources, rooflines, by, tuple(noticed), naming[0])


def _launch_columns(report: Report, identity: pa.Table) -> dict[str, Any]:
    launches = report.launches
    of_identity = ("kernel", "family", "subtype", "phase", *STEP_COLUMNS, "grid", "block")
    of_launch = ("report", "launch_id", "kind", "kernel_demangled_name", "nvtx_path",
                 "process_id", "device_id", "device_name")  # fmt: skip
    return {
        "key": numbered_keys(report, identity),
        **{name: identity[name] for name in of_identity},
        **{name: launches[name] for name in of_launch},
    }


def _share_pct(duration_ns: NDArray[np.float64]) -> Any:
    total = np.nansum(duration_ns)
    return known_numbers(
        100.0 * duration_ns / total if total > 0 else np.full(len(duration_ns), np.nan)
    )
