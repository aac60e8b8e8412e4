"""Tallies: what was measured of launches, as sums that can be added up again.

`tally_of` adds launches up to groups; `Tally.grouped` and `joined` add groups up to larger ones,
also across reports; `Tally.measured` gives what the rules of the labels take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.analysis.busiest import BusiestCounters
from nsightlens.analysis.context import add_context, context_of_sums
from nsightlens.analysis.measured import Measured
from nsightlens.analysis.padding import add_padding, padding_of_sums
from nsightlens.analysis.rooflines import add_levels, levels_of_sums
from nsightlens.analysis.sums import Adder, Sums, joined_sums
from nsightlens.analysis.usage_sums import add_usage, usage_of_sums
from nsightlens.arrays import number_array
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.analysis.aggregate import Groups

__all__ = ["Tally", "TopStall", "joined", "tally_of"]


class TopStall(NamedTuple):
    """The top stall of the longest launch that has one.

    Parameters
    ----------
    text
        Text column; null where no launch has one.
    duration_ns
        [ns] Of that launch; -1 where there is none. Shape (n,).
    """

    text: Any
    duration_ns: NDArray[np.float64]

    def grouped(self, groups: Groups) -> TopStall:
        """Return that of the longest; of equally long ones the first by name, in any order."""
        code, texts = text_column({"text": self.text}, "text")
        by_name = np.argsort(np.argsort([text or "" for text in texts]))
        order = np.lexsort((-by_name[code], self.duration_ns))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        longest = order[groups.largest(rank)]
        return TopStall(self.text.take(number_array(longest)), self.duration_ns[longest])


class Tally(NamedTuple):
    """Sums over the launches of n groups.

    Parameters
    ----------
    sums
        Everything that adds up.
    top_stall
        Of the longest launch.
    busiest
        The counters that all launches of a group share.
    """

    sums: Sums
    top_stall: TopStall
    busiest: BusiestCounters

    def grouped(self, groups: Groups) -> Tally:
        """Add rows up to groups of them."""
        sums = self.sums.grouped(groups)
        busiest = self.busiest.grouped(groups, sums.mean("shared_wavefronts"))
        return Tally(sums, self.top_stall.grouped(groups), busiest)

    def measured(self) -> Measured:
        """Return what the rules of the labels take."""
        return Measured(
            usage=usage_of_sums(self.sums),
            context=context_of_sums(self.sums, self.top_stall.text),
            padding=padding_of_sums(self.sums),
            levels=levels_of_sums(self.sums),
            busiest=self.busiest,
        )


def tally_of(measured: Measured, groups: Groups) -> Tally:
    """Add launches up to groups.

    Parameters
    ----------
    measured
        Of launches.
    groups
        Which of them belong together.
    """
    duration_ns = measured.usage.duration_ns
    adder = Adder(groups)
    add_usage(adder, measured.usage)
    add_context(adder, measured.context, duration_ns)
    add_padding(adder, measured.padding)
    add_levels(adder, measured.levels, duration_ns)
    adder.mean("shared_wavefronts", measured.busiest.shared_wavefronts, duration_ns)
    shared = adder.sums.mean("shared_wavefronts")
    text = measured.context.top_stall
    has_stall = np.asarray(text.is_valid().to_numpy(zero_copy_only=False))
    length = np.where(has_stall, np.where(np.isnan(duration_ns), 0.0, duration_ns), -1.0)
    return Tally(
        adder.sums,
        TopStall(text, length).grouped(groups),
        measured.busiest.grouped(groups, shared),
    )


def joined(parts: Sequence[Tally]) -> Tally:
    """Put the groups of tallies one after another."""
    used = dict.fromkeys(name for part in parts for name in part.busiest.used_names())
    counters = [part.busiest.of_names(tuple(used)) for part in parts]
    return Tally(
        joined_sums([part.sums for part in parts]),
        TopStall(
            pa.concat_arrays([part.top_stall.text for part in parts]),
            np.concatenate([part.top_stall.duration_ns for part in parts]),
        ),
        BusiestCounters(
            np.concatenate([one.code for one in counters], axis=-1),
            tuple(used),
            np.concatenate([one.shared_wavefronts for one in counters]),
        ),
    )
