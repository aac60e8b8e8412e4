"""The text that ncu prints with ``--csv``: reader, knowing nothing of analysis.

``model`` is what a text holds, as plain Python data. ``text`` (encodings), ``layout`` (tables and
rows between other output), ``columns`` (what a column is), ``number`` and ``scale`` (decimal
commas, scaled units), ``cells`` (values with their rounding), ``labels`` (names of the details page
to raw metrics), ``diagnosis`` (what a text is that holds no table) and ``read``, the door.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsightlens.ncucsv.text import looks_like_csv

if TYPE_CHECKING:
    from nsightlens.ncucsv.model import Cell, CsvLaunch, CsvNvtxRange, CsvRule, NcuCsvFile
    from nsightlens.ncucsv.read import read_ncu_csv

__all__ = [
    "Cell",
    "CsvLaunch",
    "CsvNvtxRange",
    "CsvRule",
    "NcuCsvFile",
    "looks_like_csv",
    "read_ncu_csv",
]

_MODEL = ("Cell", "CsvLaunch", "CsvNvtxRange", "CsvRule", "NcuCsvFile")
_HOME = {
    **dict.fromkeys(_MODEL, "nsightlens.ncucsv.model"),
    "read_ncu_csv": "nsightlens.ncucsv.read",
}


def __getattr__(name: str) -> Any:
    # Whoever only asks what a file is does not wait for the reader.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
