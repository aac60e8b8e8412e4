"""Step labels of ATOM, the ROCm engine: ``KIND[bs=R/P tok=T ...]``.

R is the real batch and P the padded one of the graph. A decode label with prefill requests beside
(``p`` above 0) is a mixed step. Dummy passes keep ranks in step and serve no request.
"""

from __future__ import annotations

import re

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import ByCounts, Form, Grammar

__all__ = ["GRAMMAR"]

_SIZE = rf"\[bs=(?P<bs>{N})(?:/{N})?(?: tok=(?P<tok>{N}))?"
_SUMS = rf"(?: sqsq=(?P<sqsq>{N}))?(?: sqsk=(?P<sqsk>{N}))?(?: sk=(?P<sk>{N}))?(?: tbo=1)?\]"
_SPEC = rf"(?: spec={N})?"
_GRAPH = rf"(?: p=(?P<p>{N}))?(?: d={N})?{_SPEC}"
# Up to five contexts are all of them; of more, three are shown and the number of the rest.
_ALL = rf"(?P<ctx>{N}|\[{N}(?:, {N})*\])"
_SOME = rf"\[{N}(?:, {N})*\]\.\.\.\+{N}"
_EAGER = rf"(?: ctx=(?:{_ALL}|{_SOME}))?{_SPEC}"

# Of a dummy pass only the batch is read, which is one of the engine's own.
_DUMMY = re.sub(r"\?P<\w+>", "?:", rf"(?:{_GRAPH}|{_EAGER}){_SUMS}")


def _served(kind: str, rest: str, phase: str) -> Form:
    return Form(kind + _SIZE + rest + _SUMS, phase, "bs", "tok", "sk|ctx", lists=(("ctx", "bs"),))


GRAMMAR = Grammar(
    "ATOM",
    (
        _served("decode", _GRAPH.replace(rf"(?P<p>{N})", "0+"), "decode"),
        _served("decode", _GRAPH, "mixed"),
        _served("eager_decode", _EAGER, "decode"),
        _served("prefill", _EAGER, "prefill"),
        Form(rf"dummy_(?:eager_)?(?:decode|prefill){_SIZE}{_DUMMY}", "dummy", "bs"),
        Form(rf"capture_graph_bs_(?P<bs>{N})", "capture", "bs"),
        # Passes of the draft model.
        Form(rf"draft\[{N}/{N}(?: [a-zA-Z_]+={N}(?:/{N})?)*\]", "draft"),
        Form(rf"dspark[a-z_]*\[[a-zA-Z_]+={N}(?:/{N})?(?: [a-zA-Z_]+={N}(?:/{N})?)*\]", "draft"),
        # Plug-in for vLLM and SGLang: a letter for the kind of step, then decoding, prefilling and
        # extending requests, each with their tokens.
        Form(
            rf"[a-z]\[req(?P<req>{N}), tok(?P<tok>{N}), dec(?P<dec>{N}), tok(?P<dec_tok>{N}), "
            rf"pre(?P<pre>{N}), tok(?P<pre_tok>{N}), ext(?P<ext>{N}), tok(?P<ext_tok>{N})\]",
            ByCounts("pre+ext", "dec"),
            "req",
            "tok",
            holds=("req=dec+pre+ext", "tok=dec_tok+pre_tok+ext_tok"),
        ),
    ),
)
