"""Step labels of MLC-LLM: one range per call of a model, the draft model's included.

The length of a prefill is that which runs through the model, rounded up to a factor of padding.
"""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import Form, Grammar

__all__ = ["GRAMMAR"]

GRAMMAR = Grammar(
    "MLC-LLM",
    (
        Form(rf"BatchDecode num_seqs=(?P<n>{N})", "decode", "n"),
        Form(rf"BatchTreeDecode num_seqs=(?P<n>{N})", "decode", "n"),
        Form(
            rf"BatchPrefill num_seq=(?P<n>{N}) total_len=(?P<length>{N})", "prefill", "n", "length"
        ),
        Form(rf"BatchVerify num_tokens=(?P<tokens>{N})", "decode", query="tokens"),
        # Passes of EAGLE and Medusa for the hidden states.
        Form(
            rf"Batch[A-Za-z]+ToLastHidden(?: num_(?:seqs?|tokens)={N})?(?: total_len={N})?", "draft"
        ),
    ),
)
