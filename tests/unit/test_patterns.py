"""A pattern is stars and question marks; everything else stands for itself."""

from __future__ import annotations

import time

import pytest

from nsightlens.patterns import is_pattern, pattern_of


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("dram__*", "dram__bytes.sum", True),
        ("dram__*", "xdram__bytes.sum", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("*", "", True),
        ("*", "two\nlines", True),
        ("a", "a\n", False),
        ("layer[3]", "layer[3]", True),
        ("layer[3]", "layer3", False),
        ("layer[*]", "layer[12]", True),
        ("[!a]", "b", False),
        ("[!a]", "[!a]", True),
        ("a.b", "axb", False),
        ("A*", "abc", False),
        ("a\\*", "a\\b", True),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, name: str, *, matches: bool) -> None:
    """Case counts, and so does every other character."""
    assert bool(pattern_of(pattern).match(name)) is matches


def test_only_stars_and_question_marks_make_a_pattern() -> None:
    """A bracket alone stands for one name."""
    assert [is_pattern(text) for text in ("a*", "?", "a[1]", "")] == [True, True, False, False]


def test_many_stars_take_no_time() -> None:
    """A careless translation would try every way to share out the name."""
    begin = time.monotonic()
    assert not pattern_of("*a" * 30 + "b").match("a" * 200)
    assert time.monotonic() - begin < 1
