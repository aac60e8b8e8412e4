"""Bytes to text: byte-order marks, UTF-16 as PowerShell redirects it, and bytes that are neither.

Used by `nsightlens.ncucsv.read`, and by whoever has to tell text from a .ncu-rep file.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["decoded", "looks_like_csv"]

# UTF-32 first: its little-endian mark begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# Control characters that occur in the output of programs: bells, progress bars, colours.
_IN_CONSOLE_OUTPUT = b"\a\b\t\n\v\f\r\x1b"
_BINARY = bytes(set(range(32)) - set(_IN_CONSOLE_OUTPUT))

# Text that `nsightlens.ncurep` tells better: a web page, a Git LFS pointer.
_TOLD_ELSEWHERE = (b"<", b"version https://git-lfs")

_SEPARATED = re.compile(rb"[,;\t\n]")

_HEAD = 4096  # [byte] enough to tell an encoding


def looks_like_csv(head: bytes) -> bool:
    r"""Say whether a file is text, so that `nsightlens.ncucsv` can read it or say what it is.

    Parameters
    ----------
    head
        The first bytes of the file, some hundred or more. Fewer are enough for a short file.

    Examples
    --------
    >>> looks_like_csv(b'==PROF== Connected to process 1')
    True
    >>> looks_like_csv(b"NVR\0"), looks_like_csv(b"")
    (False, False)
    """
    # A text that was not written whole goes on with zeros, which the reader tells of.
    written = head[:_HEAD].rstrip(b"\0")
    head = written if _SEPARATED.search(written) else head[:_HEAD]
    if not head or head.startswith(_TOLD_ELSEWHERE):
        return False
    return _encoding(head) != "utf-8" or len(head.translate(None, _BINARY)) == len(head)


def decoded(content: bytes) -> str:
    """Return the text of a file; what is no valid UTF-8 is taken as Latin-1, line by line."""
    encoding = _encoding(content[:_HEAD])
    if encoding != "utf-8":
        return content.decode(encoding, "replace").lstrip("\ufeff")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return "\n".join(_decoded_line(line) for line in content.split(b"\n"))


def _decoded_line(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _encoding(head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    # UTF-16 without a mark: every other byte of Latin text is zero, and of UTF-8 none is.
    pairs = len(head) // 2
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if pairs and head[first::2].count(0) > 0.9 * pairs and not head[1 - first :: 2].count(0):
            return encoding
    return "utf-8"
