"""Products by exact driver name: what a report's attributes do not say, and data-sheet figures.

One architecture is sold with different tensor rates (`product_class`, see
`nsightlens.devices.rates.rate_of`), which only the name tells. SM count, clock and bandwidth are
here for reports that lack the device attributes; where a report has them, they win, because one
driver name covers cards with different memory. Bandwidths are those that the memory clock and bus
width of the data sheet give.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "PRODUCTS",
    "UNIFIED_MEMORY",
    "Product",
    "is_partition",
    "product_class_of",
    "product_of",
]

UNIFIED_MEMORY = frozenset({"7.2", "8.7", "10.1", "11.0", "12.1"})
"""Compute capabilities whose GPU shares its DRAM with the CPU: no DRAM counters, and attributes
from which no DRAM bandwidth follows."""


class Product(NamedTuple):
    """One product.

    ``product_class`` is ``full``, ``gf``, ``half``, ``h800``, ``h20`` or ``unknown``;
    ``boost_mhz`` [MHz] the boost clock; ``bandwidth_gb_per_s`` [GB/s] of the DRAM. ``None`` where
    it is not known.
    """

    driver_name: str
    compute_capability: str
    sm_count: int | None
    product_class: str
    boost_mhz: int | None
    bandwidth_gb_per_s: float | None


# fmt: off
PRODUCTS: tuple[Product, ...] = (
    Product("Tesla V100-SXM2-16GB", "7.0", 80, "full", 1530, 898.0),
    Product("Tesla V100-SXM2-32GB", "7.0", 80, "full", 1530, 898.0),
    Product("Tesla V100-PCIE-16GB", "7.0", 80, "full", 1380, 898.0),
    Product("NVIDIA Tesla V100-PCIE-16GB", "7.0", 80, "full", 1380, 898.0),
    Product("Tesla V100-PCIE-32GB", "7.0", 80, "full", 1380, 898.0),
    Product("Tesla V100S-PCIE-32GB", "7.0", 80, "full", 1597, 1133.6),
    Product("Quadro GV100", "7.0", 80, "full", 1627, 870.4),
    Product("Xavier", "7.2", 8, "full", 1377, 136.5),
    Product("Tesla T4", "7.5", 40, "full", 1590, 320.1),
    Product("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, "gf", 1545, 616.0),
    Product("GeForce RTX 2080 Ti", "7.5", 68, "gf", 1545, 616.0),
    Product("NVIDIA GeForce RTX 2080 SUPER", "7.5", 48, "gf", 1815, 496.1),
    Product("NVIDIA GeForce RTX 2070 SUPER", "7.5", 40, "gf", 1770, 448.1),
    Product("NVIDIA TITAN RTX", "7.5", 72, "full", 1770, 672.1),
    Product("TITAN RTX", "7.5", 72, "full", 1770, 672.1),
    Product("Quadro RTX 6000", "7.5", 72, "full", 1770, 672.1),
    Product("Quadro RTX 8000", "7.5", 72, "full", 1770, 672.1),
    Product("Quadro RTX 5000", "7.5", 48, "full", 1815, 448.1),
    Product("NVIDIA A100-SXM4-40GB", "8.0", 108, "full", 1410, 1555.2),
    Product("A100-SXM4-40GB", "8.0", 108, "full", 1410, 1555.2),
    Product("NVIDIA A100-SXM4-80GB", "8.0", 108, "full", 1410, 2039.0),
    Product("A100-SXM4-80GB", "8.0", 108, "full", 1410, 2039.0),
    Product("NVIDIA A100-PCIE-40GB", "8.0", 108, "full", 1410, 1555.2),
    Product("A100-PCIE-40GB", "8.0", 108, "full", 1410, 1555.2),
    Product("NVIDIA A100 80GB PCIe", "8.0", 108, "full", 1410, 1935.4),
    Product("NVIDIA A100-PCIE-80GB", "8.0", 108, "full", 1410, 1935.4),
    Product("NVIDIA A800-SXM4-80GB", "8.0", 108, "full", 1410, 2039.0),
    Product("NVIDIA A800 80GB PCIe", "8.0", 108, "full", 1410, 1935.4),
    Product("NVIDIA A800 40GB Active", "8.0", 108, "full", 1410, 1555.2),
    Product("NVIDIA A30", "8.0", 56, "full", 1440, 933.1),
    Product("NVIDIA A10", "8.6", 72, "full", 1695, 600.1),
    Product("NVIDIA A10G", "8.6", 80, "half", 1710, 600.1),
    Product("NVIDIA A40", "8.6", 84, "full", 1740, 696.1),
    Product("NVIDIA A16", "8.6", 10, "full", 1755, 200.0),
    Product("NVIDIA A2", "8.6", 10, "full", 1770, 200.0),
    Product("NVIDIA RTX A6000", "8.6", 84, "full", 1800, 768.1),
    Product("NVIDIA RTX A5500", "8.6", 80, "full", 1665, 768.1),
    Product("NVIDIA RTX A5000", "8.6", 64, "full", 1695, 768.1),
    Product("NVIDIA RTX A4500", "8.6", 56, "full", 1650, 640.1),
    Product("NVIDIA RTX A4000", "8.6", 48, "full", 1560, 448.1),
    Product("NVIDIA RTX A2000 12GB", "8.6", 26, "full", 1200, 288.0),
    Product("NVIDIA GeForce RTX 3090 Ti", "8.6", 84, "gf", 1860, 1008.1),
    Product("NVIDIA GeForce RTX 3090", "8.6", 82, "gf", 1695, 936.1),
    Product("NVIDIA GeForce RTX 3080 Ti", "8.6", 80, "gf", 1665, 912.1),
    Product("NVIDIA GeForce RTX 3080", "8.6", 68, "gf", 1710, 760.1),
    Product("NVIDIA GeForce RTX 3070 Ti", "8.6", 48, "gf", 1770, 608.1),
    Product("NVIDIA GeForce RTX 3070", "8.6", 46, "gf", 1725, 448.1),
    Product("NVIDIA GeForce RTX 3060 Ti", "8.6", 38, "gf", 1665, 448.1),
    Product("NVIDIA GeForce RTX 3060", "8.6", 28, "gf", 1777, 360.0),
    Product("NVIDIA GeForce RTX 3080 Laptop GPU", "8.6", 48, "gf", 1605, 448.1),
    Product("Orin", "8.7", 16, "full", 1300, 204.8),
    Product("Orin", "8.7", 14, "full", 930, 204.8),
    Product("Orin", "8.7", 8, "full", 918, 102.4),
    Product("Orin", "8.7", 8, "full", 1020, 102.4),
    Product("NVIDIA L40S", "8.9", 142, "full", 2520, 864.1),
    Product("NVIDIA L40", "8.9", 142, "half", 2490, 864.1),
    Product("NVIDIA L4", "8.9", 60, "full", 2040, 300.0),
    Product("NVIDIA L20", "8.9", 92, "half", 2520, 864.1),
    Product("NVIDIA L2", "8.9", None, "unknown", None, 300.0),
    Product("NVIDIA RTX 6000 Ada Generation", "8.9", 142, "full", 2505, 960.1),
    Product("NVIDIA RTX 5880 Ada Generation", "8.9", 110, "full", 2460, 960.1),
    Product("NVIDIA RTX 5000 Ada Generation", "8.9", 100, "full", 2550, 576.1),
    Product("NVIDIA RTX 4500 Ada Generation", "8.9", 60, "full", 2580, 432.0),
    Product("NVIDIA RTX 4000 Ada Generation", "8.9", 48, "full", 2175, 360.0),
    Product("NVIDIA RTX 4000 SFF Ada Generation", "8.9", 48, "full", 1560, 280.0),
    Product("NVIDIA RTX 2000 Ada Generation", "8.9", 22, "full", 2130, 256.0),
    Product("NVIDIA GeForce RTX 4090", "8.9", 128, "gf", 2520, 1008.1),
    Product("NVIDIA GeForce RTX 4090 D", "8.9", 114, "gf", 2520, 1008.1),
    Product("NVIDIA GeForce RTX 4080 SUPER", "8.9", 80, "gf", 2550, 736.1),
    Product("NVIDIA GeForce RTX 4080", "8.9", 76, "gf", 2505, 716.9),
    Product("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9", 66, "gf", 2610, 672.1),
    Product("NVIDIA GeForce RTX 4070 Ti", "8.9", 60, "gf", 2610, 504.0),
    Product("NVIDIA GeForce RTX 4070 SUPER", "8.9", 56, "gf", 2475, 504.0),
    Product("NVIDIA GeForce RTX 4070", "8.9", 46, "gf", 2475, 504.0),
    Product("NVIDIA GeForce RTX 4060 Ti", "8.9", 34, "gf", 2535, 288.0),
    Product("NVIDIA GeForce RTX 4060", "8.9", 24, "gf", 2460, 272.0),
    Product("NVIDIA GeForce RTX 4070 Laptop GPU", "8.9", 36, "gf", 1980, 256.0),
    Product("NVIDIA GeForce RTX 4090 Laptop GPU", "8.9", 76, "gf", 1695, 576.1),
    Product("NVIDIA H100 80GB HBM3", "9.0", 132, "full", 1980, 3352.3),
    Product("NVIDIA H100", "9.0", 132, "full", 1980, 2446.8),
    Product("NVIDIA H100 PCIe", "9.0", 114, "full", 1755, 2039.0),
    Product("NVIDIA H100 NVL", "9.0", 132, "full", 1785, 3939.0),
    Product("NVIDIA H800", "9.0", 132, "h800", 1980, 3352.3),
    Product("NVIDIA H800 PCIe", "9.0", 114, "h800", 1755, 2039.0),
    Product("NVIDIA H20", "9.0", 78, "h20", 1980, 4022.8),
    Product("NVIDIA H20-3e", "9.0", 78, "h20", 1980, 4814.3),
    Product("NVIDIA H200", "9.0", 132, "full", 1980, 4814.3),
    Product("NVIDIA H200 NVL", "9.0", 132, "full", 1785, 4814.3),
    Product("NVIDIA GH200 480GB", "9.0", 132, "full", 1980, 4022.8),
    Product("NVIDIA GH200 120GB", "9.0", 132, "full", 1980, 4022.8),
    Product("NVIDIA GH200 144G HBM3e", "9.0", 132, "full", 1980, 4916.7),
    Product("NVIDIA B200", "10.0", 148, "full", 1965, 7672.3),
    Product("NVIDIA GB200", "10.0", 152, "full", 2062, 7928.1),
    Product("NVIDIA B300 SXM6 AC", "10.3", 148, "full", 2032, 7672.3),
    Product("NVIDIA GB300", "10.3", 152, "full", 2070, 7928.1),
    Product("NVIDIA Thor", "11.0", 20, "full", 1575, 273.1),
    Product("NVIDIA Thor", "11.0", 12, "full", 1530, 273.1),
    Product("NVIDIA GB10", "12.1", 48, "full", 2418, 273.1),
    Product("NVIDIA GeForce RTX 5090", "12.0", 170, "gf", 2407, 1792.1),
    Product("NVIDIA GeForce RTX 5090 D", "12.0", 170, "unknown", 2407, 1792.1),
    Product("NVIDIA GeForce RTX 5080", "12.0", 84, "gf", 2617, 960.1),
    Product("NVIDIA GeForce RTX 5070 Ti", "12.0", 70, "gf", 2452, 896.1),
    Product("NVIDIA GeForce RTX 5070", "12.0", 48, "gf", 2512, 672.0),
    Product("NVIDIA GeForce RTX 5060 Ti", "12.0", 36, "gf", 2572, 448.0),
    Product("NVIDIA GeForce RTX 5060", "12.0", 30, "gf", 2497, 448.0),
    Product("NVIDIA GeForce RTX 5050", "12.0", 20, "gf", 2572, 320.0),
    Product("NVIDIA GeForce RTX 5090 Laptop GPU", "12.0", 82, "gf", 1515, 896.1),
    Product("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", 188, "full", 2617, 1792.1),
    Product("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "12.0", 188, "full", 2280, 1792.1),
    Product("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 188, "full", 2617, 1597.6),
    Product("NVIDIA RTX PRO 5000 Blackwell", "12.0", 110, "full", 2377, 1344.1),
    Product("NVIDIA RTX PRO 5000 72GB Blackwell", "12.0", 110, "full", 2377, 1344.1),
    Product("NVIDIA RTX PRO 4500 Blackwell", "12.0", 82, "full", 2407, 896.1),
    Product("NVIDIA RTX PRO 4000 Blackwell", "12.0", 70, "full", 2055, 672.0),
    Product("NVIDIA RTX PRO 2000 Blackwell", "12.0", 34, "full", 1957, 288.0),
    Product("NVIDIA RTX 6000D", "12.0", 156, "unknown", 2430, 1568.1),
)
# fmt: on
"""Known products, by architecture. A driver name may occur with several SM counts."""

_BY_NAME: dict[str, list[Product]] = {}
for _product in PRODUCTS:
    _BY_NAME.setdefault(_product.driver_name, []).append(_product)


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
    named = _BY_NAME.get(_whole_name(driver_name), [])
    if len(named) > 1:
        named = [product for product in named if product.sm_count == sm_count]
    return named[0] if len(set(named)) == 1 else None


def _whole_name(driver_name: str | None) -> str:
    """Return the name of the GPU that a MIG partition is a part of."""
    return (driver_name or "").partition(" MIG ")[0]


def is_partition(driver_name: str | None, sm_count: int | None) -> bool:
    """Say whether a device is a part of a GPU: by its name, or by fewer SMs than the product has.

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
    counts = [product.sm_count for product in _BY_NAME.get(driver_name or "", [])]
    known = [count for count in counts if count is not None]
    return bool(sm_count and known and sm_count < min(known))


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
