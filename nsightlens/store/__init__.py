"""A report and its labels become a folder of Parquet files.

`export` writes and reads the folder; `files` brings every result, also that of other commands, to
its place whole or not at all.
"""

from nsightlens.store.export import check_export_place, read_export, write_export

__all__ = ["check_export_place", "read_export", "write_export"]
