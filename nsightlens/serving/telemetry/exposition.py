"""The text in which servers and exporters show their metrics to Prometheus, line by line.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Metric", "metrics_of", "scrapes_of"]

_LINE = re.compile(
    r"([A-Za-z_:][\w:]*)(?:\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r"[ \t]+(\S+)(?:[ \t]+(-?\d{1,15}))?\s*$"
)
_LABEL = re.compile(r"([A-Za-z_]\w*)=\"((?:[^\"\\]|\\.)*)\"")


class Metric(NamedTuple):
    """A line: name, labels, value, time [s] since 1970 or None, and number of the line."""

    name: str
    labels: Mapping[str, str]
    value: float
    time_s: float | None
    line: int


def metrics_of(text: str) -> Iterator[Metric]:
    r"""Yield the values of a text, NaN and infinities too; other lines are passed over.

    Examples
    --------
    >>> [one.value for one in metrics_of('# TYPE a gauge\na{b="c"} 2.0\na{b="d"} NaN\n')]
    [2.0, nan]
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line[0] == "#" or len(line) > 100_000:
            continue
        match = _LINE.match(line.strip())
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        labels = dict(_LABEL.findall(match[2] or ""))
        time_s = int(match[4]) / 1e3 if match[4] else None
        yield Metric(match[1], labels, value, time_s, number)


def scrapes_of(text: str, names: re.Pattern[str]) -> list[list[Metric]]:
    """Return the finite metrics of such names by scrape: a series that comes again begins one."""
    scrapes: list[list[Metric]] = []
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for metric in metrics_of(text):
        if not names.match(metric.name):
            continue
        series = (metric.name, tuple(sorted(metric.labels.items())))
        if series in seen or not scrapes:
            scrapes.append([])
            seen = set()
        seen.add(series)
        if math.isfinite(metric.value):
            scrapes[-1].append(metric)
    return [scrape for scrape in scrapes if scrape]
