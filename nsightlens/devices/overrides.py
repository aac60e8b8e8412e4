"""What a user says of the GPU instead of the report: its name, or ceilings that were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.devices.products import Product, folded_name, products
from nsightlens.errors import UnknownDeviceError
from nsightlens.patterns import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.devices.ceilings import Ceilings

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


_SHOWN = 8

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
    product = None if device is None else named_product(device)
    if peaks is None:
        return PeakOverrides(product)
    # Only here: to name a product needs no arrays, which ceilings load.
    from nsightlens.devices.ceilings import read_ceilings  # noqa: PLC0415

    return PeakOverrides(product, read_ceilings(peaks))


def named_product(name: str) -> Product:
    """Find a product by its whole name: that of the driver, or its own.

    Parameters
    ----------
    name
        In upper or lower case, with or without a leading ``NVIDIA``. Words of a name will do where
        they are those of one product only. Without ``NVIDIA``, a driver's name with which the names
        of other products begin, such as ``H100``, is none.

    Raises
    ------
    UnknownDeviceError
        No product has this name, or several have. The message lists what there is.

    Examples
    --------
    >>> named_product("NVIDIA A100-SXM4-40GB").name, named_product("l4").boost_mhz
    ('A100 SXM4 40GB', 2040.0)
    """
    wanted = folded_name(name)
    named = _whole(name) or [one for one in products() if _has_words(one, wanted)]
    if len(named) == 1:
        return named[0]
    if named:
        several = ", ".join(f"{one.name!r}" for one in named[:_SHOWN])
        several += f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        raise UnknownDeviceError(
            f"{name!r} is the name of several products, or part of it: say which of {several}."
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
    wanted = folded_name(text)
    whole = _whole(text)
    parts = [
        one
        for one in products()
        if one not in whole and any(wanted in name for name in _spellings(one))
    ]
    if whole:
        return Search(whole, parts)
    if parts:
        return Search(parts, [])
    near = _near(wanted)
    advice = f" Near it are {', '.join(map(repr, near))}." if near else ""
    raise UnknownDeviceError(f"{text!r} is no known GPU, nor part of the name of one.{advice}")


def _whole(text: str) -> list[Product]:
    """Return the products whose whole name a text is: their own, else the driver's."""
    wanted = folded_name(text)
    by_own_name = [one for one in products() if folded_name(one.name) == wanted]
    by_driver = [one for one in products() if wanted in map(folded_name, one.driver_names)]
    if by_own_name or not by_driver or _names_vendor(text):
        return by_own_name or by_driver
    # As people say it, H100 is any of them; the driver calls one of them that.
    family = [one for one in products() if f"{folded_name(one.name)} ".startswith(f"{wanted} ")]
    return by_driver + [one for one in family if one not in by_driver]


def _names_vendor(name: str) -> bool:
    return " ".join(name.split()).casefold() != folded_name(name)


def _has_words(product: Product, wanted: str) -> bool:
    return bool(wanted) and any(f" {wanted} " in f" {name} " for name in _spellings(product))


def _spellings(product: Product) -> list[str]:
    return [folded_name(name) for name in (product.name, *product.driver_names)]


def _near(wanted: str) -> list[str]:
    """Return products whose name holds the wanted one, or is spelled like it."""
    spellings = {
        folded_name(spelling): one.name
        for one in products()
        for spelling in (*one.driver_names, one.name)
    }
    words = [name for spelling, name in spellings.items() if wanted and wanted in spelling]
    alike = [spellings[one] for one in nearest(wanted, spellings, 5)]
    return list(dict.fromkeys([*words, *alike]))[:6]
