"""The answer as text, at the widths that terminals have."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.golden import check_golden
from support.labels import GEMM, REPORT, UNKNOWN, labels_of, sessions_of, sweep, three_launches

from nsightlens.render.classification import ClassificationView, classification_text
from nsightlens.render.facts import report_facts
from nsightlens.render.style import Style


def _view(labels: Any, by: str = "launch", **more: Any) -> ClassificationView:
    paths = list(dict.fromkeys(labels["report"].to_pylist())) or [REPORT]
    devices = list(
        zip(labels["report"].to_pylist(), labels["device_name"].to_pylist(), strict=True)
    )
    facts = report_facts(paths, sessions_of(*paths, clock_control="base"), devices)
    return ClassificationView(labels=labels, by=by, reports=list(facts.values()), **more)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_launches_at_the_widths_of_terminals(width: int) -> None:
    """A wider terminal shows more columns, and longer names."""
    view = _view(
        three_launches(),
        remedy="All that could be added: nsightlens info decode.ncu-rep",
        next_commands=[
            ("nsightlens classify --by family decode.ncu-rep", "sums per family"),
            ("nsightlens info decode.ncu-rep", "what the report lacks"),
        ],
    )
    check_golden(f"launches_{width}.txt", classification_text(view, Style(width)))


def test_families_at_80_columns() -> None:
    """The picture along the batch size stands between the table and the summary."""
    check_golden("families_80.txt", classification_text(_view(sweep(), "family"), Style(80)))


def test_colours_repeat_the_words() -> None:
    """Who cannot see them misses nothing."""
    plain = classification_text(_view(three_launches()), Style(100))
    coloured = classification_text(_view(three_launches()), Style(100, colour=True))
    assert "\x1b[1;34mmemory\x1b[0m" in coloured
    stripped = coloured
    for code in ("\x1b[1m", "\x1b[2m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1;35m", "\x1b[0m"):
        stripped = stripped.replace(code, "")
    assert stripped.split() == plain.split()


def test_a_terminal_without_unicode_gets_ascii() -> None:
    """Also where names are shortened."""
    text = classification_text(_view(three_launches()), Style(80, unicode=False))
    assert text.isascii()
    assert re.search(r"cutlass_80_\w+\.\.\w*_align8", text)


def test_a_table_without_rows_says_so() -> None:
    """And has neither a legend nor a share of time."""
    text = classification_text(_view(labels_of()), Style(80))
    heading, blank, note, *_ = text.splitlines()
    assert heading == f"{REPORT} · NVIDIA H100 PCIe · ncu 2025.1.1 · no launches"
    assert (blank, note[:5]) == ("", "note:")
    assert "share of time" not in text
    assert "limited by" not in text


def test_a_single_launch_needs_no_summary() -> None:
    """Its row says it all."""
    assert "share of time" not in classification_text(_view(labels_of({})), Style(80))


def test_only_the_largest_families_are_listed() -> None:
    """The last line still counts all of them."""
    rows = [{"family": f"family{i}", "key": f"k{i}"} for i in range(11)]
    text = classification_text(_view(labels_of(*rows)), Style(100))
    assert "(all: 3 further families included)" in text
    assert "family9 " not in text.partition("share of time")[2]


def test_only_the_commonest_reasons_are_listed() -> None:
    """With a word on how to see the others."""
    rows = [{**UNKNOWN, "key": f"k{i}", "reason": f"reason {i}"} for i in "abcde"]
    text = classification_text(_view(labels_of(*rows), reasons=False), Style(100))
    assert "unknown: 5 of 5 launches, because" in text
    assert "2 further reasons: --reasons shows the one of each row" in text


def test_a_hostile_name_does_not_reach_the_terminal() -> None:
    """From whichever column it comes."""
    evil = "x\x1b[2J\ny"
    row = {"kernel": evil, "family": evil, "report": evil, "device_name": evil, "reason": evil}
    text = classification_text(_view(labels_of(row, {**GEMM, "report": evil})), Style(200))
    assert "\x1b" not in text


def test_full_names_stand_whole_below_their_rows() -> None:
    """Broken where they must be, and not cut."""
    full = "void f<" + ", ".join(f"(int){i}" for i in range(40)) + ">" + "x" * 100
    row = {"kernel": "f", "kernel_demangled_name": full}
    view = _view(labels_of(row), full_names=True, reasons=False)
    text = classification_text(view, Style(80))
    below = text.partition(" 91%")[2].splitlines()[1:]
    assert "".join(below).replace(" ", "").startswith(full.replace(" ", ""))
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_gpu_under_two_spellings_is_named_once() -> None:
    """One driver names the vendor, the other does not."""
    other = {"report": "b.ncu-rep", "device_name": "H100 PCIe"}
    text = classification_text(_view(labels_of({}, other), by="kernel"), Style(100))
    assert text.startswith("2 reports · NVIDIA H100 PCIe · 2 launches")


def test_a_command_that_is_too_long_is_shown_whole_without_its_purpose() -> None:
    """It is there to be copied."""
    command = "nsightlens classify " + "x" * 90
    view = _view(labels_of({}), next_commands=[(command, "purpose")])
    last = classification_text(view, Style(80)).splitlines()[-1]
    assert last == f"next: {command}"
