"""What a user says of the GPU instead of the report: its name, or ceilings that were measured."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.devices.ceilings import Ceilings, read_ceilings
from nsightlens.devices.products import Product, plain_name, products
from nsightlens.errors import UnknownDeviceError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "NO_OVERRIDES",
    "PeakOverrides",
    "Search",
    "named_product",
    "peak_overrides",
    "search_products",
]


class PeakOverrides(NamedTuple):
    """Peaks that take the place of what a report says.

    Parameters
    ----------
    device
        The product whose peaks hold for every launch; ``None`` for that of each report.
    ceilings
        Measured ceilings, which win over everything else for the resources that they name.
    """

    device: Product | None = None
    ceilings: tuple[Ceilings, ...] = ()


NO_OVERRIDES = PeakOverrides()
"""The reports speak for themselves."""


def peak_overrides(device: str | None = None, peaks: str | Path | None = None) -> PeakOverrides:
    """Find the device and read the ceilings that a user named.

    Parameters
    ----------
    device
        Name of a product; see `named_product`.
    peaks
        File of measured ceilings; see `nsightlens.devices.ceilings`.

    Raises
    ------
    UnknownDeviceError
        No product has this name, or several have.
    SettingsFileError
        The file cannot be used.
    """
    return PeakOverrides(
        None if device is None else named_product(device),
        () if peaks is None else read_ceilings(peaks),
    )


def named_product(name: str) -> Product:
    """Find a product by its whole name: that of the driver, or its own.

    Parameters
    ----------
    name
        In upper or lower case, with or without a leading ``NVIDIA``.

    Raises
    ------
    UnknownDeviceError
        No product has this name, or several have. The message lists what there is.

    Examples
    --------
    >>> named_product("NVIDIA A100-SXM4-40GB").name, named_product("l4").boost_mhz
    ('A100 SXM4 40GB', 2040.0)
    """
    wanted = _folded(name)
    by_own_name = [one for one in products() if _folded(one.name) == wanted]
    named = by_own_name or [one for one in products() if wanted in map(_folded, one.driver_names)]
    if len(named) == 1:
        return named[0]
    if named:
        several = ", ".join(f"{one.name!r}" for one in named)
        raise UnknownDeviceError(
            f"{name!r} is the driver's name of several products: say which of {several}."
        )
    near = _near(wanted)
    advice = f"Near it are {', '.join(map(repr, near))}. " if near else ""
    raise UnknownDeviceError(
        f"{name!r} is no known GPU. {advice}All of them: nsightlens devices. "
        "For a GPU that is not among them, give its peaks: --peaks FILE."
    )


class Search(NamedTuple):
    """Products that a text stands for, and others in whose names it occurs."""

    found: list[Product]
    others: list[Product]


def search_products(text: str) -> Search:
    """Find the products that a text names, else those in whose names it occurs.

    Parameters
    ----------
    text
        A whole name or a part of one, in upper or lower case; empty for all.

    Raises
    ------
    UnknownDeviceError
        There is none. The message lists what is spelled like it.

    Examples
    --------
    >>> found, others = search_products("l40")
    >>> [one.name for one in found], [one.name for one in others]
    (['L40'], ['L40S'])
    """
    wanted = _folded(text)
    names = [(one, [_folded(name) for name in (one.name, *one.driver_names)])
             for one in products()]  # fmt: skip
    whole = [one for one, spellings in names if wanted in spellings]
    parts = [
        one
        for one, spellings in names
        if wanted not in spellings and any(wanted in name for name in spellings)
    ]
    if whole:
        return Search(whole, parts)
    if parts:
        return Search(parts, [])
    near = _near(wanted)
    advice = f" Near it are {', '.join(map(repr, near))}." if near else ""
    raise UnknownDeviceError(f"{text!r} is no known GPU, nor part of the name of one.{advice}")


def _folded(name: str) -> str:
    return plain_name(" ".join(name.split())).casefold().removeprefix("nvidia ")


def _near(wanted: str) -> list[str]:
    """Return products whose name holds the wanted one, or is spelled like it."""
    spellings = {
        _folded(spelling): one.name
        for one in products()
        for spelling in (*one.driver_names, one.name)
    }
    words = [name for spelling, name in spellings.items() if wanted and wanted in spelling]
    alike = [spellings[one] for one in get_close_matches(wanted, spellings, n=5, cutoff=0.6)]
    return list(dict.fromkeys([*words, *alike]))[:6]
