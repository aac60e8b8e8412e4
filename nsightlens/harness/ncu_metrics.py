"""The smallest collection that labels a launch: which metrics, by architecture and version of ncu.

ncu replays a launch once per pass, and every counter more may cost a pass. What is asked for
follows from the formulas of `nsightlens.metrics.catalog`: of each column that `classify`, `sweep`
and `explain` read, the shortest list that fills it on this architecture, without what follows from
the rest. A metric that the GPU does not have is an error of ncu's for the whole launch, so that
where the architecture or the version is not known, sections are collected instead: there it is a
warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.metrics.catalog import CATALOG, minimal_metrics, peak_metrics
from nsightlens.metrics.stalls import cycles_metric
from nsightlens.metrics.tensor import tensor_paths_of
from nsightlens.tables import STALL_REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Collection", "collection", "is_known", "smallest"]

OLDEST_VERSION = (2024, 1)
"""Oldest ncu whose list of metrics was compared with the names that are asked for."""

SECTIONS = (
    "SpeedOfLight",
    "SpeedOfLight_RooflineChart",
    "MemoryWorkloadAnalysis",
    "Occupancy",
    "WarpStateStats",
    "SchedulerStats",
)
"""Sections that fill the same columns on every architecture, with more passes."""
TENSOR_SECTION = "SpeedOfLight_HierarchicalTensorRooflineChart"
"""Tensor operations; large, as it stores a whole chart with every launch."""

_FROM_OTHERS = frozenset({"dram_bandwidth_bytes_per_s"})
"""Columns that follow from others' metrics: bytes over duration."""
# States of a warp that only some architectures count, by the beginning of the compute capability.
_STATES_OF_SOME = {
    "gmma": ("9.",),
    "imc_miss": ("7.", "8.", "9."),
}
# Counted by patching the kernel's instructions, which ncu does for launches only.
_PATCHED = "__sass_"


class Collection(NamedTuple):
    """What ncu is to collect: metrics, or sections where names are not known to exist."""

    metrics: tuple[str, ...]
    sections: tuple[str, ...]


def is_known(compute_capability: str | None) -> bool:
    """Return whether the names of an architecture's metrics are known.

    Examples
    --------
    >>> is_known("9.0"), is_known("99.0"), is_known(None)
    (True, False, False)
    """
    return compute_capability is not None and bool(tensor_paths_of(compute_capability))


def smallest(
    compute_capability: str | None,
    tool_version: Sequence[int],
    *,
    is_of_launches: bool = True,
) -> tuple[str, ...]:
    """Return the smallest list for ``ncu --metrics`` with which every launch can be labelled.

    Parameters
    ----------
    compute_capability
        Such as ``"9.0"``; None where it is not known.
    tool_version
        Of ncu, such as ``(2025, 1, 0, 0)``.
    is_of_launches
        False for results of whole ranges or graphs, for which ncu refuses metrics that are counted
        by patching instructions.

    Returns
    -------
    tuple of str
        Empty where the names are not known: see `collection`.

    Examples
    --------
    >>> names = smallest("9.0", (2025, 1))
    >>> names[0], "fbpa__dram_read_bytes.sum" in names
    ('gpu__time_duration.sum', True)
    >>> smallest("99.0", (2025, 1))
    ()
    """
    if not is_known(compute_capability) or tuple(tool_version[:2]) < OLDEST_VERSION:
        return ()
    columns = (entry.column for entry in CATALOG if entry.column not in _FROM_OTHERS)
    names = [name for one in columns for name in minimal_metrics(one, compute_capability)]
    names += peak_metrics(compute_capability)
    names += _states(compute_capability or "")
    # The roofs of patched counters are refused with them.
    return tuple(name for name in dict.fromkeys(names) if is_of_launches or _PATCHED not in name)


def collection(
    compute_capability: str | None,
    tool_version: Sequence[int],
    *,
    is_of_launches: bool = True,
) -> Collection:
    """Return what ncu is to collect for a label, by metrics where they are known.

    Parameters
    ----------
    compute_capability, tool_version, is_of_launches
        As in `smallest`.

    Examples
    --------
    >>> collection(None, (2025, 1)).sections[0]
    'SpeedOfLight'
    """
    metrics = smallest(compute_capability, tool_version, is_of_launches=is_of_launches)
    return Collection(metrics, ()) if metrics else Collection((), (*SECTIONS, TENSOR_SECTION))


def _states(compute_capability: str) -> list[str]:
    """Return the metrics of the states of a warp that an architecture counts."""
    return [
        cycles_metric(reason)
        for reason in STALL_REASONS
        if compute_capability.startswith(_STATES_OF_SOME.get(reason, ("",)))
    ]
