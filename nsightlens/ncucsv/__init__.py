"""The text that ncu prints with ``--csv``: reader, knowing nothing of analysis.

``model`` is what a text holds, as plain Python data. ``text`` (encodings), ``layout`` (tables and
rows between other output), ``columns`` (what a column is), ``number`` and ``scale`` (decimal
commas, scaled units), ``cells`` (values with their rounding), ``labels`` (names of the details page
to raw metrics), ``diagnosis`` (what a text is that holds no table) and ``read``, the door.
"""

from __future__ import annotations

from nsightlens.ncucsv.model import Cell, CsvLaunch, CsvNvtxRange, CsvRule, NcuCsvFile
from nsightlens.ncucsv.read import read_ncu_csv
from nsightlens.ncucsv.text import looks_like_csv

__all__ = [
    "Cell",
    "CsvLaunch",
    "CsvNvtxRange",
    "CsvRule",
    "NcuCsvFile",
    "looks_like_csv",
    "read_ncu_csv",
]
