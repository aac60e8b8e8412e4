"""Bytes to text, and text told from reports."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.text import decoded, looks_like_csv

TEXT = '"ID","Process ID"\r\n"0","1"\r\n'


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"],
)
def test_every_encoding_of_a_shell_gives_the_same_text(encoding: str) -> None:
    """With and without a byte-order mark, as PowerShell and others redirect output."""
    content = TEXT.encode(encoding)
    assert looks_like_csv(content)
    assert decoded(content) == TEXT or decoded(content) == "\ufeff" + TEXT
    assert decoded(content).lstrip("\ufeff") == TEXT


def test_bytes_that_are_no_utf_8_are_latin_1_in_their_line_only() -> None:
    """A no-break space of an old code page groups thousands; other lines stay UTF-8."""
    assert decoded("é".encode() + b"\n1\xa0234") == "é\n1\u00a0234"


@pytest.mark.parametrize(
    ("head", "is_text"),
    [
        (b"==PROF== Connected\n", True),
        (b"\x1b[32mok\x1b[0m 10%\r20%\r\a", True),
        (b'"ID","Process ID"\n"0","1"\0\0\0', True),
        (b'"ID","Process ID"\n' + bytes(9000), True),
        (b"a.csv" + bytes(95) + b"0000644\0ustar", False),
        (b"NVR\0\x04\0\0\0", False),
        (b"\x1f\x8b\x08", False),
        (b"PK\x03\x04", False),
        (b"SQLite format 3\0", False),
        (b"<!DOCTYPE html>", False),
        (b"version https://git-lfs.github.com/spec/v1\n", False),
        (b"", False),
    ],
)
def test_text_is_told_from_reports_and_archives(head: bytes, is_text: bool) -> None:
    """What another module can tell better is left to it."""
    assert looks_like_csv(head) is is_text
