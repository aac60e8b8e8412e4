"""Draw the pictures of the docs from the bundled examples, each with its points beside it.

``--check`` says instead whether the points are still those of the pictures. The bytes of a picture
differ between versions of matplotlib, the points do not.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens import Slo, Wishes, advise, example, open_report, open_serving
from nsightlens.plots import new_axes
from nsightlens.plots.draw_advice import FIGURES
from nsightlens.plots.kinds import KINDS
from nsightlens.plots.save import figure_bytes, own_settings
from nsightlens.render.delimited import csv_pieces
from nsightlens.render.rows import plain_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from nsightlens import Advice

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SIZE, DPI = (6.0, 4.0), 100
_ROUNDING = 1e-9
"""[1] By which numbers may differ between machines."""


class Picture(NamedTuple):
    """A picture: its name, kind and what it is asked for."""

    name: str
    kind: str
    options: dict[str, Any]


PICTURES = (
    Picture("roofline", "roofline", {}),
    Picture("roofline_hierarchical", "roofline", {"levels": ("dram", "l2", "l1")}),
    Picture("intensity", "intensity", {}),
    Picture("shares", "shares", {}),
    Picture("throughput", "throughput", {}),
    Picture("stalls", "stalls", {}),
    Picture("labels", "labels", {}),
)


ADVICE_PICTURES = (Picture("advice_curve", "curve", {}), Picture("advice_kv", "kv", {}))
"""Those of docs/advisor.md."""


def _advice() -> Advice:
    serving = open_serving(example.serving_path())
    return advise(serving, Wishes(slos=(Slo(factor=2.0),)))


def all_points() -> Iterator[tuple[Picture, pa.Table]]:
    """Yield each picture with its points, as the code of today makes them."""
    report = open_report(example.path())
    for picture in PICTURES:
        yield picture, KINDS[picture.kind].points(report, **picture.options)
    advice = _advice()
    for picture in ADVICE_PICTURES:
        yield picture, FIGURES[picture.kind].points(advice)


def outdated() -> list[str]:
    """Return the names of the pictures whose points are not those of today."""
    return [one.name for one, points in all_points() if not _is_current(one, points)]


def _is_current(picture: Picture, points: pa.Table) -> bool:
    place = FOLDER / f"{picture.name}.csv"
    if not place.exists() or not (FOLDER / f"{picture.name}.png").exists():
        return False
    with place.open(newline="", encoding="utf-8") as file:
        drawn = list(csv.reader(file))
    today = list(csv.reader(csv_pieces(points.column_names, plain_rows(points))))
    return len(drawn) == len(today) and all(map(_are_same, drawn, today))


def _are_same(drawn: list[str], today: list[str]) -> bool:
    return len(drawn) == len(today) and all(map(_is_same, drawn, today))


def _is_same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        a, b = float(one), float(other)
    except ValueError:
        return False
    return abs(a - b) <= _ROUNDING * max(abs(a), abs(b))


def write() -> None:
    """Draw all pictures again."""
    FOLDER.mkdir(exist_ok=True)
    for picture, points in all_points():
        with own_settings():
            if picture in ADVICE_PICTURES:
                ax = FIGURES[picture.kind].draw(_advice(), new_axes(SIZE, DPI))
            else:
                ax = KINDS[picture.kind].draw(points, new_axes(SIZE, DPI))
            data = figure_bytes(ax, "png")
        (FOLDER / f"{picture.name}.png").write_bytes(data)
        text = "".join(csv_pieces(points.column_names, plain_rows(points)))
        (FOLDER / f"{picture.name}.csv").write_text(text, encoding="utf-8", newline="")
        print(f"{picture.name}: {points.num_rows} points, {len(data):,} bytes")


def main() -> int:
    """Draw the pictures, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="say which are out of date")
    if not parser.parse_args().check:
        write()
        return 0
    names = outdated()
    for name in names:
        print(f"docs/pictures/{name}.png is out of date: run python scripts/make_pictures.py")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
