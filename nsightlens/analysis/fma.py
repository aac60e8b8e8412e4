"""The fma pipe, which several kinds of work share, and what kept it busy.

FP32, integer multiply-adds and, on chips without a pipe for it, FP16 run on it. From 8.6 on it has
a heavy and a light half: FP32 uses both, integers only the heavy one. `nsightlens.analysis.pipes`
asks here which resource its activity belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.analysis.thresholds import EXPLAINED_ACTIVITY, HEAVY_ONLY, TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["FmaPipe", "fma_pipe"]

_WITH_FP16_PIPE = ("7.0", "7.2", "7.5", "8.0")
# Chips without one that do twice as many FLOP in FP16 as in FP32. The others do as many, which is
# half as many instructions: one half of the pipe does them.
_FP16_IN_BOTH_HALVES = ("8.7", "9.0")


class FmaPipe(NamedTuple):
    """Activity of the pipe, one value per launch.

    Parameters
    ----------
    whole, heavy
        [1] Activity of the pipe and of its heavy half; NaN where unknown. Shape (n,).
    has_fp16, has_fp16_in_one_half
        FP16 runs on it; only in one half of it. Shape (n,).
    """

    whole: NDArray[np.float64]
    heavy: NDArray[np.float64]
    has_fp16: NDArray[np.bool_]
    has_fp16_in_one_half: NDArray[np.bool_]

    @property
    def most_fp16(self) -> NDArray[np.float64]:
        """Activity [1] that contains all FP16 work, where it runs on this pipe. Shape (n,)."""
        busier = np.where(np.isnan(self.heavy), 2.0 * self.whole, np.fmax(self.whole, self.heavy))
        return np.where(self.has_fp16_in_one_half, busier, self.whole)

    def attribute(
        self, fp32: NDArray[np.float64], fp16: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Say what kept the pipe busy, where counted FLOP or its halves tell.

        FP32 or FP16 did, where at least half of the activity is theirs (all of it additions).
        Integer multiply-adds did, where both were counted and do not explain it. A heavy half that
        is busier than the light one does something else than FP32, and the activity of the light
        one, ``2 whole - heavy``, is FP32's.

        Parameters
        ----------
        fp32, fp16
            [1] Counted work over what the peak would do in the duration; NaN where it was not
            counted. Shape (n,).

        Returns
        -------
        dict
            Activity [1] by resource, NaN where none of it belongs there: ``fp32``, ``fp16``,
            ``integer``, and ``fma`` where nothing tells. Each of shape (n,).
        """
        fp16 = np.where(self.has_fp16, fp16, 0.0)
        is_heavy_only = self.whole < HEAVY_ONLY * self.heavy
        busier = np.fmax(self.whole, self.heavy)
        candidate = np.where(is_heavy_only, 0.0, np.nan_to_num(fp32))
        explained = (candidate + np.nan_to_num(fp16)) * (1.0 + TIE) >= EXPLAINED_ACTIVITY * busier
        is_fp16 = explained & (np.nan_to_num(fp16) > candidate)
        is_fp32 = explained & ~is_fp16 & ~np.isnan(fp32) & ~is_heavy_only
        # In both halves at once, FP16 leaves none of them idle, counted or not.
        has_fp16_counts = ~np.isnan(fp16) | (is_heavy_only & ~self.has_fp16_in_one_half)
        has_fp32_counts = ~np.isnan(fp32) | is_heavy_only
        is_integer = ~explained & has_fp16_counts & has_fp32_counts
        is_open = ~(is_fp16 | is_fp32 | is_integer)
        light = np.where(is_heavy_only, np.maximum(2.0 * self.whole - self.heavy, 0.0), np.nan)
        return {
            "fp32": np.where(is_fp32, busier, light),
            "fp16": np.where(is_fp16, busier, np.nan),
            "integer": np.where(is_integer, busier, np.nan),
            "fma": np.where(is_open, busier, np.nan),
        }


def fma_pipe(
    whole: NDArray[np.float64],
    heavy: NDArray[np.float64],
    capability: NDArray[np.intp],
    capabilities: Sequence[str | None],
) -> FmaPipe:
    """Return the pipe of each launch on its architecture.

    Parameters
    ----------
    whole, heavy
        [1] As in `FmaPipe`. Shape (n,).
    capability
        For each launch an index into ``capabilities``. Shape (n,).
    capabilities
        Compute capabilities such as ``"9.0"``; ``None`` where unknown.
    """
    own = np.array([one in _WITH_FP16_PIPE for one in capabilities])[capability]
    both = np.array([one in _FP16_IN_BOTH_HALVES for one in capabilities])[capability]
    return FmaPipe(whole, heavy, ~own, ~own & ~both)
