"""What a launch did against what its annotated shape needs: operations and DRAM bytes.

Tiles that reach beyond a matrix, masked-out keys and batches rounded up are operations that are
executed and of no use; bytes read again because a cache was too small are traffic that the
algorithm does not need. Both move a launch along the roofline without any change in what it
computes, so that its measured intensity is not that of its algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.analysis.analytic import is_alone
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX
from nsightlens.devices.columns import number_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.analysis.sums import Adder, Sums
    from nsightlens.analysis.usage import Usage
    from nsightlens.report import Report

__all__ = ["Padding", "add_padding", "measure_padding", "padding_of_sums"]


class Padding(NamedTuple):
    """Work measured and work needed, NaN in both of a pair where one is not known. Shape (n,).

    Parameters
    ----------
    executed_flop, useful_flop
        [FLOP] Counted operations of every data type; those of the annotated shape.
    dram_bytes, algorithmic_bytes
        [B] Counted DRAM bytes; those of the annotated shape.
    """

    executed_flop: NDArray[np.float64]
    useful_flop: NDArray[np.float64]
    dram_bytes: NDArray[np.float64]
    algorithmic_bytes: NDArray[np.float64]

    def ratios(self) -> dict[str, NDArray[np.float64]]:
        """Return measured over needed [1] by the name of its column; NaN where unknown."""
        return {
            "executed_per_useful_flop": self.executed_flop / self.useful_flop,
            "dram_per_algorithmic_byte": self.dram_bytes / self.algorithmic_bytes,
        }


def measure_padding(usage: Usage, identity: pa.Table, report: Report) -> Padding:
    """Set the measured work of every launch beside that of its annotated shape.

    As in `nsightlens.analysis.analytic`, an annotation counts only for a launch that is alone in
    its range.

    Parameters
    ----------
    usage
        Measured usage, before annotated shapes stand for missing counters.
    identity
        Annotations, from `nsightlens.analysis.identity.identify`.
    report
        The report.
    """
    alone = is_alone(report)
    work = usage.work[: len(FLOP_RESOURCES)]
    is_counted = usage.has_flop_counts & ~np.isnan(work).all(axis=0)
    executed = np.where(is_counted, np.nansum(work, axis=0), np.nan)
    return Padding(
        *_pair(executed, number_column(identity, "operation_flop"), alone),
        *_pair(usage.work[INDEX["dram"]], number_column(identity, "operation_bytes"), alone),
    )


def add_padding(adder: Adder, padding: Padding) -> None:
    """Add up the launches of which both of a pair are known."""
    for name, values in padding._asdict().items():
        is_known = ~np.isnan(values)
        adder.any(f"has padding {name}", is_known)
        adder.add(f"padding {name}", np.where(is_known, values, 0.0))


def padding_of_sums(sums: Sums) -> Padding:
    """Return the padding of groups."""
    return Padding(
        *(
            np.where(sums.most[f"has padding {name}"], sums.added[f"padding {name}"], np.nan)
            for name in Padding._fields
        )
    )


def _pair(
    measured: NDArray[np.float64], needed: NDArray[np.float64], alone: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    is_known = alone & ~np.isnan(measured) & (needed > 0)
    return np.where(is_known, measured, np.nan), np.where(is_known, needed, np.nan)
