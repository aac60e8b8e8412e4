"""Attention and GEMMs along the batch size: side by side where they fit, nothing lost elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.sweeps import attention_row, gemm_row, rows_of, sweep_of

from nsightlens.render.style import Style
from nsightlens.render.sweep_series import BATCHES_SHOWN, series_of
from nsightlens.render.sweep_table import COLUMNS, series_table

if TYPE_CHECKING:
    from nsightlens.render.sweep_series import Series

HEADERS = [" ".join(column.header.split()) for column in COLUMNS]


def _series(*rows: dict[str, Any]) -> list[Series]:
    table = rows_of(*rows) if rows else sweep_of().rows
    return series_of(table.to_pydict(), least=0)[:2]


def test_families_stand_side_by_side_where_they_fit() -> None:
    """A title, two lines of headings and a line per batch size."""
    lines = series_table(_series(), Style(160)).lines
    assert len(lines) == 3 + 4
    assert "gemm/dense" in lines[0]
    assert "attention/flash_splitkv" in lines[0]
    assert lines[-1].split()[:9] == [
        "512", "compute", "saturated", "512", "512", "40", "72", "30", "65.6",
    ]  # fmt: skip


def test_families_stand_below_each_other_where_they_do_not() -> None:
    """Each with all of its columns before one is put beside it."""
    lines = series_table(_series(), Style(100)).lines
    assert len(lines) == 2 * (3 + 4) + 1
    assert "roof" in lines[1]


@pytest.mark.parametrize("width", range(40, 201, 7))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """From 40 columns up."""
    assert max(map(len, series_table(_series(), Style(width)).lines)) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_a_column_is_shown_or_named(width: int) -> None:
    """Each once, whatever the number of families below each other."""
    whole = series_table(_series(), Style(1000))
    shown = series_table(_series(), Style(width))
    assert whole.left_out == []
    assert len(shown.left_out) == len(set(shown.left_out))
    assert set(shown.left_out) <= set(HEADERS)
    lost = set(whole.legend) - set(shown.legend)
    assert lost <= set(shown.left_out)


def test_a_column_that_no_row_can_fill_is_not_there() -> None:
    """Nor is it called left out."""
    nothing = {"useful_arithmetic_intensity_flop_per_byte": None, "fraction_of_roof": None}
    shown = series_table(_series(attention_row(1) | nothing, gemm_row(1) | nothing), Style(300))
    assert not {"FLOP/B useful", "roof %"} & {*shown.legend, *shown.left_out}


def test_a_batch_size_at_which_a_family_was_not_seen_is_a_gap() -> None:
    """Not a zero."""
    series = _series(attention_row(1), attention_row(2), gemm_row(2))
    line = series_table(series, Style(300)).lines[3]
    assert line.split()[0] == "1"
    assert line.count(" -") == len(COLUMNS) - 1


def test_a_family_by_itself_has_lines_for_its_own_batch_sizes_alone() -> None:
    """A column of gaps says nothing."""
    series = _series(attention_row(1), attention_row(2), gemm_row(2))
    lines = series_table(series, Style(80)).lines
    assert len(lines) == (3 + 2) + 1 + (3 + 1)


def test_too_many_batch_sizes_are_thinned_with_a_word() -> None:
    """Both ends stay."""
    series = _series(*(attention_row(batch) for batch in range(1, 101)))
    lines = series_table(series, Style(100)).lines
    assert len(lines) == 3 + BATCHES_SHOWN + 1
    assert (lines[3].split()[0], lines[-2].split()[0]) == ("1", "100")
    assert lines[-1] == "24 of 100 batch sizes: -f csv has all"


def test_the_ridge_point_stands_in_the_title_where_there_is_one() -> None:
    """Rows with different data types or clocks have several."""
    name = "ridge_point_flop_per_byte"
    same = series_table(_series(gemm_row(1), gemm_row(2)), Style(100)).lines[0]
    other = series_table(_series(gemm_row(1), gemm_row(2) | {name: 300.0}), Style(100)).lines[0]
    assert same.split() == ["gemm/dense", "·", "ridge", "256", "FLOP/B"]
    assert other.split() == ["gemm/dense"]


def test_a_confidence_that_is_high_everywhere_is_not_worth_a_column() -> None:
    """One that is not is shown."""
    row = attention_row(1)
    assert "confidence" not in series_table(_series(row), Style(200)).legend
    assert "confidence" in series_table(_series(row | {"confidence": "low"}), Style(200)).legend
