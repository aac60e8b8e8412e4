"""Labels along the batch size: how intensity grows, where labels flip, what limits decode.

- `nsightlens.sweeps.model`: `Sweep` and what it is made with.
- `nsightlens.sweeps.measuring`: `sweep`, and the same of many reports one at a time.
"""

from __future__ import annotations

from nsightlens.sweeps.measuring import SweepPart, part_of, sweep, sweep_of_parts
from nsightlens.sweeps.model import EXPLANATIONS, Sweep, SweepOptions, Verdict
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
