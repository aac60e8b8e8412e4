"""Every launch of every real report can be explained on one screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from nsightlens import classify, explain, open_report
from nsightlens.analysis.quantities import Quantities
from nsightlens.errors import NsightLensError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nsightlens.analysis import Explanation
    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

MOST_LINES = {80: 68, 100: 62}
"""Lines of a page by its width."""
# Numbers of advice that are no measurement but a fact or a threshold.
_KNOWN = {"16", "2", "32", "90", "70", "80", "1.0", "-32", "64"}
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def _explanations(reports: list[Path]) -> Iterator[tuple[Report, Explanation]]:
    for path in reports:
        report = open_report(path)
        labels = classify(report)
        # Of a report with a hundred launches of one kernel, as many as tell it.
        for row in range(min(len(report), 40)):
            yield report, explain(report, row, classification=labels)


@pytest.fixture(scope="module")
def explained(corpus_reports: list[Path]) -> list[tuple[Report, Explanation]]:
    """Return every launch of every report, explained."""
    return list(_explanations(corpus_reports))


@pytest.mark.parametrize("width", [80, 100])
def test_every_launch_fits_on_one_screen(
    explained: list[tuple[Report, Explanation]], width: int
) -> None:
    """No line is wider than the terminal."""
    for _, one in explained:
        lines = one.text(width=width).splitlines()
        assert max(map(len, lines)) <= width, one
        assert len(lines) <= MOST_LINES[width], one


def test_every_number_of_advice_is_a_number_of_the_launch(
    explained: list[tuple[Report, Explanation]],
) -> None:
    """What stands in the sentence is what was measured, and nothing else does."""
    seen = 0
    for report, one in explained:
        keep = report.launches["launch_id"].to_numpy() == one.label["launch_id"]
        store = report.filter(keep).store
        quantities = Quantities(one.launch, one.label, list(one.resources), store)
        for advice in one.advice:
            seen += 1
            for number in advice.numbers:
                assert number == quantities.number(number.name), (one, number)
            printed = set(_NUMBER.findall(advice.text)) - _KNOWN
            known = {found for n in advice.numbers for found in _NUMBER.findall(str(n))}
            assert printed <= known | {"0.1"}, (one, advice.text)
    assert seen > 100


def test_every_launch_has_its_label_and_what_is_unknown_says_what_is_missing(
    explained: list[tuple[Report, Explanation]],
) -> None:
    """A label has its sides and its evidence; an unknown one has something to collect."""
    for _, one in explained:
        names = {step.name for step in one.steps}
        if one.label["failed_launch_count"]:
            assert not names | set(one.advice)
        elif one.label["bound"] == "unknown":
            assert "label" in [lack.aspect for lack in one.lacks], one
        else:
            assert {"sides", "evidence"} <= names, one
        if one.label["confidence"] in ("medium", "low"):
            (evidence,) = (step.text for step in one.steps if step.name == "evidence")
            assert " because " in evidence, one


def test_text_of_ncu_is_explained_too(corpus_ncu: Path) -> None:
    """From what was printed as CSV, with much less in it."""
    count = 0
    for path in sorted((corpus_ncu.parent / "ncu-csv").iterdir()):
        try:
            report = open_report(path)
        except NsightLensError:
            continue
        for row in range(min(len(report), 3)):
            lines = explain(report, row).text(width=80).splitlines()
            assert max(map(len, lines)) <= 80
            count += 1
    assert count > 20
