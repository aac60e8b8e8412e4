"""Fixtures of the tests of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.command import CommandLine, fill_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandLine:
    """Return the command line, run in a folder of reports, in a plain environment."""
    fill_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return CommandLine(capsys)
