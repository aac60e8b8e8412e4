"""Section definitions with the structure of real ones: what NVIDIA's reader unpacks and we skip.

Field numbers are those of ProfilerSection. Opaque filler of the same size would cost NVIDIA's
reader next to nothing, and the comparison would not be that of real reports.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from nsightlens.ncurep.encode import message_field, text_field, uint_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["section_definitions"]

_SECTIONS_FIELD = 17
_DESCRIPTION = (
    "This made-up text stands for the description of a section, which says what its metrics"
    " measure, how to read its charts, and what a high or a low value of each of them means for"
    " the kernel. It is about as long as those texts are: some three hundred characters, so that"
    " the definitions of all sections together are as large."
)


def section_definitions(count: int, size: int, metrics: Sequence[str]) -> bytes:
    """Return the section definitions of one launch as fields of a ProfileResult.

    Parameters
    ----------
    count
        Sections.
    size
        [B] Of all of them together, about.
    metrics
        Names that their tables and charts are to show, in turn.
    """
    names = cycle(metrics)
    return b"".join(_section(i, size // count, names) for i in range(count))


def _section(number: int, size: int, names: Iterator[str]) -> bytes:
    """Return one section: a table in its header, a chart in its body, and further metrics."""
    # A third each, of what the texts leave.
    share = max(0, size - 800) // 3
    return message_field(
        _SECTIONS_FIELD,
        text_field(1, f"MadeUpSection{number}"),
        text_field(2, f"Made-up Section {number}"),
        uint_field(3, number),
        message_field(4, *_fill(share, map(_header_metric, names))),
        message_field(5, *_fill(share, iter(lambda: _chart(names), b""))),
        message_field(6, *_fill(share, map(_further_metric, names))),
        text_field(7, _DESCRIPTION),
        message_field(8, text_field(1, "basic")),
        message_field(8, text_field(1, "full")),
    )


def _fill(size: int, parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield parts until they are of the size together."""
    while size > 0:
        part = next(parts)
        size -= len(part)
        yield part


def _header_metric(name: str) -> bytes:
    return message_field(2, text_field(1, name), text_field(2, "Made-up Label"))


def _further_metric(name: str) -> bytes:
    return message_field(1, text_field(1, name), text_field(2, "Made-up Label of Metric"))


def _chart(names: Iterator[str]) -> bytes:
    axis = message_field(2, uint_field(1, 0), uint_field(2, 100))
    bars = (
        message_field(5, text_field(1, next(names)), text_field(2, "Made-up Bar")) for _ in range(8)
    )
    chart = message_field(
        2,
        text_field(1, "Made-up Chart"),
        message_field(4, text_field(1, "Made-up Axis [%]"), axis, uint_field(3, 10)),
        *bars,
    )
    return message_field(1, chart)
