"""NVTX ranges of operations, each with the FLOPs and bytes of `kernels_under_test.operations`."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

from nsightlens import annotate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernels_under_test.operations import StepOperations
    from kernels_under_test.work import Work

__all__ = ["NO_RANGES", "Ranges", "StepRanges", "step_ranges", "without_ranges"]


class Ranges:
    """The ranges of some operations, by their names.

    Parameters
    ----------
    works
        The operations; None for no range, whatever the name.

    Examples
    --------
    >>> from kernels_under_test.work import Work
    >>> op = Ranges([Work("o_proj", "gemm", 8, 4, 2)])
    >>> with op("o_proj"):
    ...     pass
    >>> op("down_proj")
    Traceback (most recent call last):
        ...
    KeyError: 'down_proj'
    """

    __slots__ = ("_works",)

    def __init__(self, works: Iterable[Work] | None = None) -> None:
        self._works = None if works is None else {work.name: work for work in works}

    def __call__(self, name: str) -> AbstractContextManager[None]:
        """Return the range of an operation, to be entered with ``with``."""
        if self._works is None:
            return nullcontext()
        work = self._works[name]
        return annotate.op(name, flop=work.flop, bytes=work.bytes)


@contextmanager
def without_ranges() -> Iterator[None]:
    """Make no ranges within, and then as before: somebody may have switched them off."""
    was_enabled = annotate.is_enabled()
    annotate.enable(False)
    try:
        yield
    finally:
        if was_enabled:
            annotate.enable()


class StepRanges(NamedTuple):
    """The ranges of a step: before the layers, of each of them, and behind."""

    entrance: Ranges
    layers: tuple[Ranges, ...]
    exit: Ranges


NO_RANGES = Ranges()


def step_ranges(operations: StepOperations) -> StepRanges:
    """Return the ranges of the operations of a step."""
    return StepRanges(
        Ranges(operations.entrance),
        tuple(Ranges(layer) for layer in operations.layers),
        Ranges(operations.exit),
    )
