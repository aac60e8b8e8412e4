"""A file is looked at once: as text, as JSON, as lines; and what is wrong with it is said."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ReportNotFoundError, ServingFileError
from nsightlens.serving import opened
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path


def _file(tmp_path: Path, content: bytes) -> OpenedFile:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    return OpenedFile(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1}', [("", {"a": 1})]),
        (b'\xef\xbb\xbf {"a": 1}', [("", {"a": 1})]),
        ('{"a": 1}'.encode("utf-16"), [("", {"a": 1})]),
        (b'[{"a": 1}, 2, {"b": 3}]', [("[0]", {"a": 1}), ("[2]", {"b": 3})]),
        (b'{"a": 1}\n\n{"b": 2}\n', [("line 1", {"a": 1}), ("line 3", {"b": 2})]),
        (b'{"a": 1}\n{"b": 2', [("line 1", {"a": 1})]),
        (b"text", []),
    ],
)
def test_objects_come_with_their_places(
    tmp_path: Path, content: bytes, expected: list[object]
) -> None:
    assert list(_file(tmp_path, content).objects) == expected


def test_lines_that_are_no_objects_are_named(tmp_path: Path) -> None:
    assert _file(tmp_path, b'{"a": 1}\nnoise\n[1]\n').bad_line_numbers == (2, 3)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"a": 1', "ends early"),
        (b'{"a": "b', "ends early"),
        (b'{"a": 1,', "ends early"),
        (b'{"a" 1}', "line 1, column 6"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "no object"),
    ],
)
def test_what_is_wrong_with_json_is_said(tmp_path: Path, content: bytes, expected: str) -> None:
    assert expected in _file(tmp_path, content).json_problem()


def test_bare_nan_and_infinity_are_taken_as_python_writes_them(tmp_path: Path) -> None:
    value = _file(tmp_path, b'{"a": NaN, "b": Infinity}').json
    assert value["a"] != value["a"]
    assert value["b"] == float("inf")


def test_bytes_are_no_text(tmp_path: Path) -> None:
    assert not _file(tmp_path, b"PAR1\0\0").is_text
    assert _file(tmp_path, "a\u00e9".encode("utf-16")).is_text


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opened, "LARGEST_BYTES", 10)
    with pytest.raises(ServingFileError, match="without details"):
        _file(tmp_path, b" " * 11)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportNotFoundError, match=r"gone\.json: cannot be read"):
        OpenedFile(tmp_path / "gone.json")


def test_a_line_separator_within_a_text_ends_no_line(tmp_path: Path) -> None:
    """U+2028 and form feeds stand in generated texts; only a line feed parts JSON Lines."""
    content = '{"a": "x\u2028y\x85"}\n{"b": 2}\n'.encode()
    assert [value for _, value in _file(tmp_path, content).objects] == [
        {"a": "x\u2028y\x85"},
        {"b": 2},
    ]


def test_a_pipe_is_read_once_and_whole(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b'{"a": 1}'))
    writer.start()
    file = OpenedFile(pipe)
    writer.join()
    assert file.byte_count == 8
    assert file.json == {"a": 1}
