"""Groups of launches: which belong together, and what all of a group share.

Launches group by family, subtype, phase, batch size and GPU, and by kernel where asked. How they
add up stands in `nsightlens.analysis.tally`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = [
    "Groups",
    "group_by",
    "group_columns",
    "grouping_columns",
]


class Groups(NamedTuple):
    """Which launches belong together; groups are in the order of their first launch.

    Parameters
    ----------
    order
        Launches sorted by group. Shape (launches,).
    starts
        Where each group begins in ``order``. Shape (groups,).
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def first(self) -> NDArray[np.intp]:
        """First launch of each group. Shape (groups,)."""
        return self.order[self.starts]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up the last axis, launches, to groups."""
        return self._reduce(np.add, values)

    def all(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say where every launch of a group holds; last axis as in `sum`."""
        return self._reduce(np.logical_and, values)

    def any(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say where some launch of a group holds; last axis as in `sum`."""
        return self._reduce(np.logical_or, values)

    def largest(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum in each group; last axis as in `sum`."""
        return self._reduce(np.maximum, values)

    def common(self, column: Any) -> Any:
        """Return the text that all launches of a group share; null where they do not."""
        code, texts = text_column({"text": column}, "text")
        lowest = self._reduce(np.minimum, code)
        is_common = lowest == self.largest(code)
        return pa.array(texts, pa.string()).take(number_array(lowest, is_common))

    def _reduce(self, operation: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        reduced: NDArray[Any] = operation.reduceat(values[..., self.order], self.starts, axis=-1)
        return reduced


def group_by(columns: Sequence[Any]) -> Groups:
    """Group rows by equal text in every column; null equals null.

    Parameters
    ----------
    columns
        Text columns of equal length.
    """
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code, _ = text_column({"text": column}, "text")
        _, joint = np.unique(joint * (code.max(initial=0) + 1) + code, return_inverse=True)
    _, first, code = np.unique(joint, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    ranked = rank[code]
    order = np.argsort(ranked, kind="stable")
    return Groups(order, np.searchsorted(ranked[order], np.arange(len(first))))


def grouping_columns(identity: pa.Table, *, with_kernel: bool) -> list[Any]:
    """Return the columns that make a group, as text."""
    names = ["family", "subtype", "phase", "batch_size"]
    names = ["subject", *names] if with_kernel else names
    # One driver calls the same GPU A100-PCIE-40GB, a later one NVIDIA A100-PCIE-40GB.
    gpu = pc.replace_substring_regex(identity["device_name"], "^NVIDIA ", "")
    return [*(identity[name].cast(pa.string()) for name in names), gpu]


def group_columns(
    report: Report, identity: pa.Table, groups: Groups, *, with_kernel: bool
) -> dict[str, Any]:
    """Return the columns of labels that say which group a row is."""
    first = number_array(groups.first)
    columns = grouping_columns(identity, with_kernel=with_kernel)
    parts = [pc.fill_null(column, "-").combine_chunks().take(first) for column in columns]
    of_kernel = ("kernel",) if with_kernel else ()
    names = ("family", "subtype", "phase", "batch_size", "device_name", *of_kernel)
    shared = ("report", "kind", "process_id", "device_id",
              *(("kernel_demangled_name",) if with_kernel else ()))  # fmt: skip
    return {
        "key": pc.binary_join_element_wise(*parts, "|"),
        **{name: identity[name].combine_chunks().take(first) for name in names},
        **{name: groups.common(report.launches[name]) for name in shared},
    }
