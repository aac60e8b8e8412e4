"""An identifier as the words a person would read in it.

``BatchPrefillWithPagedKVCacheKernel`` is *batch prefill with paged kv cache kernel*. Rules match
these words and never a part of one, so ``gemma`` is not ``gemm`` and ``renorm`` is not ``norm``.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["words_of"]

_WORD = re.compile(r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)\d*|\d+")

# Pairs that authors write in one word or in two; the one-word form is what rules use.
_JOINED = {
    pair: pair.replace(" ", "")
    for pair in (
        "all gather", "all reduce", "all to", "batch norm", "conv1 d", "conv2 d", "conv3 d",
        "cum sum", "gate up", "group norm", "kv cache", "layer norm", "mat mul", "mat vec",
        "mem cpy", "mem set", "qk norm", "reduce scatter", "rms norm", "send recv", "soft max",
        "split kv", "split k", "top k", "top p", "min p", "mul mat", "all2 all", "fft2 d", "im2 col", "a2 a",
        "one shot", "two shot", "stream k", "arg max", "arg min", "multi head", "l2 norm", "soft plus",
    )
}  # fmt: skip

# Runs of capitals or letters that hide a boundary.
_SPLIT = {
    "qkrms": ("qk", "rms"),
    "mlak": ("mla", "k"),
    "mlarope": ("mla", "rope"),
    "splitkreduce": ("splitk", "reduce"),
    "kvcache": ("kvcache",),
    "dcpy": ("d", "cpy"),
    "reducescatter": ("reducescatter",),
}


@lru_cache(maxsize=65536)
def words_of(identifier: str) -> tuple[str, ...]:
    """Split an identifier into lower-case words.

    Joins of two words follow the two, and a word with a trailing number is followed by the word
    without it, so the tuple can hold one thing in several spellings.

    Examples
    --------
    >>> words_of("RMSNormKernel2")
    ('rms', 'norm', 'kernel2', 'rmsnorm', 'kernel')
    """
    plain: list[str] = []
    for found in _WORD.findall(identifier):
        word = found.lower()
        split = _SPLIT.get(word)
        if split is None:
            plain.append(word)
        else:
            plain.extend(split)
    extra = []
    previous = ""
    for word in plain:
        joined = _JOINED.get(f"{previous} {word}")
        if joined is not None:
            extra.append(joined)
        stem = word.rstrip("0123456789")
        if len(stem) > 2 and stem is not word and stem != word:
            extra.append(stem)
            joined = _JOINED.get(f"{previous} {stem}")
            if joined is not None:
                extra.append(joined)
        previous = word
    return (*plain, *extra)
