"""From the tables of a `Report` to labels: what bounds a launch, and why.

- `nsightlens.analysis.classification`: `classify` and its result.
- `nsightlens.analysis.measure`: work, peaks and activity of each launch become roofline times.
- `nsightlens.analysis.activity`: which percent-of-peak counter stands for which resource.
- `nsightlens.analysis.pipes`, `nsightlens.analysis.fma`, `nsightlens.analysis.mio`: how busy pipes
  and queues were, and with what.
- `nsightlens.analysis.usage`: roofline times and their bounds, of launches or groups.
- `nsightlens.analysis.analytic`: roofline times from annotated shapes.
- `nsightlens.analysis.padding`: work done against the work that annotated shapes need.
- `nsightlens.analysis.label`: the rules. `nsightlens.analysis.thresholds`: their constants.
- `nsightlens.analysis.confidence`, `nsightlens.analysis.reason`: how sure, and why, in words.
- `nsightlens.analysis.nvidia_verdict`: what NVIDIA's rule says of a launch, beside the label.
- `nsightlens.analysis.resource_words`: resources as a person says them.
- `nsightlens.analysis.measured`: all that the rules take, of launches or groups.
- `nsightlens.analysis.label_columns`: the rules applied to it, as columns.
- `nsightlens.analysis.aggregate`: groups of launches.
- `nsightlens.analysis.tally`, `nsightlens.analysis.sums`, `nsightlens.analysis.usage_sums`: groups
  add up, also across reports.
- `nsightlens.analysis.identity`, `nsightlens.analysis.context`: what else a row shows.
- `nsightlens.analysis.resources`: the table of roofline times.
- `nsightlens.analysis.rooflines`: the table of rooflines at DRAM, L2 and L1.
- `nsightlens.analysis.busiest`: which counter of a resource was the busiest.
- `nsightlens.analysis.select`: filters. `nsightlens.analysis.find_launch`: the one that is meant.
- `nsightlens.analysis.explanation`: `explain` and its result: one launch with all its numbers.
- `nsightlens.analysis.arithmetic`: the steps from measured work to a label, in words.
- `nsightlens.analysis.stall_meanings`: what each warp state usually means, by kind of kernel.
- `nsightlens.analysis.advice`, `nsightlens.analysis.advice_rules`,
  `nsightlens.analysis.advice_conditions`: what is worth trying, and the numbers that say so.
- `nsightlens.analysis.quantities`: every number of one launch by its name.
- `nsightlens.analysis.lacking`: what one launch lacks, and how to collect it.
"""

from __future__ import annotations

from nsightlens.analysis.classification import Classification, classify
from nsightlens.analysis.explanation import Explanation, explain
from nsightlens.analysis.select import select

__all__ = ["Classification", "Explanation", "classify", "explain", "select"]
