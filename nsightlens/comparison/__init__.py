"""Two sets of launches side by side, and limits that they have to keep.

- `nsightlens.comparison.comparison`: `compare` and its result.
- `nsightlens.comparison.side`: what is known of the launches of one side.
- `nsightlens.comparison.names`: kernel names as two builds share them.
- `nsightlens.comparison.match`: which launches of the two sides are the same, by their
  `nsightlens.comparison.keys`. `nsightlens.comparison.pairing`, `nsightlens.comparison.slots`: how.
- `nsightlens.comparison.samples`: what repeats measure. `nsightlens.comparison.labels`: in words.
- `nsightlens.comparison.noise`: how much of a change is noise.
- `nsightlens.comparison.quantities`, `nsightlens.comparison.change`: what is compared, and how it
  changed.
- `nsightlens.comparison.comparable`: why durations cannot be compared.
- `nsightlens.comparison.verdict`, `nsightlens.comparison.rows`, `nsightlens.comparison.totals`:
  verdicts, the table, its sums.
- `nsightlens.comparison.gating`: `gate` and its result. `nsightlens.comparison.gate_rule`,
  `nsightlens.comparison.gate_rules`, `nsightlens.comparison.limits`: its rules.
- `nsightlens.comparison.checks`: what each rule finds.
"""

from __future__ import annotations

from nsightlens.comparison.comparison import Comparison, compare
from nsightlens.comparison.gate_rule import GateRule
from nsightlens.comparison.gate_rules import GateRules, read_gate_rules
from nsightlens.comparison.gating import GateResult, gate
from nsightlens.comparison.noise import NoiseRules
from nsightlens.comparison.totals import Total

__all__ = [
    "Comparison",
    "GateResult",
    "GateRule",
    "GateRules",
    "NoiseRules",
    "Total",
    "compare",
    "gate",
    "read_gate_rules",
]
