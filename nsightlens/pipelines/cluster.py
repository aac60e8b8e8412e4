"""A task for each of many reports, on the workers of a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nsightlens.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

__all__ = ["on_cluster"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def on_cluster(
    task: Callable[[str, Argument], Result],
    names: Sequence[str],
    argument: Argument,
    address: str,
) -> Generator[Callable[[], Result], None, None]:
    """Yield for each name in order the function that waits for the result of its task."""
    raise MissingExtraError("--dask", package="distributed", extra="dask")
