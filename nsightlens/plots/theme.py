"""Colours, markers, hatches and sizes of all figures.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart. No two things in
a figure differ in colour alone: families differ in marker too, bounds and shares in hatch. The
colours of the bounds are those of `nsightlens.notebook`, and nothing else has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BOUND_COLOURS",
    "COMPONENT_LOOKS",
    "FAMILY_LOOKS",
    "LEVEL_LINES",
    "OKABE_ITO",
    "OTHER_LOOK",
    "REGIME_LOOKS",
    "STALL_LOOKS",
    "FillLook",
    "Look",
    "Sizes",
    "family_look",
    "other_markers",
    "sizes_for",
    "stall_look",
    "text_colour",
    "tinted",
]

OKABE_ITO = {
    "black": "#000000",
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermillion": "#d55e00",
    "purple": "#cc79a7",
}
_GREY, _LIGHT_GREY = "#767676", "#d9d9d9"

BOUND_COLOURS = {
    "memory": OKABE_ITO["sky"],
    "compute": OKABE_ITO["orange"],
    "unknown": "#ffffff",
}


class Look(NamedTuple):
    """How a series of points looks."""

    colour: str
    marker: str


class FillLook(NamedTuple):
    """How an area looks."""

    colour: str
    hatch: str


# What takes the time of a decode step first; the rest shares grey and differs in marker.
FAMILY_LOOKS = {
    "attention": Look(OKABE_ITO["blue"], "o"),
    "gemm": Look(OKABE_ITO["vermillion"], "s"),
    "norm": Look(OKABE_ITO["green"], "^"),
    "elementwise": Look(OKABE_ITO["purple"], "D"),
    "activation": Look(OKABE_ITO["black"], "v"),
    "kv_cache": Look(OKABE_ITO["yellow"], "P"),
    "rope": Look(_GREY, "<"),
    "moe_routing": Look(_GREY, ">"),
    "quantise": Look(_GREY, "X"),
    "softmax_sampling": Look(_GREY, "p"),
    "sort_topk": Look(_GREY, "h"),
    "embedding": Look(_GREY, "d"),
    "ssm_conv": Look(OKABE_ITO["green"], "8"),
    "reduction": Look(OKABE_ITO["purple"], "*"),
    "copy": Look(OKABE_ITO["black"], "H"),
    "communication": Look(OKABE_ITO["yellow"], "h"),
}
OTHER_LOOK = Look(_LIGHT_GREY, "o")

COMPONENT_LOOKS = {
    "attention": FillLook(FAMILY_LOOKS["attention"].colour, ""),
    "matmul": FillLook(FAMILY_LOOKS["gemm"].colour, "///"),
    "other": FillLook(_LIGHT_GREY, "..."),
}

# The fuller the colour, the surer the limiter explains the time.
REGIME_LOOKS = {
    "saturated": (1.0, ""),
    "balanced": (0.75, "\\\\\\"),
    "latency": (0.45, "///"),
    "small_grid": (0.45, "..."),
    "unknown": (0.25, ""),
}
"""Strength of the bound's colour [1], and hatch, by regime."""

LEVEL_LINES = {"dram": "-", "l2": "--", "l1": ":"}
"""Line of the slanted roof of each memory level."""

# Those that are met most have a colour of their own; the hatch tells the others apart.
STALL_LOOKS = {
    "long_scoreboard": FillLook(OKABE_ITO["blue"], ""),
    "wait": FillLook(OKABE_ITO["yellow"], ""),
    "barrier": FillLook(OKABE_ITO["vermillion"], "///"),
    "math_pipe_throttle": FillLook(OKABE_ITO["orange"], "..."),
    "gmma": FillLook(OKABE_ITO["green"], "\\\\\\"),
    "short_scoreboard": FillLook(OKABE_ITO["sky"], "///"),
    "mio_throttle": FillLook(OKABE_ITO["purple"], "..."),
    "not_selected": FillLook(_GREY, ""),
    "no_instruction": FillLook(OKABE_ITO["black"], "///"),
    "imc_miss": FillLook(OKABE_ITO["purple"], ""),
    "branch_resolving": FillLook(OKABE_ITO["green"], "..."),
    "lg_throttle": FillLook(OKABE_ITO["sky"], "..."),
    "drain": FillLook(OKABE_ITO["orange"], "\\\\\\"),
    "dispatch_stall": FillLook(OKABE_ITO["vermillion"], "..."),
    "membar": FillLook(OKABE_ITO["blue"], "///"),
    "sleeping": FillLook(OKABE_ITO["yellow"], "///"),
    "tex_throttle": FillLook(OKABE_ITO["yellow"], "..."),
    "misc": FillLook(_GREY, "///"),
    "selected": FillLook("#ffffff", ""),
}


def family_look(family: str | None) -> Look:
    """Return how the points of a family look, the same in every figure.

    Examples
    --------
    >>> family_look("attention").marker, family_look(None) == OTHER_LOOK
    ('o', True)
    """
    return FAMILY_LOOKS.get(family or "", OTHER_LOOK)


def other_markers(look: Look) -> Sequence[str]:
    """Return the markers of the series of one family, its own first, then others over and over."""
    others = [marker for marker in "osD^vPX<>ph8*Hd" if marker != look.marker]
    return [look.marker, *others * 20]


def stall_look(reason: str) -> FillLook:
    """Return how a stall reason looks, the same in every figure; ``other`` is light grey."""
    return STALL_LOOKS.get(reason, FillLook(_LIGHT_GREY, ""))


def tinted(colour: str, strength: float) -> str:
    """Return a colour mixed with white.

    Parameters
    ----------
    colour
        As ``#rrggbb``.
    strength
        [1] 1 leaves it as it is, 0 is white.

    Examples
    --------
    >>> tinted("#000000", 0.5)
    '#808080'
    """
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * strength):02x}" for part in parts)


def text_colour(colour: str) -> str:
    """Return a colour as dark as a text on white has to be: 4.5 to 1, as WCAG asks.

    Examples
    --------
    >>> text_colour("#0072b2"), text_colour("#f0e442")
    ('#0072b2', '#7d7722')
    """
    strength = 1.0
    while (1.05 / (_luminance(dark := _scaled(colour, strength)) + 0.05)) < 4.5:
        strength -= 0.02
    return dark


def _scaled(colour: str, strength: float) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part * strength):02x}" for part in parts)


def _luminance(colour: str) -> float:
    """[1] Relative luminance of a colour of sRGB."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Sizes(NamedTuple):
    """Sizes of text and lines [pt] and the most of what is listed, for axes of some width."""

    text: float
    small: float
    line: float
    marker: float
    is_narrow: bool

    @property
    def largest_area(self) -> float:
        """[pt^2] Area of the marker of the point with the most time."""
        return (2.3 * self.marker) ** 2

    @property
    def smallest_area(self) -> float:
        """[pt^2] Area below which a marker could not be told from another."""
        return (0.9 * self.marker) ** 2


def sizes_for(width_inches: float) -> Sizes:
    """Return the sizes for a figure of some width: a column in print, a notebook or a slide.

    Parameters
    ----------
    width_inches
        [inch] Width of the figure, or of the part of it that the axes have.

    Examples
    --------
    >>> sizes_for(3.3).text < sizes_for(6.0).text < sizes_for(12.0).text
    True
    """
    if width_inches < 4.5:
        return Sizes(text=6.5, small=5.6, line=0.9, marker=3.4, is_narrow=True)
    if width_inches < 9:
        return Sizes(text=8.5, small=7.5, line=1.2, marker=5.0, is_narrow=False)
    return Sizes(text=11.0, small=9.5, line=1.5, marker=7.0, is_narrow=False)
