"""The pictures in the docs are those that the code of today draws."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "plots.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script that draws the pictures."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts/make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_show_the_points_of_today(script: ModuleType) -> None:
    """`python scripts/make_pictures.py` was run after the last change of a number."""
    assert script.outdated() == []


def test_a_picture_of_other_points_would_be_noticed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One number that differs is enough; how it was rounded is not."""
    for path in script.FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(script, "FOLDER", tmp_path)
    shares = tmp_path / "shares.csv"
    text = shares.read_text(encoding="utf-8")
    last = text.rstrip().rpartition(",")[2]
    shares.write_text(text.replace(last, f"{float(last) * (1 + 1e-14)!r}"), encoding="utf-8")
    assert script.outdated() == []
    shares.write_text(text.replace(last, "1.5"), encoding="utf-8")
    (tmp_path / "stalls.png").unlink()
    assert script.outdated() == ["shares", "stalls"]


def test_every_kind_of_figure_is_on_the_page_with_its_command_and_a_picture(
    script: Any,
) -> None:
    from nsightlens.plots.kinds import KINDS

    page = PAGE.read_text(encoding="utf-8")
    for kind in KINDS:
        assert f"$ nsightlens plot {kind} " in page
    shown = re.findall(r"\]\(pictures/(\w+)\.png\)", page)
    assert shown == [picture.name for picture in script.PICTURES]


def test_no_picture_is_heavy(script: Any) -> None:
    """They are loaded with the page, and kept in the repository for ever."""
    for path in script.FOLDER.iterdir():
        assert path.stat().st_size < 80_000, path.name
