"""The roofs of one product by the tables: every resource at the boost clock, with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.devices.rates import cut_source, rates

if TYPE_CHECKING:
    from nsightlens.devices.products import Product
    from nsightlens.devices.rates import Rate

__all__ = ["Roof", "roofs_of"]

_MEMORY = ("l1",)
_RESOURCES = (
    "tensor_fp16", "tensor_fp16_acc16", "tensor_bf16", "tensor_tf32", "tensor_fp8",
    "tensor_fp8_scaled", "tensor_fp8_acc16", "tensor_fp6", "tensor_fp4", "tensor_int8",
    "tensor_int4", "tensor_int1", "tensor_fp64", "fp64", "fp32", "fp16", "l1",
)  # fmt: skip


class Roof(NamedTuple):
    """One roof of a product; ``None`` where something is not known.

    Parameters
    ----------
    resource
        As in the column ``resource`` of the table ``resources``.
    peak_per_s
        [FLOP/s, op/s or B/s] Dense, at the boost clock.
    unit
        Its unit.
    ridge_point_flop_per_byte
        [FLOP/B] Peak over DRAM bandwidth; ``None`` for memory.
    sheet_per_s
        [FLOP/s, op/s or B/s] The published figure.
    rate_per_sm
        [per SM and cycle] Of which the peak is made; ``None`` for DRAM.
    confidence
        ``A`` to ``D``, as `nsightlens.devices.rates` says; empty for DRAM.
    source
        Where rate, or bandwidth, come from.
    """

    resource: str
    peak_per_s: float | None
    unit: str
    ridge_point_flop_per_byte: float | None
    sheet_per_s: float | None
    rate_per_sm: float | None
    confidence: str
    source: str


def roofs_of(product: Product) -> tuple[Roof, ...]:
    """Return the roofs of a product: DRAM, then every unit that it has.

    Parameters
    ----------
    product
        From `nsightlens.devices.products`.

    Returns
    -------
    tuple of Roof
        Without L2, whose slices and clock no table knows, and without units that the chip lacks.

    Examples
    --------
    >>> from nsightlens.devices.overrides import named_product
    >>> dram, tensor_fp16, *_ = roofs_of(named_product("A100 SXM4 40GB"))
    >>> f"{dram.peak_per_s:.4g} {tensor_fp16.peak_per_s:.4g} {tensor_fp16.source}"
    '1.555e+12 3.119e+14 peak_sustained in a report of A100 SXM4'
    """
    known = rates().get(product.compute_capability, {})
    there = [resource for resource in _RESOURCES if resource in known and known[resource].value]
    return (_dram(product), *(_of_rate(product, one, known[one]) for one in there))


def _dram(product: Product) -> Roof:
    bandwidth, sheet = product.bandwidth_gb_per_s, product.sheet_gb_per_s
    made = ""
    if product.memory_mhz is not None and product.bus_bit is not None:
        made = f"2 x {product.memory_mhz:g} MHz x {product.bus_bit} bit / 8; "
    return Roof(
        "dram",
        None if bandwidth is None else bandwidth * 1e9,
        "B/s",
        None,
        None if sheet is None else sheet * 1e9,
        None,
        "",
        made + product.source,
    )


def _of_rate(product: Product, resource: str, rate: Rate) -> Roof:
    value = product.rate(resource)
    is_memory = resource in _MEMORY
    peak = None
    if None not in (value, product.sm_count, product.boost_mhz):
        peak = value * product.sm_count * product.boost_mhz * 1e6  # type: ignore[operator]
    confidence, source = rate.confidence, rate.source
    if product.product_class in rate.cut:
        # The source of the full rate says nothing of what was left of it.
        confidence, source = cut_source(product.product_class, resource) or (confidence, source)
    bandwidth = product.bandwidth_gb_per_s
    ridge = None if is_memory or peak is None or not bandwidth else peak / (bandwidth * 1e9)
    sheet = product.sheet_tera_per_s.get(resource)
    if resource == "tensor_bf16":
        # Published as one figure for both, wherever the chip has both.
        sheet = product.sheet_tera_per_s.get("tensor_fp16")
    return Roof(
        resource,
        peak,
        "B/s" if is_memory else rate.unit.replace("/cycle", "/s"),
        ridge,
        None if sheet is None else sheet * 1e12,
        value,
        max(confidence, rate.confidence),
        source,
    )
