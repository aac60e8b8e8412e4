"""A report, its labels and a sweep show themselves in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from support.labels import GEMM, labels_of, three_launches
from support.reports import everything, write_report
from support.sweeps import attention_row, sweep_of

import nsightlens
from nsightlens import tables
from nsightlens.analysis import Classification
from nsightlens.notebook import ROWS_SHOWN, classification_html, report_html, sweep_html
from nsightlens.sweeps import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

VOID = {"br", "hr", "img", "meta", "link"}


class _Balance(HTMLParser):
    """Checks that every element that is opened is closed, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def _text_of(html: str) -> str:
    parser = _Balance()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return " ".join("".join(parser.text).split())


def _classification(labels: pa.Table, by: str = "launch") -> Classification:
    resources, rooflines = map(tables.empty_table, (tables.RESOURCES, tables.ROOFLINES))
    return Classification(labels, resources, rooflines, by)


def test_labels_are_a_table_with_the_bound_marked_and_the_reason_at_hand() -> None:
    """By word and by colour."""
    html = classification_html(_classification(three_launches()))
    text = _text_of(html)
    assert "3 launches" in text
    assert "flash_fwd_splitkv_kernel" in text
    for bound in ("memory", "compute", "unknown"):
        assert f'<span class="{bound}">{bound}</span>' in html
    assert f'title="{GEMM["reason"]}"' in html


def test_a_long_table_is_cut_with_a_word_on_the_rest() -> None:
    """A notebook is not flooded."""
    rows = [{"key": str(i)} for i in range(ROWS_SHOWN + 5)]
    text = _text_of(classification_html(_classification(labels_of(*rows))))
    assert "... and 5 rows more: .labels holds all." in text


def test_an_empty_classification_says_so() -> None:
    """Without an empty table."""
    html = classification_html(_classification(labels_of()))
    assert "0 launches" in _text_of(html)
    assert "<table>" not in html


@pytest.mark.parametrize(("by", "noun"), [("kernel", "1 kernel"), ("family", "1 group")])
def test_a_group_is_called_what_it_is(by: str, noun: str) -> None:
    """By kernel or family."""
    assert _text_of(classification_html(_classification(labels_of({}), by))).startswith(noun)


def test_a_report_shows_its_files_and_what_to_do_next(tmp_path: Path) -> None:
    """One row per file."""
    report = nsightlens.open_report(write_report(tmp_path, everything()))
    text = _text_of(report_html(report))
    assert text.startswith("5 launches, ")
    assert "NVIDIA H100 80GB HBM3" in text
    assert "2025.1.0" in text
    assert "nsightlens.classify(report)" in text
    assert report._repr_html_() == report_html(report)
    assert "attention" in nsightlens.classify(report)._repr_html_()


def test_no_name_of_a_report_becomes_markup() -> None:
    """Template arguments are shown, scripts do not run."""
    evil = '"><script>alert(1)</script>'
    row = {"kernel": evil, "family": evil, "reason": evil, "bound": evil}
    html = classification_html(_classification(labels_of(row)))
    assert "<script>" not in html
    assert "<script>alert(1)</script>" in _text_of(html)


def test_a_sweep_shows_its_verdict_and_a_row_per_batch_size() -> None:
    """With the bound marked and the reason at hand; a name becomes no markup."""
    sweep = sweep_of(notes=("a <b> note",))
    html = sweep_html(sweep)
    text = _text_of(html)
    assert text.startswith("At large batch: attention has used up the DRAM bandwidth. Attention")
    assert html.count("<tr title=") == 8
    assert '<span class="compute">compute</span>' in html
    assert 'title="DRAM is busiest"' in html
    assert "a <b> note" in text
    assert sweep._repr_html_() == html


def test_a_long_sweep_is_cut_with_a_word_on_the_rest() -> None:
    """A notebook is not flooded."""
    text = _text_of(sweep_html(sweep_of(range(1, ROWS_SHOWN))))
    assert f"... and {2 * (ROWS_SHOWN - 1) - ROWS_SHOWN} rows more" in text


def test_a_sweep_of_several_phases_has_a_table_for_each() -> None:
    """What was computed says so; an undecided verdict has no headline."""
    row = attention_row(1)
    rows = [row, row | {"phase": "prefill"}, row | {"phase": None, "batch_size": None}]
    verdict = Verdict("undecided", "Nothing is known.")
    sweep = sweep_of(rows=[one | {"origin": "analytic"} for one in rows], verdict=verdict)
    text = _text_of(sweep_html(sweep))
    assert text.startswith("Analytic, nothing was measured. Nothing is known.")
    for place in ("decode", "prefill", "phase not known"):
        assert f"{place} on H100 80GB HBM3" in text


def test_an_empty_sweep_has_no_table() -> None:
    """Its verdict says why."""
    verdict = Verdict("undecided", "There are no launches.")
    html = sweep_html(sweep_of([], trends=(), verdict=verdict))
    assert "<table>" not in html
    assert "There are no launches." in html
