"""The figures of advice, by name, and as files.

- `draw_curve`: throughput and latency against the batch size.
- `draw_kv`: use of the KV pool.
- `draw_shares`: what decode steps spend their time on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.errors import NothingToPlotError, OutputError
from nsightlens.files import check_place, write_bytes
from nsightlens.plots.draw_advice_beside import draw_kv, draw_shares
from nsightlens.plots.draw_advice_curve import draw_curve
from nsightlens.plots.points_advice import curve_points, kv_points, share_points
from nsightlens.plots.save import figure_bytes, own_settings
from nsightlens.plots.sheet import DEFAULT_SIZE, new_axes

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pyarrow as pa
    from matplotlib.axes import Axes

    from nsightlens.advisor.answers import Advice

__all__ = ["FIGURES", "AdviceFigure", "draw_curve", "draw_kv", "draw_shares", "save_figures"]


class AdviceFigure(NamedTuple):
    """A figure of advice.

    Parameters
    ----------
    points
        Makes its table.
    draw
        Draws it.
    """

    points: Callable[[Advice], pa.Table]
    draw: Callable[..., Axes]


FIGURES = {
    "curve": AdviceFigure(curve_points, draw_curve),
    "kv": AdviceFigure(kv_points, draw_kv),
    "shares": AdviceFigure(share_points, draw_shares),
}
"""The figures of advice; the names are those of their files."""


def save_figures(
    advice: Advice,
    folder: str | os.PathLike[str],
    format: Literal["svg", "png", "pdf"] = "svg",  # noqa: A002 - as users of matplotlib say it
    *,
    force: bool = False,
    size: tuple[float, float] = DEFAULT_SIZE,
) -> list[Path]:
    """Write the figures of advice into a folder: ``curve``, ``kv`` and ``shares``.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    folder
        Made where it is not there.
    format
        Kind of picture, and suffix of the files.
    force
        Whether files that are there may be replaced.
    size
        [inch] Width and height of each.

    Returns
    -------
    list of pathlib.Path
        What was written: a figure whose data are not known is left out.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    OutputExistsError
        A file is there already and ``force`` is false; then none is written.
    OutputError
        The folder or a file cannot be written.

    Examples
    --------
    >>> import nsightlens
    >>> advice = nsightlens.advise(nsightlens.open_serving("results/"))  # doctest: +SKIP
    >>> save_figures(advice, "figures")  # doctest: +SKIP
    [PosixPath('figures/curve.svg'), PosixPath('figures/kv.svg')]
    """
    place = Path(folder)
    names = [name for name, figure in FIGURES.items() if _has_points(figure, advice)]
    paths = [place / f"{name}.{format}" for name in names]
    _make(place)
    # All are looked at before the first is written: a set of figures is of one advice.
    for path in paths:
        check_place(path, force=force)
    with own_settings():
        drawn = [figure_bytes(FIGURES[name].draw(advice, new_axes(size)), format) for name in names]
    for path, data in zip(paths, drawn, strict=True):
        write_bytes(path, [data], force=force, remedy="add --force (in Python: force=True)")
    return paths


def _has_points(figure: AdviceFigure, advice: Advice) -> bool:
    try:
        figure.points(advice)
    except NothingToPlotError:
        return False
    return True


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{folder} is a file: name a folder for the figures.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder} cannot be made: {reason}. Choose another folder.") from error
