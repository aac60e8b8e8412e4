"""One spelling out of many: the parts of a name, whichever tool printed it.

Profilers print the same kernel with casts (``(int)128``), suffixes (``128u``), garbled anonymous
namespaces, mangled, or as a Triton or CuTe-DSL function name. `spelled` brings all of them to the
namespaces, the kernel's own identifier, its template arguments and its parameters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.kernels.demangle import demangled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Spelling", "normal_text", "parts_of", "plain_numbers", "spelled"]

# Names of the CUTLASS template library run to tens of kilobytes; what decides stands early.
_LONGEST = 6000

_ANONYMOUS = r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\}|\bunnamed>)::"
# Compiled at import: every C++ name needs it. The others wait for a name that does.
_OPENING = re.compile(r"[<(]")
_UNLIKE_CPP = ("kernel_cutlass_", "Memcpy ", "Memset ", "[CUDA ")
# Only the first of several underscores is a start: each of them would look through the others.
_TRITON_ARGUMENTS = r"(?<!_)_+0[cde]*1[cde]*(?:2[cde]*(?:3[cde\d]*)?)?$"
_CUTE_DSL = r"kernel_cutlass_(?:kernel_)?(?P<module>[a-z_\d]*)(?P<kernel>[A-Z]\w*)?$"


class Spelling(NamedTuple):
    """The parts of a kernel name.

    Parameters
    ----------
    identifier
        The kernel's own name, without namespaces and template arguments.
    namespaces
        Enclosing namespaces, outermost first.
    arguments
        Text of the template arguments, without the outer brackets; may be cut.
    parameters
        Text of the parameter list; empty where the name does not show one.
    """

    identifier: str
    namespaces: tuple[str, ...] = ()
    arguments: str = ""
    parameters: str = ""


def spelled(name: str) -> Spelling:
    """Bring a kernel name to its parts.

    Parameters
    ----------
    name
        The name as any tool prints it.

    Examples
    --------
    >>> spelled("void flash::fwd_kernel<(int)128, (bool)0>(flash::Params)")[:2]
    ('fwd_kernel', ('flash',))
    """
    return parts_of(normal_text(name))


def normal_text(name: str, demangle: Callable[[str], str] = demangled) -> str:
    """Bring a name to one line of printed C++, or to one identifier where it shows nothing else.

    Parameters
    ----------
    name
        The name as any tool prints it.
    demangle
        Reads mangled names.
    """
    text = name[:_LONGEST].strip()
    if "  " in text or "\n" in text or "\t" in text:
        text = " ".join(text.split())
    if text.startswith("_Z"):
        text = demangle(text)
    elif text.startswith(_UNLIKE_CPP):
        return text
    if _is_identifier(text):
        text = _without_tag(text.rpartition(" ")[2])
        if "_0" in text:
            text = re.sub(_TRITON_ARGUMENTS, "", text)
    return text


def parts_of(text: str) -> Spelling:
    """Take a text of `normal_text` apart.

    Numbers stay where they are and decide nothing here: texts that differ in numbers alone have
    parts that differ in numbers alone, which is what `frames` builds on.
    """
    if text.startswith("kernel_cutlass_"):
        return _cute_dsl(text)
    if text.startswith(_UNLIKE_CPP):
        said = text.lstrip("[").removeprefix("CUDA ").removeprefix("Unified Memory ")
        return Spelling(said.split()[0], ("cuda",), "", text)
    return Spelling(text) if _is_identifier(text) else _cpp(text)


def _is_identifier(text: str) -> bool:
    return "(" not in text and "<" not in text and ":" not in text


def _cpp(text: str) -> Spelling:
    if "unnamed" in text or "anonymous" in text:
        text = re.sub(_ANONYMOUS, "", text)
    if text.startswith("void "):
        text = text[5:]
    elif text.startswith(("std::enable_if", "enable_if")):  # ncu's CSV leaves namespaces out
        # The return type of a constrained template stands before the name: <...>::type name<...>
        text = text.partition(">::type ")[2] or text
    opening = _OPENING.search(text)
    if opening is None:
        head, rest = text, ""
    else:
        head, rest = text[: opening.start()], text[opening.start() :]
    path = [part for part in head.rpartition(" ")[2].split("::") if part]
    if not path:
        return Spelling(text)
    path[-1] = _without_tag(path[-1])
    if rest.startswith("("):
        return Spelling(path[-1], tuple(path[:-1]), "", rest[1:])
    arguments, _, parameters = rest[1:].partition(">(")
    return Spelling(path[-1], tuple(path[:-1]), arguments, parameters)


def _without_tag(identifier: str) -> str:
    """Take off ``[abi:cxx11]`` of C++, and the ``[v1,<hash>]`` of Julia, which can spell anything.

    >>> _without_tag("copy_blocked[v1,cwBnXagIA]")
    'copy_blocked'
    """
    return identifier.partition("[")[0] or identifier


def _cute_dsl(text: str) -> Spelling:
    head, _, parameters = text.partition("_object_at_")
    found = re.match(_CUTE_DSL, head)
    if found is None or not found["kernel"]:
        return Spelling(head.removeprefix("kernel_cutlass_").removeprefix("kernel_"), ("cutedsl",))
    module = tuple(part for part in found["module"].split("_") if part)
    return Spelling(found["kernel"], ("cutedsl", *module), "", parameters)


@lru_cache(maxsize=64)
def plain_numbers(arguments: str) -> str:
    """Take casts and suffixes off the numbers: ``(int)128`` and ``128u`` become ``128``.

    A cast to an enumeration keeps its name, ``(ns::GemmType)1`` becomes ``ns::GemmType=1``,
    because that name says what the number means.
    """
    text = re.sub(
        r"\((?:unsigned |signed )?(?:int|long long|long|short|char|bool)\)(?=-?\d)", "", arguments
    )
    text = re.sub(r"\(([A-Za-z_][\w:]*)\)(?=-?\d)", r"\1=", text)
    text = re.sub(r"\b(?:unsigned int|int|bool|unsigned long|long)=(?=-?\d)", "", text)
    return re.sub(r"(?<=\d)(?:ull|ul|u|l)\b", "", text)
