"""Text is shortened and cleaned for a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nsightlens.render.style import Style, cell_width, plain, shorten_end, shorten_middle


@given(st.text(), st.integers(min_value=0, max_value=40))
def test_a_shortened_text_is_never_wider_than_asked(text: str, width: int) -> None:
    """Whatever the text holds, also wide and combining signs."""
    assert cell_width(shorten_middle(text, width)) <= width
    assert cell_width(shorten_end(text, width)) <= width
    assert cell_width(shorten_middle(text, width, "..")) <= width


@given(st.text())
def test_plain_text_cannot_steer_a_terminal(text: str) -> None:
    """No control character of a report reaches the screen."""
    assert plain(text).isprintable()


def test_a_text_that_fits_is_left_alone() -> None:
    """Nothing is lost without need."""
    assert shorten_middle("gemm", 4) == "gemm"
    assert shorten_end("gemm", 4) == "gemm"


def test_a_wide_sign_takes_two_columns_and_a_combining_one_none() -> None:
    """Alignment counts columns, not characters."""
    assert cell_width("核e\u0301") == 3


def test_colours_are_written_only_where_they_are_shown() -> None:
    """A file or a pipe gets plain text."""
    assert Style(colour=True).paint("memory", "memory") == "\x1b[1;34mmemory\x1b[0m"
    assert Style(colour=False).paint("memory", "memory") == "memory"
    assert Style(colour=True).paint("high", "no such style") == "high"


def test_signs_have_an_ascii_stand_in() -> None:
    """A terminal without Unicode still gets a readable table."""
    assert Style(unicode=False).sign("…") == ".."
    assert Style(unicode=True).sign("…") == "…"
