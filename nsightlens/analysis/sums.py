"""Sums over launches that can be added up again: of launches to groups, of groups to larger ones.

Whatever a group shows is made from sums, and largest values, alone: a mean is a weighted sum and
its weight, a peak is work and the time that it needs. So the groups of two reports add up to those
of both without the launches, and `nsightlens.classify` and `nsightlens.sweep` say the same of a
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.analysis.aggregate import Groups

__all__ = ["Adder", "Sums", "joined_sums"]


class Sums(NamedTuple):
    """Values by name; the last axis of each is that of rows.

    Parameters
    ----------
    added
        What adds up.
    most
        What keeps the largest value; truth values, where some row holds.
    """

    added: dict[str, NDArray[Any]]
    most: dict[str, NDArray[Any]]

    def grouped(self, groups: Groups) -> Sums:
        """Add rows up to groups of them."""
        return Sums(
            {name: groups.sum(values) for name, values in self.added.items()},
            {name: groups.largest(values) for name, values in self.most.items()},
        )

    def all(self, name: str) -> NDArray[np.bool_]:
        """Say where a statement added with `Adder.all` holds for every launch."""
        return ~self.most[f"not {name}"]

    def mean(self, name: str) -> NDArray[np.float64]:
        """Return the weighted mean of what is known; NaN where nothing is."""
        return _quotient(self.added[f"{name} weighted"], self.added[f"{name} weight"])

    def peak(self, name: str) -> NDArray[np.float64]:
        """Return work over the time that it needs at its own peaks; else the mean of peaks.

        So that fraction of peak, intensity and ridge of a group say the same as its roofline times.
        """
        peak = _quotient(self.added[f"{name} done"], self.added[f"{name} needed"])
        return np.where(self.added[f"{name} needed"] > 0, peak, self.mean(name))


class Adder:
    """Adds launches up to groups, value by value.

    Parameters
    ----------
    groups
        Which launches belong together.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self.sums = Sums({}, {})

    def add(self, name: str, values: NDArray[Any]) -> None:
        """Add up numbers."""
        self.sums.added[name] = self.groups.sum(values)

    def most(self, name: str, values: NDArray[Any]) -> None:
        """Keep the largest number."""
        self.sums.most[name] = self.groups.largest(values)

    def any(self, name: str, holds: NDArray[np.bool_]) -> None:
        """Keep whether a statement holds for some launch."""
        self.sums.most[name] = self.groups.any(holds)

    def all(self, name: str, holds: NDArray[np.bool_]) -> None:
        """Keep whether a statement holds for every launch."""
        self.any(f"not {name}", ~holds)

    def mean(self, name: str, values: NDArray[np.float64], weight: NDArray[np.float64]) -> None:
        """Keep the mean of the launches of which value and weight are known."""
        weight = np.where(np.isnan(values) | np.isnan(weight), 0.0, weight)
        self.add(f"{name} weight", weight)
        self.add(f"{name} weighted", np.where(weight > 0, values, 0.0) * weight)

    def peak(
        self,
        name: str,
        peak: NDArray[np.float64],
        work: NDArray[np.float64],
        duration_ns: NDArray[np.float64],
    ) -> None:
        """Keep the peak of work: see `Sums.peak`. Without work it is the mean over the duration."""
        counts = ~np.isnan(duration_ns) & (work > 0) & (peak > 0)
        self.add(f"{name} done", np.where(counts, work, 0.0))
        self.add(f"{name} needed", np.where(counts, work / np.where(counts, peak, 1.0), 0.0))
        self.mean(name, peak, duration_ns)


def joined_sums(parts: Sequence[Sums]) -> Sums:
    """Put the rows of sums one after another; all must have the same names."""
    first = parts[0]
    return Sums(
        {
            name: np.concatenate([part.added[name] for part in parts], axis=-1)
            for name in first.added
        },
        {name: np.concatenate([part.most[name] for part in parts], axis=-1) for name in first.most},
    )


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    has_any = b > 0
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(has_any, a / np.where(has_any, b, 1.0), np.nan)
