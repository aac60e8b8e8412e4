"""Bars show fractions, and the same in ASCII."""

from __future__ import annotations

import pytest

from nsightlens.render.bars import bar


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [(0.0, "    "), (1.0, "████"), (0.5, "██  "), (0.53, "██▏ "), (1.7, "████"), (-1.0, "    ")],
)
def test_a_bar_is_as_long_as_its_fraction_to_an_eighth(fraction: float, drawn: str) -> None:
    """What is beyond the scale fills it or leaves it empty."""
    assert bar(fraction, 4) == drawn


def test_a_trace_is_not_nothing() -> None:
    """A resource that was used shows."""
    assert bar(1e-9, 4).strip() == "▏"


def test_without_signs_a_bar_is_ascii_of_the_same_width() -> None:
    """And nothing known is drawn as nothing at all."""
    assert bar(0.5, 4, unicode=False) == "##.."
    assert bar(None, 4) == bar(None, 4, unicode=False) == "    "
