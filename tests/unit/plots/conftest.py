"""The bundled sweep, read once."""

from __future__ import annotations

import pytest

from nsightlens import Report, open_report
from nsightlens.example import path
from nsightlens.sweeps import Sweep, sweep


@pytest.fixture(scope="session")
def bundled() -> Report:
    """Return the bundled report."""
    return open_report(path())


@pytest.fixture(scope="session")
def swept(bundled: Report) -> Sweep:
    """Return the sweep of the bundled report."""
    return sweep(bundled)
