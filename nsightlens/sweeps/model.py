"""`Sweep`: three tables along the batch size and a verdict; `SweepOptions`: how it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nsightlens.report import data_frame
from nsightlens.steps import NO_STEP_RULES

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.kernels import KernelRules
    from nsightlens.models import ModelConfig
    from nsightlens.steps import StepRules

__all__ = ["DEFAULT_OPTIONS", "EXPLANATIONS", "By", "Sweep", "SweepOptions", "Verdict"]

By = Literal["family", "kernel"]

EXPLANATIONS = (
    "bandwidth_saturated_attention",
    "compute_bound_plateau",
    "mixed",
    "undecided",
)
"""What can explain that larger batches stop paying, as in `Verdict.explanation`."""

_TABLES = ("rows", "trends", "steps")


class Verdict(NamedTuple):
    """What limits decode at the smallest and at the largest batch size.

    Parameters
    ----------
    explanation
        One of `EXPLANATIONS`; ``undecided`` where the data does not say.
    paragraph
        The same in words, with the numbers.
    """

    explanation: str
    paragraph: str


class SweepOptions(NamedTuple):
    """How a sweep is made of reports; can be pickled. See `nsightlens.sweep`.

    ``selection`` names the filters that launches had to pass; the verdict says so.
    """

    by: By = "family"
    device: str | None = None
    peaks: str | Path | None = None
    kernel_rules: KernelRules | None = None
    step_rules: StepRules = NO_STEP_RULES
    model: str | Path | ModelConfig | None = None
    selection: str = ""


DEFAULT_OPTIONS = SweepOptions()


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """Families along the batch size, measured or analytic.

    Parameters
    ----------
    rows
        One row per family and batch size, with the schema of `nsightlens.tables.SWEEP`.
    trends
        One row per family, with the schema of `nsightlens.tables.SWEEP_TRENDS`.
    steps
        One row per batch size, with the schema of `nsightlens.tables.SWEEP_STEPS`.
    verdict
        What limits decode, and what explains it.
    by
        What a row is: ``family`` or ``kernel``.
    notes
        What a reader of the tables has to know, one sentence each: launches without a batch size,
        sessions that differ, work that could not be compared with a model.
    warnings
        What was noticed of the peaks, one sentence each; see `nsightlens.classify`.
    """

    rows: pa.Table
    trends: pa.Table
    steps: pa.Table
    verdict: Verdict
    by: str = "family"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        batches = len({batch for batch in self.rows["batch_size"].to_pylist() if batch is not None})
        return f"<Sweep of {batches} batch sizes by {self.by}: {self.verdict.explanation}>"

    def _repr_html_(self) -> str:
        # An import that points right: display, and only when a notebook asks for it.
        from nsightlens.notebook import sweep_html  # noqa: PLC0415

        return sweep_html(self)

    def to_pandas(self, table: Literal["rows", "trends", "steps"] = "rows") -> Any:
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
        if table not in _TABLES:
            raise ValueError(f"table must be one of {', '.join(_TABLES)}, not {table!r}")
        return data_frame(getattr(self, table), "Sweep.to_pandas()")
