"""The devices on which the launches of a report ran: what they are, or what the user says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.devices.columns import first_known, metric, number_column, text_column
from nsightlens.devices.products import (
    Product,
    folded_name,
    is_partition,
    product_class_of,
    product_of,
)
from nsightlens.devices.rates import least_rate_of, rate_of, rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nsightlens.devices.ceilings import Ceilings
    from nsightlens.report import Report

__all__ = ["Device", "Devices", "devices_of"]

_MOST_SMS = 100_000
# Whether an FP32 accumulator halves the tensor rates of GB10, as on GeForce, nobody has measured.
_UNSETTLED = ("12.1",)


class Device(NamedTuple):
    """One kind of device in a report.

    ``compute_capability`` is that of the rates and ``counters`` that of the metrics: they differ
    where a user names another device.
    """

    compute_capability: str
    counters: str
    name: str | None
    sm_count: int | None
    product: Product | None

    @property
    def is_partition(self) -> bool:
        """It is a part of a GPU (MIG)."""
        return is_partition(self.name, self.sm_count)

    def rate(self, resource: str) -> float | None:
        """Return the rate of a resource; see `nsightlens.devices.rates.rate_of`."""
        product_class = product_class_of(self.name, self.sm_count)
        return rate_of(self.compute_capability, resource, product_class)

    def is_assumed(self, resource: str) -> bool:
        """Say whether `rate` is an assumption: some products are cut, and this one is not known."""
        known = rates().get(self.compute_capability, {}).get(resource)
        is_known = self.product is not None and self.compute_capability not in _UNSETTLED
        return not is_known and known is not None and bool(known.cut)

    def least_rate(self, resource: str) -> float | None:
        """Return the rate that the product has at the least: below `rate` where that is assumed."""
        rate = self.rate(resource)
        if rate is None or not self.is_assumed(resource) or self._is_geforce:
            return rate
        return least_rate_of(self.compute_capability, resource)

    @property
    def _is_geforce(self) -> bool:
        """All cards of that name are cut alike."""
        return "GeForce" in (self.name or "")

    def fits(self, ceilings: Ceilings) -> bool:
        """Say whether measured ceilings are those of this device.

        The whole GPU's are not those of a part of it: it must be named itself, or by its SMs.
        """
        wanted = (ceilings.compute_capability, ceilings.sm_count)
        known = (self.compute_capability, self.sm_count)
        if any(want not in (None, have) for want, have in zip(wanted, known, strict=True)):
            return False
        wanted_name = folded_name(ceilings.name)
        names = {folded_name(self.name)}
        if self.is_partition and ceilings.sm_count is None:
            return wanted_name in names - {""} and (" MIG " in f"{self.name} ")
        if self.product is not None:
            names |= set(map(folded_name, (self.product.name, *self.product.driver_names)))
        return ceilings.name is None or wanted_name in names


class Devices(NamedTuple):
    """The devices of a report, and for each launch an index into them. Shape (launches,)."""

    kinds: list[Device]
    code: NDArray[np.intp]

    @property
    def is_partition(self) -> NDArray[np.bool_]:
        """Say of each launch whether it ran on a part of a GPU."""
        return self.where(lambda device: device.is_partition)

    def spread(self, of_device: Callable[[Device], float | None]) -> NDArray[np.float64]:
        """Return one value per launch from one per device, NaN where there is none."""
        values = [of_device(device) for device in self.kinds]
        known = [np.nan if value is None else float(value) for value in values]
        return np.array(known, dtype=np.float64)[self.code]

    def where(self, holds: Callable[[Device], bool]) -> NDArray[np.bool_]:
        """Say of each launch whether something holds for its device."""
        return np.array([holds(device) for device in self.kinds], dtype=bool)[self.code]


def devices_of(report: Report, product: Product | None = None) -> Devices:
    """Find the devices of a report.

    Parameters
    ----------
    report
        The report.
    product
        What the user says that they are; a part of it (MIG) keeps its number of SMs.
    """
    launches = report.launches
    cc_code, cc_texts = text_column(launches, "compute_capability")
    name_code, name_texts = text_column(launches, "device_name")
    sm_count = first_known(
        number_column(launches, "sm_count"),
        metric(report.store, "device__attribute_multiprocessor_count"),
    )
    # A number of SMs that cannot be is not known.
    counts = np.where(sm_count < _MOST_SMS, sm_count, 0.0).astype(np.intp)
    keys = np.stack([cc_code, name_code, counts])
    distinct, code = np.unique(keys, axis=1, return_inverse=True)
    kinds = [
        _device(cc_texts[cc], name_texts[name], count or None)
        for cc, name, count in distinct.T.tolist()
    ]
    if product is not None:
        kinds = [_named(device, product) for device in kinds]
    return Devices(kinds, code.reshape(-1))


def _device(compute_capability: str | None, name: str | None, sm_count: int | None) -> Device:
    capability = compute_capability or ""
    return Device(capability, capability, name, sm_count, product_of(name, sm_count))


def _named(device: Device, product: Product) -> Device:
    name = product.driver_names[0]
    # Another GPU has another number of SMs; of one that the report does not name it is a part.
    may_be_it = device.product is None and device.counters in ("", product.compute_capability)
    is_part = device.is_partition or (may_be_it and is_partition(name, device.sm_count))
    _, mig, part = (device.name or "").partition(" MIG ")
    return Device(
        compute_capability=product.compute_capability,
        counters=device.counters or product.compute_capability,
        name=f"{name}{mig}{part}",
        sm_count=device.sm_count if is_part else product.sm_count,
        product=product,
    )
