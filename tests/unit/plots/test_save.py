"""A figure as a file: the same bytes each time, whatever matplotlib is set to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest
from support import plotted

from nsightlens import plots
from nsightlens.plots import new_axes
from nsightlens.plots.kinds import KINDS
from nsightlens.plots.save import FORMATS, figure_bytes, own_settings

if TYPE_CHECKING:
    from nsightlens import Report


def saved(kind: str, report: Report, form: str) -> bytes:
    points = getattr(plots, f"{kind}_points")(report)
    with own_settings():
        return figure_bytes(KINDS[kind].draw(points, new_axes((4, 3), 72)), form)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["roofline", "labels"])
def test_the_same_data_give_the_same_bytes(kind: str, form: str, bundled: Report) -> None:
    """Neither a date nor an identifier of the moment is in them, nor the user's settings."""
    first = saved(kind, bundled, form)
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert saved(kind, bundled, form) == first


def test_nothing_in_a_file_says_when_and_with_which_version_it_was_made(bundled: Report) -> None:
    picture = saved("shares", bundled, "png")
    vector = saved("shares", bundled, "svg").decode()
    page = saved("shares", bundled, "pdf")
    assert b"matplotlib" not in picture.lower()
    assert "dc:date" not in vector
    assert "<dc:title>nsightlens" in vector or "nsightlens" in vector
    assert b"CreationDate" not in page
    assert re.search(rb"/Producer \(nsightlens\)", page)


def test_the_settings_of_matplotlib_are_as_before() -> None:
    before = dict(mpl.rcParams)
    with own_settings():
        assert mpl.rcParams["pdf.fonttype"] == 42
    assert dict(mpl.rcParams) == before


def test_a_picture_has_the_size_that_was_asked_for() -> None:
    with own_settings():
        data = figure_bytes(plots.stalls(plotted.stalls_table(3), new_axes((3.3, 2.5), 200)), "png")
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == (660, 500)
