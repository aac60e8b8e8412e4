"""Pages of a mapped file that are done with are given back, a window at a time.

While a page is mapped it counts as memory of this process. Most of a report is parts that are
stepped over, and the system maps much around each byte that is read.
"""

from __future__ import annotations

import mmap

__all__ = ["WINDOW", "PageReleaser", "release_pages"]

WINDOW = 32 << 20
"""[byte] Of the file, worked on at a time."""


class PageReleaser:
    """Gives back the pages of a file that is read from its beginning to its end.

    Parameters
    ----------
    buffer
        The file; one that is not mapped has nothing to give back.
    begin
        [byte] Where the reading begins.
    """

    def __init__(self, buffer: mmap.mmap | bytes, begin: int) -> None:
        self._buffer = buffer
        self._begin = begin

    def read_up_to(self, end: int) -> None:
        """Take note that what lies before ``end`` [byte] is done with."""
        if end - self._begin >= WINDOW:
            release_pages(self._buffer, self._begin, end)
            self._begin = end


def release_pages(buffer: mmap.mmap | bytes, begin: int, end: int) -> None:
    """Give back the pages of ``[begin, end)`` [byte]; reading them again maps them again."""
    begin -= begin % mmap.PAGESIZE
    end = min(end, len(buffer))
    if isinstance(buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") and end > begin:
        buffer.madvise(mmap.MADV_DONTNEED, begin, end - begin)
