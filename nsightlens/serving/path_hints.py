"""What the names of files and folders say of a run: settings that no file inside may repeat.

Nobody promises what a name means, so that everything from here only fills gaps, and its origin says
that it came from a name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import PurePath

__all__ = ["Hint", "hints_of", "varying_numbers"]


class Hint(NamedTuple):
    """A value that a name gives: column of ``serving_runs``, value, and the name it stands in."""

    column: str
    value: Any
    name: str


def _number(key: str) -> str:
    return rf"(?:^|[^a-z0-9])(?:{key})[ _=:-]*(\d+)(?!\d|\.\d|[a-z])"


_WHOLE = {
    "max_num_seqs": _number(r"max[_-]?num[_-]?seqs|mns|max[_-]?running[_-]?requests"),
    "max_concurrency": _number(r"max[_-]?concurrency|concurrency|conc|concurrent|c(?=\d)"),
    "static_batch_size": _number(r"batch[_-]?size|batch|bs|bsz"),
    "tensor_parallel_size": _number(r"tensor[_-]?parallel(?:[_-]?size)?|tp"),
    "max_num_batched_tokens": _number(r"max[_-]?num[_-]?batched[_-]?tokens|mnbt"),
    "replicas": _number(r"replicas?|num[_-]?replicas|num[_-]?servers"),
}
_WHOLE_BEFORE = {
    "replicas": r"(?:^|[^a-z0-9])(\d+)[ _-]?(?:replicas?|servers?)(?![a-z0-9])",
}
_LENGTHS = re.compile(
    r"(?:^|[^a-z0-9])(?:isl|input[_-]?len(?:gth)?|in)[_=-]?(\d+)"
    r"[ _,-]*(?:osl|output[_-]?len(?:gth)?|out)[_=-]?(\d+)"
)
_FLAGS = {
    "mps": (
        r"(?:^|[^a-z0-9])(?:no|without)[_-]?mps(?![a-z0-9])",
        r"(?:^|[^a-z0-9])mps(?![a-z0-9])",
    ),
    "chunked_prefill": (
        r"(?:no|without)[_-]?chunked|chunked[_-]?prefill[_=-]*(?:false|off|0)",
        r"chunked",
    ),
}  # fmt: skip
_COMPILED = {column: re.compile(pattern) for column, pattern in _WHOLE.items()}
_COMPILED_BEFORE = {column: re.compile(pattern) for column, pattern in _WHOLE_BEFORE.items()}
_COMPILED_FLAGS = {
    column: tuple(re.compile(one) for one in patterns) for column, patterns in _FLAGS.items()
}
MOST = 1_000_000


@lru_cache(maxsize=1 << 16)
def hints_of(path: PurePath) -> dict[str, Hint]:
    """Return what the names of a path say, the nearest name first.

    Parameters
    ----------
    path
        Relative to what the user gave, so that his own folders above it say nothing.

    Examples
    --------
    >>> from pathlib import PurePath
    >>> hints = hints_of(PurePath("opt_max_num_seqs_64/conc8.json"))
    >>> {one.column: one.value for one in hints.values()}
    {'max_concurrency': 8, 'max_num_seqs': 64}
    """
    found: dict[str, Hint] = {}
    for name in reversed(path.parts):
        text = name.lower()
        for column, value in _of_name(text):
            found.setdefault(column, Hint(column, value, name))
    return found


def _of_name(text: str) -> Iterable[tuple[str, Any]]:
    for compiled in (_COMPILED, _COMPILED_BEFORE):
        for column, pattern in compiled.items():
            match = pattern.search(text)
            if match and 0 < int(match[1]) <= MOST:
                yield column, int(match[1])
    lengths = _LENGTHS.search(text)
    if lengths:
        yield "workload", f"in{int(lengths[1])}_out{int(lengths[2])}"
    for column, (negative, positive) in _COMPILED_FLAGS.items():
        if negative.search(text):
            yield column, False
        elif positive.search(text):
            yield column, True


_DIGITS = re.compile(r"\d+")
_NOT_A_BATCH = re.compile(r"\d+(?:\.\d+)?qps|\d{8}-\d{6}|\d+(?:\.\d+)?b(?![a-z])|v\d+(?:\.\d+)*")


def varying_numbers(paths: Sequence[PurePath]) -> list[tuple[int, str] | None]:
    """Return the one number in which the names of several runs differ, as the paper's ``_64_``.

    Parameters
    ----------
    paths
        Of all runs that have no batch size otherwise.

    Returns
    -------
    list of (number, name) or None
        None for every path where there are fewer than three, where names differ in more than one
        number, or where the numbers are not distinct: then nothing says which is meant.

    Examples
    --------
    >>> from pathlib import PurePath
    >>> paths = [PurePath(f"opt-1.3b_{n}_20250218-164812/a.json") for n in (1, 8, 64)]
    >>> varying_numbers(paths)[1]
    (8, 'opt-1.3b_8_20250218-164812')
    """
    nothing: list[tuple[int, str] | None] = [None] * len(paths)
    if len(paths) < 3:
        return nothing
    texts = [_NOT_A_BATCH.sub("#", "/".join(path.parts).lower()) for path in paths]
    if len({_DIGITS.sub("0", text) for text in texts}) != 1:
        return nothing
    rows = [[int(one) for one in _DIGITS.findall(text)[:64]] for text in texts]
    columns = list(zip(*rows, strict=True))
    varying = {tuple(one) for one in columns if len(set(one)) > 1}
    if len(varying) != 1:
        return nothing
    numbers = varying.pop()
    if len(set(numbers)) != len(paths) or not all(0 < one <= MOST for one in numbers):
        return nothing
    return [(number, _name_with(path, number)) for number, path in zip(numbers, paths, strict=True)]


def _name_with(path: PurePath, number: int) -> str:
    for name in path.parts:
        if str(number) in _DIGITS.findall(_NOT_A_BATCH.sub("#", name.lower())):
            return name
    return path.name
