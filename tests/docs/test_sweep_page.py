"""The page about sweeps shows the answers that a reader gets, and names every explanation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nsightlens
from nsightlens import example
from nsightlens.sweeps import EXPLANATIONS
from nsightlens.sweeps.expectation import DRAM_BAND, EXECUTED_BAND

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sweep.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", example.FILE_NAMES)
def test_the_page_quotes_the_verdict_on_each_bundled_sweep(name: str) -> None:
    """Word for word."""
    quotes = re.findall(r"((?:^> .*\n)+)", PAGE, re.MULTILINE)
    words = [" ".join(quote.replace("\n>", " ").lstrip("> ").split()) for quote in quotes]
    report = nsightlens.open_report(example.path(name))
    assert nsightlens.sweep(report).verdict.paragraph in words


def test_the_page_has_a_rule_for_every_explanation() -> None:
    """In the order in which the code has them."""
    assert tuple(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == EXPLANATIONS


def test_the_page_states_the_bands_of_the_code() -> None:
    """Operations and bytes."""
    assert f"{EXECUTED_BAND[0]} to {EXECUTED_BAND[1]} (operations)" in PAGE
    assert f"{DRAM_BAND[0]} to {DRAM_BAND[1]} (bytes)" in PAGE
