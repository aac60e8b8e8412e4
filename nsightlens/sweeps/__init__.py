"""Labels along the batch size: how intensity grows, where labels flip, what limits decode.

- `nsightlens.sweeps.model`: `Sweep` and what it is made with.
- `nsightlens.sweeps.measuring`: `sweep`, and the same of many reports one at a time.
- `nsightlens.sweeps.part`: sums over the launches of a report, which add up to those of many.
- `nsightlens.sweeps.rows`, `nsightlens.sweeps.trends`, `nsightlens.sweeps.steps`: its tables.
- `nsightlens.sweeps.needed`, `nsightlens.sweeps.needed_by_model`, `nsightlens.sweeps.expectation`:
  what the shapes need, beside what was measured; `nsightlens.sweeps.model_fit`: whether a model can
  be the one that ran.
- `nsightlens.sweeps.series`, `nsightlens.sweeps.slopes`, `nsightlens.sweeps.crossover`: along the
  batch size: how a number grows, and where a family passes the ridge.
- `nsightlens.sweeps.component_rows`, `nsightlens.sweeps.verdict`,
  `nsightlens.sweeps.verdict_evidence`, `nsightlens.sweeps.verdict_whole`,
  `nsightlens.sweeps.verdict_fitting`, `nsightlens.sweeps.verdict_lacking`: what limits decode, and
  which steps can say it.
- `nsightlens.sweeps.verdict_words`, `nsightlens.sweeps.verdict_growth`,
  `nsightlens.sweeps.verdict_undecided`: its sentences.
- `nsightlens.sweeps.notes`, `nsightlens.sweeps.sessions`, `nsightlens.sweeps.origins`,
  `nsightlens.sweeps.mixture`: what to know beside the tables.
- `nsightlens.sweeps.predict` and its neighbours `nsightlens.sweeps.predict_inputs`,
  `nsightlens.sweeps.predict_peaks`, `nsightlens.sweeps.predict_dtypes`,
  `nsightlens.sweeps.predict_facts`, `nsightlens.sweeps.predict_context`,
  `nsightlens.sweeps.predict_tables`, `nsightlens.sweeps.predict_crossover`,
  `nsightlens.sweeps.predict_notes`: the same tables of a model and a GPU, without a report.
- `nsightlens.sweeps.components`, `nsightlens.sweeps.ordering`, `nsightlens.sweeps.numbers`,
  `nsightlens.sweeps.joined_texts`: classes of families, order of rows, columns.
"""

from __future__ import annotations

from nsightlens.sweeps.measuring import sweep, sweep_of_parts
from nsightlens.sweeps.model import EXPLANATIONS, Sweep, SweepOptions, Verdict
from nsightlens.sweeps.part import SweepPart, part_of
from nsightlens.sweeps.trends import trends_of
from nsightlens.sweeps.verdict import verdict_of

__all__ = [
    "EXPLANATIONS",
    "Sweep",
    "SweepOptions",
    "SweepPart",
    "Verdict",
    "part_of",
    "sweep",
    "sweep_of_parts",
    "trends_of",
    "verdict_of",
]
