"""Every threshold of the labels, in one place.

The first four are those of NVIDIA's SpeedOfLight rule, so that a regime here and its message there
speak of the same thing.
"""

from __future__ import annotations

__all__ = [
    "BALANCE_MARGIN",
    "BUSY",
    "CLOCK_SPREAD",
    "CLOSE_SIDES",
    "CONTRADICTION",
    "DISAGREEMENT",
    "EXPLAINED_ACTIVITY",
    "EXPLAINED_AGGREGATE",
    "FEW_PERCENT",
    "FULL_WAVE",
    "HEAVY_ONLY",
    "IDLE",
    "INACTIVE",
    "OPEN_SHARE",
    "PADDED",
    "QUIET",
    "SATURATED",
    "TIE",
    "UNMIRRORED",
]

BUSY = 0.60
"""[1] Below this fraction of every peak, no resource explains the duration."""

SATURATED = 0.80
"""[1] From this fraction on, a resource is used up, whatever the others do."""

BALANCE_MARGIN = 0.10
"""[1] Sides closer than this are balanced, where the busier one is above `BUSY`; at this, not."""

FULL_WAVE = 1.0
"""[wave] Fewer blocks than fit at once leave SMs empty."""

CLOSE_SIDES = 0.80
"""[1] The smaller side over the larger: above it the label hangs on a small difference."""

CONTRADICTION = 1.05
"""[1] More than this fraction of a peak cannot be: a counter or a peak is wrong."""

IDLE = 0.10
"""[1] Below this fraction the largest roofline time says little about what the launch waits for."""

QUIET = 0.20
"""[1] The same, to a lesser degree."""

DISAGREEMENT = 1.25
"""[1] Two measurements of the same thing, one this many times the other, cannot both be right."""

FEW_PERCENT = 0.05
"""[1] Below this fraction of a peak, measurements may disagree: small counts are noisy."""

CLOCK_SPREAD = 0.10
"""[1] An SM clock this far from the median of its report is another operating point."""

INACTIVE = 0.0005
"""[1] A pipe that is active for less than this is taken as not used."""

TIE = 1e-9
"""[1] Relative: values closer than this are equal, in whatever order they were rounded."""

OPEN_SHARE = 0.05
"""[1] A group with more of its time unmeasured than this is labelled with less confidence."""

PADDED = 1.25
"""[1] From this many times what its shape needs on, a launch is said to do more than it has to."""

EXPLAINED_ACTIVITY = 0.5
"""[1] Counted work is all work of a pipe if it needs at least this share of its active time: an
addition keeps a pipe busy as long as a multiply-add and counts half."""

EXPLAINED_AGGREGATE = 1.05
"""[1] An aggregate percentage up to this multiple of the largest known part is that part's."""

HEAVY_ONLY = 0.75
"""[1] With the fma pipe active for less than this share of its heavy half, most of what the heavy
half does is work that the light half cannot do: integer multiply-adds."""

UNMIRRORED = 4.0 / 3.0
"""[1] On Volta the load/store pipe of the SM can be this much busier than the memory throughput,
which mirrors it on later chips: 1.28 times is the most in real reports."""
