"""What a damaged report is told to be: the advice, and wire faults turned into typed errors.

One place words what the user should do, so that the container, the results and the sessions say
it alike. Imports `nsightlens.errors` and the wire format; used by the reader modules.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from nsightlens.errors import FieldMissingError, ReportFormatError, WireFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.ncurep.wire import WireFault

__all__ = [
    "COPY_AGAIN",
    "MADE_TO_FILL",
    "NOTHING_TO_SALVAGE",
    "PROFILE_AGAIN",
    "READER_SLIPS",
    "SALVAGE",
    "reader_error",
    "wire_error",
    "within_memory",
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

MADE_TO_FILL = "The file is damaged, or made to fill the memory: profile again."

_READ_LESS = (
    "Cut a part of its launches out with `nsightlens slice` and read that, or give the process more"
    " memory."
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
    error = _failed(path, slip, offset, where)
    error.__cause__ = slip
    return error


def _failed(
    path: str, slip: Exception, offset: int | None = None, where: Sequence[str] = ()
) -> ReportFormatError:
    problem = f"the reader failed on it ({type(slip).__name__}: {slip})"
    return WireFormatError(
        path, problem, "Please report this with the file.", offset=offset, where=where
    )


@contextmanager
def within_memory(path: str) -> Iterator[None]:
    """Tell which file it was, where something does not fit into memory or into an Arrow array.

    Raises
    ------
    ReportFormatError
        What runs inside ran out of either.
    """
    try:
        yield
    except MemoryError as error:
        problem = "reading it takes more memory than this process may have"
        raise ReportFormatError(path, problem, _READ_LESS) from error
    except pa.ArrowException as error:
        told = " ".join(str(error).split()).rstrip(".")
        if not isinstance(error, pa.ArrowCapacityError) and "overflow" not in told:
            raise _failed(path, error) from error
        problem = f"it has more text in one column than the 2 GiB that Arrow holds ({told})"
        raise ReportFormatError(path, problem, _READ_LESS) from error
