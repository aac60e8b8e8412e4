"""Rates of each architecture per SM and SM clock, as data: the roofs that no report can lack.

All tensor rates are dense, a fused multiply-add counts as two operations. `peak_rates` multiplies
them with the SM count and the clock of a report. Where the report has a ``peak_sustained`` of its
own, that one is used instead: see `nsightlens.devices.peaks`. The table itself is ``rates.tsv``
beside this module, read when it is first asked for; ``docs/devices.md`` shows it.

Each `Rate` says how far it can be trusted:

- ``A``: equal to a ``peak_sustained`` or attribute that Nsight Compute stores for that chip, or
  read in NVIDIA's code.
- ``B``: reproduces published or measured throughput together with SM count and clock.
- ``C``: one published figure or measurement.
- ``D``: by analogy with a near relative.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FULL_RATE", "Rate", "cut_source", "least_rate_of", "rate_of", "rates"]

FULL_RATE = "full"

_SAME_CHIP = {"10.1": "11.0"}  # CUDA 12 calls the chip of 11.0 so.


class Rate(NamedTuple):
    """One rate.

    Parameters
    ----------
    value
        In ``unit``, for each SM; that of L2 for each of its slices. 0 where the chip has no such
        unit.
    unit
        ``FLOP/cycle``, ``op/cycle``, ``B/cycle``, ``B/slice/L2 cycle``, or what an SM holds:
        ``warp``, ``block``, ``register``, ``scheduler``, ``B``.
    confidence
        ``A`` to ``D``, as this module says.
    cut
        The value of products that were cut, by product class; ``None`` where that is not known. A
        class that is not named has the full value.
    source
        Where it comes from.
    """

    value: float
    unit: str
    confidence: str
    cut: Mapping[str, float | None]
    source: str


@cache
def rates() -> dict[str, dict[str, Rate]]:
    """Return every rate, by compute capability and resource.

    ``tensor_fp16`` and ``tensor_fp8`` accumulate in fp32; ``..._acc16`` in fp16;
    ``tensor_fp8_scaled``, where it differs, in fp32 with block scales. On 9.0 a tensor rate is that
    of ``wgmma``; ``mma.sync`` reaches two thirds of it. On 10.x only ``tcgen05`` reaches it. ``l2``
    is what is looked up, ``l2_returned`` what goes back to the SMs. What is not known is left out.
    """
    # Beside this module: importlib.resources takes longer to load than the table to read.
    text = Path(__file__).with_name("rates.tsv").read_text(encoding="utf-8")
    table: dict[str, dict[str, Rate]] = {}
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    for capability, resource, value, unit, confidence, cut, source in rows[1:]:
        rate = Rate(float(value), unit, confidence, _cut(cut), source)
        table.setdefault(capability, {})[resource] = rate
    return table | {name: table[same] for name, same in _SAME_CHIP.items()}


def _cut(text: str) -> dict[str, float | None]:
    pairs = (one.split("=") for one in text.split(";") if one)
    return {name: None if value == "?" else float(value) for name, value in pairs}


def rate_of(compute_capability: str, resource: str, product_class: str = FULL_RATE) -> float | None:
    """Return the dense rate of a resource of one product.

    Parameters
    ----------
    compute_capability
        Such as ``"9.0"``.
    resource
        ``fp64``, ``fp32``, ``fp16``, ``tensor_fp16``, ..., ``l1``, ``l2`` or ``l2_returned``; see
        `rates`.
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
    rate = rates().get(compute_capability, {}).get(resource)
    if rate is None:
        return None
    if product_class in rate.cut:
        return rate.cut[product_class]
    if product_class not in _CLASSES and resource.startswith("tensor_"):
        return None
    return rate.value


def least_rate_of(compute_capability: str, resource: str) -> float | None:
    """Return the rate of the product that was cut most; see `rate_of`.

    Returns
    -------
    float or None
        In the unit of `rate_of`; 0 where that of some product is not known.

    Examples
    --------
    >>> least_rate_of("8.6", "tensor_bf16"), least_rate_of("8.0", "tensor_bf16")
    (512.0, 2048.0)
    """
    rate = rates().get(compute_capability, {}).get(resource)
    if rate is None:
        return None
    return min([rate.value, *(value or 0.0 for value in rate.cut.values())])


def cut_source(product_class: str, resource: str) -> tuple[str, str] | None:
    """Return confidence and source of what a cut product has of a resource.

    ``None`` for a class that is cut in nothing.

    Examples
    --------
    >>> cut_source("h20", "fp64")
    ('D', 'as H800; the data sheet says 1 TFLOP/s, which is more')
    """
    return _CUT_SOURCES.get((product_class, resource), _CUT_SOURCES.get((product_class, "")))


_CUT_SOURCES = {
    ("gf", ""): ("B", "GeForce data sheets and matmul measured on cards of 7.5 to 12.0: half"),
    ("half", ""): ("B", "data sheets of A10G, L40 and L20, matmul measured on A10G: half"),
    ("h800", ""): ("C", "fitted to the 1 TFLOP/s that H800 is published with"),
    ("h20", ""): ("C", "fitted to the 148 TFLOP/s that H20 is published with; measured 142"),
    ("h20", "fp64"): ("D", "as H800; the data sheet says 1 TFLOP/s, which is more"),
}
_CLASSES = (FULL_RATE, "gf", "half", "h800", "h20")
