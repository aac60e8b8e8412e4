"""Figures of real reports: legible, or one sentence why there is none."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from support.plotted import covered_texts, text_boxes

from nsightlens import classify, open_report
from nsightlens.errors import NothingToPlotError, NsightLensError
from nsightlens.plots import new_axes
from nsightlens.plots.kinds import KINDS
from nsightlens.plots.save import own_settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


@pytest.mark.parametrize("size", [(3.3, 2.5), (6.0, 4.0)])
@pytest.mark.parametrize("kind", ["roofline", "stalls"])
def test_every_real_report_gives_a_legible_figure_or_says_why_not(
    corpus_reports: list[Path], kind: str, size: tuple[float, float]
) -> None:
    """Long names, one launch or many, few counters or all."""
    drawn = 0
    for path in corpus_reports:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                report = open_report(path)
        except NsightLensError:
            continue
        with own_settings():
            try:
                points = KINDS[kind].points(report, by="kernel")
            except NothingToPlotError:
                continue
            ax = KINDS[kind].draw(points, new_axes(size, 100))
            assert covered_texts(text_boxes(ax)) == [], path.name
        drawn += 1
    assert drawn > 3


def test_a_real_launch_lies_below_the_roofs_that_its_table_gives(
    corpus_reports: list[Path],
) -> None:
    """The point of a single launch is its row of rooflines."""
    met = 0
    for path in corpus_reports:
        try:
            report = open_report(path)
        except (NsightLensError, UserWarning):
            continue
        if len(report) != 1:
            continue
        try:
            (point,) = KINDS["roofline"].points(report).to_pylist()
        except NothingToPlotError:
            continue
        roof = classify(report).rooflines.to_pylist()[0]
        for name in ("achieved_flop_per_s", "arithmetic_intensity_flop_per_byte"):
            assert point[name] == pytest.approx(roof[name])
        met += 1
    assert met
