"""A process that writes reports without loading NumPy and Arrow, which writing does not need.

The fake profilers start hundreds of times in the tests, and those two are most of what a start
takes. Only for the process of a fake: after it, reports can be written there and not read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import nsightlens

_OF_READERS = {"MetricKind": type("MetricKind", (), {"INTEGER": 2, "DOUBLE": 3, "TEXT": 4})}


def without_arrays() -> None:
    """Put stand-ins where the writer's neighbours would load what only reading needs."""
    folder = Path(str(nsightlens.__file__)).parent
    package = ModuleType("nsightlens.ncurep")
    package.__path__ = [str(folder / "ncurep")]
    store = ModuleType("nsightlens.metric_store")
    vars(store).update(_OF_READERS)
    sys.modules[package.__name__] = package
    sys.modules[store.__name__] = store
