"""One launch explained: found by what names it, with every number, known or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.reports import (
    attention_launch,
    basic_set_launch,
    failed_launch,
    gemm_launch,
    launch_only,
    write_report,
)

import nsightlens
from nsightlens import explain, open_report
from nsightlens.errors import AmbiguousLaunchError, FilterError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from nsightlens.report import Report

ATTENTION, GEMM, BASIC, LAUNCH_ONLY, SECOND_GEMM, FAILED = range(6)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return a report with a launch of every kind."""
    launches = [
        attention_launch(),
        gemm_launch(),
        basic_set_launch(),
        launch_only(),
        gemm_launch(),
        failed_launch(),
    ]
    return open_report(write_report(tmp_path_factory.mktemp("explain"), launches))


def test_a_launch_is_named_by_its_number_its_key_or_its_kernel(report: Report) -> None:
    """A number as text is a number."""
    key = explain(report, GEMM).label["key"]
    assert explain(report, str(GEMM)).label["launch_id"] == GEMM
    assert explain(report, key).label["launch_id"] == GEMM
    assert explain(report, "softmax").label["launch_id"] == LAUNCH_ONLY
    assert explain(report, "^softmax|absent").label["launch_id"] == LAUNCH_ONLY


@pytest.mark.parametrize(
    "number", [np.int64(GEMM), np.uint8(GEMM), pa.scalar(GEMM, pa.uint32()), pa.scalar(str(GEMM))]
)
def test_a_number_of_numpy_or_arrow_is_a_number(report: Report, number: Any) -> None:
    """Ids are read from tables, and have the types of tables."""
    assert explain(report, number).label["launch_id"] == GEMM


@pytest.mark.parametrize("launch", [True, 1.0, b"", [], pa.scalar(None), np.bool_(True)])
def test_what_cannot_name_a_launch_is_told_by_its_type(report: Report, launch: Any) -> None:
    """A truth value is no number of a launch, although Python counts with it."""
    with pytest.raises(TypeError, match="by its launch_id, a whole number, or by a text"):
        explain(report, launch)


@pytest.mark.parametrize("nth", ["1", 1.0, True])
def test_the_number_of_a_match_is_a_whole_number(report: Report, nth: Any) -> None:
    """Text stands for no number in Python."""
    with pytest.raises(TypeError, match="nth is"):
        explain(report, GEMM, nth=nth)


@pytest.mark.parametrize(
    "launch",
    [-1, 10**30, 10**5000, "9" * 5000, "٩"],
    ids=["negative", "large", "long", "long text", "other digits"],
)
def test_a_number_that_no_launch_can_have_names_none(report: Report, launch: int | str) -> None:
    """However long it is, and in whatever digits; the message stays short."""
    with pytest.raises(
        FilterError, match=r"there is no launch .*: the report has 0 to 5"
    ) as caught:
        explain(report, launch)
    assert len(str(caught.value)) < 200


def test_an_id_is_spelled_without_zeros_in_front(report: Report) -> None:
    """Such digits are part of a name."""
    with pytest.raises(FilterError, match="no launch matches '01'"):
        explain(report, "01")


def _only(*launches: int) -> NDArray[np.bool_]:
    """Return a filter of these launches."""
    return np.isin(np.arange(FAILED + 1), launches)


def test_the_ids_that_there_are_are_listed_where_some_are_missing(report: Report) -> None:
    """A filter leaves gaps."""
    with pytest.raises(FilterError, match=r"no launch 3: the report has 1, 4\."):
        explain(report.filter(_only(GEMM, SECOND_GEMM)), 3)
    with pytest.raises(FilterError, match=r"no launch 3: the report has only 4\."):
        explain(report.filter(_only(SECOND_GEMM)), 3)


def test_a_text_that_was_meant_as_an_expression_is_told_why_it_is_none(report: Report) -> None:
    """It was looked for as it stands."""
    problem = r"no launch matches 'absent\(' as it stands, .* not a regular expression: missing"
    with pytest.raises(FilterError, match=problem):
        explain(report, "absent(")


def test_of_several_that_match_none_is_chosen_silently(report: Report) -> None:
    """The error lists them; nth chooses."""
    name = explain(report, GEMM).launch["kernel_name"]
    with pytest.raises(AmbiguousLaunchError, match="matches 2 launches") as caught:
        explain(report, name)
    assert [match.launch_id for match in caught.value.matches] == [GEMM, SECOND_GEMM]
    assert explain(report, name, nth=2).label["launch_id"] == SECOND_GEMM
    with pytest.raises(FilterError, match="matches 2 launches: none is number 3"):
        explain(report, name, nth=3)
    with pytest.raises(AmbiguousLaunchError, match="none was named, and there are 6 launches"):
        explain(report)


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        (99, "no launch 99: the report has 0 to 5"),
        ("99", "no launch 99"),
        ("absent", "no launch matches 'absent'. The report has "),
        ("absent(", r"no launch matches 'absent\('"),
    ],
)
def test_what_matches_nothing_is_an_error_that_says_what_there_is(
    report: Report, launch: int | str, said: str
) -> None:
    """A user finds the right name in it."""
    with pytest.raises(FilterError, match=said):
        explain(report, launch)


def test_the_only_launch_needs_no_name(tmp_path: Path) -> None:
    """There is nothing to choose."""
    alone = open_report(write_report(tmp_path, [attention_launch()]))
    assert explain(alone).label["launch_id"] == 0


def test_a_report_without_launches_has_nothing_to_explain(report: Report) -> None:
    """An error, not an empty page."""
    import numpy as np

    empty = report.filter(np.zeros(len(report), dtype=bool))
    with pytest.raises(FilterError, match="no launch to explain"):
        explain(empty, 0)


def test_the_explanation_repeats_the_label(report: Report) -> None:
    """It is the same as that of classify, also in its share of the time."""
    labels = nsightlens.classify(report).labels.to_pylist()
    for row in (ATTENTION, GEMM, BASIC, FAILED):
        label = explain(report, row).label
        for name in ("key", "bound", "regime", "confidence", "reason", "duration_share_pct"):
            assert label[name] == labels[row][name], name


def test_roofs_are_those_of_the_launch_the_busiest_first(report: Report) -> None:
    """No other launch's resource is among them."""
    one = explain(report, ATTENTION)
    fractions = [row["fraction_of_peak"] for row in one.resources]
    assert fractions == sorted(fractions, reverse=True)
    assert {row["launch_id"] for row in one.resources} == {ATTENTION}
    assert one.resources[0]["resource"] == one.label["limiter"] == "dram"


def test_the_steps_lead_from_work_over_peak_to_the_label(report: Report) -> None:
    """With the quotient, the two sides, the regime, the ridge and the evidence, in this order."""
    steps = explain(report, ATTENTION).steps
    names = list(dict.fromkeys(step.name for step in steps))
    assert [n for n in names if n != "time_counted"][:4] == ["time", "sides", "regime", "roofline"]
    text = {step.name: step.text for step in reversed(steps)}
    assert text["time"].startswith("t(dram) = ")
    assert "-> memory-bound, limiter DRAM" in text["sides"]
    assert "60 %" in text["regime"]
    assert "against a ridge at" in text["roofline"]
    assert "evidence counters" in text["evidence"]


def test_stalls_are_read_by_the_kind_of_kernel(report: Report) -> None:
    """The largest first, and never the state that is no stall."""
    stalls = explain(report, ATTENTION).stalls
    assert stalls[0].reason == "long_scoreboard"
    assert "keys and values" in stalls[0].meaning
    assert "selected" not in [stall.reason for stall in stalls]
    shares = [stall.share_pct for stall in stalls]
    assert shares == sorted(shares, reverse=True)


def test_a_failed_launch_has_no_steps_no_advice_and_nothing_to_add(report: Report) -> None:
    """It has to be collected again; no metric of it counts."""
    one = explain(report, FAILED)
    assert (one.label["bound"], one.steps, one.advice, one.lacks) == ("unknown", (), (), ())
    assert "collection failed" in one.label["reason"]


def test_an_unknown_launch_says_what_would_give_it_a_label(report: Report) -> None:
    """By the sections of ncu, and by metrics instead."""
    one = explain(report, LAUNCH_ONLY)
    assert one.label["bound"] == "unknown"
    first = one.lacks[0]
    assert first.aspect == "label"
    assert "SpeedOfLight" in first.sections
    assert "gpu__time_duration.sum" in first.metrics


def test_what_a_label_does_not_need_is_not_asked_for(report: Report) -> None:
    """With counted work there is no more to count; without, there is."""
    assert "counters" not in [lack.aspect for lack in explain(report, ATTENTION).lacks]
    assert "counters" in [lack.aspect for lack in explain(report, BASIC).lacks]


def test_labels_made_with_other_options_can_be_explained(report: Report) -> None:
    """Such as those of another GPU; labels of groups cannot."""
    labels = nsightlens.classify(report)
    assert explain(report, GEMM, classification=labels).label["launch_id"] == GEMM
    with pytest.raises(ValueError, match="one row per launch"):
        explain(report, GEMM, classification=nsightlens.classify(report, by="family"))


def test_it_shows_itself_as_text_and_in_a_notebook(report: Report) -> None:
    """The page of the command line, escaped in HTML."""
    one = explain(report, GEMM)
    assert f"launch {GEMM}" in repr(one)
    text = one.text(width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "step by step" in text
    html = one._repr_html_()
    assert "<script" not in html
    assert "&lt;" in html or "<" not in text


def test_the_evidence_says_what_was_left_out_of_counted_work(report: Report) -> None:
    """FP16 on CUDA cores was not counted, and an eighth of the tensor work at the most."""
    (step,) = (step for step in explain(report, GEMM).steps if step.name == "evidence")
    assert "all operations were counted, but for a few of FP16 on CUDA cores" in step.text
