"""The time that an expression takes grows with the length of a name, not with its square or cube.

Names come out of files that anybody may have written, so none of them may hold up the reading.
"""

from __future__ import annotations

import re
import time
from heapq import nlargest
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from nsightlens.kernels import demangle, engine, fields, parse_kernel_name, shorten, spelling, words
from nsightlens.kernels.grammars import ALL_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# All that an expression may find by itself, beside its own letters.
ANY_LETTERS = ("_", "1", "a", "A")
BLOCKS = {1: 60, 2: 25, 3: 9}
"""So many texts are tried, by the number of runs."""
# [s] What takes less than this at 1,600 characters cannot hold anything up at 6,000.
SHORT_TIME = 0.0005
# Between 4, where time grows with the length, and 16, where it grows with its square.
MOST_GROWTH = 8


def _expressions() -> Iterator[tuple[str, str, str]]:
    """Yield every expression that a name is held against, with who has it and how it is used."""
    for rule in ALL_RULES:
        if rule.shape:
            yield rule.id, "match", rule.shape
        for pattern in filter(None, (*rule.reads, rule.carries)):
            yield rule.id, "search", pattern
    yield "cute", "match", spelling._CUTE_DSL
    yield "anonymous", "search", spelling._ANONYMOUS
    yield "triton", "search", spelling._TRITON_ARGUMENTS
    yield "words", "search", words._WORD.pattern
    for made in (
        fields._cpp_type,
        fields._built_for,
        shorten._functor_name,
        shorten._functor_noise,
        demangle._literal,
        engine._path,
    ):
        yield made.__name__, "search", made().pattern


def _hostile(pattern: str, length: int) -> Iterator[tuple[str, ...]]:
    """Yield one, two and three runs of texts that the expression itself speaks of."""
    repeats = len(re.findall(r"[*+]|\d,\}", pattern))
    own = re.sub(r"\(\?P<\w+>|\(\?i|\\[A-Za-z]", " ", pattern)
    found = dict.fromkeys((*ANY_LETTERS, *re.findall(r"[a-z]+|[A-Z][a-z]*|\d+|[_(<:,]", own)))
    # As many runs as it takes to keep every repeat busy; to search is one more.
    for count in range(1, min(repeats + 1, 3) + 1 if repeats else 0):
        for chosen in permutations(list(found)[: BLOCKS[count]], count):
            yield tuple(block * (length // count // len(block) + 1) for block in chosen)


def _seconds(test: Callable[[str], object], text: str, tries: int = 1) -> float:
    found = []
    for _ in range(tries):
        start = time.process_time()
        test(text)
        found.append(time.process_time() - start)
    return min(found)


def _growth(how: str, pattern: str) -> float:
    """Return how many times as long an expression takes for four times the text, at its worst."""
    test = getattr(re.compile(pattern), how)

    def seconds(runs: tuple[str, ...], times: int = 1) -> float:
        return _seconds(test, "".join(run * times for run in runs), tries=3)

    # More than one, because the clock of a busy machine may favour any of them.
    worst = nlargest(3, _hostile(pattern, 100), key=seconds)
    found = [(seconds(runs, 16), seconds(runs, 4)) for runs in worst]
    return max((long / short for long, short in found if long > SHORT_TIME), default=1.0)


def test_no_expression_of_a_grammar_takes_more_than_its_share_for_a_longer_name() -> None:
    """Four times the text takes about four times the time."""
    wrong = {}
    for owner, how, pattern in _expressions():
        growth = _growth(how, pattern)
        if growth > MOST_GROWTH:
            wrong[owner] = (growth, pattern)
    assert not wrong


@pytest.mark.parametrize(
    ("how", "pattern"),
    [("match", r"\w*Norm\w*Ops"), ("search", r"_+0[cde]*1"), ("search", r"Array\w*Scaled")],
)
def test_the_measure_tells_an_expression_that_takes_more(how: str, pattern: str) -> None:
    """Which of two places a run belongs to is tried for every pair of them."""
    assert _growth(how, pattern) > MOST_GROWTH


@pytest.mark.parametrize(
    "runs", [("to_", "bf", "1"), ("_",), ("(",), ("a::",), ("_Z", "1"), ("(a",)]
)
def test_a_name_of_runs_is_read_in_the_time_of_any_other(runs: tuple[str, ...]) -> None:
    """On the whole way from the name to its rule."""

    def read(length: int) -> float:
        text = "".join(run * (length // len(runs) // len(run)) for run in runs)
        return _seconds(parse_kernel_name, text)

    assert read(4800) < max(0.02, 4 * read(2400))
