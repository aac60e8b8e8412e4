"""What a damaged report is told to be: the advice, and wire faults turned into typed errors.

One place words what the user should do, so that the container, the results and the sessions say
it alike. Imports `nsightlens.errors` and the wire format; used by the reader modules.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from nsightlens.errors import FieldMissingError, ReportFormatError, WireFormatError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.ncurep.wire import WireFault

__all__ = [
    "COPY_AGAIN",
    "NOTHING_TO_SALVAGE",
    "PROFILE_AGAIN",
    "READER_SLIPS",
    "SALVAGE",
    "reader_error",
    "wire_error",
]

COPY_AGAIN = "Copy the file again from where ncu wrote it."

PROFILE_AGAIN = "Profile again, or copy the file again if ncu finished."

SALVAGE = (
    "The file is damaged here: copy it again from where ncu wrote it, or read the launches before"
    " the damage with on_error='salvage' (--salvage)."
)

NOTHING_TO_SALVAGE = (
    "No launch lies before the damage, so nothing could be salvaged: copy the file again from where"
    " ncu wrote it, or profile again."
)

READER_SLIPS = (
    IndexError, KeyError, TypeError, OverflowError, RecursionError, UnicodeError, struct.error,
)  # fmt: skip
"""What the reader would raise by mistake only: sizes and positions are checked where they count."""


def wire_error(path: str, fault: WireFault, base: int, where: Sequence[str]) -> ReportFormatError:
    """Return the error of a fault, told where it lies in the file.

    Parameters
    ----------
    path
        The file, as the caller named it.
    fault
        What the wire format met.
    base
        [byte] Offset in the file of the bytes that the fault counts in.
    where
        Breadcrumb of the structures that led there, outermost first.
    """
    kind = FieldMissingError if fault.missing else WireFormatError
    return kind(path, fault.problem, SALVAGE, offset=base + fault.offset, where=where)


def reader_error(
    path: str, slip: Exception, offset: int, where: Sequence[str]
) -> ReportFormatError:
    """Return the error of a mistake of the reader, so that the user hears which file met it."""
    problem = f"the reader failed on it ({type(slip).__name__}: {slip})"
    error = WireFormatError(
        path, problem, "Please report this with the file.", offset=offset, where=where
    )
    error.__cause__ = slip
    return error
