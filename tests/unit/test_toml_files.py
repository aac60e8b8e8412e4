"""TOML files of a user's: read, or refused with a diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import SettingsFileError
from nsightlens.toml_files import read_toml

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = nothing", "is not TOML"),
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("x = " + "9" * 5000, "too many digits"),
    ],
    ids=["not-toml", "deep", "long"],
)
def test_what_cannot_be_read_is_a_fault_of_the_file(
    tmp_path: Path, text: str, problem: str
) -> None:
    """Not of the program, whatever the parser makes of it; the message is short."""
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsFileError, match=problem) as caught:
        read_toml(path)
    assert len(str(caught.value).removeprefix(str(path))) < 200


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """Editors of Windows put one in front of UTF-8."""
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_toml(path) == {"x": 1}
