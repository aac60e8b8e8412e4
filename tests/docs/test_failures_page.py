"""The page of failures is the table of the code."""

from __future__ import annotations

from nsightlens.harness.diagnosis_causes import CAUSES
from scripts.make_failures_page import PAGE, page


def test_the_page_is_what_the_table_says() -> None:
    """`python scripts/make_failures_page.py` writes it anew."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_failure_has_its_section_and_something_to_do() -> None:
    """With a remedy that helps on every host, or one for each kind of host."""
    text = page()
    for key, cause in CAUSES.items():
        assert f"\n## {key}\n" in text
        assert cause.remedies
        assert all(one.text.endswith((".", ")")) for one in cause.remedies)
