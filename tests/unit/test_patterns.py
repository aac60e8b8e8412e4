"""A pattern is stars and question marks; everything else stands for itself."""

from __future__ import annotations

import time

import pytest

from nsightlens.patterns import expression_of, is_pattern, pattern_of, quoted


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gemm(", r"missing \), unterminated subpattern at character 5"),
        ("x{1,99999999999}", "the repetition number is too large"),
        ("(" * 5000 + ")" * 5000, "its brackets are nested too deeply"),
    ],
    ids=["unclosed", "large", "deep"],
)
def test_what_is_no_regular_expression_is_told_in_one_clause(text: str, problem: str) -> None:
    """Whatever way the compiler of expressions fails, and without repeating the expression."""
    with pytest.raises(ValueError, match=rf"^{problem}$"):
        expression_of(text)


def test_a_long_text_is_repeated_by_its_ends() -> None:
    """An error of ten kilobytes is not read."""
    assert quoted("a'b") == '"a\'b"'
    assert quoted("begin" + "x" * 9000 + "end").startswith("'begin")
    assert quoted("begin" + "x" * 9000 + "end").endswith("end'")
    assert len(quoted("x" * 9000)) < 70
