"""Rates of each architecture per SM and SM clock, as data: the roofs that no report can lack.

All tensor rates are dense, a fused multiply-add counts as two operations. `peak_rates` multiplies
them with the SM count and the clock of a report. Where the report has a ``peak_sustained`` of its
own, that one is used instead: see `nsightlens.devices.peaks`.

Each `Rate` says how far it can be trusted:

- ``A``: equal to a ``peak_sustained`` that Nsight Compute stores for that chip.
- ``B``: reproduces published or measured throughput together with SM count and clock.
- ``C``: one published figure or measurement.
- ``D``: by analogy with a near relative.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FULL_RATE", "RATES", "Rate", "rate_of"]

FULL_RATE = "full"


class Rate(NamedTuple):
    """One rate: ``value`` [FLOP, op or byte per SM and SM cycle], its confidence and source.

    ``l2`` (what is looked up) and ``l2_returned`` (to the SMs) are per L2 slice and L2 cycle. A
    value of 0 means that the chip has no such unit.
    """

    value: float
    confidence: str
    source: str


_NCU = "peak_sustained of the chip in Nsight Compute"
_SHEET = "data-sheet throughput over SM count and clock"
_MEASURED = "microbenchmark"
_ANALOGY = "as its nearest relative"
_TENSOR = (
    "tensor_fp16", "tensor_fp16_acc16", "tensor_bf16", "tensor_tf32", "tensor_fp8",
    "tensor_fp8_acc16", "tensor_fp4", "tensor_int8", "tensor_int4", "tensor_int1", "tensor_fp64",
)  # fmt: skip


def _rates(confidence: str, source: str, **values: float) -> dict[str, Rate]:
    return {name: Rate(value, confidence, source) for name, value in values.items()}


def _tensor(confidence: str, source: str, fp16: float, **values: float) -> dict[str, Rate]:
    """Tensor rates: fp16 with either accumulator, bf16 where named, 0 for what is not named."""
    rates = _rates(confidence, source, **dict.fromkeys(_TENSOR, 0.0))
    named = {"tensor_fp16": fp16, "tensor_fp16_acc16": fp16}
    named |= {f"tensor_{name}": value for name, value in values.items()}
    if "tensor_fp8" in named:
        named["tensor_fp8_acc16"] = named["tensor_fp8"]
    return rates | _rates(confidence, source, **named)


RATES: dict[str, dict[str, Rate]] = {
    "7.0": {
        **_rates("A", _NCU, fp64=64, fp32=128),
        **_rates("B", _SHEET, fp16=256, l1=128),
        **_tensor("B", _SHEET, 1024),
        **_rates("B", _MEASURED, l2_returned=32),
        **_rates("D", _ANALOGY, l2=32),
    },
    "7.2": {
        **_rates("D", _ANALOGY, fp64=4, l1=128, l2=32, l2_returned=32),
        **_rates("B", _SHEET, fp32=128),
        **_rates("C", _SHEET, fp16=256),
        **_tensor("C", _SHEET, 1024, int8=2048),
    },
    "7.5": {
        **_rates("A", _NCU, fp64=4, fp32=128, fp16=256, l1=128, l2_returned=32),
        **_rates("D", _ANALOGY, l2=32),
        **_tensor("A", _NCU, 1024, int8=2048, int4=4096, int1=16384),
    },
    "8.0": {
        # Versions of ncu until 2021 say 64 for look-ups.
        **_rates("A", _NCU, fp64=64, fp32=128, fp16=512, l1=128, l2=96, l2_returned=64),
        **_tensor(
            "A", _NCU, 2048, bf16=2048, tf32=1024, int8=4096, int4=8192, int1=32768, fp64=128
        ),
    },
    "8.6": {
        **_rates("A", _NCU, fp64=4, fp32=256, fp16=256, l1=128, l2=32),
        **_rates("B", _MEASURED, l2_returned=32),
        **_tensor("B", _SHEET, 1024, bf16=1024, tf32=512, int8=2048, int4=4096),
        **_rates("D", _ANALOGY, tensor_int1=16384),
    },
    "8.7": {
        **_rates("C", _MEASURED, fp64=4, fp32=256, fp16=512),
        **_rates("D", _ANALOGY, l1=128, l2=32, l2_returned=32),
        **_tensor("D", _SHEET, 2048, bf16=2048, tf32=1024, int8=4096, int4=8192),
    },
    "8.9": {
        **_rates("A", _NCU, fp64=4, fp32=256),
        **_rates("B", _MEASURED, fp16=256, l1=128),
        **_rates("C", _MEASURED, l2_returned=64),
        **_rates("D", _ANALOGY, l2=64),
        **_tensor("B", _SHEET, 1024, bf16=1024, tf32=512, fp8=2048, int8=2048, int4=4096),
    },
    "9.0": {
        **_rates("A", _NCU, fp64=128, fp32=256, fp16=512, l1=128, l2=96, l2_returned=64),
        **_tensor("A", _NCU, 4096, bf16=4096, tf32=2048, fp8=8192, int8=8192, int1=65536, fp64=256),
    },
    "10.0": {
        **_rates("B", _SHEET, fp64=128, fp32=256),
        **_rates("C", _MEASURED, fp16=256),
        **_rates("D", _ANALOGY, l1=128, l2=96, l2_returned=64),
        **_tensor("B", _SHEET, 8192, bf16=8192, tf32=4096, fp8=16384, fp4=32768, int8=16384),
        **_rates("C", _SHEET, tensor_fp64=128),
    },
    "10.3": {
        **_rates("B", _SHEET, fp64=4, fp32=256),
        **_rates("C", _MEASURED, fp16=256),
        **_rates("D", _ANALOGY, l1=128, l2=96, l2_returned=64),
        **_tensor("B", _SHEET, 8192, bf16=8192, tf32=4096, fp8=16384),
        **_rates("C", _SHEET, tensor_fp4=49152, tensor_int8=512, tensor_fp64=4),
    },
    "11.0": {
        **_rates("C", _SHEET, fp32=256),
        **_rates("D", _ANALOGY, fp64=4, fp16=256, l1=128, l2=96, l2_returned=64),
        **_tensor("C", _SHEET, 8192, bf16=8192, tf32=4096, fp8=16384, fp4=32768, int8=16384),
    },
    "12.0": {
        **_rates("B", _SHEET, fp64=4, fp32=256, fp16=256),
        **_rates("D", _ANALOGY, l1=128, l2=64, l2_returned=64),
        **_tensor("B", _SHEET, 1024, bf16=1024, tf32=512, fp8=2048, fp4=4096, int8=2048),
    },
    "12.1": {
        **_rates("C", _SHEET, fp32=256),
        **_rates("D", _ANALOGY, fp64=4, fp16=256, l1=128, l2=64, l2_returned=64),
        **_tensor("D", _ANALOGY, 1024, bf16=1024, tf32=512, fp8=2048, fp4=4096, int8=2048),
    },
}
"""Compute capability to rate by resource.

``tensor_fp16`` and ``tensor_fp8`` accumulate in fp32; ``..._acc16`` in fp16. On 9.0 the rate is
that of ``wgmma``; ``mma.sync`` reaches two thirds of it. On 10.x only ``tcgen05`` reaches it.
"""
RATES["10.1"] = RATES["11.0"]  # CUDA 12 calls the same chip 10.1

_FP32_ACCUMULATE = ("tensor_fp16", "tensor_bf16", "tensor_tf32", "tensor_fp8")
_GEFORCE_HALVES = ("7.5", "8.6", "8.9", "12.0")


def rate_of(compute_capability: str, resource: str, product_class: str = FULL_RATE) -> float | None:
    """Return the dense rate of a resource of one product.

    Parameters
    ----------
    compute_capability
        Such as ``"9.0"``.
    resource
        ``fp64``, ``fp32``, ``fp16``, ``tensor_fp16``, ..., ``l1``, ``l2`` or ``l2_returned``.
    product_class
        How the product was cut: ``full``; ``gf`` (GeForce: tensor rates with fp32 accumulate are
        halved); ``half`` (all tensor rates are halved); ``h800`` (fp64 cut); ``h20`` (fp64 cut,
        tensor rates a quarter); anything else: tensor rates are not known.

    Returns
    -------
    float or None
        [FLOP, op or byte per SM and SM cycle; for L2 byte per slice and L2 cycle] The rate;
        0 where the chip has no such unit, ``None`` where it is not known.

    Examples
    --------
    >>> rate_of("8.6", "tensor_bf16", "gf")
    512.0
    """
    rate = RATES.get(compute_capability, {}).get(resource)
    if rate is None:
        return None
    if resource.startswith("tensor_"):
        factor = _tensor_factor(compute_capability, resource, product_class)
        return None if factor is None else rate.value * factor
    if resource == "fp64" and product_class in ("h800", "h20"):
        return 4.0
    return float(rate.value)


def _tensor_factor(compute_capability: str, resource: str, product_class: str) -> float | None:
    if product_class in (FULL_RATE, "h800"):
        return None if (resource, product_class) == ("tensor_fp64", "h800") else 1.0
    if product_class == "gf":
        is_halved = resource in _FP32_ACCUMULATE and compute_capability in _GEFORCE_HALVES
        return 0.5 if is_halved else 1.0
    if product_class == "half":
        return 0.5
    if product_class == "h20" and resource != "tensor_fp64":
        return 0.25
    return None
