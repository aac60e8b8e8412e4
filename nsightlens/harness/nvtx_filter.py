r"""What ``ncu --nvtx-include`` is told: expressions for our own steps and for a user's ranges.

The grammar of ncu has traps, and an expression that fell into one matches nothing, without a word.
``Domain@Range/`` is a push/pop range, ``Domain@Range`` without the slash one with a start and an
end; ``@ , [ ] / * +`` in a name are escaped with ``\``. ``regex:`` counts at the very beginning
only, and then for the domain and for every range: each is *searched* for its expression, so that
what is not anchored with ``^`` and ``$`` also finds ``batch_size=16`` for ``batch_size=1``.

`step_expression` and `range_expression` write expressions, `check_expression` refuses those that
ncu would take for something else. `tests/integration/test_nvtx_filter_by_nvidia.py` holds them
against NVIDIA's own reading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.annotate import DOMAIN
from nsightlens.errors import FilterError
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    RangeKind = Literal["push_pop", "start_end"]
    Position = Literal["anywhere", "bottom", "top"]

__all__ = ["check_expression", "check_filters", "range_expression", "step_expression"]

REGEX = "regex:"
PHASES = ("prefill", "decode", "mixed", "capture")
"""Phases of `nsightlens.annotate.step`."""

_QUANTIFIERS = re.compile(r"([@,\[\]/*+])")
# What Boost.Regex, which ncu uses, gives a meaning outside of a character class.
_SPECIAL = re.compile(r"([\\.^$|?*+(){}\[\]])")
# In an expression they would end the range or the domain before the regular expression sees them.
_SEPARATORS = re.compile(r"([@,/])")


def step_expression(phase: str | None = None, batch_size: int | None = None) -> str:
    """Return the expression for steps that `nsightlens.annotate.step` marks.

    Parameters
    ----------
    phase
        ``prefill``, ``decode``, ``mixed`` or ``capture``; None for any.
    batch_size
        Sequences in the step; None for any number.

    Raises
    ------
    FilterError
        The phase is none, or the batch size is not a whole number from 1 on.

    Examples
    --------
    >>> step_expression("decode", 1)
    'regex:^nsightlens$@^step v1 phase=decode batch_size=1( .*)?$/'
    >>> step_expression("decode")
    'regex:^nsightlens$@^step v1 phase=decode( .*)?$/'
    """
    if phase is not None and phase not in PHASES:
        raise FilterError(f"{quoted(phase)} is no phase of a step: one of {', '.join(PHASES)}.")
    if batch_size is not None and batch_size < 1:
        raise FilterError(f"a batch size of {batch_size}: it is a whole number from 1 on.")
    words = [f"phase={phase or f'({chr(124).join(PHASES)})'}"]
    if batch_size is not None:
        words.append(f"batch_size={batch_size}")
    return f"{REGEX}^{DOMAIN}$@^step v1 {' '.join(words)}( .*)?$/"


def range_expression(
    name: str,
    *,
    domain: str | None = None,
    kind: RangeKind = "push_pop",
    is_regex: bool = False,
    position: Position = "anywhere",
) -> str:
    r"""Return the expression for ranges of a user's, by their name.

    Parameters
    ----------
    name
        The whole name of the range, or a regular expression that is searched in it.
    domain
        Name of the NVTX domain; None for the default one.
    kind
        ``push_pop`` for ranges of a stack (``range_push``, ``nvtx.annotate``), ``start_end`` for
        those with a handle (``range_start``).
    is_regex
        ``name`` is a regular expression; the domain never is.
    position
        Where on the stack a push/pop range is: ``bottom`` has none around it, ``top`` none in it.

    Raises
    ------
    FilterError
        The name is empty, or a position was asked for of a start/end range, which has none.

    Examples
    --------
    >>> range_expression("step 3/4", domain="engine")
    'engine@step 3\\/4/'
    >>> range_expression("DecodeStep335", kind="start_end")
    'DecodeStep335'
    >>> range_expression("^execute_context_0", is_regex=True)
    'regex:^execute_context_0/'
    """
    for what, text in (("range", name), ("domain", domain)):
        if text == "":
            raise FilterError(f"the name of the {what} is empty: ncu filters by names only.")
    if kind == "start_end" and position != "anywhere":
        raise FilterError(
            f"{quoted(name)} is a range with a start and an end: such have no {position} of a "
            "stack. Leave the position out."
        )
    # What is literal to ncu: no backslash, for that may escape, and no prefix that is one of ncu's.
    is_plain = not is_regex and not any(
        "\\" in text or text.startswith(REGEX) for text in (name, domain or "")
    )
    if is_plain:
        escaped = _QUANTIFIERS.sub(r"\\\1", name)
        prefix, place = "", "" if domain is None else _QUANTIFIERS.sub(r"\\\1", domain) + "@"
    else:
        escaped = _regex(name) if is_regex else f"^{_literal(name)}$"
        prefix, place = REGEX, "" if domain is None else f"^{_literal(domain)}$@"
    if kind == "push_pop":
        first, last = ("[" if position == "bottom" else ""), ("]" if position == "top" else "")
        escaped = f"{first}{escaped}{last}" if first or last else escaped + "/"
    return f"{prefix}{place}{escaped}"


def check_expression(expression: str) -> None:
    """Refuse an expression of ncu's that matches nothing or something else than it seems to.

    Parameters
    ----------
    expression
        A value of ``--nvtx-include`` or ``--nvtx-exclude``, as ncu would get it.

    Raises
    ------
    FilterError
        It is empty, has two domains, an empty name, ``regex:`` where it does not count, brackets
        that ncu takes for the end of the stack, or both kinds of ranges.

    Examples
    --------
    >>> check_expression("engine@step/")
    >>> check_expression("engine@regex:step.*/")
    Traceback (most recent call last):
        ...
    nsightlens.errors.FilterError: NVTX filter 'engine@regex:step.*/': ncu knows 'regex:' at the \
very beginning only, for domain and ranges together. Write 'regex:^engine$@step.*/'.
    """
    parts = _parts(expression)
    if any(not name for name in parts.ranges) or parts.domain == "":
        raise _refusal(
            expression, "it names no range", "ncu filters by names: DOMAIN@RANGE/, or RANGE/"
        )
    for name in parts.ranges:
        if name.startswith(REGEX):
            raise _refusal(
                expression,
                "ncu knows 'regex:' at the very beginning only, for domain and ranges together",
                f"Write '{_with_prefix_first(expression)}'",
            )
    if parts.is_push_pop and parts.has_comma:
        raise _refusal(
            expression,
            "a comma is for ranges with a start and an end, a slash for those of a stack",
            r"Give one option for each, or write \, where the comma is part of a name",
        )
    if parts.is_regex:
        _check_brackets(expression, parts)


def check_filters(
    include: Sequence[str], exclude: Sequence[str] = (), *, has_nvtx: bool = True
) -> None:
    """Refuse filters that ncu would refuse or misread.

    Parameters
    ----------
    include, exclude
        Values of ``--nvtx-include`` and ``--nvtx-exclude``.
    has_nvtx
        ``--nvtx`` is given too.

    Raises
    ------
    FilterError
        As `check_expression`, and where ``--nvtx`` is missing.
    """
    if (include or exclude) and not has_nvtx:
        option = "--nvtx-include" if include else "--nvtx-exclude"
        raise FilterError(f"{option} filters nothing without --nvtx: add --nvtx.")
    for expression in (*include, *exclude):
        check_expression(expression)


class _Parts(NamedTuple):
    """An expression, taken apart as ncu does; the names are still escaped."""

    is_regex: bool
    domain: str | None
    ranges: tuple[str, ...]
    is_push_pop: bool
    has_comma: bool


def _parts(expression: str) -> _Parts:
    is_regex = expression.startswith(REGEX)
    rest = expression.removeprefix(REGEX) if is_regex else expression
    places = _split(rest, "@")
    if len(places) > 2:
        raise _refusal(
            expression,
            "it has two domains, and one expression can have one",
            r"Give --nvtx-include once for each, or write \@ where it is part of a name",
        )
    text = places[-1]
    by_slash = _split(text, "/")
    is_push_pop = len(by_slash) > 1 or _is_bracketed(text)
    if not is_push_pop:
        ranges = _split(text, ",")
        return _Parts(
            is_regex, places[0] if places[1:] else None, tuple(ranges), False, bool(ranges[1:])
        )
    if len(by_slash) > 1 and not by_slash[-1]:
        by_slash.pop()
    has_comma = not is_regex and any(len(_split(name, ",")) > 1 for name in by_slash)
    names = tuple(name for name in by_slash if name not in ("*", "+"))
    bare = tuple(_without_brackets(name) if not is_regex else name for name in names)
    return _Parts(is_regex, places[0] if places[1:] else None, bare or ("",), True, has_comma)


def _is_bracketed(text: str) -> bool:
    return text.startswith("[") or (text.endswith("]") and not text.endswith("\\]"))


def _without_brackets(name: str) -> str:
    name = name.removeprefix("[")
    return name[:-1] if name.endswith("]") and not name.endswith("\\]") else name


def _check_brackets(expression: str, parts: _Parts) -> None:
    """Refuse a class at either end, of which ncu takes the bracket for an end of the stack."""
    # A slash behind it makes the last bracket part of the name.
    is_open = not expression.endswith("/")
    for name in parts.ranges:
        is_class_first = (
            name.startswith("[")
            and "[" not in name[1:].partition("]")[0]
            and ("]" in name[1:].rstrip("]"))
        )
        is_class_last = (
            is_open
            and name is parts.ranges[-1]
            and name.endswith("]")
            and name[:-1].rfind("[") > name[:-1].rfind("]")
        )
        if is_class_first or is_class_last:
            raise _refusal(
                expression,
                "ncu takes a bracket at either end for an end of the stack",
                "Anchor the expression with ^ and $, or put (?:...) around the class",
            )


def _split(text: str, separator: str) -> list[str]:
    r"""Split where ncu would: not where ``\`` is in front."""
    return re.split(rf"(?<!\\){re.escape(separator)}", text)


def _with_prefix_first(expression: str) -> str:
    domain, at, name = expression.rpartition(f"@{REGEX}")
    if not at:
        return REGEX + expression.replace(REGEX, "")
    domain = domain.removeprefix(REGEX)
    return f"{REGEX}^{domain}$@{name.replace(REGEX, '')}"


def _literal(text: str) -> str:
    """Return the regular expression of a text, as ncu lets it through."""
    return _SEPARATORS.sub(r"\\\1", _SPECIAL.sub(r"\\\1", text))


def _regex(text: str) -> str:
    """Return a regular expression of a user's as ncu lets it through to the search."""
    escaped = re.sub(r"(?<!\\)([@,/])", r"\\\1", text)
    return f"(?:{escaped})" if _is_bracketed(escaped) else escaped


def _refusal(expression: str, problem: str, advice: str) -> FilterError:
    return FilterError(f"NVTX filter {quoted(expression)}: {problem}. {advice}.")
