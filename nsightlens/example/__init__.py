"""The bundled examples: two synthetic decode sweeps and the analytic model that writes them.

``path()`` is the first report, ``path("short_context")`` the second, whose answer is the opposite.
``serving_path()`` is a synthetic serving sweep for the advisor, from ``serving_sweep``.
``model`` (work to time), ``layer`` and ``gated_layer`` (the kernels and their work), ``counters``
(work and time as ncu's metrics), ``report``, ``decode_sweep`` and ``short_context_sweep`` (the
reports) made them; ``scripts/make_example.py`` makes them again.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["FILE_NAMES", "path", "serving_path"]

FILE_NAMES = {
    "decode_sweep": "decode_sweep_synthetic.ncu-rep",
    "short_context": "short_context_sweep_synthetic.ncu-rep.gz",
}
"""File of each bundled report, beside this module."""


def path(name: str = "decode_sweep") -> Path:
    """Return a bundled report. It is synthetic.

    Parameters
    ----------
    name
        ``decode_sweep``: one OPT-1.3B layer in decode with 500 tokens of context, batch 1 to 512;
        ``short_context``: one Llama 3 8B layer with 96 tokens of context, batch 1 to 1024.

    Raises
    ------
    ValueError
        There is no bundled report of that name.

    Examples
    --------
    >>> path().name, path("short_context").name
    ('decode_sweep_synthetic.ncu-rep', 'short_context_sweep_synthetic.ncu-rep.gz')
    """
    if name not in FILE_NAMES:
        raise ValueError(f"name must be one of {', '.join(FILE_NAMES)}, not {name!r}")
    # Beside this module in a checkout and in every installation; the reader maps files into
    # memory, so that a package inside a zip archive could not be read anyway.
    return Path(__file__).with_name(FILE_NAMES[name])


def serving_path() -> Path:
    """Return the bundled serving sweep, a CSV with a row per run. It is synthetic.

    Examples
    --------
    >>> serving_path().name
    'serving_sweep_synthetic.csv'
    """
    return Path(__file__).with_name("serving_sweep_synthetic.csv")
