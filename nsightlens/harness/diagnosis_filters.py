"""Which filter of ncu let no launch pass, as far as the ranges that were seen tell."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.harness.options import NcuOptions

__all__ = ["blamed_filter", "nearest_ranges"]

_REGEX = "regex:"
_SHOWN = 3
_LONGEST = 120
"""[character] Of a name that a message repeats: the label of a step is no longer."""
_MORE_FILTERS = (
    "--kernel-id", "--range-filter", "--launch-skip-before-match", "--devices",
    "--target-processes-filter", "--filter-mode",
)  # fmt: skip
"""Filters among the options that are passed to ncu as they are."""


def blamed_filter(options: NcuOptions, ranges_seen: Sequence[str] | None) -> str:
    """Say which filters let nothing pass; empty where there is no filter.

    Parameters
    ----------
    options
        What ncu was told.
    ranges_seen
        NVTX ranges or paths of ranges that the target opened, as ``DOMAIN@NAME`` where they have
        a domain; None where nobody looked.

    Examples
    --------
    >>> from nsightlens.harness.options import NcuOptions
    >>> blamed_filter(NcuOptions(nvtx_include=("decod/",)), ("decode", "prefill"))
    "no range that was seen fits the NVTX filter 'decod/'; nearest: 'decode'"
    """
    if options.nvtx_include and ranges_seen is not None:
        unmatched = [one for one in options.nvtx_include if not _fits(one, ranges_seen)]
        if len(unmatched) == len(options.nvtx_include):
            return _unmatched(unmatched, ranges_seen)
    suspects = list(_suspects(options, are_ranges_right=ranges_seen is not None))
    if len(suspects) > 1:
        return f"one of these let nothing pass: {', '.join(suspects)}"
    return f"nothing passed {suspects[0]}" if suspects else ""


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def _unmatched(filters: Sequence[str], seen: Sequence[str]) -> str:
    named = " or ".join(map(_shown, filters))
    kind = "filter" if len(filters) == 1 else "filters"
    if not seen:
        return f"no NVTX range was seen at all, so the {kind} {named} let nothing pass"
    near = nearest_ranges(filters, seen)
    if near:
        told = f"nearest: {', '.join(map(_shown, near))}"
    else:
        more = "" if len(seen) <= _SHOWN else f" and {len(seen) - _SHOWN} more"
        told = f"seen were {', '.join(map(_shown, seen[:_SHOWN]))}{more}"
    return f"no range that was seen fits the NVTX {kind} {named}; {told}"


def nearest_ranges(filters: Iterable[str], seen: Iterable[str]) -> list[str]:
    """Return up to three of the ranges seen whose names are like those of some filters.

    Examples
    --------
    >>> nearest_ranges(["engine@regex:^step_1$/"], ["engine@step_10", "load"])
    ['engine@step_10']
    """
    names = {name.lower(): full for full in seen for name in _names_in(full)}
    found: dict[str, None] = {}
    for one in filters:
        for name in _names_of_filter(one):
            for near in difflib.get_close_matches(name.lower(), names, n=_SHOWN, cutoff=0.5):
                found[names[near]] = None
    return list(found)[:_SHOWN]


def _suspects(options: NcuOptions, *, are_ranges_right: bool) -> Iterator[str]:
    if options.waits_for_profiler_start:
        yield "the wait for cudaProfilerStart, which may never have been called"
    if not are_ranges_right:
        yield from (f"--nvtx-include {_shown(one)}" for one in options.nvtx_include)
    yield from (f"--nvtx-exclude {_shown(one)}" for one in options.nvtx_exclude)
    if options.kernel:
        yield f"the kernel filter {_shown(options.kernel)}"
    if options.launch_skip:
        yield f"--launch-skip {options.launch_skip}"
    if options.target_processes != "all":
        yield f"--target-processes {options.target_processes}"
    words = [word.partition("=")[0] for word in options.more]
    yield from (f"{word} (passed on)" for word in words if word in _MORE_FILTERS)


def _fits(expression: str, seen: Iterable[str]) -> bool:
    """Return whether a range that was seen may be what an expression means.

    Not ncu's whole grammar: where it nests ranges, one that has the last name is enough.
    """
    is_regex = expression.startswith(_REGEX)
    names = _names_of_filter(expression, keeps_regex=True)
    domain = _domain_of(expression)
    if not names:
        return True
    for full in seen:
        of_seen, _, _rest = full.rpartition("@")
        if domain is not None and of_seen and not _is_like(domain, of_seen, is_regex):
            continue
        if any(_is_like(names[-1], name, is_regex) for name in _names_in(full)):
            return True
    return False


def _is_like(wanted: str, name: str, is_regex: bool) -> bool:
    if not is_regex:
        return wanted == name
    try:
        return re.search(wanted, name) is not None
    except re.error:
        return True  # ncu's regular expressions are not Python's: no blame for what is not read


def _names_in(full: str) -> list[str]:
    """Return what a name may be in the path of a range: the whole, and each part."""
    name = full.rpartition("@")[2].removesuffix("/")
    return list(dict.fromkeys([name, *(part for part in name.split("/") if part)]))


def _domain_of(expression: str) -> str | None:
    parts = re.split(r"(?<!\\)@", expression.removeprefix(_REGEX))
    return _unescaped(parts[0]) if len(parts) > 1 else None


def _names_of_filter(expression: str, *, keeps_regex: bool = False) -> list[str]:
    text = re.split(r"(?<!\\)@", expression.removeprefix(_REGEX))[-1].removeprefix(_REGEX)
    is_regex = _REGEX in expression
    names = [part for part in re.split(r"(?<!\\)[/,]", text) if part not in ("", "*", "+")]
    if not is_regex:
        return [_unescaped(name.strip("[]")) for name in names]
    if keeps_regex:
        return [re.sub(r"\\([@,/])", r"\1", name) for name in names]
    # What is left of a regular expression without its signs is near the name that it means.
    return [re.sub(r"[\^$\\]|\(.*?\)[*+?]?|\.[*+?]?", "", name) for name in names]


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
