"""The bundled example: a synthetic decode sweep and the analytic model that writes it.

``path()`` is the report. ``model`` (work to time), ``layer`` (the kernels and their work),
``counters`` (work and time as ncu's metrics) and ``decode_sweep`` (the report) made it;
``scripts/make_example.py`` makes it again.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["path"]


def path() -> Path:
    """Return the bundled report: one OPT-1.3B layer in decode, batch 1 to 512. It is synthetic.

    Examples
    --------
    >>> path().name
    'decode_sweep_synthetic.ncu-rep'
    """
    # Beside this module in a checkout and in every installation; the reader maps files into
    # memory, so that a package inside a zip archive could not be read anyway.
    return Path(__file__).with_name("decode_sweep_synthetic.ncu-rep")
