"""Rates of architectures."""

from __future__ import annotations

import pytest

from nsightlens.devices import rate_of
from nsightlens.devices.rates import RATES


@pytest.mark.parametrize(
    ("compute_capability", "resource", "sm_count", "per_cycle"),
    [
        ("9.0", "fp32", 132, 2 * 16896),
        ("9.0", "fp64", 132, 2 * 8448),
        ("9.0", "tensor_bf16", 132, 540672),
        ("9.0", "tensor_tf32", 132, 270336),
        ("9.0", "tensor_int8", 132, 1081344),
        ("8.0", "fp32", 108, 2 * 6912),
        ("8.0", "tensor_bf16", 108, 221184),
        ("8.0", "tensor_tf32", 108, 110592),
        ("8.0", "tensor_int8", 108, 442368),
        ("8.0", "tensor_fp64", 108, 13824),
        ("7.5", "fp32", 40, 2 * 2560),
        ("7.5", "tensor_fp16_acc16", 40, 40960),
    ],
)
def test_a_rate_times_the_sms_is_the_peak_that_ncu_stores(
    compute_capability: str, resource: str, sm_count: int, per_cycle: float
) -> None:
    """GH200, A100 and T4: rate per SM x SM count is peak_sustained in operations per cycle."""
    rate = rate_of(compute_capability, resource)
    assert rate is not None
    assert rate * sm_count == per_cycle


@pytest.mark.parametrize(
    ("compute_capability", "resource", "product_class", "sm_count", "mhz", "tera"),
    [
        ("8.0", "tensor_bf16", "full", 108, 1410, 312),
        ("8.9", "tensor_fp16", "gf", 128, 2520, 165.2),
        ("8.9", "tensor_fp16_acc16", "gf", 128, 2520, 330.3),
        ("8.6", "tensor_bf16", "half", 80, 1710, 70),
        ("8.6", "tensor_bf16", "full", 84, 1740, 149.7),
        ("9.0", "tensor_bf16", "full", 132, 1830, 989.4),
        ("9.0", "tensor_bf16", "h20", 78, 1853, 148),
        ("12.0", "tensor_fp16", "gf", 170, 2407, 209.5),
        ("12.0", "tensor_fp16", "full", 188, 2617, 503.8),
        ("7.0", "tensor_fp16", "full", 80, 1530, 125),
    ],
)
def test_a_rate_gives_the_published_dense_throughput(
    compute_capability: str,
    resource: str,
    product_class: str,
    sm_count: int,
    mhz: float,
    tera: float,
) -> None:
    """SM count x rate x clock is within one percent of the figure in print."""
    rate = rate_of(compute_capability, resource, product_class)
    assert rate is not None
    assert sm_count * rate * mhz * 1e6 == pytest.approx(tera * 1e12, rel=0.01)


def test_geforce_halves_only_what_accumulates_in_fp32() -> None:
    """INT8 and fp16 accumulation keep their rate on a GeForce card, and A100 has no GeForce."""
    assert rate_of("8.9", "tensor_int8", "gf") == rate_of("8.9", "tensor_int8")
    assert rate_of("8.9", "tensor_fp8", "gf") == 1024
    assert rate_of("8.0", "tensor_bf16", "gf") == 2048


def test_the_cut_hopper_parts_have_next_to_no_fp64() -> None:
    """H800 and H20 do two FP64 multiply-adds per SM and cycle, and their tensor FP64 is unknown."""
    assert rate_of("9.0", "fp64", "h800") == rate_of("9.0", "fp64", "h20") == 4
    assert rate_of("9.0", "tensor_fp64", "h800") is None
    assert rate_of("9.0", "tensor_bf16", "h800") == 4096


def test_what_is_not_known_is_none_and_what_is_not_there_is_zero() -> None:
    """An unknown chip, resource or cut gives None; a unit that the chip lacks gives 0."""
    assert rate_of("6.1", "fp32") is None
    assert rate_of("9.0", "rays") is None
    assert rate_of("12.0", "tensor_fp16", "unknown") is None
    assert rate_of("8.0", "tensor_fp8") == 0


def test_every_rate_says_how_far_it_can_be_trusted() -> None:
    """Each rate has a confidence and a source, and every architecture the same resources."""
    expected = set(RATES["9.0"])
    for rates in RATES.values():
        assert set(rates) == expected
        assert all(rate.confidence in "ABCD" and rate.source for rate in rates.values())
