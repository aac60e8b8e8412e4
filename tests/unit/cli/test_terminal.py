"""What the terminal can show is found out once."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import TextIO

import pytest

from nsightlens.cli import terminal
from nsightlens.cli.terminal import Progress, style_for


class _Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        super().__init__(self.bytes, encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True

    def written(self) -> str:
        return self.bytes.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_terminal_gets_colours_and_a_pipe_none() -> None:
    """Unless the user says otherwise."""
    assert style_for(_Terminal(), None).colour
    assert not style_for(io.TextIOWrapper(io.BytesIO()), None).colour
    assert not style_for(None, None).colour


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """By the variables that users know."""
    monkeypatch.setenv(name, value)
    assert not style_for(_Terminal(), None).colour


def test_an_empty_no_color_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As its convention says."""
    monkeypatch.setenv("NO_COLOR", "")
    assert style_for(_Terminal(), None).colour


def test_an_encoding_without_the_signs_gets_ascii() -> None:
    """As the code page of an old Windows console."""
    assert style_for(_Terminal("utf-8"), None).unicode
    assert not style_for(_Terminal("ascii"), None).unicode


@pytest.mark.parametrize(
    ("given", "columns", "width"),
    [(80, "120", 80), (None, "120", 120), (None, "", 100), (None, "0", 100), (None, "7", 40)],
)
def test_the_width_is_asked_for_in_order(
    monkeypatch: pytest.MonkeyPatch, given: int | None, columns: str, width: int
) -> None:
    """The option, the environment, then 100; never less than 40."""
    monkeypatch.setenv("COLUMNS", columns)
    assert style_for(io.TextIOWrapper(io.BytesIO()), given).width == width


def test_the_environment_is_asked_before_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user sets it where the terminal says something else; Python does the same."""
    monkeypatch.setattr(terminal, "_columns_of", lambda _: 90)
    assert style_for(_Terminal(), None).width == 90
    monkeypatch.setenv("COLUMNS", "120")
    assert style_for(_Terminal(), None).width == 120


def _clock(monkeypatch: pytest.MonkeyPatch, *moments: float) -> None:
    """Let the clock of the module show these moments, and then the last one for ever."""
    left = list(moments)
    fake = SimpleNamespace(monotonic=lambda: left.pop(0) if len(left) > 1 else left[0])
    monkeypatch.setattr(terminal, "time", fake)


def _updated(monkeypatch: pytest.MonkeyPatch, stream: TextIO, *, is_wanted: bool = True) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress(is_wanted=is_wanted) as progress:
        for i in range(3):
            progress.update("a.ncu-rep", i + 1, 3)


def test_progress_is_one_line_that_is_wiped_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not drawn more often than the eye can follow."""
    stream = _Terminal()
    _clock(monkeypatch, 0.0, 2.0, 2.01, 3.0)
    _updated(monkeypatch, stream)
    text = stream.written()
    assert "reading 1/3  a.ncu-rep" in text
    assert "reading 2/3" not in text
    assert "reading 3/3" in text
    assert "\n" not in text
    assert text.rpartition("reading")[2].split("\r")[1:] == [" " * 22, ""]


def test_work_of_less_than_a_second_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would only flicker."""
    stream = _Terminal()
    _clock(monkeypatch, 0.0, 0.5)
    _updated(monkeypatch, stream)
    assert stream.written() == ""


def test_progress_is_silent_where_it_is_not_wanted_or_not_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log file holds no carriage returns."""
    _clock(monkeypatch, 0.0, 2.0, 4.0, 6.0)
    log, screen = io.StringIO(), _Terminal()
    _updated(monkeypatch, log)
    _updated(monkeypatch, screen, is_wanted=False)
    assert log.getvalue() == screen.written() == ""
