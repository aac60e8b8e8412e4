"""One rule of advice: when it holds, and what it says of each kind of kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nsightlens.analysis.quantities import Quantities

__all__ = ["Rule"]


class Rule(NamedTuple):
    """One rule.

    Parameters
    ----------
    name
        Names it in JSON and in tests.
    holds
        Whether it is worth saying of a launch. A number that is not known is NaN there, and every
        comparison with it is false.
    text
        The advice by family of the kernel; ``""`` for every other one.
    """

    name: str
    holds: Callable[[Quantities], bool]
    text: Mapping[str, str]
