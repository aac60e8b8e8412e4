"""Whatever a figure has to show: no text covers another, and none is cut off at the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support import plotted

from nsightlens.plots import new_axes
from nsightlens.plots.kinds import KINDS
from nsightlens.plots.save import own_settings

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

SIZES = [(3.3, 2.5), (6.0, 4.0), (12.0, 8.0)]
COUNTS = [1, 10, 500]
OF_KERNELS = {
    "roofline": plotted.roofline_table,
    "intensity": plotted.intensity_table,
    "labels": plotted.labels_table,
    "stalls": plotted.stalls_table,
}
OF_BATCHES = {"shares": plotted.shares_table, "throughput": plotted.throughput_table}


def assert_legible(ax: Axes) -> None:
    boxes = plotted.text_boxes(ax)
    assert plotted.covered_texts(boxes) == []
    figure: Any = ax.figure
    width, height = figure.bbox.size
    for text, path in boxes:
        (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        assert x0 >= -1, text
        assert y0 >= -1, text
        assert x1 <= width + 1, text
        assert y1 <= height + 1, text


def drawn(kind: str, points: pa.Table, size: tuple[float, float]) -> Axes:
    with own_settings():
        return KINDS[kind].draw(points, new_axes(size, 100))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", sorted(OF_KERNELS))
def test_no_text_covers_another_or_leaves_the_figure(
    kind: str, count: int, size: tuple[float, float]
) -> None:
    """From a column in print to a slide, with one kernel and with hundreds."""
    assert_legible(drawn(kind, OF_KERNELS[kind](count), size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 10, 60])
@pytest.mark.parametrize("kind", sorted(OF_BATCHES))
def test_batch_sizes_are_thinned_until_their_numbers_are_apart(
    kind: str, count: int, size: tuple[float, float]
) -> None:
    """The bars stay, numbers go."""
    ax = drawn(kind, OF_BATCHES[kind]([4 * (i + 1) for i in range(count)]), size)
    assert_legible(ax)
    assert len(ax.get_xticks()) == count


@pytest.mark.parametrize("kind", sorted(OF_KERNELS))
def test_what_has_no_room_is_counted_with_its_share_of_time(kind: str) -> None:
    """Nothing disappears without a word."""
    ax = drawn(kind, OF_KERNELS[kind](500), (6, 4))
    (note,) = plotted.found_by_gid(ax, "nsightlens-notes")
    assert "% of the time" in note.get_text().replace("\n", " ")


@pytest.mark.parametrize("kind", [*OF_KERNELS, *OF_BATCHES])
def test_every_axis_of_numbers_has_a_unit(kind: str) -> None:
    """A name without a unit could be anything; rows of names need neither."""
    make = OF_KERNELS.get(kind)
    points = OF_BATCHES[kind]([1, 2]) if make is None else make(3)
    ax = drawn(kind, points, (6, 4))
    assert ax.get_xlabel().endswith("]")
    has_names = kind in {"labels", "stalls"}
    assert ax.get_ylabel() == "" if has_names else ax.get_ylabel().endswith("]")


def test_texts_that_cover_one_another_would_be_noticed() -> None:
    """Also where one of them is turned; not where only the boxes around them meet."""
    ax = drawn("stalls", plotted.stalls_table(3), (6, 4))
    assert plotted.covered_texts(plotted.text_boxes(ax)) == []
    ax.text(50, 1, "first label", rotation=40)
    ax.text(50, 1, "second label")
    (pair,) = plotted.covered_texts(plotted.text_boxes(ax))
    assert set(pair) == {"first label", "second label"}
