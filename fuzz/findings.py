"""Where failures are kept: one file for each way to fail, and how to see it again.

Two inputs that fail at the same place with the same words are one finding; the shorter is kept.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from fuzz.promise import Finding
from fuzz.targets import TARGETS

__all__ = ["FOLDER", "keep", "reproduction", "since"]

FOLDER = Path(__file__).parent / "findings"
_ROOT = Path(__file__).parents[1]


def keep(target: str, data: bytes, error: BaseException) -> Path:
    """Keep the input that made a target fail, beside the traceback, and return its path."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{target}-{_kind(error)}"
    if path.exists():
        path.touch()  # it was met again: `since` is to count it
    if not path.exists() or len(data) < path.stat().st_size:
        path.write_bytes(data)
        trace = "".join(traceback.format_exception(error))
        path.with_suffix(".txt").write_text(f"{reproduction(path)}\n\n{trace}", encoding="utf-8")
    return path


def _kind(error: BaseException) -> str:
    """Return words that are the same for errors of the same origin, fit for a file's name."""
    if isinstance(error, Finding):
        return re.sub(r"[^a-zA-Z0-9]+", "-", str(error))[:60].strip("-")
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_ROOT)]
    last = (ours or frames)[-1]
    return f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"


def reproduction(path: Path) -> str:
    """Return the command that shows a finding again."""
    target = next(name for name in TARGETS if path.name.startswith(f"{name}-"))
    return f"python -m fuzz {target} {path.relative_to(_ROOT)}"


def since(target: str, start: float) -> list[Path]:
    """Return the findings of a target that were kept since a time [s], sorted by name."""
    found = FOLDER.glob(f"{target}-*")
    return sorted(p for p in found if p.suffix != ".txt" and p.stat().st_mtime >= start)
