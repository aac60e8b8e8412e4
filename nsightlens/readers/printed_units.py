"""Whether the unit that ncu printed beside a value is one of its metric.

A value is stored in the base unit of its metric, which the name tells (`nsightlens.units`). With a
unit that is no scaling of it (``minute``, ``KiB``, ``Gbit``) a number would be wrong by any factor.
ncu is lax about what is counted (warps or samples, nothing or requests), which changes no number.
"""

from __future__ import annotations

from functools import lru_cache

from nsightlens.units import unit_of

__all__ = ["is_unit_of"]

# Units of quantities: with another one, the number is another.
_QUANTITIES = {"ns", "B", "bit", "Hz", "kHz", "%"}

# What is only counted: one of these may stand for another.
_COUNTS = {
    "", "SM", "block", "branch", "cluster", "cycle", "inst", "op", "pass", "register", "request",
    "sample", "sector", "thread", "warp", "wavefront",
}  # fmt: skip

# Values that ncu takes from no counter, and prints without the unit that they have.
_OFTEN_BARE = ("device__", "launch__")

# Metrics of sectors that NVIDIA's library takes for bytes.
_BYTES_OF_SECTORS = "memory_l2_"


@lru_cache(maxsize=8192)
def is_unit_of(base: str, metric: str) -> bool:
    """Say whether values of a metric may be in a base unit.

    Parameters
    ----------
    base
        Name of a base unit, as `nsightlens.ncucsv.scale.BaseUnit` has it.
    metric
        Name of a metric.

    Returns
    -------
    bool
        True, too, where the name of the metric does not tell its unit.

    Examples
    --------
    >>> is_unit_of("ns", "gpu__time_duration.sum"), is_unit_of("minute", "gpu__time_duration.sum")
    (True, False)
    """
    # Of a label of the details page, a part may look like a name.
    expected = unit_of(metric) if "__" in metric else None
    if expected is None or base == expected:
        return True
    if not base and metric.startswith(_OFTEN_BARE):
        return True
    counted, _, per = base.partition("/")
    counted_before, _, per_before = expected.partition("/")
    if (per == "s") != (per_before == "s") or not _is_known(per):
        return False
    return _may_stand_for(counted, counted_before, metric)


def _is_known(per: str) -> bool:
    return per == "s" or per in _QUANTITIES or per in _COUNTS


def _may_stand_for(counted: str, expected: str, metric: str) -> bool:
    if expected == "%" and not counted:
        return True
    if expected == "sector" and counted == "B":
        return _BYTES_OF_SECTORS in metric
    if expected in _QUANTITIES or counted in _QUANTITIES:
        return counted == expected
    return counted in _COUNTS
