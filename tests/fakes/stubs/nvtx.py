"""The package ``nvtx`` as far as programs use it, with a profiler that always listens.

Names and signatures are those of nvtx 0.2.17; what is called is noted by `fake_gpu`.
"""

# ruff: noqa: ARG001, ARG002 - the signatures are those of the package

from __future__ import annotations

import os
from functools import cache, wraps
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import fake_gpu  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_identifiers = count(1)


class Attributes(NamedTuple):
    """What an event is called, and what goes with it."""

    message: str | None = None
    color: str | int | None = None
    category: str | int | None = None
    payload: Any = None


class Domain:
    """A domain of ranges."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def get_event_attributes(
        self,
        message: str | None = None,
        color: str | int | None = None,
        category: str | int | None = None,
        payload: Any = None,
    ) -> Attributes:
        """Return the attributes of an event."""
        return Attributes(message, color, category, payload)

    def push_range(self, attributes: Attributes) -> None:
        """Open a range on this thread."""
        push_range(attributes.message, domain=self.name)

    def pop_range(self) -> None:
        """Close the newest range of this thread."""
        pop_range(domain=self.name)

    def start_range(self, attributes: Attributes) -> tuple[int, str | None]:
        """Open a range of the process."""
        return start_range(attributes.message, domain=self.name)

    def end_range(self, range_id: tuple[int, str | None]) -> None:
        """Close a range of the process."""
        end_range(range_id)

    def mark(self, attributes: Attributes) -> None:
        """Note a moment."""
        mark(attributes.message, domain=self.name)


class DummyDomain(Domain):
    """A domain that nobody listens to."""


class annotate:  # noqa: N801 - the name of the package
    """A range with ``with``, or around a function."""

    def __init__(
        self,
        message: str | None = None,
        color: str | int | None = None,
        domain: str | None = None,
        category: str | int | None = None,
        payload: Any = None,
    ) -> None:
        self._message, self._domain = message, domain

    def __enter__(self) -> annotate:
        push_range(self._message, domain=self._domain)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pop_range(domain=self._domain)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs in the range."""

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with annotate(self._message or function.__name__, domain=self._domain):
                return function(*args, **kwargs)

        return inside


def enabled() -> bool:
    """Return whether ranges are made."""
    return not os.environ.get("NVTX_DISABLE")


@cache
def get_domain(name: str | None = None) -> Domain:
    """Return the domain of that name."""
    return Domain(name)


def push_range(
    message: str | None = None,
    color: str | int | None = "blue",
    domain: str | None = None,
    category: str | int | None = None,
    payload: Any = None,
) -> None:
    """Open a range on this thread."""
    if enabled():
        fake_gpu.fail_at(message or "")
        fake_gpu.note("push", domain=domain or "", text=message or "")


def pop_range(domain: str | None = None) -> None:
    """Close the newest range of this thread."""
    if enabled():
        fake_gpu.note("pop", domain=domain or "")


def start_range(
    message: str | None = None,
    color: str | int | None = "blue",
    domain: str | None = None,
    category: str | int | None = None,
    payload: Any = None,
) -> tuple[int, str | None]:
    """Open a range of the process."""
    identifier = next(_identifiers)
    if enabled():
        fake_gpu.fail_at(message or "")
        fake_gpu.note("start", domain=domain or "", text=message or "", id=identifier)
    return identifier, domain


def end_range(range_id: tuple[int, str | None]) -> None:
    """Close a range of the process."""
    if enabled():
        fake_gpu.note("end", domain=range_id[1] or "", id=range_id[0])


def mark(
    message: str | None = None,
    color: str | int | None = "blue",
    domain: str | None = None,
    category: str | int | None = None,
    payload: Any = None,
) -> None:
    """Note a moment."""
    if enabled():
        fake_gpu.note("mark", domain=domain or "", text=message or "")
