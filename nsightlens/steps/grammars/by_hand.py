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
_NEXT = "(?:, ?|[_/ -])"
_AFTER = rf"(?:{_S}|: ?|=| ?#)?"
_DECODE = r"(?:[Dd]ecode|\[[Dd]ecode\]):?"
_PREFILL = r"(?:[Pp]refill|\[[Pp]refill\]):?"
# A number after "batch" alone may be which batch it is.
_BATCH = rf"(?:bs?|batch_size)[_=]?(?P<bs>{N})"
_LEN = "(?:input_|prompt_|seq_?)?len(?:gth)?"
_LENGTH = rf"{_LEN}[_=]?(?P<length>{N})"
_ANY_LENGTH = rf"{_LEN}[_=]?{N}"
# What a prefill, and a range of decoding, may be as long as.
_LONG = {"prefill": rf"(?:context|ctx|tokens|{_LEN})", "decode": "(?:context|ctx)"}

GRAMMAR = Grammar(
    SCRIPT,
    (
        # One step of decoding each.
        Form(
            rf"{_DECODE}{_S}?(?:[Ss]tep|[Tt]oken){_AFTER}(?P<i>{N})(?:{_NEXT}{_BATCH})?",
            "decode",
            "bs",
            step="i",
        ),
        Form(rf"[Dd]ecode{_S}[Ss]tep", "decode"),
        Form(rf"token_(?P<i>{N})_generation", "decode", step="i"),
        # A step behind another word than that of decoding may be any.
        Form(
            rf"{_DECODE}{_S}{_BATCH}(?:{_NEXT}{_ANY_LENGTH})?(?:{_NEXT}[Ss]tep{_AFTER}{N})?",
            "decode",
            "bs",
        ),
        Form(rf"[Dd]ecode_N{N}_B(?P<bs>{N})", "decode", "bs"),
        # One prefill each; lengths are per request.
        Form(
            rf"(?:{_PREFILL}{_S}[Ss]tep|{_PREFILL}{_S}?[Ss]tep{_AFTER}{N}(?:{_NEXT}{_BATCH})?)",
            "prefill",
            "bs",
        ),
        Form(rf"{_PREFILL}{_S}(?P<tokens>{N}){_S}tokens", "prefill", query="tokens"),
        Form(rf"{_PREFILL}{_S}{_BATCH}(?:{_NEXT}{_LENGTH})?", "prefill", "bs", "bs*length"),
        Form(rf"{_PREFILL}{_S}{_LENGTH}{_NEXT}{_BATCH}", "prefill", "bs", "bs*length"),
        Form(rf"[Pp]refill_N(?P<length>{N})_B(?P<bs>{N})", "prefill", "bs", "bs*length"),
        # Ranges of many steps, or of nobody knows how many.
        *(
            Form(pattern, phase, is_step=False)
            for phase in ("prefill", "decode")
            for word in [f"(?:{phase}|{phase.capitalize()}|{phase.upper()})"]
            for pattern in (
                rf"(?:LLM@)?{word}(?:(?:[_ -]| ?#){N}|_all|[_ -](?:[Pp]hase|[Ss]tage|[Ll]oop))?",
                rf"(?:[A-Za-z0-9]+_)*{word}_{_LONG[phase]}[_=]?{N}",
            )
        ),
    ),
    frozenset({"", "LLM"}),
)
