"""Files that hold several runs: each is read for itself, and those of no use are told of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nsightlens.serving.part import Part

__all__ = ["parts_of_runs"]


def parts_of_runs(path: str, readers: Iterable[tuple[str, Callable[[], Part]]]) -> list[Part]:
    """Return the parts of the runs of one file; one that is of no use becomes a note on the first.

    Parameters
    ----------
    path
        The file, as messages name it.
    readers
        Place of each run in the file, and what reads it.

    Raises
    ------
    ServingFileError
        No run is left; the error is that of the first, where there was one.
    """
    parts: list[Part] = []
    errors: list[tuple[str, ServingFileError]] = []
    for place, read in readers:
        try:
            parts.append(read())
        except ServingFileError as error:  # noqa: PERF203 - each run is read for itself
            errors.append((place, error))
    if not parts and errors:
        raise errors[0][1]
    if not parts:
        raise ServingFileError(path, "holds no whole run", "Copy it again, or run it again.")
    places: dict[str, list[str]] = {}
    for place, refusal in errors:
        places.setdefault(refusal.problem, []).append(place)
    left_out = tuple(
        Note("run_left_out", f"{_listed(found)} {problem}: left out.")
        for problem, found in places.items()
    )
    parts[0] = replace(parts[0], notes=parts[0].notes + left_out)
    return parts


def _listed(places: list[str]) -> str:
    more = len(places) - 3
    return ", ".join(places[:3]) + (f" and {more} more" if more > 0 else "")
