"""The bundled report: one layer of OPT-1.3B in decode, batch 1 to 512, on a modelled H100 SXM.

Written by `nsightlens.ncurep.write` from `nsightlens.example.layer` and
`nsightlens.example.counters`. It was never measured, and says so wherever a report can, also in the
name of its file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.example.layer import OPT_1_3B, decode_layer
from nsightlens.example.model import H100_SXM
from nsightlens.example.report import Step, report_of
from nsightlens.ncurep.write import encode_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.ncurep.spec import ReportSpec

__all__ = ["BATCH_SIZES", "CONTEXT", "FILE_NAME", "decode_sweep", "encode_decode_sweep"]

FILE_NAME = "decode_sweep_synthetic.ncu-rep"
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTEXT = 500
"""Tokens in the cache of every sequence: the paper's prompt of 161 and its 338 output tokens."""

_COMMENTS = (
    "Synthetic report of the nsightlens package. Every number comes from an analytic model of one"
    " OPT-1.3B layer (decode, fp16, context 500) on an H100 SXM; nothing was measured."
)


def encode_decode_sweep() -> bytes:
    """Return the bundled report as bytes, the same ones on every machine."""
    return encode_ncu_rep(decode_sweep())


def decode_sweep(batch_sizes: Sequence[int] = BATCH_SIZES, context: int = CONTEXT) -> ReportSpec:
    """Return the sweep as a report to be written: the layer's launches, batch after batch.

    Parameters
    ----------
    batch_sizes
        Sequences of each step.
    context
        Tokens in the KV cache of each sequence.

    Examples
    --------
    >>> len(decode_sweep(batch_sizes=[8]).launches)
    11
    """
    steps = [
        Step(batch_size, context, decode_layer(batch_size, context, OPT_1_3B, H100_SXM))
        for batch_size in batch_sizes
    ]
    return report_of(steps, what="decode sweep", module=__name__, comments=_COMMENTS)
