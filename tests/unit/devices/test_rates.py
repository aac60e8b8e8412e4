"""Rates of architectures."""

from __future__ import annotations

import pytest

from nsightlens.devices import rate_of
from nsightlens.devices.rates import rates


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
    """Each rate has a unit, a confidence and a source, and a cut product has no more of it."""
    for one in rates().values():
        for rate in one.values():
            assert rate.confidence in "ABCD"
            assert rate.source
            assert rate.unit
            assert set(rate.cut) <= {"gf", "half", "h800", "h20"}
            assert all(cut is None or cut < rate.value for cut in rate.cut.values())


def test_every_architecture_has_the_rates_that_a_roofline_needs() -> None:
    """What may be unknown is only what a chip may do on other pipes."""
    needed = {"fp64", "fp32", "fp16", "tensor_fp16", "tensor_fp16_acc16", "tensor_bf16",
              "tensor_tf32", "tensor_fp8", "tensor_fp4", "tensor_int8", "tensor_int4", "l1",
              "shared", "l2", "l2_returned", "warps", "schedulers"}  # fmt: skip
    architectures = {"7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.1",
                     "10.3", "11.0", "12.0", "12.1"}  # fmt: skip
    assert set(rates()) == architectures
    assert all(set(one) >= needed for one in rates().values())
    assert rates()["10.1"] == rates()["11.0"]


def test_block_scales_spare_fp8_the_halving_of_geforce_cards() -> None:
    """RTX 5090: half the rate without block scales, the whole with."""
    assert rate_of("12.0", "tensor_fp8", "gf") == 1024
    assert rate_of("12.0", "tensor_fp8_scaled", "gf") == 2048
    assert rate_of("12.0", "tensor_fp8", "full") == 2048
