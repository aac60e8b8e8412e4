"""Step labels of TensorRT-LLM's PyTorch backend, in three ages.

Requests that pad a CUDA graph are not in the counts; dummy requests of attention data parallelism
are. How many tokens a generation request runs depends on its drafts, which the label does not say.
"""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import ByCounts, Form, Grammar

__all__ = ["GRAMMAR"]

_HEAD = rf"\[Executor\] _forward_step(?: (?P<I>{N}))?: (?P<C>{N}) ctx reqs, "
_TOKENS = rf"(?P<CT>{N}) ctx tokens, "

GRAMMAR = Grammar(
    "TensorRT-LLM",
    (
        # Without generation requests, the tokens are those of the context requests.
        Form(
            rf"{_HEAD}{_TOKENS}(?P<G>0+) gen reqs".replace(f"(?P<C>{N})", f"(?P<C>(?!0+ ){N})"),
            "prefill",
            "C",
            "CT",
            step="I",
        ),
        Form(
            rf"{_HEAD}(?:{_TOKENS})?(?P<G>{N}) gen reqs",
            ByCounts("C", "G"),
            "C+G",
            step="I",
        ),
    ),
    frozenset({"", "TensorRT-LLM", "LLM"}),
)
