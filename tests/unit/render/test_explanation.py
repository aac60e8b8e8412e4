"""The page about one launch: on one screen, in ASCII too, as Markdown, with what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.golden import check_golden
from support.reports import (
    attention_launch,
    basic_set_launch,
    failed_launch,
    gemm_launch,
    launch_only,
    write_report,
)
from support.rooflines import flop_counts
from support.stores import report_of

from nsightlens import classify, explain, open_report
from nsightlens.analysis.explanation import Stall
from nsightlens.analysis.lacking import Lack
from nsightlens.example import path
from nsightlens.kernels import parse_kernel_name
from nsightlens.render.explanation import (
    ExplanationView,
    _command_lines,
    explanation_markdown,
    explanation_text,
)
from nsightlens.render.style import Style

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.analysis import Explanation
    from nsightlens.report import Report

MOST_LINES = 60
_STALL = Stall("wait", 40.0, 3.0, "fixed latency")


@pytest.fixture(scope="module")
def example() -> Report:
    """Return the bundled example."""
    return open_report(path())


def _page(one: Explanation, **style: int | bool) -> str:
    # The bundled report lies elsewhere on every machine.
    text = explanation_text(ExplanationView(one), Style(**style))  # type: ignore[arg-type]
    return text.replace(str(path()), "example.ncu-rep")


def _at(report: Report, family: str, batch_size: int, bound: str) -> Explanation:
    """Return the longest launch of a family at a batch size, which is bound so."""
    from nsightlens import classify

    rows = [
        row
        for row in classify(report).labels.to_pylist()
        if (row["family"], row["batch_size"]) == (family, batch_size)
    ]
    one = explain(report, max(rows, key=lambda row: row["duration_ns"])["launch_id"])
    assert one.label["bound"] == bound
    return one


def _renamed(one: Explanation) -> Explanation:
    """Return the explanation with a path of the report that is the same on every machine."""
    from dataclasses import replace

    return replace(one, label={**one.label, "report": "example.ncu-rep"})


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize(
    ("name", "family", "batch_size", "bound"),
    [("attention", "attention", 256, "memory"), ("gemm", "gemm", 512, "compute")],
)
def test_the_page_of_a_bundled_launch_is_as_agreed(
    example: Report, name: str, family: str, batch_size: int, bound: str, width: int
) -> None:
    """A saturated attention and a compute-bound GEMM, at two widths."""
    page = _page(_renamed(_at(example, family, batch_size, bound)), width=width)
    check_golden(f"explain_{name}_{width}.txt", page)


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_of_an_unknown_launch_is_as_agreed(tmp_path: Path, width: int) -> None:
    """It says what is known, and how to get the rest."""
    one = explain(open_report(write_report(tmp_path, [launch_only()])))
    check_golden(f"explain_unknown_{width}.txt", _page(_renamed(one), width=width))


def test_the_page_of_a_failed_launch_is_as_agreed(tmp_path: Path) -> None:
    """It has no numbers, and says that it must be collected again."""
    one = explain(open_report(write_report(tmp_path, [failed_launch()])))
    check_golden("explain_failed_100.txt", _page(_renamed(one), width=100))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize(
    "make", [attention_launch, gemm_launch, basic_set_launch, launch_only, failed_launch]
)
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, make: object, width: int) -> None:
    """Not even a command: it goes on behind a backslash. From 80 columns on it is one screen."""
    one = explain(open_report(write_report(tmp_path, [make()])))  # type: ignore[operator]
    lines = _page(one, width=width).splitlines()
    # The name of a section alone may be wider than a narrow terminal.
    wide = [line for line in lines if len(line) > width and not line.startswith("SpeedOfLight_")]
    assert not wide
    assert len(lines) <= MOST_LINES or width < 80


def test_without_signs_the_page_is_ascii(example: Report) -> None:
    """For terminals that can write no other."""
    one = _at(example, "attention", 256, "memory")
    assert _page(one, unicode=False).isascii()
    assert not _page(one, unicode=True).isascii()


def test_the_limiter_is_marked_once(example: Report) -> None:
    """In front of its bar."""
    page = _page(_at(example, "gemm", 512, "compute"))
    marked = [line for line in page.splitlines() if line.startswith("> ")]
    assert [line.split()[1] for line in marked] == ["tensor_fp16"]


def test_colours_only_repeat_what_the_words_say(example: Report) -> None:
    """Without the escape sequences the page is the same."""
    import re

    one = _at(example, "attention", 256, "memory")
    coloured = _page(one, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == _page(one)


def test_a_long_name_is_cut_in_its_middle_unless_it_is_asked_for(example: Report) -> None:
    """A C++ name may fill a screen of its own."""
    one = _at(example, "attention", 256, "memory")
    name = str(one.launch["kernel_demangled_name"]).replace(" ", "")
    whole = explanation_text(ExplanationView(one, full_names=True), Style(width=80))
    cut = explanation_text(ExplanationView(one), Style(width=80))
    assert name in "".join(whole.split())
    assert name not in "".join(cut.split())


def test_a_page_without_advice_says_that_its_numbers_point_to_nothing(tmp_path: Path) -> None:
    """With the busiest resource; an unknown launch has its own section on what is missing."""
    from dataclasses import replace

    one = replace(explain(open_report(write_report(tmp_path, [basic_set_launch()]))), advice=())
    said = "point to nothing in particular: the busiest resource is at"
    assert said in " ".join(_page(one, width=100).split())
    assert said in explanation_markdown(ExplanationView(one))
    assert "was not collected" not in _page(replace(one, stalls=(_STALL,)), width=200)
    unknown = {**one.label, "bound": "unknown"}
    assert said not in _page(replace(one, label=unknown), width=200)


def test_markdown_has_every_roof_and_every_step(example: Report) -> None:
    """Nothing is left out for want of width, and no sign of a name is taken for markup."""
    one = _at(example, "gemm", 512, "compute")
    page = explanation_markdown(ExplanationView(one))
    assert page.startswith("# `nvjet")
    for row in one.resources:
        assert f"`{row['resource']}`" in page
    assert page.count("\n- ") >= len(one.steps)
    assert "## Worth trying" in page or not one.advice


def test_what_a_name_lacks_is_said_only_of_a_family_that_is_open(example: Report) -> None:
    """The label may have its family from a rule that the explanation was not given."""
    unread = replace(explain(example, 0), kernel=parse_kernel_name("qqq"))
    for family, is_said in (("other", True), ("norm", False)):
        page = _page(replace(unread, label={**unread.label, "family": family}))
        assert ("(no word of the name says" in page) == is_said


def test_a_report_that_does_not_name_its_gpu_asks_for_the_name() -> None:
    """Work was counted; what is missing is a peak, which no section of ncu collects."""
    unnamed = report_of({
        "device__attribute_compute_capability_major": 8,
        "device__attribute_compute_capability_minor": 9,
        "gpu__time_duration.sum": 1e6,
        "dram__bytes_read.sum": 1e8,
        "dram__bytes_write.sum": 1e7,
        **flop_counts(fp32=1e9),
    })  # fmt: skip
    one = explain(unnamed, 0)
    page = _page(one, width=80)
    assert "the peaks of the GPU are not known → unknown" in page
    assert "to have peaks" in page
    assert "--device NAME" in explanation_markdown(ExplanationView(one))
    named = explain(unnamed, 0, classification=classify(unnamed, device="L40S"))
    assert "to have peaks" not in _page(named, width=80)


@pytest.mark.parametrize("width", [56, 60, 64, 80])
def test_a_command_fits_where_the_name_of_its_section_does(width: int) -> None:
    """A line that goes on ends in a backslash, and the whole is one command."""
    sections = ("SpeedOfLight", "SpeedOfLight_HierarchicalTensorRooflineChart", "WarpStateStats")
    lack = Lack("counters", "to rest on counts", ("x",), sections, ())
    lines = list(_command_lines(lack, Style(width=width)))
    assert max(map(len, lines)) <= width
    words = " ".join(line.removesuffix("\\") for line in lines).split()
    assert words == ["ncu", *(word for name in sections for word in ("--section", name))]
