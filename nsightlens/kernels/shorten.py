"""The name as a person would say it, at most 40 characters.

Different kernels of one report must stay apart, so a shortened name keeps what distinguishes it:
the tile, the head size, the functor, both ends of a long identifier.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from nsightlens.kernels.fields import head_size, tile_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.kernels.rulebook import Candidate
    from nsightlens.kernels.spelling import Spelling

__all__ = ["LONGEST", "short_name"]

LONGEST = 40


def short_name(
    spelling: Spelling,
    decided: Candidate | None,
    groups: Mapping[str, str],
    dtypes: tuple[str, ...],
) -> str:
    """Shorten a name.

    Parameters
    ----------
    spelling
        The parts of the name.
    decided
        The rule that decided and the identifier it decided on: the kernel's own, or one that it
        carries.
    groups
        The named groups that the rule read.
    dtypes
        Data types of the kernel.
    """
    if decided is None:
        return _cut(spelling.identifier)
    rule, _, subject = decided
    if rule.short and "tile_m" in groups:
        return _cut(_formatted(rule.short, groups))
    if rule.id.startswith("aten") and spelling.arguments:
        carried = subject if subject != spelling.identifier else _functor(spelling)
        if carried:
            return _vehicle_and_functor(spelling.identifier, carried, dtypes)
    if not (spelling.arguments or spelling.parameters):
        return _cut(subject)
    details = ", ".join(d for d in (head_size(groups), tile_shape(groups), *dtypes[:2]) if d)
    return _cut(subject, f"<{details}>" if details else "")


def _formatted(template: str, groups: Mapping[str, str]) -> str:
    filled = re.sub(r"\{(\w+)\}", lambda found: groups.get(found[1]) or "", template)
    return " ".join(filled.split())


@cache
def _functor_name() -> re.Pattern[str]:
    # What ATen carries: MulFunctor<float>, neg_kernel_cuda(...), CUDAFunctor_add, MeanOps.
    return re.compile(
        r"\b(?!gpu_kernel|BinaryFunctor|[AB]UnaryFunctor|func_wrapper|ReduceOp\b)"
        r"([A-Za-z]\w*(?:Functor\w*|Ops)|\w+?_(?:kernel|functor)\w*)\b"
    )


def _functor(spelling: Spelling) -> str:
    found = _functor_name().search(spelling.arguments)
    return found[1] if found is not None else ""


@cache
def _functor_noise() -> re.Pattern[str]:
    return re.compile(
        r"^CUDA(?=Functor)|^launch_|Functor(?:On(?:Self|Other))?_?|Ops$|_functor$"
        r"|_kernel(?:_cuda|_impl|_gpu)*$|(?:CUDA)?Kernel(?:Impl)?(?:Internal)?$"
    )


def _vehicle_and_functor(vehicle: str, functor: str, dtypes: tuple[str, ...]) -> str:
    kind = "reduce" if "reduce" in vehicle else "elementwise"
    operation = _functor_noise().sub("", functor).strip("_") or functor
    return _cut(f"{kind} {operation}", f" ({', '.join(dtypes)})" if dtypes else "")


def _cut(text: str, suffix: str = "") -> str:
    room = LONGEST - len(suffix)
    if len(text) <= room:
        return text + suffix
    if room < 12:
        return _cut(text)
    tail = room // 3
    return f"{text[: room - tail - 1]}…{text[-tail:]}{suffix}"
