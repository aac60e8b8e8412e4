"""Peak rates of a GPU that is named, at a clock that is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.devices import peak_overrides
from nsightlens.devices.products import folded_name
from nsightlens.errors import UnknownDeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nsightlens.devices.ceilings import Ceilings
    from nsightlens.devices.products import Product

__all__ = ["CLOCKS", "PredictedPeaks", "predicted_peaks"]

CLOCKS = ("sheet", "boost", "base")
"""SM clocks that can be asked for: that at which the maker's data sheet gives the throughput of the
tensor cores, the highest one, and the one that Nsight Compute locks by default."""

_RESOURCES = (
    "tensor_fp16", "tensor_bf16", "tensor_tf32", "tensor_fp8", "tensor_fp4", "tensor_int8", "fp32",
)  # fmt: skip


_SHOWN = 4


class PredictedPeaks(NamedTuple):
    """What a GPU can do.

    Parameters
    ----------
    device_name
        Its name, without the maker's.
    bytes_per_s
        [B/s] DRAM bandwidth.
    flop_per_s
        [FLOP/s] Dense, by resource; what the GPU lacks, or is not known of it, is not there.
    memory_bytes
        [B] Size of its DRAM; ``None`` where it is not known.
    clock
        The SM clock, in words, and which peaks are measured.
    source
        As in the column ``peak_source``.
    warnings
        What was noticed of the measured ceilings, one sentence each.
    """

    device_name: str
    bytes_per_s: float
    flop_per_s: dict[str, float]
    memory_bytes: float | None
    clock: str
    source: str
    warnings: tuple[str, ...] = ()


def predicted_peaks(
    device: str, *, clock: str = "sheet", peaks: str | Path | None = None
) -> PredictedPeaks:
    """Find the peaks of a product.

    Parameters
    ----------
    device
        Its name; see `nsightlens.devices.overrides.named_product`.
    clock
        One of `CLOCKS`. Tensor cores of some products reach the figures of the data sheet below the
        highest clock; everything else counts at the highest then.
    peaks
        File of measured ceilings; those of the device take the place of the product's, for the
        tensor cores and CUDA cores in proportion to the clock.

    Raises
    ------
    UnknownDeviceError
        No product has this name, several have, or what is known of it is not enough.
    SettingsFileError
        The file cannot be used.

    Examples
    --------
    >>> h100 = predicted_peaks("H100 SXM5 80GB")
    >>> f"{h100.bytes_per_s:.4g} {h100.flop_per_s['tensor_fp16']:.4g} {h100.clock}"
    '3.352e+12 9.894e+14 tensor cores at 1830 MHz, as in the data sheet'
    """
    if clock not in CLOCKS:
        raise ValueError(f"clock must be one of {', '.join(CLOCKS)}, not {clock!r}")
    overrides = peak_overrides(device, peaks)
    product = overrides.device
    assert product is not None  # it was named
    clocks = _clocks_mhz(product, clock)
    rates = {name: _flop_per_s(product, name, clocks) for name in _RESOURCES}
    bandwidth = product.bandwidth_gb_per_s
    found = {"dram": None if bandwidth is None else bandwidth * 1e9, **rates}
    sources = {name: "named_device" for name, value in found.items() if value}
    measured = _measured(product, overrides.ceilings, clocks)
    found.update(measured)
    sources.update(dict.fromkeys(measured, "measured_ceiling"))
    _check(product, found, clock)
    return PredictedPeaks(
        device_name=product.driver_names[0],
        bytes_per_s=found["dram"] or 0.0,
        flop_per_s={name: value for name, value in found.items() if value and name != "dram"},
        memory_bytes=None if product.memory_gb is None else product.memory_gb * 2.0**30,
        clock=_words(clocks, clock, [f"{name} measured" for name in measured], peaks),
        source="+".join(sorted(set(sources.values()))),
        warnings=tuple(_unused(product, overrides.ceilings)),
    )


class _Clocks(NamedTuple):
    """SM clock of the tensor cores and of everything else [MHz]; ``None`` where unknown."""

    tensor: float | None
    other: float | None

    def of(self, resource: str) -> float | None:
        return self.tensor if resource.startswith("tensor_") else self.other


def _clocks_mhz(product: Product, clock: str) -> _Clocks:
    if clock == "base":
        return _Clocks(product.base_mhz, product.base_mhz)
    tensor = product.tensor_mhz if clock == "sheet" else None
    return _Clocks(tensor or product.boost_mhz, product.boost_mhz)


def _words(clocks: _Clocks, clock: str, measured: Sequence[str], file: str | Path | None) -> str:
    found = []
    if clocks.tensor is None:
        found.append("SMs at a clock that is not known")
    elif clock == "sheet":
        # With a ceiling in its place the figure is not the data sheet's, only the clock is.
        what = "the clock of" if measured else "as in"
        found.append(f"tensor cores at {clocks.tensor:g} MHz, {what} the data sheet")
    else:
        kind = "highest" if clock == "boost" else "base"
        found.append(f"SMs at {clocks.tensor:g} MHz, their {kind} clock")
    if measured:
        found.append(f"{', '.join(measured)} ({file})")
    return "; ".join(found)


def _measured(product: Product, ceilings: Iterable[Ceilings], clocks: _Clocks) -> dict[str, float]:
    """Return the measured peaks of a product at the clocks; the first that fits wins."""
    found: dict[str, float] = {}
    for one in ceilings:
        if _is_of(one, product):
            for name, value in one.peak_per_s.items():
                if name in ("dram", *_RESOURCES):
                    found.setdefault(name, value * _scale(one, name, clocks))
    return found


def _unused(product: Product, ceilings: Sequence[Ceilings]) -> Iterator[str]:
    """Say that none of the ceilings is one of the product, as `nsightlens.classify` says it."""
    if not ceilings or any(_is_of(one, product) for one in ceilings):
        return
    # All are of one file, which the place of each begins with.
    file = ceilings[0].place.rpartition(", ")[0]
    wanted = " or ".join(one.device for one in ceilings[:_SHOWN])
    wanted += " or others" if len(ceilings) > _SHOWN else ""
    yield (
        f"{file}: its ceilings are not used: the device that was named is {product.name!r}, not "
        f"{wanted}."
    )


def _flop_per_s(product: Product, resource: str, clocks: _Clocks) -> float | None:
    rate, mhz = product.rate(resource), clocks.of(resource)
    if not rate or product.sm_count is None or mhz is None:
        return None
    return rate * product.sm_count * mhz * 1e6


def _is_of(ceilings: Ceilings, product: Product) -> bool:
    """Say whether measured ceilings are those of a product: by name, else by its architecture."""
    if ceilings.name is not None:
        names = map(folded_name, (product.name, *product.driver_names))
        if folded_name(ceilings.name) not in names:
            return False
    if ceilings.sm_count not in (None, product.sm_count):
        return False
    return ceilings.compute_capability in (None, product.compute_capability)


def _scale(ceilings: Ceilings, resource: str, clocks: _Clocks) -> float:
    mhz = clocks.of(resource)
    if resource == "dram" or not ceilings.sm_clock_hz or mhz is None:
        return 1.0
    return mhz * 1e6 / ceilings.sm_clock_hz


def _check(product: Product, found: Mapping[str, float | None], clock: str) -> None:
    lacking = [name for name in ("dram", "tensor_fp16", "fp32") if not found[name]]
    if lacking and clock == "base" and product.base_mhz is None and product.boost_mhz is not None:
        raise UnknownDeviceError(
            f"the base clock of {product.name!r} is not known. "
            "Take that of its data sheet: --clock sheet."
        )
    if lacking:
        raise UnknownDeviceError(
            f"what {product.name!r} can do is not known well enough: there is no peak of "
            f"{' and of '.join(lacking)}. Give it with --peaks FILE."
        )
