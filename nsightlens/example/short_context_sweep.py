"""The second bundled report, whose answer is the opposite: short context, grouped-query attention.

One layer of Llama 3 8B in decode, batch 1 to 1024, on the same modelled H100 SXM as the first. With
96 tokens of context and four query heads on each head of keys and values, attention moves few
bytes, and at large batch the GEMMs are compute-bound. It was never measured, and says so wherever a
report can.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from nsightlens.example.gated_layer import LLAMA_3_8B, gated_decode_layer
from nsightlens.example.model import H100_SXM
from nsightlens.example.report import Step, report_of
from nsightlens.ncurep.write import encode_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.ncurep.spec import ReportSpec

__all__ = [
    "BATCH_SIZES",
    "CONTEXT",
    "FILE_NAME",
    "encode_short_context_sweep",
    "short_context_sweep",
]

FILE_NAME = "short_context_sweep_synthetic.ncu-rep.gz"
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
CONTEXT = 96
"""Tokens in the cache of every sequence. From about 415 on, attention would take longer to read its
keys and values than the GEMMs take to compute, however large the batch."""

_COMMENTS = (
    "Synthetic report of the nsightlens package. Every number comes from an analytic model of one"
    " Llama 3 8B layer (decode, fp16, context 96) on an H100 SXM; nothing was measured."
)


def encode_short_context_sweep() -> bytes:
    """Return the bundled report as bytes, compressed; decompressed they are the same everywhere."""
    return gzip.compress(encode_ncu_rep(short_context_sweep()), mtime=0)


def short_context_sweep(
    batch_sizes: Sequence[int] = BATCH_SIZES, context: int = CONTEXT
) -> ReportSpec:
    """Return the sweep as a report to be written: the layer's launches, batch after batch.

    Parameters
    ----------
    batch_sizes
        Sequences of each step.
    context
        Tokens in the KV cache of each sequence.

    Examples
    --------
    >>> len(short_context_sweep(batch_sizes=[8]).launches)
    10
    """
    steps = [
        Step(batch_size, context, gated_decode_layer(batch_size, context, LLAMA_3_8B, H100_SXM))
        for batch_size in batch_sizes
    ]
    return report_of(steps, what="short-context sweep", module=__name__, comments=_COMMENTS)
