"""Processes of our own do without pandas, which pyarrow would load where it is installed.

pyarrow imports it at the first conversion of a Python list or a NumPy array, only to see whether
it is a Series. That takes longer than classifying a report. Imports nothing of ours.
"""

from __future__ import annotations

import sys

__all__ = ["keep_pandas_out"]


class _NoPandas:
    """A finder of modules that finds no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse pandas; leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def keep_pandas_out() -> None:
    """Make pandas look absent from now on, for the whole process, unless it is loaded already."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())
