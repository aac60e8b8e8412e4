"""Labels find a place, or none: greedily, best first."""

from __future__ import annotations

import numpy as np
import pytest

from nsightlens.plots.batch_axis import kept_apart
from nsightlens.plots.placement import Box, Candidate, Obstacles, overlaps, place

FRAME = Box(50, 50, 100, 100)


def obstacles(
    points: list[tuple[float, float, float]] | None = None,
    lines: list[tuple[float, float, float, float]] | None = None,
) -> Obstacles:
    return Obstacles(
        [], np.array(points or []).reshape(-1, 3), np.array(lines or []).reshape(-1, 4)
    )


def at(x: float, y: float, text: str = "label") -> Candidate:
    return Candidate(text, Box(x, y, 20, 10))


@pytest.mark.parametrize(
    ("box", "is_in_the_way"),
    [
        (Box(0, 0, 1, 1), True),
        (Box(5, 0, 4, 4), False),
        (Box(2.9, 0, 4, 4), True),
        (Box(3.5, 0, 4, 4, 45), True),
        (Box(5.0, 0, 4, 4, 45), False),
        (Box(3.2, 3.2, 8, 0.5, -45), False),
        (Box(3.2, 3.2, 8, 0.5, 45), True),
    ],
)
def test_turned_boxes_overlap_by_their_sides_not_by_what_is_around_them(
    box: Box, is_in_the_way: bool
) -> None:
    """A label along a slanted roof leaves the corners beside it free."""
    square = Box(0, 0, 4, 4)
    assert overlaps(square, box) is is_in_the_way
    assert overlaps(box, square) is is_in_the_way


def test_the_first_of_equal_places_is_taken() -> None:
    (spot,) = place([[at(20, 20, "a"), at(60, 60, "b")]], obstacles(), FRAME)
    assert spot is not None
    assert spot.text == "a"


def test_a_place_over_a_point_is_worse_than_one_over_a_line() -> None:
    """Points are the data; a line can be followed behind a label."""
    there = obstacles(points=[(20, 20, 3)], lines=[(60, 0, 60, 100)])
    (spot,) = place([[at(20, 20), at(60, 60)]], there, FRAME)
    assert spot is not None
    assert spot.box.x == 60


def test_a_marker_beside_a_label_is_not_covered_by_it() -> None:
    there = obstacles(points=[(20, 36, 3)])
    assert there.cost(Box(20, 20, 20, 10)) == 0
    assert there.cost(Box(20, 30, 20, 10)) > 0


def test_a_label_never_touches_one_that_has_its_place() -> None:
    first, second = place([[at(50, 50)], [at(55, 52), at(50, 80)]], obstacles(), FRAME)
    assert first is not None
    assert second is not None
    assert second.box.y == 80


def test_a_label_that_would_leave_the_axes_is_left_out() -> None:
    assert place([[at(5, 50)]], obstacles(), FRAME) == [None]


def test_a_label_is_rather_left_out_than_put_over_several_points() -> None:
    crowd = obstacles(points=[(45 + i, 50, 3) for i in range(10)])
    assert place([[at(50, 50)]], crowd, FRAME) == [None]


def test_the_line_to_a_label_crosses_no_other_label() -> None:
    """Else it would seem to lead there."""
    leader = Box(50, 50, 40, 1)
    far = Candidate("far", Box(80, 50, 20, 10), leader)
    assert place([[at(50, 50)], [far]], obstacles(), FRAME)[1] is None
    alone = place([[far], [at(50, 50)]], obstacles(), FRAME)
    assert alone[0] is not None
    assert alone[1] is None


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100])
def test_numbers_along_an_axis_are_apart_and_the_ends_are_kept(count: int) -> None:
    positions = [2.0 * i for i in range(count)]
    kept = kept_apart(positions, [5.0] * count, 1.0)
    shown = [p for p, keep in zip(positions, kept, strict=True) if keep]
    assert shown[0] == 0
    assert np.diff(shown).min(initial=6.0) >= 6.0
    if positions[-1] >= 6:
        assert shown[-1] == positions[-1]


def test_an_axis_without_numbers_has_none() -> None:
    assert kept_apart([], [], 1) == []
