"""Labels that people write by hand around the steps of their own scripts.

A number is taken only where its word says what it counts: ``prefill 3`` may be an index and
``prefill 2048`` a length. ``step_12`` alone is a training step in most programs.
"""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import Form, Grammar
from nsightlens.steps.model import SCRIPT

__all__ = ["GRAMMAR"]

_S = "[_/ -]"
_AFTER = rf"(?:{_S}|: ?|=| ?#)?"

GRAMMAR = Grammar(
    SCRIPT,
    (
        # One step of decoding each.
        Form(rf"[Dd]ecode{_S}?(?:[Ss]tep|[Tt]oken){_AFTER}(?P<i>{N})", "decode", step="i"),
        Form(rf"[Dd]ecode{_S}[Ss]tep", "decode"),
        Form(rf"token_(?P<i>{N})_generation", "decode", step="i"),
        Form(rf"[Dd]ecode_bs?(?P<bs>{N})(?:_input_length{N})?", "decode", "bs"),
        Form(rf"[Dd]ecode_N{N}_B(?P<bs>{N})", "decode", "bs"),
        # One prefill each; lengths are per request.
        Form(rf"[Pp]refill(?:{_S}[Ss]tep|{_S}?[Ss]tep{_AFTER}{N})", "prefill"),
        Form(rf"[Pp]refill_(?P<tokens>{N})_tokens", "prefill", query="tokens"),
        Form(rf"[Pp]refill_bs?(?P<bs>{N})", "prefill", "bs"),
        Form(
            rf"[Pp]refill_bs(?P<bs>{N})_input_length(?P<length>{N})", "prefill", "bs", "bs*length"
        ),
        Form(rf"[Pp]refill_N(?P<length>{N})_B(?P<bs>{N})", "prefill", "bs", "bs*length"),
        # Ranges of many steps, or of nobody knows how many.
        *(
            Form(pattern, phase, is_step=False)
            for phase, word in (("prefill", "prefill|PREFILL"), ("decode", "decode|DECODE"))
            for pattern in (
                rf"(?:{word})(?: {N})?",
                rf"(?:{word})[_ ](?:phase|stage|loop)",
                rf"(?:LLM@)?(?:{word})_all",
                rf"(?:[A-Za-z0-9]+_)+(?:{word})_context_{N}",
            )
        ),
    ),
    frozenset({"", "LLM"}),
)
