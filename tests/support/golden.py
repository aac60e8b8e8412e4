"""Texts longer than a screen are compared with files in tests/golden.

After a change that is meant, write them anew with ``NSIGHTLENS_WRITE_GOLDEN=1 pytest`` and read the
difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with the file of that name, line by line."""
    file = GOLDEN / name
    if os.environ.get("NSIGHTLENS_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8", newline="\n")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()
