"""Colours that colour-blind readers can tell apart, and something else beside each colour."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from nsightlens.kernels.model import FAMILIES
from nsightlens.notebook import _STYLE
from nsightlens.plots import theme
from nsightlens.tables import STALL_REASONS

# Viénot, Brettel and Mollon (1999): linear RGB as a deuteranope sees it.
DEUTERANOPIA = np.array(
    [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]
)
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, *, deuteranopic: bool) -> np.ndarray:
    """Return a colour of sRGB in CIE L*a*b*."""
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if deuteranopic:
        linear = np.clip(DEUTERANOPIA @ linear, 0, 1)
    ratio = XYZ @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, *, deuteranopic: bool) -> float:
    """Return how different two colours look; 2 is just noticeable."""
    return float(
        np.linalg.norm(lab(one, deuteranopic=deuteranopic) - lab(other, deuteranopic=deuteranopic))
    )


@pytest.mark.parametrize("deuteranopic", [False, True])
def test_the_bounds_differ_for_every_reader(deuteranopic: bool) -> None:
    for one, other in combinations(theme.BOUND_COLOURS.values(), 2):
        assert distance(one, other, deuteranopic=deuteranopic) > 20


@pytest.mark.parametrize("deuteranopic", [False, True])
def test_the_classes_of_the_paper_differ_for_every_reader(deuteranopic: bool) -> None:
    for one, other in combinations(theme.COMPONENT_LOOKS.values(), 2):
        assert distance(one.colour, other.colour, deuteranopic=deuteranopic) > 20
        assert one.hatch != other.hatch


@pytest.mark.parametrize("deuteranopic", [False, True])
def test_the_main_families_differ_for_every_reader(deuteranopic: bool) -> None:
    main = [theme.family_look(name) for name in ("attention", "gemm", "norm", "elementwise")]
    for one, other in combinations(main, 2):
        assert distance(one.colour, other.colour, deuteranopic=deuteranopic) > 15
        assert one.marker != other.marker


def test_a_reader_with_two_kinds_of_cones_could_not_tell_red_from_green() -> None:
    """The test above can fail."""
    assert distance("#c00000", "#5a6000", deuteranopic=False) > 60
    assert distance("#c00000", "#5a6000", deuteranopic=True) < 20


def test_every_family_has_a_look_of_its_own() -> None:
    looks = [theme.family_look(name) for name in FAMILIES]
    assert len(set(looks)) == len(FAMILIES)


def test_every_stall_reason_has_a_look_of_its_own() -> None:
    looks = [theme.stall_look(reason) for reason in STALL_REASONS]
    assert len({*looks, theme.stall_look("other reasons")}) == len(STALL_REASONS) + 1


def test_no_family_has_the_colour_of_a_bound() -> None:
    bounds = set(theme.BOUND_COLOURS.values())
    assert not bounds & {look.colour for look in theme.FAMILY_LOOKS.values()}


def test_the_bounds_have_the_colours_that_they_have_in_a_notebook() -> None:
    for bound in ("memory", "compute"):
        assert f".{bound} {{ background: {theme.BOUND_COLOURS[bound]}; }}" in _STYLE


def test_every_regime_looks_different_from_every_other() -> None:
    assert len(set(theme.REGIME_LOOKS.values())) == len(theme.REGIME_LOOKS)


def test_the_markers_of_one_family_differ() -> None:
    markers = theme.other_markers(theme.family_look("gemm"))
    assert markers[0] == theme.family_look("gemm").marker
    assert len(set(markers[:14])) == 14


def test_colours_of_text_are_dark_enough_to_be_read() -> None:
    for colour in theme.OKABE_ITO.values():
        assert lab(theme.text_colour(colour), deuteranopic=False)[0] < 52
