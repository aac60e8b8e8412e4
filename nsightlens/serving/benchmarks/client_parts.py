"""The runs of one file of a client -> parts: what is of no use beside good ones is said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nsightlens.serving.benchmarks.json_objects import Objects
    from nsightlens.serving.part import Part

__all__ = ["parts_of"]


def parts_of(
    objects: Objects,
    shown: str,
    read: Callable[[Mapping[str, Any], str, str], Part],
    *,
    is_run: Callable[[Mapping[str, Any]], bool],
) -> list[Part]:
    """Read each run of a file; what is refused beside good ones becomes a note.

    Parameters
    ----------
    objects
        Of the file.
    shown
        The file, as messages name it.
    read
        Turns an object, the file's name and the object's place into a part, or refuses it.
    is_run
        Whether an object is of the format at all.

    Raises
    ------
    ServingFileError
        No run is of use: the first reason.
    """
    parts: list[Part] = []
    notes = [
        Note("bad_line", f"{shown}: {place} is no whole JSON object: left out.")
        for place in objects.bad
    ]
    refusals: list[ServingFileError] = []
    for where, data in objects.found:
        if not is_run(data):
            notes.append(Note("bad_line", f"{shown}, {where}: is no such result: left out."))
            continue
        try:
            parts.append(read(data, shown, where))
        except ServingFileError as error:
            refusals.append(error)
    if not parts and not refusals:
        raise ServingFileError(shown, "holds no whole result", "Copy it again, or run it again.")
    if not parts:
        raise refusals[0]
    notes += [Note("refused_run", str(error)) for error in refusals]
    parts[0] = replace(parts[0], notes=(*parts[0].notes, *notes))
    return parts
