"""Products by exact driver name: what a report's attributes do not say, and data-sheet figures.

One architecture is sold with different tensor rates (`product_class`, see
`nsightlens.devices.rates.rate_of`), which only the name tells. SM count, clock and bandwidth are
here for reports that lack the device attributes; where a report has them, they win, because one
driver name covers cards with different memory. The table itself is ``products.tsv`` beside this
module, read when it is first asked for.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from nsightlens.devices.rates import rate_of

__all__ = [
    "Product",
    "folded_name",
    "is_partition",
    "plain_name",
    "product_class_of",
    "product_of",
    "products",
]

# Compute capabilities of chips that can be divided, with the workstation cards of 12.0.
_WITH_MIG = frozenset({"8.0", "9.0", "10.0", "10.3"})
_VENDOR = "NVIDIA "
_THROUGHPUT = {
    "fp16_tensor": "tensor_fp16",
    "fp16_acc16_tensor": "tensor_fp16_acc16",
    "fp8_tensor": "tensor_fp8",
    "fp4_tensor": "tensor_fp4",
    "int8_tensor": "tensor_int8",
    "tf32_tensor": "tensor_tf32",
    "fp64_tensor": "tensor_fp64",
    "fp32": "fp32",
    "fp64": "fp64",
}


class Product(NamedTuple):
    """One product; ``None`` where something is not known.

    Parameters
    ----------
    name
        Its name, as a person says it; unique.
    driver_names
        What drivers call it, without a leading ``NVIDIA``.
    compute_capability
        Such as ``"9.0"``.
    sm_count
        Number of SMs.
    product_class
        ``full``, ``gf``, ``half``, ``h800``, ``h20`` or ``unknown``; see `rate_of`.
    base_mhz, boost_mhz
        [MHz] SM clocks of the data sheet.
    tensor_mhz
        [MHz] The clock at which the published tensor throughput is, where that is another.
    memory_gb
        [GB] Size of the DRAM.
    memory_type
        Such as ``HBM3``.
    bus_bit
        [bit] Width of the DRAM bus.
    memory_mhz
        [MHz] Memory clock as the device attribute gives it: half the rate of a pin.
    sheet_gb_per_s
        [GB/s] DRAM bandwidth as it is published, rounded.
    l2_mib
        [MiB] Size of the L2 cache.
    sheet_tera_per_s
        [TFLOP/s or Top/s] Published dense throughput by resource.
    known_from
        ``looked_up``, ``report`` (attributes in one), ``techpowerup`` or ``recalled`` (a data sheet
        that was not read again), joined by ``+``.
    source
        Where the figures are from.
    note
        What to know of them; empty where there is nothing.
    """

    name: str
    driver_names: tuple[str, ...]
    compute_capability: str
    sm_count: int | None
    product_class: str
    base_mhz: float | None
    boost_mhz: float | None
    tensor_mhz: float | None
    memory_gb: float | None
    memory_type: str
    bus_bit: int | None
    memory_mhz: float | None
    sheet_gb_per_s: float | None
    l2_mib: float | None
    sheet_tera_per_s: dict[str, float]
    known_from: str
    source: str
    note: str

    @property
    def bandwidth_gb_per_s(self) -> float | None:
        """[GB/s] DRAM bandwidth that memory clock and bus width give, else the published one."""
        if self.memory_mhz is None or self.bus_bit is None:
            return self.sheet_gb_per_s
        # Two bits per wire and clock.
        return 2.0 * self.memory_mhz * self.bus_bit / 8.0 / 1e3

    def rate(self, resource: str) -> float | None:
        """Return the rate of a resource as this product has it; see `rate_of`."""
        return rate_of(self.compute_capability, resource, self.product_class)


@cache
def products() -> tuple[Product, ...]:
    """Return the known products, by architecture. A driver name may occur several times."""
    # Beside this module: importlib.resources takes longer to load than the table to read.
    text = Path(__file__).with_name("products.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(_product(dict(zip(rows[0], row, strict=True))) for row in rows[1:])


def _product(row: dict[str, str]) -> Product:
    def number(column: str) -> float | None:
        return float(row[column]) if row[column] else None

    def count(column: str) -> int | None:
        return int(row[column]) if row[column] else None

    figures = {resource: number(column) for column, resource in _THROUGHPUT.items()}
    return Product(
        name=row["product"],
        driver_names=tuple(row["driver_names"].split(";")),
        compute_capability=row["compute_capability"],
        sm_count=count("sm_count"),
        product_class=row["product_class"],
        base_mhz=number("base_mhz"),
        boost_mhz=number("boost_mhz"),
        tensor_mhz=number("tensor_mhz"),
        memory_gb=number("memory_gb"),
        memory_type=row["memory_type"],
        bus_bit=count("bus_bit"),
        memory_mhz=number("memory_mhz"),
        sheet_gb_per_s=number("sheet_gb_per_s"),
        l2_mib=number("l2_mib"),
        sheet_tera_per_s={name: value for name, value in figures.items() if value is not None},
        known_from=row["known_from"],
        source=row["source"],
        note=row["note"],
    )


@cache
def _by_name() -> dict[str, list[Product]]:
    named: dict[str, list[Product]] = {}
    for product in products():
        for name in product.driver_names:
            named.setdefault(name, []).append(product)
    return named


def plain_name(driver_name: str | None) -> str:
    """Return a driver name without the leading ``NVIDIA``, which older drivers leave out.

    Examples
    --------
    >>> plain_name("NVIDIA A100-PCIE-40GB")
    'A100-PCIE-40GB'
    """
    return (driver_name or "").removeprefix(_VENDOR)


def folded_name(name: str | None) -> str:
    """Return a name as names are compared that a person wrote: in one case, without ``NVIDIA``.

    Examples
    --------
    >>> folded_name("Nvidia  H100 PCIe")
    'h100 pcie'
    """
    return " ".join((name or "").split()).casefold().removeprefix(_VENDOR.casefold())


def product_of(driver_name: str | None, sm_count: int | None = None) -> Product | None:
    """Find a product by its exact driver name, and by its SM count where names repeat.

    Parameters
    ----------
    driver_name
        Name of the GPU as the driver gives it.
    sm_count
        Number of SMs, where it is known.

    Returns
    -------
    Product or None
        ``None`` for an unknown name, and for a name of several products of which none, or more
        than one kind, has that SM count.

    Examples
    --------
    >>> product_of("NVIDIA A10G").product_class
    'half'
    """
    # A MIG partition is named after the GPU that it is a part of.
    whole_name = plain_name(driver_name).partition(" MIG ")[0]
    named = _by_name().get(whole_name, [])
    if len(named) > 1:
        named = [product for product in named if product.sm_count == sm_count]
    return named[0] if len(named) == 1 else None


def is_partition(driver_name: str | None, sm_count: int | None) -> bool:
    """Say whether a device is a part of a GPU: by its name, or by fewer SMs than the product has.

    The number counts only for chips that can be divided (MIG): a report of another one with fewer
    SMs than the table says shows a variant of the product, or a mistake in the table.

    Parameters
    ----------
    driver_name
        Name of the GPU as the driver gives it.
    sm_count
        Number of SMs, where it is known.

    Examples
    --------
    >>> is_partition("NVIDIA A100-SXM4-40GB", 14), is_partition("NVIDIA A100-SXM4-40GB", 108)
    (True, False)
    """
    if " MIG " in f"{driver_name or ''} ":
        return True
    known = [
        product.sm_count
        for product in _by_name().get(plain_name(driver_name), [])
        if product.sm_count is not None and _can_be_divided(product)
    ]
    return bool(sm_count and known and sm_count < min(known))


def _can_be_divided(product: Product) -> bool:
    is_workstation = product.compute_capability == "12.0" and product.product_class != "gf"
    return product.compute_capability in _WITH_MIG or is_workstation


def product_class_of(driver_name: str | None, sm_count: int | None = None) -> str:
    """Return how a product was cut; for an unknown GeForce card that of GeForce cards.

    Returns
    -------
    str
        A class that `nsightlens.devices.rates.rate_of` takes.

    Examples
    --------
    >>> product_class_of("NVIDIA GeForce RTX 9999")
    'gf'
    """
    product = product_of(driver_name, sm_count)
    if product is not None:
        return product.product_class
    return "gf" if "GeForce" in (driver_name or "") else "full"
