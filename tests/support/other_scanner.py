"""A pytest plugin: the tests run on another build of the compiled scanner than the installed one.

``-p support.other_scanner`` with the file in ``NSIGHTLENS_OTHER_SCANNER``; `make sanitize` gives
it one that reports every access outside its memory and every undefined operation.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ExtensionFileLoader

_NAME = "nsightlens.ncurep._scanner"


def _load(path: str) -> None:
    spec = importlib.util.spec_from_file_location(
        _NAME, path, loader=ExtensionFileLoader(_NAME, path)
    )
    assert spec is not None
    assert spec.loader is not None
    # Before anything imports it, so that whoever does finds this one.
    module = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


_load(os.environ["NSIGHTLENS_OTHER_SCANNER"])
