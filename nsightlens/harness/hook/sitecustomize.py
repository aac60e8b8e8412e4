"""Python runs this when it starts the target: see `nsightlens.harness.step_labels`.

It stands in front of whatever ``sitecustomize`` the target has, and runs that one too. It imports
nothing but the standard library, and says nothing.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs time


def _watch() -> None:
    try:
        import nsightlens_step_labels  # type: ignore[import-not-found] # noqa: PLC0415

        nsightlens_step_labels.watch()
    except Exception:  # the target is never to fail of this
        pass


def _run_the_next() -> None:
    """Run the ``sitecustomize`` that Python would have run without this one."""
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)  # what it raises is told by Python, as ever


_watch()
_run_the_next()
