"""Every format is listed once, in the code and on the page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.formats import MODULES, format_of, formats
from nsightlens.serving.opened import OpenedFile

PAGE = Path(__file__).resolve().parents[3] / "docs" / "serving-formats.md"
PACKAGE = Path(__file__).resolve().parents[3] / "nsightlens" / "serving"


def test_every_format_has_a_name_of_its_own() -> None:
    assert {
        name for name, count in Counter(one.name for one in formats()).items() if count > 1
    } == set()


@pytest.mark.parametrize("name", [one.name for one in formats()])
def test_every_format_stands_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")


def test_every_module_with_formats_is_asked() -> None:
    """A module whose formats another one lists beside its own is asked through that one."""
    named = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^FORMATS\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    through_another = {"telemetry.nvidia_dmon"}
    assert named - through_another == set(MODULES)


@pytest.mark.parametrize(
    "content",
    [
        b"{}", b"[]", b"[1, 2]", b'"text"', b"null", b"\0\1\2", b"hello\nworld\n", b"a: 1\n",
        b"{" * 9999,
    ],
    ids=lambda content: repr(content[:12]),
)  # fmt: skip
def test_nobody_claims_what_says_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert format_of(OpenedFile(path)) is None


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.touch()
    with pytest.raises(ServingFileError, match="is empty"):
        format_of(OpenedFile(path))
