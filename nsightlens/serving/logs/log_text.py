"""The text of a server's log: records found by fixed words, their clock, the server's starts."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.serving.logs.log_patterns import PATTERNS, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CLOCK_YEAR", "LogText", "Record", "seconds_of_clock"]

CLOCK_YEAR = 2000
"""Year of the clock of vLLM's lines, which print none: a leap year, so that 29 February is one."""

_CLOCK = re.compile(
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +(?P<no_year>\d\d-\d\d \d\d:\d\d):(\d\d)|"
    r"(?P<year_first>\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d):(\d\d(?:[.,]\d{1,6})?)|"
    r"\[(?P<year_third>\d\d/\d\d/\d{4}-\d\d:\d\d):(\d\d)\]"
)
_STARTS = ("vllm_version", "vllm_banner", "sgl_args", "trt_version")
_LIFE = ("v0_stats", "v1_stats", "v0_blocks", "kv_tokens", "sgl_decode", "sgl_pool", "trt_kv")
MOST_OF_A_LINE = 1 << 20
"""Characters of a line that are looked at: no record is longer, and a damaged line may be."""


class Record(NamedTuple):
    """One record of a log: its match, the line that holds it, and where the line begins."""

    match: re.Match[str]
    line: str
    offset: int


class LogText:
    """The lines of a log that are of one start of the server.

    Parameters
    ----------
    text
        The whole log.
    begin, end
        Characters of the part that counts.
    """

    def __init__(self, text: str, begin: int = 0, end: int | None = None) -> None:
        self.text = text
        self.begin = begin
        self.end = len(text) if end is None else end

    def has(self, words: str, begin: int | None = None) -> bool:
        """Return whether the part has these words, from a place on."""
        return self.find(words, begin) >= 0

    def find(self, words: str, begin: int | None = None) -> int:
        """Return where the words stand first; -1 where they do not."""
        return self.text.find(words, self.begin if begin is None else begin, self.end)

    def rfind(self, words: str) -> int:
        """Return where the words stand last; -1 where they do not."""
        return self.text.rfind(words, self.begin, self.end)

    def lines(self, words: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that hold the words, tidied, with the place where each begins."""
        place = self.find(words)
        while place >= 0:
            begin = max(self.text.rfind("\n", 0, place) + 1, place - MOST_OF_A_LINE, self.begin)
            end = self.text.find("\n", place, self.end)
            end = self.end if end < 0 else end
            yield begin, tidy(self.text[begin : min(end, begin + MOST_OF_A_LINE)])
            place = self.find(words, end)

    def records(self, name: str) -> Iterator[Record]:
        """Yield the records of a kind of `PATTERNS`: two may be glued on one line."""
        words, expression = PATTERNS[name]
        for offset, line in self.lines(words):
            for match in expression.finditer(line):
                yield Record(match, line, offset)

    def last(self, name: str) -> Record | None:
        """Return the last record of a kind; None without one."""
        found = None
        for found in self.records(name):  # noqa: B007 - the last of an iterator
            pass
        return found

    def line_number(self, offset: int) -> int:
        """Return the number of the line that begins there, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def starts(self) -> list[LogText]:
        """Return a part per start of a server, in order; the whole text where none is seen.

        Processes of one server may each say that they start: a line counts as another start only
        where a server came to life, or died, before it.
        """
        places = sorted({offset for name in _STARTS for offset, _ in self.lines_of(name)})
        if not places:
            places = sorted({offset for offset, _ in self.lines_of("vllm_engine")})
        if not places:
            return [self]
        kept = [places[0]]
        for previous, place in pairwise(places):
            if self._lived(previous, place):
                kept.append(place)
        ends = [*kept[1:], self.end]
        return [LogText(self.text, begin, end) for begin, end in zip(kept, ends, strict=True)]

    def lines_of(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that hold a record of a kind."""
        for record in self.records(name):
            yield record.offset, record.line

    def _lived(self, begin: int, end: int) -> bool:
        words = (*(PATTERNS[name].words for name in _LIFE), "Traceback (most recent call last)")
        return any(self.text.find(one, begin, end) >= 0 for one in words)


def seconds_of_clock(line: str, end: int | None = None) -> float | None:
    """Return the clock of a record [s], the last that is printed before ``end`` in its line.

    The seconds are those since 1970 of a clock without zone; of a line of vLLM, which has no year,
    in `CLOCK_YEAR`. None where the line has no clock.

    Examples
    --------
    >>> seconds_of_clock("INFO 01-01 00:00:09 metrics.py:345] ...") - 946_684_800
    9.0
    >>> seconds_of_clock("Avg prompt throughput") is None
    True
    """
    found = None
    for found in _CLOCK.finditer(line, 0, len(line) if end is None else end):  # noqa: B007
        pass  # the last is that of the record itself
    if found is None:
        return None
    kind = found.lastindex or 0
    minute = _minute(found[kind - 1])
    return None if minute is None else minute + float(found[kind].replace(",", "."))


@lru_cache(maxsize=1 << 16)
def _minute(text: str) -> float | None:
    """Return the seconds since 1970 of a minute in any of the three ways; None if no date."""
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    if len(numbers) == 4:
        numbers.insert(0, CLOCK_YEAR)
    elif text[2] == "/":
        month, day, year, *clock = numbers
        numbers = [year, month, day, *clock]
    year, month, day, hour, minute = numbers
    try:
        return datetime(year, month, day, hour, minute, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
