"""What cannot be run here, in one line each: the error, and how PyTorch is found."""

from __future__ import annotations

from typing import Any

__all__ = ["NotAvailableError", "RoutingChangedError", "find_torch", "import_or_refuse"]

_OLDEST = (2, 5)


class NotAvailableError(Exception):
    """A backend, a type or a device is not available here. One clause, without a full stop."""


class RoutingChangedError(RuntimeError):
    """A step sent tokens to other experts than the same step before it."""


def find_torch() -> Any:
    """Return PyTorch.

    Raises
    ------
    NotAvailableError
        It is not installed, cannot be loaded, or is too old.
    """
    try:
        import torch  # noqa: PLC0415 - an optional library, and seconds to load
    except ImportError as error:
        advice = "pip install 'nsightlens[torch]'"
        what = "is not installed" if error.name == "torch" else f"cannot be loaded ({error})"
        raise NotAvailableError(f"PyTorch {what}: {advice}") from error
    # A build such as 2.13.0+cpu.
    found = tuple(int(word) for word in str(torch.__version__).split("+")[0].split(".")[:2])
    if found < _OLDEST:
        raise NotAvailableError(
            f"PyTorch {torch.__version__} is too old, for grouped queries need 2.5: "
            "pip install --upgrade torch"
        )
    return torch


def import_or_refuse(module: str, package: str, backend: str) -> Any:
    """Return an optional library of a backend.

    Parameters
    ----------
    module
        Its name in Python.
    package
        Its name for pip.
    backend
        The backend that needs it.

    Raises
    ------
    NotAvailableError
        It is not installed, or cannot be loaded here.
    """
    from importlib import import_module  # noqa: PLC0415 - beside what it loads

    try:
        return import_module(module)
    except ImportError as error:
        missing = (error.name or "").partition(".")[0] == module.partition(".")[0]
        what = "is not installed" if missing else f"cannot be loaded: {error}"
        raise NotAvailableError(
            f"attention {backend} needs the package {package}, which {what}. "
            f"Try: pip install {package}"
        ) from error
