"""GPUs: rates per architecture, products by name, and the peak rates of a launch.

- `nsightlens.devices.rates`: dense rates per SM and clock, with their confidence.
- `nsightlens.devices.products`: products by exact driver name.
- `nsightlens.devices.roofs`: the roofs of a product at its boost clock.
- `nsightlens.devices.launched`: the devices of a report.
- `nsightlens.devices.overrides`: what a user says of them instead.
- `nsightlens.devices.ceilings`: measured ceilings, from a file.
- `nsightlens.devices.peaks`: peak rate of each resource of each launch, and its source.
- `nsightlens.devices.tensor_peaks`: dense tensor peaks that a report stores.
- `nsightlens.devices.levels`: the two paths through a cache, with their roofs.
- `nsightlens.devices.columns`: columns of a report as numpy arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.devices.overrides import PeakOverrides, peak_overrides
from nsightlens.devices.products import Product, product_of, products
from nsightlens.devices.rates import rate_of, rates
from nsightlens.devices.roofs import Roof, roofs_of

if TYPE_CHECKING:
    from nsightlens.devices.peaks import PEAK_SOURCES, PeakRates, peak_rates

__all__ = [
    "PEAK_SOURCES",
    "PeakOverrides",
    "PeakRates",
    "Product",
    "Roof",
    "peak_overrides",
    "peak_rates",
    "product_of",
    "products",
    "rate_of",
    "rates",
    "roofs_of",
]

# Imported when first used: what is known of GPUs by name needs no arrays.
_OF_REPORTS = ("PEAK_SOURCES", "PeakRates", "peak_rates")


def __getattr__(name: str) -> Any:
    if name not in _OF_REPORTS:
        raise AttributeError(f"module 'nsightlens.devices' has no attribute {name!r}")
    from nsightlens.devices import peaks  # noqa: PLC0415 - see above

    return getattr(peaks, name)


def __dir__() -> list[str]:
    return __all__
