"""The sums of each family below the rows of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.comparison_notes import signed
from nsightlens.render.grid import GridColumn, Layout, arrange, indented
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from nsightlens.render.style import Style

__all__ = ["family_lines", "left_out_words"]

_ALONE = ("added", "removed")


def family_lines(families: pa.Table, style: Style) -> list[str]:
    """Return the sums of each family as lines; none of a single family, which is the total.

    Parameters
    ----------
    families
        With the schema of `nsightlens.tables.COMPARISON_FAMILIES`.
    style
        What the output can show.
    """
    if families.num_rows < 2:
        return []
    layout = arrange(_columns(families), style.width)
    lines = [*layout.header(style), *(layout.row(i, style) for i in range(families.num_rows))]
    if layout.left_out:
        words = f"not shown: {left_out_words(layout)}"
        lines += [style.paint(line, "dim") for line in indented(words, style, 0)]
    return lines


def left_out_words(layout: Layout) -> str:
    """Name the columns that are not shown."""
    headers = ", ".join(" ".join(column.header.split()) for column in layout.left_out)
    return f"{headers}: for want of width (see --width)"


def _columns(families: pa.Table) -> list[GridColumn]:
    rows = families.to_pydict()
    counts = {
        name: [str(n or numbers.MISSING) for n in rows[f"{name}_count"]]
        for name in ("improved", "regressed")
    }
    for name in _ALONE:
        pairs = zip(rows[f"{name}_count"], rows[f"{name}_duration_ns"], strict=True)
        counts[name] = [_with_time(*pair) for pair in pairs]
    noise = [numbers.percent(x) for x in rows["duration_noise_pct"]]
    return [
        GridColumn("family", [plain(one or numbers.MISSING) for one in rows["family"]], 1000),
        GridColumn("verdict", [one.replace("_", " ") for one in rows["verdict"]], 900),
        GridColumn("base", [numbers.duration(x) for x in rows["base_duration_ns"]], 90, "right"),
        GridColumn("new", [numbers.duration(x) for x in rows["new_duration_ns"]], 90, "right"),
        GridColumn("change\n%", [signed(x) for x in rows["duration_change_pct"]], 95, "right"),
        GridColumn("noise\n%", noise, 80, "right"),
        *(
            GridColumn(name, cells, 92 if name in _ALONE else 50, "right")
            for name, cells in counts.items()
            if _says_something(cells)
        ),
    ]


def _with_time(count: int, duration_ns: float | None) -> str:
    if not count:
        return numbers.MISSING
    return f"{count}: {numbers.duration(duration_ns)}" if duration_ns else str(count)


def _says_something(cells: Sequence[str]) -> bool:
    return any(cell != numbers.MISSING for cell in cells)
