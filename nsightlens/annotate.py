"""NVTX ranges for a user's own code, whose names say which step it is and what it needs.

`step` and `op` make push/pop ranges in the domain ``nsightlens``, in the words that
`nsightlens.steps.nsightlens_v1` reads from a report::

    from nsightlens import annotate

    with annotate.step("decode", batch_size=8, context=500, query=1):
        with annotate.op("qkv_proj", flop=2 * 8 * 2048 * 6144, bytes=2 * 2048 * 6144):
            ...

Where the package ``nvtx`` is not installed, or no profiler listens, they do nothing. Whether one
listens is asked of NVTX once, at the first range: a profiler has to start the process. This module
loads nothing else of this package.
"""

from __future__ import annotations

import math
import os
from functools import wraps
from operator import index
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec, SupportsIndex, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

    Phase = Literal["prefill", "decode", "mixed", "capture"]

__all__ = ["DOMAIN", "enable", "is_enabled", "op", "step"]

DOMAIN = "nsightlens"
"""NVTX domain of the ranges; ``ncu --nvtx-include 'regex:nsightlens@step v1/'`` finds them."""

SWITCH = "NSIGHTLENS_ANNOTATE"
"""Environment variable: ``0`` makes no range, whoever listens."""

_LISTENER = "NVTX_INJECTION64_PATH"
_PHASES = frozenset(["prefill", "decode", "mixed", "capture"])
_TOO_LARGE = 10**18
# What a path or a filter of ncu gives no meaning, and no reader takes for the end of a word.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_GENERATORS = 0x20 | 0x80 | 0x200
"""Flags of the code of generators, coroutines and asynchronous generators (``inspect.CO_*``)."""


class Range:
    """A range to be entered with ``with``, any number of times, or to decorate a function with."""

    __slots__ = ("_domain", "_text")

    def __init__(self, domain: _Domain, text: str) -> None:
        self._domain = domain
        self._text = text

    def __enter__(self) -> None:
        self._domain.push(self._text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._domain.pop()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function that runs in the range."""
        _check_function(function)

        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return inside


class _Nothing(Range):
    """A range that nobody listens to."""

    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function as it is."""
        _check_function(function)
        return function


class _Domain:
    """Our domain of NVTX, through whatever the installed version of ``nvtx`` has."""

    __slots__ = ("pop", "push")

    def __init__(self, nvtx: Any) -> None:
        # The functions of the module are those that every version has; a domain's own are faster.
        self.push: Callable[[str], object] = lambda text: nvtx.push_range(text, domain=DOMAIN)
        self.pop: Callable[[], object] = lambda: nvtx.pop_range(domain=DOMAIN)
        domain: Any = nvtx.get_domain(DOMAIN) if hasattr(nvtx, "get_domain") else None
        if hasattr(domain, "push_range"):
            self.push = lambda text: domain.push_range(domain.get_event_attributes(message=text))
            self.pop = domain.pop_range


_NOTHING = _Nothing()
_is_asked = False
_domain: _Domain | None = None


def step(
    phase: Phase,
    batch_size: SupportsIndex | None = None,
    context: SupportsIndex | None = None,
    query: SupportsIndex | None = None,
) -> Range:
    """Return a range for one step of a model.

    Parameters
    ----------
    phase
        ``prefill``, ``decode``, ``mixed``, or ``capture`` where a CUDA graph is recorded.
    batch_size
        Sequences in the step, real ones, without padding.
    context
        [token] Keys and values that each sequence attends to, where all have as many.
    query
        [token] Tokens of each sequence that run through the model: 1 in a plain decode step.

    Raises
    ------
    TypeError
        A number is not whole.
    ValueError
        The phase is none, or a number is negative, zero or too large to be kept.

    Examples
    --------
    >>> with step("decode", batch_size=8, context=500, query=1):
    ...     pass
    """
    if phase not in _PHASES:
        raise ValueError(f"phase is {phase!r}; it can be {', '.join(sorted(_PHASES))}.")
    if batch_size is not None and not 0 < index(batch_size) < _TOO_LARGE:
        raise ValueError(f"batch_size is {batch_size}; it is a whole number from 1 on.")
    if context is not None and not 0 <= index(context) < _TOO_LARGE:
        raise ValueError(f"context is {context}; it is a whole number from 0 on.")
    if query is not None and not 0 < index(query) < _TOO_LARGE:
        raise ValueError(f"query is {query}; it is a whole number from 1 on.")
    if not _is_asked:
        _ask()
    if _domain is None:
        return _NOTHING
    words = ["step v1 phase=" + phase]
    if batch_size is not None:
        words.append(f"batch_size={index(batch_size)}")
    if context is not None:
        words.append(f"context={index(context)}")
    if query is not None:
        words.append(f"query={index(query)}")
    return Range(_domain, " ".join(words))


def op(
    name: str,
    flop: float | None = None,
    bytes: float | None = None,  # noqa: A002 - the word of the grammar
) -> Range:
    """Return a range for one operation within a step.

    Parameters
    ----------
    name
        What it is, such as ``qkv_proj``.
    flop
        [FLOP] Operations that its shape needs, without padding.
    bytes
        [B] Bytes that its shape must read and write at least.

    Raises
    ------
    TypeError
        The name is not text, or a number is none.
    ValueError
        The name is empty, or a number is negative, infinite or not a number.

    Examples
    --------
    >>> with op("qkv_proj", flop=2.0e9, bytes=2.5e7):
    ...     pass
    """
    if name.__class__ is not str and not isinstance(name, str):
        raise TypeError(f"name is {name!r}; it is text.")
    if not name:
        raise ValueError("name is empty.")
    if flop is not None and not 0 <= flop < math.inf:
        raise ValueError(f"flop is {flop}; it is a number from 0 on.")
    if bytes is not None and not 0 <= bytes < math.inf:
        raise ValueError(f"bytes is {bytes}; it is a number from 0 on.")
    if not _is_asked:
        _ask()
    if _domain is None:
        return _NOTHING
    words = ["op v1 name=" + _escaped(name)]
    if flop is not None:
        words.append(f"flop={float(flop)!r}")
    if bytes is not None:
        words.append(f"bytes={float(bytes)!r}")
    return Range(_domain, " ".join(words))


def is_enabled() -> bool:
    """Return whether ranges are made: somebody listens, and nobody switched them off.

    Examples
    --------
    >>> enable(False)
    >>> is_enabled()
    False
    """
    if not _is_asked:
        _ask()
    return _domain is not None


def enable(is_wanted: bool = True) -> None:
    """Switch ranges on, where somebody listens, or off.

    What was made before stays as it was: a range that is open is closed, and a function that was
    decorated while ranges were off stays without.

    Parameters
    ----------
    is_wanted
        False for no range from here on.
    """
    global _is_asked, _domain  # noqa: PLW0603 - one state for the process, as NVTX has
    _is_asked = True
    _domain = _listener() if is_wanted else None


def _ask() -> None:
    enable(os.environ.get(SWITCH) != "0")


def _listener() -> _Domain | None:
    """Return our domain; None without ``nvtx``, or where it knows that no profiler listens."""
    try:
        import nvtx  # noqa: PLC0415 - an optional library, and only where ranges are made
    except ImportError:
        return None
    if not nvtx.enabled():
        return None
    domain = nvtx.get_domain(DOMAIN) if hasattr(nvtx, "get_domain") else None
    if hasattr(domain, "push_range"):
        # These versions give a stand-in for a domain that NVTX did not enable.
        return None if type(domain).__name__ == "DummyDomain" else _Domain(nvtx)
    # Older ones do not tell: look where NVTX itself looks for who listens.
    return _Domain(nvtx) if _LISTENER in os.environ else None


def _escaped(name: str) -> str:
    """Return a name as one word, from which the reader makes the same name."""
    encoded = name.encode("utf-8", "surrogatepass")
    if _PLAIN.issuperset(encoded):
        return name
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in encoded)


def _check_function(function: Callable[..., Any]) -> None:
    """Refuse a function that returns before it has run.

    Raises
    ------
    TypeError
        It is a generator or a coroutine.
    """
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _GENERATORS:
        raise TypeError(
            f"{function.__name__} returns before it has run: write the range with 'with' inside it."
        )
