"""Many words are found in one pass, wherever each of them stands."""

from __future__ import annotations

import random

import pytest

from nsightlens.ncurep import words as words_module
from nsightlens.ncurep.words import Words


def places(words: list[bytes], content: bytes) -> list[tuple[bytes, int]]:
    return sorted(Words(words).places(content))


def found_one_by_one(words: list[bytes], content: bytes) -> list[tuple[bytes, int]]:
    """Return the places by the plain search for one word after another."""
    return sorted(
        (word, start)
        for word in words
        for start in range(len(content))
        if content.startswith(word, start)
    )


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_every_place_of_every_word_is_found(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Words that overlap, hold one another or begin alike, at any edge of a piece too."""
    monkeypatch.setattr(words_module, "_PIECE", piece)
    chance = random.Random("words")
    for _ in range(50):
        words = list({bytes(chance.choices(b"ab\0", k=chance.randrange(3, 14))) for _ in range(20)})
        content = bytes(chance.choices(b"ab\0", k=chance.randrange(0, 200)))
        assert places(words, content) == found_one_by_one(words, content)


def test_a_word_that_the_content_has_only_the_beginning_of_is_not_found() -> None:
    """Whether it lacks the last byte or all but the first bytes."""
    assert places([b"alice", b"kernel_of_alice"], b"kernel_of_alic") == []
    assert places([b"alice"], b"al") == []


def test_without_words_nothing_is_found() -> None:
    """A report may have had nothing to remove."""
    assert places([], b"content") == []
