"""An identifier as the words a person would read in it.

``BatchPrefillWithPagedKVCacheKernel`` is *batch prefill with paged kv cache kernel*. Rules match
these words and never a part of one, so ``gemma`` is not ``gemm`` and ``renorm`` is not ``norm``.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["KNOWN_WORDS", "words_of"]

_WORD = re.compile(r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)\d*|\d+")
_DIGITS = "0123456789"

# Pairs that authors write in one word or in two; the one-word form is what rules use.
_JOINED = {
    pair: pair.replace(" ", "")
    for pair in (
        "a2 a", "all gather", "all reduce", "all to", "all2 all", "allto all", "arg max", "arg min",
        "batch norm", "conv1 d", "conv2 d", "conv3 d", "cum sum", "e2 m1", "e4 m3", "e5 m2",
        "element wise", "fft2 d", "gate up", "group norm", "im2 col", "kv cache", "l2 norm",
        "layer norm", "log prob", "log probs", "mat mul", "mat vec", "mem cpy", "mem set",
        "min p", "mul mat", "multi head", "one shot", "qk norm", "re lu", "reduce scatter",
        "rms norm", "send recv", "soft max", "soft plus", "sp mm", "split k", "split kv",
        "stream k", "top k", "top p", "two shot",
    )
} | {
    "mat mult": "matmul", "matrix mul": "matmul", "matrix multiplication": "matmul",
    "matrix multiply": "matmul",
}  # fmt: skip
_RIGHT_HALVES = frozenset(pair.partition(" ")[2] for pair in _JOINED)

# Runs of letters that hide a boundary.
_SPLIT = {
    "qkrms": ("qk", "rms"),
    "mlak": ("mla", "k"),
    "mlarope": ("mla", "rope"),
    "splitkreduce": ("splitk", "reduce"),
    "kreduce": ("k", "reduce"),
    "dcpy": ("d", "cpy"),
}

KNOWN_WORDS: frozenset[str] = frozenset({*_JOINED, *_SPLIT})
"""What is split and joined here, whatever the rules say."""

# A word ending in one of these carries it: ``tinygemm`` is a gemm, ``gemma`` is not.
_HEADS = (
    "gemm", "gemv", "matmul", "allreduce", "allgather", "reducescatter", "softmax", "attention",
    "attn", "rmsnorm", "layernorm", "conv1d", "conv2d", "gelu", "relu", "silu", "glu",
)  # fmt: skip
_NO_COMPOUNDS = frozenset({*_HEADS, "fbgemm"})


# [character] Longer identifiers are rare, and 65536 of them would take gigabytes.
_MEMORABLE = 300


def _new_forms(word: str) -> tuple[str, ...]:
    """Return a word, the word without its number, and the known word that it ends in."""
    forms = [word]
    stem = word.rstrip(_DIGITS)
    if len(stem) > 2 and stem != word:
        forms.append(stem)
    compounds = [form for form in forms if form not in _NO_COMPOUNDS and form.endswith(_HEADS)]
    heads = (next(head for head in _HEADS if form.endswith(head)) for form in compounds)
    return (*forms, *heads)


_known_forms = lru_cache(maxsize=65536)(_new_forms)


def _forms(word: str) -> tuple[str, ...]:
    return (_known_forms if len(word) <= _MEMORABLE else _new_forms)(word)


def words_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into lower-case words.

    Words that authors also write joined follow in the joined form, a word with a trailing number
    without it, and a compound that ends in a known word as that word; so the tuple can hold one
    thing in several spellings.

    Examples
    --------
    >>> words_of("RMSNormKernel2")
    ('rms', 'norm', 'kernel2', 'rmsnorm', 'kernel')
    """
    return (_remembered if len(identifier) <= _MEMORABLE else _split)(identifier)


def _split(identifier: str) -> tuple[str, ...]:
    plain: list[str] = []
    for found in _WORD.findall(identifier):
        word = found.lower()
        if word in _SPLIT:
            plain.extend(_SPLIT[word])
        else:
            plain.append(word)
    extra: list[str] = []
    previous: tuple[str, ...] = ()
    for word in plain:
        # A number is remembered nowhere: there are too many of them.
        forms = (word,) if word[0] in _DIGITS else _forms(word)
        if len(forms) > 1:
            extra.extend(forms[1:])
        if not _RIGHT_HALVES.isdisjoint(forms):
            joined = [
                _JOINED[pair]
                for left in previous
                for right in forms
                if (pair := f"{left} {right}") in _JOINED
            ]
            extra.extend(joined)
            forms = (*forms, *joined)
        previous = forms
    return (*plain, *extra)


_remembered = lru_cache(maxsize=65536)(_split)
