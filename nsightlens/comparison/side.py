"""One side of a comparison: what is known of each launch, from one or several reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis import classify
from nsightlens.arrays import number_array
from nsightlens.comparison.names import normal_names
from nsightlens.devices.columns import number_column, text_column
from nsightlens.report import check_report
from nsightlens.steps import NO_STEP_RULES, annotate_launches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from nsightlens.analysis import Classification
    from nsightlens.kernels import UserRules
    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = [
    "CONDITIONS",
    "WORK_OF_STEP",
    "LabelOptions",
    "Side",
    "measure_side",
    "parts_of",
    "without_copies",
]

CONDITIONS = ("clock_control", "cache_control", "replay_mode")
"""How ncu collected a report: a duration under one of them is no measure of another."""
_DEFAULTS = {"cache_control": "all", "replay_mode": "kernel"}
"""What ncu does where its command line does not say."""
_OF_LABELS = (
    "duration_ns",
    "dram_throughput_pct",
    "achieved_occupancy_pct",
    "stalled_for_data_pct",
)
WORK_OF_STEP = ("context_length", "kv_tokens", "query_tokens")
"""What an annotation says of the size of a step, beside its batch size."""
_OF_LAUNCHES = ("dram_bytes", "sm_clock_hz", "dram_clock_hz", "sm_count")


class LabelOptions(NamedTuple):
    """What labels follow: see `nsightlens.classify`."""

    device: str | None = None
    peaks: str | Path | None = None
    kernel_rules: UserRules | None = None
    step_rules: StepRules = NO_STEP_RULES

    def classify(self, report: Report, by: Any = "launch") -> Classification:
        """Classify a report accordingly."""
        return classify(report, by=by, **self._asdict())


class Side(NamedTuple):
    """What is known of every launch of a side; n launches.

    Parameters
    ----------
    labels
        One row per launch, with the schema of `nsightlens.tables.LABELS`.
    report
        Number of the report that holds it: of each report that was given, not of its path, so that
        one that was given twice is two repeats. Shape (n,).
    number
        By quantity, NaN where not known: those that are compared, clocks, number of SMs, and
        `WORK_OF_STEP`.
    text
        By name: ``name`` (see `nsightlens.comparison.names`), ``operation``, ``gpu``, and
        `CONDITIONS`.
    """

    labels: pa.Table
    report: NDArray[np.int64]
    number: dict[str, NDArray[np.float64]]
    text: dict[str, Any]

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Whether a launch has a duration. Shape (n,)."""
        return ~np.isnan(self.number["duration_ns"])

    def only(self, keep: NDArray[np.bool_]) -> Side:
        """Return the side with some of its launches. Shape of ``keep``: (n,)."""
        kept = number_array(keep)
        return Side(
            self.labels.filter(kept),
            self.report[keep],
            {name: value[keep] for name, value in self.number.items()},
            {name: value.filter(kept) for name, value in self.text.items()},
        )


def parts_of(reports: Report | Sequence[Report]) -> list[Report]:
    """Return the reports of a side, each of which may hold several files.

    Raises
    ------
    TypeError
        One of them is no report.
    ValueError
        There is none.
    """
    parts: list[Any] = list(reports) if isinstance(reports, (list, tuple)) else [reports]
    for part in parts:
        check_report(part)
    if not parts:
        raise ValueError("at least one report is needed")
    return parts


def measure_side(parts: Sequence[Report], options: LabelOptions) -> Side:
    """Label the launches of a side and gather what is compared."""
    measured = [_measure(part, options) for part in parts]
    firsts = np.cumsum([0, *(int(one.report.max(initial=-1)) + 1 for one in measured)])
    return Side(
        labels=pa.concat_tables([one.labels for one in measured]).unify_dictionaries(),
        report=np.concatenate([one.report + n for one, n in zip(measured, firsts, strict=False)]),
        number={
            name: np.concatenate([one.number[name] for one in measured])
            for name in measured[0].number
        },
        text={
            name: pa.concat_arrays([one.text[name] for one in measured])
            for name in measured[0].text
        },
    )


def without_copies(side: Side) -> tuple[Side, list[str]]:
    """Leave out reports that hold what another one of the side holds, to the last digit.

    A copy is no repeat: it would make the noise look smaller than it is.

    Returns
    -------
    tuple
        The side, and a sentence on each copy.
    """
    name, _ = text_column(side.text, "name")
    process, _ = text_column(side.labels, "process_id")
    columns = [name, process, *side.number.values()]
    by_report = np.argsort(side.report, kind="stable")
    starts = np.flatnonzero(np.diff(side.report[by_report], prepend=-1))
    seen: dict[bytes, int] = {}
    keep = np.ones(len(side.report), dtype=bool)
    notes = []
    for launches in np.split(by_report, starts)[1:]:
        content = b"".join(column[launches].tobytes() for column in columns)
        first = seen.setdefault(content, int(launches[0]))
        if first != launches[0]:
            keep[launches] = False
            paths = [side.labels["report"][int(at)].as_py() for at in (launches[0], first)]
            notes.append(
                f"{paths[0]} is given twice and counts once: it is no repeat of itself."
                if paths[0] == paths[1]
                else f"{paths[0]} is a copy of {paths[1]} and does not count as a repeat."
            )
    return (side.only(keep) if notes else side), notes


def _measure(report: Report, options: LabelOptions) -> Side:
    result = options.classify(report)
    labels, launches = result.labels, report.launches
    number = {name: number_column(labels, name) for name in (*_OF_LABELS, *WORK_OF_STEP)}
    number |= {name: number_column(launches, name) for name in _OF_LAUNCHES}
    number["flop_count"] = _flop_count(result)
    # What failed to be collected, or cannot be, has no number.
    is_sound = np.isfinite(number["duration_ns"]) & (number["duration_ns"] > 0)
    number = {name: np.where(is_sound, value, np.nan) for name, value in number.items()}
    gpu = pc.replace_substring_regex(launches["device_name"].cast(pa.string()), "^NVIDIA ", "")
    operation = annotate_launches(report, options.step_rules)["operation"]
    text = {"name": normal_names(labels), "operation": operation, "gpu": gpu, **_conditions(report)}
    code, _ = text_column(launches, "report")
    whole = {name: _one_chunk(column) for name, column in text.items()}
    return Side(labels, code.astype(np.int64), number, whole)


def _flop_count(result: Classification) -> NDArray[np.float64]:
    """Return the operations of every launch, of all data types. Shape (n,)."""
    # Every level of a launch says the same; null where not every operation was counted.
    names = ["report", "launch_id"]
    keys = [
        pc.binary_join_element_wise(*(one[name].cast(pa.string()) for name in names), "|")
        for one in (result.labels, result.rooflines)
    ]
    row = pc.index_in(_one_chunk(keys[0]), value_set=_one_chunk(keys[1]))
    found = result.rooflines["flop_count"].take(row)
    return number_column({"flop_count": found}, "flop_count")


def _conditions(report: Report) -> dict[str, Any]:
    """Return how each launch was collected, by the sessions of its report; null: not known."""
    code, paths = text_column(report.launches, "report")
    names = ["report", "profiler_command_line", *CONDITIONS]
    known: dict[str, dict[str | None, str]] = {name: {} for name in CONDITIONS}
    for session in report.sessions.select(names).to_pylist():
        for name in CONDITIONS:
            default = _DEFAULTS.get(name) if session["profiler_command_line"] else None
            value = session[name] or default
            if value:
                known[name].setdefault(session["report"], _same_words(value))
    return {
        name: pa.array([known[name].get(path) for path in paths], pa.string()).take(pa.array(code))
        for name in CONDITIONS
    }


def _same_words(value: str) -> str:
    # "locked" is what a report without ncu's settings says of clocks that were held.
    return "base" if value == "locked" else value


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
