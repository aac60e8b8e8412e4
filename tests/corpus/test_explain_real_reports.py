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


def _advice_on(corpus_ncu: Path, report: str, launch: int) -> dict[str, str]:
    one = explain(open_report(corpus_ncu / f"{report}.ncu-rep"), launch)
    return {advice.rule: advice.text for advice in one.advice}


def test_advice_for_a_full_l1_follows_its_busiest_counter(corpus_ncu: Path) -> None:
    """A naive matrix product reads far apart; its coalesced twin has too many instructions."""
    products = "AveryClapp__ESMM-Research__profile_at_be34af6f"
    naive = _advice_on(corpus_ncu, products, 0)["l1_uncoalesced"]
    assert "16 wavefronts where one is enough" in naive
    assert "roles of the thread indices" in naive
    assert "l1_requests" in _advice_on(corpus_ncu, products, 1)
    chemistry = _advice_on(corpus_ncu, "bobschreiner__NuKEXC__profile", 0)
    assert "requests are at 6.9 % and data return at 10 %" in chemistry["l1_split"]


def test_stores_to_local_memory_that_nothing_reads_are_no_spill(corpus_ncu: Path) -> None:
    """A kernel of 32 registers has 15,626 of them."""
    rounding = "pytorch-labs__applied-ai__dev_sr_philox7_128vec4curand4"
    advice = _advice_on(corpus_ncu, rounding, 3)
    assert "15,626 requests write to local memory and 0 read it" in advice["local_array"]
    assert "spills" not in advice


def test_a_search_that_waits_for_memory_is_not_sent_to_another_clock(corpus_ncu: Path) -> None:
    """Its classical answer depends on the clock, and its FP64 units are idle."""
    report = open_report(corpus_ncu / "bwd29__self-join-MiSTIC__profileTINYK2.out.ncu-rep")
    one = explain(report, 0)
    assert one.label["clock_dependent"]
    assert "clock_dependent" not in [advice.rule for advice in one.advice]
    (clock,) = [step.text for step in one.steps if step.name == "clock"]
    assert "the classical answer depends on the clock" in clock


def test_a_launch_that_nothing_limits_has_advice_or_says_that_no_number_points_anywhere(
    explained: list[tuple[Report, Explanation]],
) -> None:
    """With how busy it was, and that its warp states were not collected where they were not."""
    silent = 0
    for _, one in explained:
        if one.label["regime"] in ("latency", "small_grid") and not one.advice:
            silent += 1
            page = " ".join(one.text(width=100).split())
            assert "point to nothing in particular: the busiest resource is at " in page, one
            assert ("what warps wait for was not collected" in page) == (not one.stalls), one
    assert 0 < silent < 25


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
