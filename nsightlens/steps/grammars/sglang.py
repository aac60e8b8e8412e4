"""Step labels of SGLang: ``step[MODE bs=N ...]`` with further ``key=value`` words in any order.

``bs`` is the number of real requests of one data-parallel rank, before padding.
"""

from __future__ import annotations

from nsightlens.steps.form import KEYS, Form, Grammar
from nsightlens.steps.form import NUMBER as N

__all__ = ["GRAMMAR"]

_B = r"[ \t]*"


def _step(mode: str, count: str = "bs", *, is_optional: bool = False) -> str:
    size = rf"[ \t]+{count}{_B}={_B}(?P<{count}>{N})"
    size = rf"(?:{size})?" if is_optional else size
    return rf"step\[{_B}(?:{mode}){size}{KEYS}{_B}\]"


GRAMMAR = Grammar(
    "SGLang",
    (
        # A step of decoding runs one token per request; with speculation its name is VERIFY.
        Form(_step("DECODE"), "decode", "bs", "g_sq|bs", "g_sk"),
        Form(_step("TARGET_VERIFY|VERIFY"), "decode", "bs", "g_sq", "g_sk"),
        Form(
            _step("EXTEND|SPLIT_PREFILL|DLLM_EXTEND|prefill"), "prefill", "bs", "c_sq|toks", "c_sk"
        ),
        # Lower case: the text of pull request 23419, which forks may carry.
        Form(_step("decode"), "decode", "bs"),
        # The word of the mode counts, also where one of the two kinds has no request.
        Form(_step("MIXED|mixed"), "mixed", "bs", "c_sq+g_sq", "c_sk+g_sk"),
        Form(_step("IDLE|PREBUILT|idle", is_optional=True), "idle", "bs"),
        # Here bs is the padded batch of the graph.
        Form(_step("DRAFT_LOOP", "raw_bs"), "draft", "raw_bs"),
        Form(_step("DRAFT|DRAFT_EXTEND|DRAFT_EXTEND_V2"), "draft", "bs"),
        # Stages of speculative decoding.
        Form("draft(?:_extend)?", "draft"),
    ),
)
