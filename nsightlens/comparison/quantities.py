"""The quantities that are compared, and what counts as noise of each."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["QUANTITIES", "Quantity"]


class Quantity(NamedTuple):
    """A quantity that is compared.

    Parameters
    ----------
    name
        Its column.
    stem
        What the columns of its change begin with.
    adds_up
        Whether the launches of a group add up, or are averaged over their durations.
    unrepeated_pct
        [%] Change that counts as noise where there are no repeats; None: as of durations.
    least_pct
        [%] The same where there are; None: as of durations.
    resolution
        [its unit] What either side may be off by, however large the value.
    """

    name: str
    stem: str
    adds_up: bool
    unrepeated_pct: float | None = None
    least_pct: float | None = None
    resolution: float = 0.0


# Operations are counted and repeat to the digit. DRAM bytes are counted too, but depend on what the
# caches held: two runs of one kernel differ by under 1 % from some 50 kB on, by pages below that.
QUANTITIES = (
    Quantity("duration_ns", "duration", adds_up=True),
    Quantity("dram_bytes", "dram_bytes", True, 2.0, 1.0, 4096.0),
    Quantity("flop_count", "flop_count", True, 0.1, 0.1),
    Quantity("dram_throughput_pct", "dram_throughput", False),
    Quantity("achieved_occupancy_pct", "achieved_occupancy", False),
    Quantity("stalled_for_data_pct", "stalled_for_data", False, 5.0, 2.0),
)
"""In the order of `nsightlens.tables.COMPARED`."""
