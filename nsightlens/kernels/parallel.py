"""Many kernel names at once, in processes beside this one where they are worth their start.

Reading names is Python code, so threads would wait for one another. Each process learns for
itself; where one does not start or is lost, its names are read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.kernels.parse import reader_of
from nsightlens.processors import is_worker, processor_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.kernels.user_rules import UserRules

__all__ = ["FEW", "read_texts"]

# In parts: what is read from a name takes ten times the room of what is kept of it.
_AT_ONCE = 50_000
FEW = 100_000
"""[name] What is read in about the time that processes take to start."""
_MOST_PROCESSES = 8

Texts = list[list[str]]
"""A list for each field, with a text for each name."""


def read_texts(names: Sequence[str], fields: Sequence[str], rules: UserRules | None) -> Texts:
    """Read names and return some fields of each as text; several types are joined by a comma.

    Parameters
    ----------
    names
        Names, each of them once.
    fields
        Fields of `nsightlens.kernels.KernelName`.
    rules
        Rules to be asked before the built-in ones.
    """
    parts = [names[i : i + _AT_ONCE] for i in range(0, len(names), _AT_ONCE)]
    count = min(processor_count(), _MOST_PROCESSES, len(parts))
    if len(names) < FEW or count < 2 or is_worker():
        found = [_read(part, fields, rules) for part in parts]
    else:
        # What starts processes takes longer to import than a short column to read.
        from nsightlens.beside import do_beside  # noqa: PLC0415

        found = do_beside(_read, parts, (fields, rules), count)
    return [[text for part in found for text in part[i]] for i in range(len(fields))]


def _read(
    names: Sequence[str],
    fields: Sequence[str],
    rules: UserRules | None,
    progress: Callable[..., None] | None = None,
) -> Texts:
    """Read names here; also what a worker is told to do."""
    del progress
    kernels = reader_of(rules).read_all(names)
    columns = ([getattr(kernel, field) for kernel in kernels] for field in fields)
    return [
        [text if isinstance(text, str) else ",".join(text) for text in column] for column in columns
    ]
