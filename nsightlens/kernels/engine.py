"""From a name to what it is: bring it to its parts, then let the first rule that fits decide.

The kernel's own identifier is asked first, then its namespaces, then its template arguments in the
order in which they stand; rules of ordinary words (``weak``) come last. Where the identifier is a
vehicle (``device_kernel``, ``elementwise_kernel``), what it carries is asked before its namespaces.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from nsightlens.kernels.fields import architecture, data_types, head_size, tile_shape
from nsightlens.kernels.model import KernelName
from nsightlens.kernels.rule import Rule, pattern_of
from nsightlens.kernels.rulebook import Candidate, candidates, regex
from nsightlens.kernels.shorten import LONGEST, short_name
from nsightlens.kernels.spelling import plain_numbers, spelled
from nsightlens.kernels.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.kernels.spelling import Spelling

__all__ = ["parse_kernel_name"]

# What a kernel carries stands early among its template arguments.
_FAMILY_TEXT = 1500

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


_NO_RULE = Rule(
    "", "", "other", "unknown", note="no word of the name says what the kernel computes"
)


def parse_kernel_name(name: str) -> KernelName:
    """Say what a kernel is from its name alone.

    Parameters
    ----------
    name
        The name in any spelling: demangled by any profiler, mangled, Triton, Inductor.

    Returns
    -------
    KernelName
        Family ``other`` where the name does not say it, with what is missing in ``note``.

    Examples
    --------
    >>> kernel = parse_kernel_name("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT")
    >>> kernel.family, kernel.dtypes, kernel.tile
    ('gemm', ('bf16',), '128x256x64')
    """
    spelling = spelled(name)
    decided = _decide(spelling) or Candidate(_NO_RULE, {}, spelling.identifier)
    rule = decided.rule
    groups = _all_groups(decided, spelling)
    dtypes = data_types(rule, groups, spelling, decided.identifier)
    phase = _phase(decided, spelling) if rule.family == "attention" else "n/a"
    return KernelName(
        name,
        # A name such as "_Z" leaves nothing: it is shown as it is.
        short_name(spelling, decided, groups, dtypes, phase) or " ".join(name.split())[:LONGEST],
        rule.family,
        rule.subtype,
        phase,
        dtypes,
        _library(spelling, rule),
        architecture(rule, groups, spelling),
        tile_shape(groups),
        head_size(groups),
        rule.also,
        rule.id,
        rule.note,
    )


def _all_groups(decided: Candidate, spelling: Spelling) -> dict[str, str]:
    if not decided.rule.reads or not spelling.arguments:
        return decided.groups
    text = plain_numbers(spelling.arguments)
    for read in decided.rule.reads:
        found = regex(read).search(text)
        if found is not None:
            said = {name: part for name, part in found.groupdict().items() if part}
            return {**decided.groups, **said}
    return decided.groups


def _decide(spelling: Spelling) -> Candidate | None:
    weak = vehicle = None
    for candidate in candidates(spelling.identifier):
        rule = candidate.rule
        if not _fits_context(rule, spelling):
            continue
        if rule.unwraps:
            vehicle = candidate
            break
        if not rule.weak:
            return candidate
        weak = weak or candidate
    if vehicle is not None:
        return _carried(spelling, vehicle) or vehicle
    return _from_namespaces(spelling) or weak or _from_arguments(spelling, weak_too=True)


def _carried(spelling: Spelling, vehicle: Candidate) -> Candidate | None:
    """Return what a vehicle carries; for one that says nothing at all, namespaces may tell."""
    says_nothing = vehicle.rule.family == "other"
    named = _from_namespaces(spelling) if says_nothing else None
    return named or _from_arguments(spelling, weak_too=says_nothing)


def _fits_context(rule: Rule, spelling: Spelling) -> bool:
    if rule.carries and not regex(rule.carries).search(plain_numbers(spelling.arguments)):
        return False
    return not rule.within or _is_within(rule.within, spelling.namespaces)


@lru_cache(maxsize=4096)
def _is_within(pattern: str, namespaces: tuple[str, ...]) -> bool:
    words = frozenset(word for namespace in namespaces for word in words_of(namespace))
    return pattern_of(pattern).matches(words)


def _from_namespaces(spelling: Spelling) -> Candidate | None:
    for namespace in reversed(spelling.namespaces):
        for candidate in candidates(namespace):
            rule = candidate.rule
            if not rule.weak and not rule.unwraps and _fits_context(rule, spelling):
                return candidate._replace(identifier=spelling.identifier)
    return None


def _from_arguments(spelling: Spelling, *, weak_too: bool) -> Candidate | None:
    """Return the first telling identifier among the template arguments."""
    weak = None
    for identifier in _identifiers(spelling.arguments):
        for candidate in candidates(identifier):
            rule = candidate.rule
            if rule.unwraps or not _fits_context(rule, spelling):
                continue
            if not rule.weak:
                return candidate
            weak = weak or candidate
    return weak if weak_too else None


@cache
def _path() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_~]\w*)*")


def _identifiers(arguments: str) -> Iterator[str]:
    """Yield the identifiers in order, of a qualified one the innermost first."""
    for path in _path().findall(arguments, 0, _FAMILY_TEXT):
        if path in _SAY_NOTHING:
            continue
        if "::" in path:
            yield from reversed(path.split("::"))
        else:
            yield path


def _phase(decided: Candidate, spelling: Spelling) -> str:
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
