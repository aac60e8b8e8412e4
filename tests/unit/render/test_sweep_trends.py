"""What the batch size does to a family, in one sentence with the numbers."""

from __future__ import annotations

from typing import Any

import pytest
from support.sweeps import ATTENTION_TREND, BATCHES, GEMM_TREND, gemm_row, rows_of

from nsightlens import tables
from nsightlens.render.style import Style
from nsightlens.render.sweep_series import runs_of, series_of
from nsightlens.render.sweep_trends import trend_sentence

EMPTY: dict[str, Any] = {column.name: None for column in tables.SWEEP_TRENDS}


def _said(trend: dict[str, Any], **changes: Any) -> str:
    return trend_sentence({**EMPTY, **trend, **changes}, None, Style(100))


def test_a_flat_intensity_is_called_flat_with_its_slope_and_error() -> None:
    """An error of less than a hundredth is not rounded to none."""
    said = _said(ATTENTION_TREND)
    assert said.startswith(
        "intensity is flat (slope: useful 0.00 ± <0.01, executed 0.00 ± <0.01); "
    )


def test_an_intensity_that_grows_as_the_batch_does_says_so_by_the_useful_work() -> None:
    """Padding hides it from the operations that were executed."""
    said = _said(GEMM_TREND)
    assert "intensity grows in proportion to the batch size (slope: useful 0.98 ± 0.01" in said
    assert "executed 0.71 ± 0.08, 0.00 to 1.00 between neighbours);" in said
    without = _said(GEMM_TREND, useful_intensity_slope=None)
    assert "grows more slowly than the batch size (slope: executed 0.71 ± 0.08" in without


@pytest.mark.parametrize(
    ("growth", "words"),
    [
        ("falling", "intensity falls with the batch size (slope"),
        ("above_proportion", "intensity grows faster than the batch size (slope"),
        ("unclear", "intensity follows no clear law (slope"),
        (None, "intensity has a slope without an error (slope: useful 0.98"),
    ],
)
def test_each_growth_has_its_words(growth: str | None, words: str) -> None:
    """None are made up where the error is not known."""
    assert _said(GEMM_TREND, useful_intensity_growth=growth).startswith(words)


def test_a_slope_without_an_error_stands_alone() -> None:
    """Two batch sizes give a slope and no error."""
    said = _said(GEMM_TREND, useful_intensity_slope=None, intensity_slope_stderr=None,
                 intensity_slope_max=0.05)  # fmt: skip
    assert "(slope: executed 0.71);" in said


def test_no_slope_is_no_clause() -> None:
    """One batch size has none."""
    said = _said(GEMM_TREND, useful_intensity_slope=None, intensity_slope=None)
    assert said.startswith("its operations")


def test_a_flip_is_said_with_the_batch_sizes_around_it() -> None:
    """What lies between them is no measurement: the law comes first, then the interpolations."""
    assert (
        "its operations pass to the right of the ridge point between batch 64 and 512 (by the law "
        "of its shapes: 293; interpolated: 256; without padding: 301)"
    ) in _said(GEMM_TREND)


def test_a_flip_of_a_model_is_said_by_its_law_alone() -> None:
    """A line between the batch sizes that were looked at would be another."""
    assert (
        "pass to the right of the ridge point at batch 293 by the law of its shapes (first computed"
        " beyond it: 512);"
    ) in _said(GEMM_TREND, origin="analytic", flip_batch_size_interpolated=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flip": "compute_to_memory"}, "pass to the left of the ridge point between batch 64 and"),
        ({"flip": "several"}, "pass the ridge point more than once"),
        ({"flip_batch_size_interpolated": 1.8}, "; interpolated: 1.80;"),
        ({"analytic_flip_batch_size": None}, "between batch 64 and 512 (interpolated: 256;"),
        ({"origin": "analytic", "analytic_flip_batch_size": None}, "between batch 64 and 512 ("),
    ],
)
def test_each_kind_of_flip_has_its_words(changes: dict[str, Any], words: str) -> None:
    """In the words of the roofline."""
    assert words in _said(GEMM_TREND, **changes)


def test_a_family_that_stays_on_one_side_says_where_it_would_not() -> None:
    """If its shapes say so."""
    stays = "its operations stay on one side of the ridge point"
    assert f"{stays};" in _said(ATTENTION_TREND)
    assert f"{stays} (by the law of its shapes: 900)" in _said(
        ATTENTION_TREND, flip="none", analytic_flip_batch_size=900.0
    )


def test_a_flip_that_is_not_known_is_not_spoken_of() -> None:
    """Nothing is guessed."""
    assert "ridge" not in _said(ATTENTION_TREND, flip=None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "DRAM is used up from batch 64 on: 91 % at most"),
        ({"dram_saturated_batch_size": 1}, "DRAM is used up at every batch size: 91 % at most"),
        (
            {"dram_saturated_batch_size": None},
            "DRAM is not used up at the largest batch size: 91 % at most",
        ),
        (
            {"dram_saturated_batch_size": None, "dram_throughput_max_pct": 72.0},
            "DRAM is not used up: 72 % at most",
        ),
    ],
)
def test_where_dram_is_used_up_is_said(changes: dict[str, Any], words: str) -> None:
    """With the largest throughput."""
    assert _said(ATTENTION_TREND, **changes).endswith(words)


def test_dram_that_was_not_measured_is_not_spoken_of() -> None:
    """Missing is missing."""
    assert "DRAM" not in _said(ATTENTION_TREND, dram_throughput_max_pct=None)


def test_the_bound_at_each_batch_size_is_said_in_runs() -> None:
    """Where the rows are at hand."""
    (series,) = series_of(rows_of(*map(gemm_row, BATCHES)).to_pydict())
    said = trend_sentence({**EMPTY, **GEMM_TREND}, series, Style(100))
    assert "; memory-bound up to batch 64, compute-bound at batch 512; " in said
    assert "pass to the right of the ridge point of 256 FLOP/B between batch 64 and 512 (" in said


def test_ascii_has_its_own_plus_minus() -> None:
    """A terminal without the sign can be read too."""
    said = trend_sentence({**EMPTY, **GEMM_TREND}, None, Style(100, unicode=False))
    assert "0.98 +- 0.01" in said
    assert said.isascii()


def test_runs_between_both_ends_are_given_by_their_ends() -> None:
    """And one batch size by itself."""
    assert runs_of([1, 2, 4, 8], ["a", "b", "b", "a"]) == [
        "a at batch 1", "b at batch 2 to 4", "a at batch 8",
    ]  # fmt: skip
    assert runs_of([7], ["a"]) == ["a at batch 7"]


def test_where_the_shapes_flip_is_said_without_a_measured_flip() -> None:
    """The work that is needed does not depend on what was counted."""
    said = _said(GEMM_TREND, flip=None, flip_batch_size=None, flip_batch_size_interpolated=None)
    assert "one side" not in said
    words = "where its operations pass the ridge point was not measured (by the law of its shapes"
    assert f"{words}: 293;" in said
