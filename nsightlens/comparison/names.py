"""Kernel names as two builds of one program share them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["normal_name", "normal_names"]

_CAST = re.compile(r"\((?:unsigned |signed )?(?:int|long|long long|short|char|size_t)\)(-?\d+)")
"""What ncu's demangler writes before a number in a template argument, and others leave out."""
_BOOL = {"(bool)1": "true", "(bool)0": "false", "<unnamed>": "(anonymous namespace)"}
# GPUCompiler of Julia ends a name with a counter of what the process compiled.
_JULIA = re.compile(r"^(_Z\d+)?julia_(.+?)_\d+(?=\(|$)")
_BLANK = re.compile(r"\s+(?=[^\w\s])|(?<=[^\w\s])\s+")
"""Blanks beside a sign, where demanglers differ: not those between two words."""


def normal_name(name: str) -> str:
    """Return a kernel's name without what differs from build to build, and nothing else.

    Examples
    --------
    >>> normal_name("void f<(int)4, (bool)1>(float *)"), normal_name("void f<4,true>(float*)")
    ('void f<4,true>(float*)', 'void f<4,true>(float*)')
    >>> normal_name("julia_axpy_1234")
    'julia_axpy'
    """
    for written, meant in _BOOL.items():
        name = name.replace(written, meant)
    name = _BLANK.sub("", _CAST.sub(r"\1", name))
    return _JULIA.sub(r"julia_\2", name)


def normal_names(labels: pa.Table) -> Any:
    """Return the normal name of every launch of a table of labels.

    That is of the full name, else of the short one, else the kind in brackets.
    """
    kind = pc.binary_join_element_wise("(", labels["kind"].cast(pa.string()), ")", "")
    name = pc.coalesce(
        labels["kernel_demangled_name"].cast(pa.string()), labels["kernel"].cast(pa.string()), kind
    )
    return mapped(name, normal_name)


def mapped(column: Any, change: Callable[[str], str]) -> Any:
    """Return a text column with every distinct text changed once; null stays null."""
    code, texts = text_column({"text": column}, "text")
    changed = [None if text is None else change(text) for text in texts]
    return pa.array(changed, pa.string()).take(pa.array(code))
