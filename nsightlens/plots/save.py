"""A figure as the bytes of a file: the same ones each time, whatever matplotlib is set to."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nsightlens.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

__all__ = ["FORMATS", "figure_bytes", "own_settings"]

FORMATS = ("png", "svg", "pdf")

_SETTINGS: dict[str, Any] = {
    # Identifiers in an SVG are random but for this.
    "svg.hashsalt": "nsightlens",
    # As outlines: a figure looks the same where the font is not installed.
    "svg.fonttype": "path",
    # TrueType: many journals refuse the default, Type 3.
    "pdf.fonttype": 42,
    "hatch.linewidth": 0.5,
}
# Neither the time nor the version of what drew it.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": "nsightlens"},
    "svg": {"Creator": "nsightlens", "Date": None},
    "pdf": {"Creator": "nsightlens", "Producer": "nsightlens", "CreationDate": None},
}


@contextmanager
def own_settings() -> Iterator[None]:
    """Draw and save with the settings of this package; those of matplotlib come back after.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("a figure", package="matplotlib", extra="plots") from error
    with mpl.rc_context():
        # A file of settings in the current folder or at home changes no figure.
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_SETTINGS)
        yield


def figure_bytes(ax: Axes, form: str) -> bytes:
    """Return the figure of some axes as a file.

    Parameters
    ----------
    ax
        The axes; the resolution of a PNG is that of their figure.
    form
        One of `FORMATS`.

    Examples
    --------
    >>> from nsightlens.plots import new_axes
    >>> with own_settings():
    ...     data = figure_bytes(new_axes((1, 1)), "png")
    >>> data[1:4]
    b'PNG'
    """
    buffer = io.BytesIO()
    figure: Any = ax.figure
    figure.savefig(buffer, format=form, dpi=figure.dpi, metadata=_METADATA[form])
    return buffer.getvalue()
