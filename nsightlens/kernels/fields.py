"""Data types, tile, head size and architecture, from the named groups of the rule that decided.

Groups: ``dtype``, ``dtype2``; ``tile_m``, ``tile_n``, ``tile_k``; ``head_dim`` (alias ``head``) and
``head_dim_v``; any size also with ``_x16`` (a count of 16-wide fragments) and ``_times`` (a second
factor); ``head_dim_plus`` (a part kept apart, as the rotary part of MLA); ``arch`` (``sm90``),
``sm`` (``90``) and ``chip`` (``ampere``). Where a rule says nothing of data types, the C++ types of
the template arguments do, then the words of the identifier, then the parameters.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.kernels.words import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.kernels.rule import Rule
    from nsightlens.kernels.spelling import Spelling

__all__ = [
    "TYPE_SPELLINGS",
    "TYPE_TEXT",
    "Fields",
    "built_for",
    "cpp_type_word",
    "fields_of",
    "head_size",
    "tile_shape",
    "type_of_spelling",
    "unnamed_types",
]

_FLOAT_TYPES = {
    "float": "fp32", "double": "fp64", "half": "fp16", "__half": "fp16", "__half2": "fp16",
    "half2": "fp16", "Half": "fp16", "half_t": "fp16", "_Float16": "fp16", "BFloat16": "bf16",
    "bfloat16_t": "bf16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "__bf16": "bf16",
    "__bfloat": "bf16", "bfloat16": "bf16", "__nv_bfloat162": "bf16", "hip_bfloat16": "bf16",
    "__hip_bfloat16": "bf16", "tfloat32_t": "tf32", "float_e4m3_t": "fp8_e4m3",
    "__nv_fp8_e4m3": "fp8_e4m3", "Float8_e4m3fn": "fp8_e4m3", "Float8_e4m3fnuz": "fp8_e4m3",
    "float_e5m2_t": "fp8_e5m2", "__nv_fp8_e5m2": "fp8_e5m2", "Float8_e5m2": "fp8_e5m2",
    "float_e2m1_t": "fp4", "nv_float4_t": "nvfp4", "mx_float4_t": "mxfp4", "NF4": "nf4",
    "int4b_t": "int4", "uint4b_t": "int4",
}  # fmt: skip
_BYTE_TYPES = {
    "int8_t": "int8", "uint8_t": "int8", "signed char": "int8", "unsigned char": "int8",
}  # fmt: skip
_INTEGER_TYPES = {
    "long": "int64", "int64_t": "int64", "long long": "int64", "int": "int32", "bool": "bool",
}  # fmt: skip
_TYPES = {**_FLOAT_TYPES, **_BYTE_TYPES, **_INTEGER_TYPES}
_WIDE = frozenset({"fp32", "fp64"})
_INTEGERS = frozenset(_INTEGER_TYPES.values())

# Words of identifiers, and spellings in named groups.
_WORD_TYPES = {
    "f16": "fp16", "fp16": "fp16", "bf16": "bf16", "bfloat16": "bf16", "f32": "fp32",
    "fp32": "fp32", "float32": "fp32", "f64": "fp64", "fp64": "fp64", "tf32": "tf32", "fp8": "fp8",
    "e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", "fp82": "fp8", "hfp8": "fp8", "nvfp4": "nvfp4",
    "mxfp4": "mxfp4", "mxfp8": "mxfp8", "int8": "int8", "int4": "int4",
}  # fmt: skip
_GROUP_TYPES = {
    **_WORD_TYPES, "half": "fp16", "float": "fp32", "double": "fp64", "f8": "fp8", "s8": "int8",
    "u8": "int8", "i8": "int8", "s4": "int4", "u4": "int4", "int64": "int64",
}  # fmt: skip

TYPE_SPELLINGS: frozenset[str] = frozenset({*_TYPES, *_WORD_TYPES, *_GROUP_TYPES})
"""Every spelling of a data type."""

TYPE_TEXT = 700
"""[character] Operand types and architectures stand that early in template arguments."""


@cache
def _cpp_type() -> re.Pattern[str]:
    # No assertion in front: the search then skips ahead to the first letters of a type.
    names = "|".join(sorted(_TYPES, key=len, reverse=True))
    return re.compile(rf"(?:{names})(?![\w(])(?!\)-?\d)")


@cache
def _built_for() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z])[sS][mM]_?(\d{2,3})(?!\d)|(?<=[a-z])Sm(\d{2,3})(?!\d)")


class Fields(NamedTuple):
    """What is read from a name once the rule is found; see `nsightlens.kernels.KernelName`."""

    dtypes: tuple[str, ...]
    phase: str
    library: str
    arch: str
    tile: str = ""
    head_dim: str = ""


def fields_of(rule: Rule, groups: Mapping[str, str], unnamed: Fields) -> Fields:
    """Return the fields that the named groups give, and where they give none, those given.

    Parameters
    ----------
    rule, groups
        The rule that decided and what it read.
    unnamed
        What the rest of the name says.
    """
    if not groups:
        return unnamed
    return Fields(
        _named_types(rule, groups) or unnamed.dtypes,
        unnamed.phase,
        unnamed.library,
        _named_architecture(rule, groups) or unnamed.arch,
        tile_shape(groups),
        head_size(groups),
    )


def _named_types(rule: Rule, groups: Mapping[str, str]) -> tuple[str, ...]:
    if "dtype" not in groups or rule.dtypes or rule.typeless:
        return ()
    texts = (groups["dtype"], groups.get("dtype2", ""))
    kinds = [rule.types.get(text) or type_of_spelling(text) for text in texts]
    return tuple(dict.fromkeys(kind for kind in kinds if kind))


def type_of_spelling(text: str) -> str:
    """Return the data type that a spelling in a named group stands for; "" for none.

    Examples
    --------
    >>> type_of_spelling("half"), type_of_spelling("h")
    ('fp16', '')
    """
    return _GROUP_TYPES.get(text.lower(), "")


def unnamed_types(rule: Rule, spelling: Spelling, subject: str) -> tuple[str, ...]:
    """Return the main operand types where no named group says them.

    Parameters
    ----------
    rule
        The rule that decided.
    spelling
        The parts of the name.
    subject
        The identifier that decided.
    """
    if rule.dtypes or rule.typeless:
        return rule.dtypes
    types = _argument_types(rule, spelling)
    said = _words(subject, rule)
    if said and (not types or _hides_operand(rule, types, said)):
        return said
    if not types and not _HALF_BITS.search(spelling.arguments):
        types = _cpp_types(spelling.parameters, first_only=False)[:1]
    return types or _cute_types(spelling)


# Bits of a 16-bit float, which may be either; a float among the parameters is then a scale.
_HALF_BITS = re.compile(r"\b(unsigned short|uint16_t)\b")


def _argument_types(rule: Rule, spelling: Spelling) -> tuple[str, ...]:
    text = _with_cache_type(spelling.arguments)
    if rule.family == "attention":
        return _cpp_types(text, first_only=True, integers=False)
    # ATen and CUB work on whole numbers too, and name the type of a functor before its result.
    return _cpp_types(text, first_only=rule.id.startswith(("aten", "cub.", "thrust")))


def _hides_operand(rule: Rule, types: tuple[str, ...], said: tuple[str, ...]) -> bool:
    """Return whether the C++ types are those of the other side of a quantised kernel."""
    if rule.family != "quantise" and "quantised" not in rule.subtype:
        return False
    return said[0].startswith("fp8") and not any("fp8" in kind for kind in types)


def _with_cache_type(arguments: str) -> str:
    """Put the type that vLLM's enumeration names in place of the bytes that hold it."""
    if "Fp8KVCacheDataType" not in arguments:
        return arguments
    found = re.search(r"Fp8KVCacheDataType\)?=?([12])", arguments)
    if found is None:
        return arguments
    kind = "float_e4m3_t" if found[1] == "1" else "float_e5m2_t"
    return re.sub(r"unsigned char|uint8_t", kind, arguments)


def _words(identifier: str, rule: Rule) -> tuple[str, ...]:
    known = _GROUP_TYPES if rule.library == "nccl" else _WORD_TYPES
    words = words_of(identifier)
    found = [known[word] for word in words if word in known]
    if rule.family in {"gemm", "quantise", "copy", "moe_routing"}:
        found = _block_types(words) or found or _bit_types(words)
    for kind in found:
        if kind not in _WIDE:
            return (kind,)
    return tuple(found[:1])


def _block_types(words: tuple[str, ...]) -> list[str]:
    """Read ``q4_K``, ``q8_0`` and their like, which are two words."""
    return [
        f"{word}_{'K' if scheme == 'k' else scheme}"
        for word, scheme in pairwise(words)
        if len(word) in {2, 3} and "q" in word and word[-1].isdigit() and scheme in {"0", "1", "k"}
    ]


def _bit_types(words: tuple[str, ...]) -> list[str]:
    widths = {"8": "int8", "4": "int4"}
    return [widths[width] for width, unit in pairwise(words) if unit == "bit" and width in widths]


def _cpp_types(text: str, *, first_only: bool, integers: bool = True) -> tuple[str, ...]:
    """Read C++ types: narrow ones where there are any, because wide ones then accumulate.

    With ``first_only`` the first floating-point type counts, or else the first whole one where
    ``integers`` may count.
    """
    kinds: list[str] = []
    for found in _cpp_type().finditer(text, 0, TYPE_TEXT):
        start = found.start()
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            continue
        if text.endswith("unsigned ", 0, start):
            continue
        word = found.group()
        if first_only and word in _FLOAT_TYPES:
            return (_FLOAT_TYPES[word],)
        if integers or word not in _INTEGER_TYPES:
            kinds.append(_TYPES[word])
    if first_only:
        return tuple(kinds[:1])
    floats = dict.fromkeys(kind for kind in kinds if kind not in _INTEGERS)
    narrow = tuple(kind for kind in floats if kind not in _WIDE)
    return narrow or tuple(floats)[:1]


def _cute_types(spelling: Spelling) -> tuple[str, ...]:
    if spelling.namespaces[:1] != ("cutedsl",):
        return ()
    found = re.search(r"tensorptr([a-z]+\d+(?:m\d)?)gmem", spelling.parameters)
    kind = _WORD_TYPES.get(found[1]) if found else None
    return (kind,) if kind else ()


def cpp_type_word(spelled: str) -> str:
    """Return our word for a floating-point C++ type without namespace, or nothing."""
    return _FLOAT_TYPES.get(spelled, "")


def tile_shape(groups: Mapping[str, str]) -> str:
    """Return ``MxN`` or ``MxNxK``; empty where the rule read no tile."""
    if "tile_m" not in groups:
        return ""
    if _TILE_FACTORS.isdisjoint(groups):
        # As they stand, which is nearly always.
        sizes = [groups.get("tile_m", ""), groups.get("tile_n", ""), groups.get("tile_k", "")]
        plain = [size.lstrip("0") for size in sizes if size.isdecimal()]
        return "x".join([size for size in plain if size])
    found = [_size(groups, axis) for axis in ("tile_m", "tile_n", "tile_k")]
    return "x".join([str(size) for size in found if size])


def head_size(groups: Mapping[str, str]) -> str:
    """Return the head size, ``keys/values`` where they differ."""
    if _HEAD_GROUPS.isdisjoint(groups):
        return ""
    keys = _size(groups, "head_dim") or _size(groups, "head")
    values = _size(groups, "head_dim_v")
    if values and "head_dim_plus" in groups:
        keys = values + _number(groups["head_dim_plus"])
    if not keys:
        return ""
    return str(keys) if values in {0, keys} else f"{keys}/{values}"


_HEAD_GROUPS = frozenset(
    {"head_dim", "head", "head_dim_x16", "head_x16", "head_dim_v", "head_dim_v_x16"}
)
_FRAGMENTS = {name: f"{name}_x16" for name in (*_HEAD_GROUPS, "tile_m", "tile_n", "tile_k")}
_FACTORS = {name: f"{name}_times" for name in _FRAGMENTS}
_TILE_FACTORS = frozenset(
    names[f"tile_{axis}"] for names in (_FRAGMENTS, _FACTORS) for axis in "mnk"
)


def _size(groups: Mapping[str, str], name: str) -> int:
    if name in groups:
        size = _number(groups[name])
    elif _FRAGMENTS[name] in groups:
        size = 16 * _number(groups[_FRAGMENTS[name]])
    else:
        return 0
    return size * _number(groups[_FACTORS[name]]) if _FACTORS[name] in groups else size


def _number(text: str) -> int:
    # A group of a user's rule may be no number; one of thousands of digits is not made into text.
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _named_architecture(rule: Rule, groups: Mapping[str, str]) -> str:
    named = groups.get("arch") or ("sm" + groups["sm"] if "sm" in groups else "")
    return named or rule.types.get(groups.get("chip", ""), "")


def built_for(rule: Rule, spelling: Spelling) -> str:
    """Return the architecture that the kernel was built for where no named group says it."""
    for text in (spelling.identifier, *spelling.namespaces, spelling.arguments[:TYPE_TEXT]):
        if "sm" in text or "Sm" in text or "SM" in text:
            found = _built_for().search(text)
            if found is not None:
                return "sm" + (found[1] or found[2])
    return rule.arch
