"""What is found of a table of runs while it is understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nsightlens.serving.part import Note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.tabular.plain_names import Meaning
    from nsightlens.serving.tabular.table_text import CellTable

__all__ = ["Filled", "Understood", "Work"]


@dataclass(eq=False)
class Filled:
    """A column of ``serving_runs``: values, None where there is none, and each one's header."""

    values: list[Any]
    headers: list[str]
    derived: str | None = None


@dataclass(eq=False)
class Understood:
    """What a table says, by column of ``serving_runs``."""

    filled: dict[str, Filled] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    without_unit: list[tuple[str, str]] = field(default_factory=list)
    """Headers without a unit, and what to write instead."""


@dataclass(eq=False)
class Work:
    """The table, and what is found so far."""

    file: OpenedFile
    table: CellTable
    meanings: list[tuple[int, Meaning]]
    found: Understood
    comma: str = "thousands"
    numeric: dict[str, NDArray[Any]] = field(default_factory=dict)

    def note(self, key: str, text: str) -> None:
        """Add a note; the text follows the name of the file."""
        self.found.notes.append(Note(key, f"{self.file.shown}: {text}"))
