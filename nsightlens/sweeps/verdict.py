"""What limits decode at small and at large batch sizes, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.sweeps.model import Verdict

__all__ = ["verdict_of"]


def verdict_of(rows: pa.Table, trends: pa.Table, steps: pa.Table) -> Verdict:
    """Say what limits decode, and what explains it.

    Parameters
    ----------
    rows, trends, steps
        With the schemas of `nsightlens.tables.SWEEP`, ``SWEEP_TRENDS`` and ``SWEEP_STEPS``.
    """
    raise NotImplementedError
