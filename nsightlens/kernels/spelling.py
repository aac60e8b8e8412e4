"""One spelling out of many: the parts of a name, whichever tool printed it.

Profilers print the same kernel with casts (``(int)128``), suffixes (``128u``), garbled anonymous
namespaces, mangled, or as a Triton or CuTe-DSL function name. `spelled` brings all of them to the
namespaces, the kernel's own identifier, its template arguments and its parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nsightlens.kernels.demangle import demangled

__all__ = ["Spelling", "spelled"]

# Names of the CUTLASS template library run to tens of kilobytes; what decides stands early.
_LONGEST = 6000

_CAST = re.compile(r"\((?:unsigned |signed )?(?:int|long long|long|short|char|bool)\)(?=-?\d)")
_OLD_CAST = re.compile(r"<(?:int|bool|unsigned int)=(?=-?\d)|, ?(?:int|bool)=(?=-?\d)")
_ENUM_CAST = re.compile(r"\(([A-Za-z_][\w:]*)\)(?=-?\d)")
_SUFFIX = re.compile(r"(?<=\d)(?:ull|ul|u|l)\b")
_ANONYMOUS = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\}|\bunnamed>)::")
_SPACE = re.compile(r"\s+")
_TRITON_ARGUMENTS = re.compile(r"_+0[cde]*1[cde]*(?:2[cde]*(?:3[cde\d]*)?)?$")
_CUTE_DSL = re.compile(r"kernel_cutlass_(?:kernel_)?(?P<module>[a-z_\d]*)(?P<kernel>[A-Z]\w*)?$")
_RETURN_TYPE = re.compile(r"^(?:__global__ |static |inline )*(?:void |std::enable_if<.*?>::type )")


@dataclass(frozen=True, slots=True)
class Spelling:
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
    >>> spelled("void flash::fwd_kernel<(int)128, (bool)0>(flash::Params)").arguments
    '128, 0'
    """
    text = _SPACE.sub(" ", name[:_LONGEST]).strip()
    if text.startswith("_Z"):
        text = demangled(text)
    if text.startswith("kernel_cutlass_"):
        return _cute_dsl(text)
    if text.startswith(("Memcpy ", "Memset ", "[CUDA mem")):
        return Spelling(text.lstrip("[").removeprefix("CUDA ").split()[0], ("cuda",), "", text)
    if "(" not in text and "<" not in text and ":" not in text:
        return Spelling(_TRITON_ARGUMENTS.sub("", text) if text[-1:].isalnum() else text)
    return _cpp(_without_noise(text))


def _without_noise(text: str) -> str:
    if "unnamed" in text or "anonymous" in text:
        text = _ANONYMOUS.sub("", text)
    if ")" in text:
        text = _CAST.sub("", text)
        text = _ENUM_CAST.sub(r"\1=", text)
    if "=" in text:
        text = _OLD_CAST.sub(lambda found: found.group()[0], text)
    text = _SUFFIX.sub("", text)
    return _RETURN_TYPE.sub("", text, count=1)


def _cpp(text: str) -> Spelling:
    opening = re.search(r"[<(]", text)
    if opening is None:
        head, rest = text, ""
    else:
        head, rest = text[: opening.start()], text[opening.start() :]
    path = [part for part in head.rsplit(" ", 1)[-1].split("::") if part]
    if not path:
        return Spelling(text)
    if rest.startswith("("):
        return Spelling(path[-1], tuple(path[:-1]), "", rest[1:])
    arguments, _, parameters = rest[1:].partition(">(")
    return Spelling(path[-1], tuple(path[:-1]), arguments, parameters)


def _cute_dsl(text: str) -> Spelling:
    head, _, parameters = text.partition("_object_at_")
    found = _CUTE_DSL.match(head)
    if found is None or not found["kernel"]:
        return Spelling(head.removeprefix("kernel_cutlass_").removeprefix("kernel_"), ("cutedsl",))
    module = found["module"]
    return Spelling(found["kernel"], ("cutedsl", *module.split("_")), "", parameters)
