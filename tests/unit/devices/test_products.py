"""Products by driver name."""

from __future__ import annotations

import pytest

from nsightlens.devices.products import is_partition, product_class_of, product_of, products
from nsightlens.devices.rates import rates


def test_a_product_is_found_by_its_exact_name_only() -> None:
    """The H100 with HBM2e is another product than the SXM part, and half a name is none."""
    plain, sxm = product_of("NVIDIA H100"), product_of("NVIDIA H100 80GB HBM3")
    assert plain is not None
    assert sxm is not None
    assert (plain.bandwidth_gb_per_s, sxm.bandwidth_gb_per_s) == (2446.848, 3352.32)
    assert product_of("NVIDIA H100 80GB") is None
    assert product_of(None) is None


def test_an_older_driver_leaves_out_the_vendor() -> None:
    """The same card is called NVIDIA A100-PCIE-40GB and A100-PCIE-40GB."""
    assert product_of("A100-PCIE-40GB") is product_of("NVIDIA A100-PCIE-40GB") is not None


def test_a_name_of_several_products_needs_the_sm_count() -> None:
    """Every Jetson Orin is called Orin; with 8 SMs two of them remain, which differ in clock."""
    sixteen = product_of("Orin", 16)
    assert sixteen is not None
    assert sixteen.bandwidth_gb_per_s == 204.8
    assert product_of("Orin") is None
    assert product_of("Orin", 8) is None


@pytest.mark.parametrize(
    ("name", "product_class"),
    [
        ("NVIDIA A10G", "half"),
        ("NVIDIA A10", "full"),
        ("NVIDIA L40", "half"),
        ("NVIDIA L40S", "full"),
        ("NVIDIA H800", "h800"),
        ("NVIDIA GeForce RTX 4090", "gf"),
        ("NVIDIA GeForce RTX 5090 D", "unknown"),
        ("NVIDIA GeForce RTX 9999", "gf"),
        ("NVIDIA B9999", "full"),
    ],
)
def test_the_name_tells_how_a_product_was_cut(name: str, product_class: str) -> None:
    """A known product has its class; an unknown GeForce card is taken as one."""
    assert product_class_of(name) == product_class


def test_every_product_has_an_architecture_with_rates() -> None:
    """No product names a compute capability without rates."""
    assert {product.compute_capability for product in products()} <= set(rates())


def test_the_table_is_sound() -> None:
    """Every product has a name of its own and a source, and its bandwidth is that of the sheet."""
    names = [product.name for product in products()]
    assert len(names) == len(set(names)) >= 108
    for product in products():
        assert product.source
        assert product.driver_names
        assert set(product.known_from.split("+")) <= {
            "looked_up",
            "report",
            "techpowerup",
            "recalled",
        }
        assert product.product_class in ("full", "gf", "half", "h800", "h20", "unknown")
        assert product.bandwidth_gb_per_s == pytest.approx(product.sheet_gb_per_s, rel=0.01)


def test_a_driver_name_of_several_products_tells_them_apart_by_sms_or_not_at_all() -> None:
    """Only the modules for robots share a driver name."""
    seen: dict[str, list[str]] = {}
    for product in products():
        for name in product.driver_names:
            seen.setdefault(name, []).append(product.name)
    assert {name for name, several in seen.items() if len(several) > 1} == {"Orin", "Thor"}


@pytest.mark.parametrize(
    ("name", "sm_count", "is_part"),
    [
        ("NVIDIA H100 80GB HBM3", 66, True),
        ("NVIDIA H100 80GB HBM3", 132, False),
        ("NVIDIA L4", 56, False),
        ("NVIDIA GeForce RTX 4090", 64, False),
        ("NVIDIA H100 80GB HBM3 MIG 7g.80gb", 132, True),
        ("NVIDIA GeForce RTX 5090", 84, False),
    ],
)
def test_fewer_sms_make_a_part_only_of_a_gpu_that_can_be_divided(
    name: str, sm_count: int, is_part: bool
) -> None:
    """Of any other GPU they show a variant that has the name of the larger one."""
    assert is_partition(name, sm_count) == is_part
