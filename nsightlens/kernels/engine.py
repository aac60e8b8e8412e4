"""From a name to what it is: bring it to its parts, then let the first rule that fits decide.

The kernel's own identifier is asked first, then its namespaces, then its template arguments in the
order in which they stand; rules of ordinary words (``weak``) come last. Where the identifier is a
vehicle (``device_kernel``, ``elementwise_kernel``), what it carries is asked before its namespaces.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.kernels.fields import Fields, built_for, fields_of, unnamed_types
from nsightlens.kernels.model import USER_RULE, KernelName
from nsightlens.kernels.rule import Rule, pattern_of
from nsightlens.kernels.rulebook import Candidate, named_groups, regex
from nsightlens.kernels.shorten import LONGEST, short_name
from nsightlens.kernels.spelling import plain_numbers
from nsightlens.kernels.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.kernels.rulebook import Rulebook
    from nsightlens.kernels.spelling import Spelling

__all__ = [
    "FAMILY_TEXT",
    "NO_RULE",
    "Asker",
    "Decision",
    "decide",
    "described",
    "identifiers_in",
    "kernel_of",
    "unnamed_fields",
]

FAMILY_TEXT = 1500
"""[character] What a kernel carries stands that early among its template arguments."""

# Words of C++ itself, not worth a look-up.
_SAY_NOTHING = frozenset({
    "int", "bool", "float", "double", "char", "const", "unsigned", "signed", "long", "short",
    "void", "false", "true", "lambda", "operator", "instance", "std", "array", "std::array",
    "at::TensorIteratorBase", "at", "native",
})  # fmt: skip

_DECODE_WORDS = frozenset({"decode", "decoding", "generation"})
_PREFILL_WORDS = frozenset({"prefill", "context", "extend"})
_BACKWARD_WORDS = frozenset({"bwd", "backward", "bprop"})

_LIBRARIES = {
    "at": "aten", "at_cuda_detail": "aten", "c10": "aten", "flashinfer": "flashinfer",
    "vllm": "vllm", "sglang": "sglang", "cub": "cub", "thrust": "cub", "cudnn": "cudnn",
    "cask_cudnn": "cudnn", "cask_cudnn_train": "cudnn", "tensorrt_llm": "trtllm",
    "pytorch_flash": "pytorch_flash", "deep_ep": "deepep", "cublasLt": "cublaslt",
    "marlin": "marlin", "fbgemm_gpu": "fbgemm", "transformer_engine": "transformer_engine",
    "cuda": "cuda", "genericReformat": "tensorrt", "trt_edgellm": "trtllm",
    "onnxruntime": "onnxruntime", "deep_gemm": "deepgemm",
}  # fmt: skip

NO_RULE = Rule("", "", "other", "unknown", note="no word of the name says what the kernel computes")
"""What stands for a rule where none fits."""
_NO_FAMILY = "what the name says belongs to none of the families"


class Asker:
    """What the way to a decision asks of the text of a name.

    Everything that depends on the text beyond its words is asked here, so that `learned` can note
    the questions and put the same ones to the next name.

    Parameters
    ----------
    name
        The name, as it was given.
    spelling
        Its parts.
    book
        The rules.
    """

    __slots__ = ("_plain", "book", "name", "spelling")

    def __init__(self, name: str, spelling: Spelling, book: Rulebook) -> None:
        self.name = name
        self.spelling = spelling
        self.book = book
        self._plain: str | None = None

    @property
    def plain_arguments(self) -> str:
        """The template arguments with plain numbers."""
        if self._plain is None:
            self._plain = plain_numbers(self.spelling.arguments)
        return self._plain

    def own_candidates(self) -> tuple[Candidate, ...]:
        """Return the rules that fit the kernel's own identifier."""
        return self.book.candidates(self.spelling.identifier)

    def carried_candidates(self, place: int, identifier: str) -> tuple[Candidate, ...]:
        """Return the rules that fit the identifier at a place of `identifiers_in`."""
        del place
        return self.book.candidates(identifier)

    def own_shape(self, shape: str) -> re.Match[str] | None:
        """Match a shape with the kernel's own identifier."""
        return regex(shape).match(self.spelling.identifier)

    def search_arguments(self, pattern: str) -> re.Match[str] | None:
        """Search the template arguments, in which numbers are plain."""
        return regex(pattern).search(self.plain_arguments)

    def match_name(self, pattern: str) -> re.Match[str] | None:
        """Match the whole name, or else the kernel's own with its namespaces, or without."""
        test = regex(pattern).fullmatch
        found = test(self.name.strip()) or test(self.qualified)
        return found or test(self.spelling.identifier)

    @property
    def qualified(self) -> str:
        """The kernel's own identifier in its namespaces."""
        return "::".join((*self.spelling.namespaces, self.spelling.identifier))


class Decision(NamedTuple):
    """The rule that decided, and all that it read."""

    candidate: Candidate
    groups: dict[str, str]
    is_first: bool = False
    """Whether the rule is one of those that come before all grammars."""


def decide(asker: Asker) -> Decision:
    """Let the first rule that fits decide."""
    first = _first(asker)
    candidate = first or _decide(asker) or Candidate(NO_RULE, {}, asker.spelling.identifier)
    return Decision(candidate, _all_groups(candidate, asker), first is not None)


def kernel_of(name: str, spelling: Spelling, book: Rulebook) -> KernelName:
    """Say what a kernel is, by the way that needs no memory: the reference for all short cuts.

    Parameters
    ----------
    name
        The name, as it was given.
    spelling
        Its parts.
    book
        The rules.
    """
    decided = decide(Asker(name, spelling, book))
    fields = fields_of(decided.candidate.rule, decided.groups, unnamed_fields(decided, spelling))
    short = short_name(spelling, decided.candidate, decided.groups, fields)
    return described(name, short, decided.candidate.rule, fields)


def unnamed_fields(decided: Decision, spelling: Spelling) -> Fields:
    """Return what the name says beside the named groups of the rule."""
    candidate = decided.candidate
    return Fields(
        unnamed_types(candidate.rule, spelling, candidate.identifier),
        _phase(candidate, spelling),
        _library(spelling, candidate.rule),
        built_for(candidate.rule, spelling),
    )


def described(name: str, short: str, rule: Rule, fields: Fields) -> KernelName:
    """Put together all that is known."""
    dtypes, phase, library, arch, tile, head_dim = fields
    return KernelName(
        name,
        # A name such as "_Z" leaves nothing: it is shown as it is.
        short or " ".join(name.split())[:LONGEST],
        rule.family,
        rule.subtype,
        phase,
        dtypes,
        library,
        arch,
        tile,
        head_dim,
        rule.also,
        rule.id,
        rule.note or _missing(rule),
    )


def _missing(rule: Rule) -> str:
    # What a user calls other is settled: no word is missing.
    if rule.family != "other" or rule.id.startswith(USER_RULE):
        return ""
    return NO_RULE.note if rule.subtype in {"", "unknown"} else _NO_FAMILY


def _all_groups(decided: Candidate, asker: Asker) -> dict[str, str]:
    if not decided.rule.reads or not asker.spelling.arguments:
        return decided.groups
    for read in decided.rule.reads:
        found = asker.search_arguments(read)
        if found is not None:
            return {**decided.groups, **named_groups(found)}
    return decided.groups


def _first(asker: Asker) -> Candidate | None:
    """Return the first of the rules that come before all grammars."""
    identifier = asker.spelling.identifier
    for (rule, name), pattern in asker.book.first:
        if name:
            found = asker.match_name(name)
            if found is not None:
                return Candidate(rule, named_groups(found), identifier)
            continue
        if rule.weak or rule.unwraps or not pattern.matches(frozenset(words_of(identifier))):
            continue
        if not _fits_context(rule, asker):
            continue
        found = asker.own_shape(rule.shape)
        if found is not None:
            return Candidate(rule, named_groups(found), identifier)
    return None


def _decide(asker: Asker) -> Candidate | None:
    weak = vehicle = None
    for candidate in asker.own_candidates():
        rule = candidate.rule
        if not _fits_context(rule, asker):
            continue
        if rule.unwraps:
            vehicle = candidate
            break
        if not rule.weak:
            return candidate
        weak = weak or candidate
    if vehicle is not None:
        return _carried(asker, vehicle) or vehicle
    return _from_namespaces(asker) or weak or _from_arguments(asker, weak_too=True)


def _carried(asker: Asker, vehicle: Candidate) -> Candidate | None:
    """Return what a vehicle carries; for one that says nothing at all, namespaces may tell."""
    says_nothing = vehicle.rule.family == "other"
    named = _from_namespaces(asker) if says_nothing else None
    return named or _from_arguments(asker, weak_too=says_nothing)


def _fits_context(rule: Rule, asker: Asker) -> bool:
    if rule.carries and not asker.search_arguments(rule.carries):
        return False
    return not rule.within or _is_within(rule.within, asker.spelling.namespaces)


@lru_cache(maxsize=4096)
def _is_within(pattern: str, namespaces: tuple[str, ...]) -> bool:
    words = frozenset(word for namespace in namespaces for word in words_of(namespace))
    return pattern_of(pattern).matches(words)


def _from_namespaces(asker: Asker) -> Candidate | None:
    for namespace in reversed(asker.spelling.namespaces):
        for candidate in asker.book.candidates(namespace):
            rule = candidate.rule
            if not rule.weak and not rule.unwraps and _fits_context(rule, asker):
                return candidate._replace(identifier=asker.spelling.identifier)
    return None


def _from_arguments(asker: Asker, *, weak_too: bool) -> Candidate | None:
    """Return the first telling identifier among the template arguments."""
    weak = None
    for place, identifier in enumerate(identifiers_in(asker.spelling.arguments, FAMILY_TEXT)):
        for candidate in asker.carried_candidates(place, identifier):
            rule = candidate.rule
            if rule.unwraps or not _fits_context(rule, asker):
                continue
            if not rule.weak:
                return candidate
            weak = weak or candidate
    return weak if weak_too else None


@cache
def _path() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_~]\w*)*")


def identifiers_in(arguments: str, end: int) -> Iterator[str]:
    """Yield the identifiers before ``end`` in order, of a qualified one the innermost first."""
    for path in _path().findall(arguments, 0, end):
        if path in _SAY_NOTHING:
            continue
        if "::" in path:
            yield from reversed(path.split("::"))
        else:
            yield path


def _phase(decided: Candidate, spelling: Spelling) -> str:
    if decided.rule.family != "attention":
        return "n/a"
    if decided.rule.phase:
        return decided.rule.phase
    words = {*words_of(decided.identifier), *words_of(spelling.identifier)}
    if not words.isdisjoint(_BACKWARD_WORDS):
        return "train_bwd"
    decode = not words.isdisjoint(_DECODE_WORDS)
    prefill = not words.isdisjoint(_PREFILL_WORDS)
    if decode and prefill:
        return "mixed"
    return "decode" if decode else "prefill" if prefill else "unknown"


def _library(spelling: Spelling, rule: Rule) -> str:
    root = spelling.namespaces[0] if spelling.namespaces else ""
    if root == "pytorch_flash":
        return root
    if rule.library:
        return rule.library
    if rule.id.startswith("inductor"):
        return "inductor"
    return _LIBRARIES.get(root, "")
