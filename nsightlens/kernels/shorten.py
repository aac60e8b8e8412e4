"""The name as a person would say it, at most 40 characters.

Different kernels of one report must stay apart, so a shortened name keeps what distinguishes it:
the tile, the head size, the functor, both ends of a long identifier.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.kernels.fields import cpp_type_word
from nsightlens.kernels.model import USER_RULE
from nsightlens.kernels.spelling import plain_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.kernels.fields import Fields
    from nsightlens.kernels.rule import Rule
    from nsightlens.kernels.rulebook import Candidate
    from nsightlens.kernels.spelling import Spelling

__all__ = ["LONGEST", "SHORT_NAME_FIELDS", "Told", "short_name", "told_by"]

LONGEST = 40

SHORT_NAME_FIELDS = ("tile", "head_size", "dtypes", "phase", "subject")
"""What the format of a rule's short name may hold beside its named groups."""

# The same in every tool's spelling.
_TOLD = {"false": "0", "true": "1"}

# Identifiers that need the namespace in front to mean anything.
_VEHICLES = frozenset({"kernel", "Kernel", "Kernel2", "device_kernel", "globalKernel"})


def short_name(
    spelling: Spelling, decided: Candidate, groups: Mapping[str, str], fields: Fields
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
    fields
        What was read; they are part of some short names.

    Returns
    -------
    str
        At most `LONGEST` characters.
    """
    if spelling.namespaces == ("cuda",):
        return _cut(spelling.parameters.partition("(")[0].strip(" []"))
    rule, _, subject = decided
    if _has_format(rule, groups):
        return _cut(_formatted(rule.short, groups, subject, fields))
    if spelling.arguments and rule.id.startswith("aten"):
        carried = subject if subject != spelling.identifier else _functor(spelling.arguments)
        if carried:
            return _vehicle_and_functor(spelling, carried, fields.dtypes)
    subject = _with_namespace(subject, spelling)
    if not spelling.arguments and not spelling.parameters:
        return _cut(subject)
    details = _details(subject, groups, fields)
    if subject == spelling.identifier and not fields.head_dim:
        whole = _whole_arguments(spelling.arguments, LONGEST - len(subject) - 2)
        details = whole or details
    return _cut(subject, f"<{details}>" if details else "")


def _has_format(rule: Rule, groups: Mapping[str, str]) -> bool:
    """Return whether the format of a rule applies: many are only worth it with a tile."""
    is_fit = "tile_m" in groups or "subject" in rule.short or rule.id.startswith(USER_RULE)
    return is_fit and bool(rule.short)


class Told(NamedTuple):
    """Which text a short name comes from, beside the groups of the rule and the fields."""

    identifiers: bool
    arguments: Literal["none", "first number", "all"]


def told_by(
    spelling: Spelling, decided: Candidate, groups: Mapping[str, str], fields: Fields
) -> Told:
    """Return which numbers of a name its short name may tell.

    Parameters
    ----------
    spelling, decided, groups, fields
        As in `short_name`.
    """
    rule, _, subject = decided
    if _has_format(rule, groups):
        return Told("subject" in rule.short, "none")
    if rule.id.startswith("aten"):
        functor = subject if subject != spelling.identifier else _functor(spelling.arguments)
        if functor:
            if any(letter.isdigit() for letter in functor):
                return Told(identifiers=True, arguments="all")
            is_wide = spelling.identifier.startswith("vectorized")
            return Told(identifiers=True, arguments="first number" if is_wide else "none")
    is_own = subject == spelling.identifier and not fields.head_dim
    is_plain = _plain_arguments().fullmatch(plain_numbers(spelling.arguments)) is not None
    return Told(identifiers=True, arguments="all" if is_own and is_plain else "none")


def _whole_arguments(arguments: str, room: int) -> str:
    """Return all template arguments where they are plain and short, else nothing."""
    if not arguments or len(arguments) > 4 * LONGEST:
        return ""
    text = plain_numbers(arguments)
    if len(text) > 2 * LONGEST or not _plain_arguments().fullmatch(text):
        return ""
    parts = (part.strip().rpartition("::")[2] for part in text.split(","))
    told = ", ".join(_TOLD.get(part) or cpp_type_word(part) or part for part in parts)
    return told if len(told) <= room else ""


def _with_namespace(identifier: str, spelling: Spelling) -> str:
    if identifier in _VEHICLES and spelling.namespaces:
        return f"{spelling.namespaces[-1]}::{identifier}"
    return identifier


def _formatted(template: str, groups: Mapping[str, str], subject: str, fields: Fields) -> str:
    known = {
        **groups,
        "tile": fields.tile,
        "head_size": fields.head_dim,
        "dtypes": ",".join(fields.dtypes),
        "phase": "" if fields.phase == "unknown" else fields.phase,
        "subject": subject,
    }
    pieces = _pieces(template)
    filled = list(pieces)
    filled[1::2] = [known.get(name, "") for name in pieces[1::2]]
    return " ".join("".join(filled).split())


@cache
def _pieces(template: str) -> list[str]:
    """Return the texts of a template and, at odd places, the names that stand between them."""
    return re.split(r"\{(\w+)\}", template)


def _details(subject: str, groups: Mapping[str, str], fields: Fields) -> str:
    # A tile beside a head size would leave too little of the identifier.
    size = fields.head_dim or fields.tile
    kinds = [kind for kind in fields.dtypes[:2] if kind not in subject]
    return ", ".join([part for part in (groups.get("what"), size, *kinds) if part])


@cache
def _plain_arguments() -> re.Pattern[str]:
    return re.compile(r"[\w:=, -]+")


@cache
def _functor_name() -> re.Pattern[str]:
    # What ATen carries: MulFunctor<float>, neg_kernel_cuda(...), CUDAFunctor_add, MeanOps.
    return re.compile(
        r"\b(?!gpu_|[AB]?(?:Binary|Unary)Functor\b|func_wrapper|ReduceOp\b)"
        r"([A-Za-z]\w*(?:Functor\w*|Ops)|\w+?_(?:kernel|functor)\w*)\b"
    )


def _functor(arguments: str) -> str:
    found = _functor_name().search(arguments)
    return found[1] if found is not None else ""


@cache
def _functor_noise() -> re.Pattern[str]:
    return re.compile(
        r"^CUDA(?=Functor)|^launch_|Functor(?:On(?:Self|Other))?_?|Ops$|_functor$"
        r"|_kernel(?:_cuda|_impl|_gpu)*$|(?:CUDA)?Kernel(?:Impl)?(?:Internal)?$"
    )


def _vehicle_and_functor(spelling: Spelling, functor: str, dtypes: tuple[str, ...]) -> str:
    vehicle = spelling.identifier
    kind = "reduce" if "reduce" in vehicle else "elementwise"
    operation = _functor_noise().sub("", functor).strip("_") or functor
    operation = operation[0].lower() + operation[1:]
    width = re.match(r"(?:\(int\))?(\d+),", spelling.arguments)
    vector = f"vec{width[1]}" if width is not None and vehicle.startswith("vectorized") else ""
    details = ", ".join(part for part in (*dtypes[:1], vector) if part)
    return _cut(f"{kind} {operation}", f" ({details})" if details else "")


def _cut(text: str, suffix: str = "") -> str:
    room = LONGEST - len(suffix)
    if len(text) > room and text.endswith(("kernel", "Kernel")):
        text = text[:-6].removesuffix("_")
    if len(text) <= room:
        return text + suffix
    if room < 12:
        return _cut(text)
    tail = room // 3
    return f"{text[: room - tail - 1]}…{text[-tail:]}{suffix}"
