"""The roofs of a product by the tables."""

from __future__ import annotations

import pytest

from nsightlens.devices import products, roofs_of
from nsightlens.devices.overrides import named_product, search_products
from nsightlens.errors import UnknownDeviceError


def test_the_roofs_of_an_a100_are_those_of_its_data_sheet() -> None:
    """312 TFLOP/s over 1555 GB/s is a ridge of 201 FLOP/B."""
    roofs = {roof.resource: roof for roof in roofs_of(named_product("A100-SXM4-40GB"))}
    assert roofs["dram"].peak_per_s == pytest.approx(1555.2e9)
    assert roofs["dram"].ridge_point_flop_per_byte is None
    assert roofs["tensor_fp16"].peak_per_s == pytest.approx(312e12, rel=0.001)
    assert roofs["tensor_bf16"].sheet_per_s == 312e12
    assert roofs["tensor_fp16"].ridge_point_flop_per_byte == pytest.approx(200.5, rel=0.001)
    assert roofs["l1"].unit == "B/s"
    assert roofs["tensor_int8"].unit == "op/s"
    assert "tensor_fp8" not in roofs


def test_a_cut_product_has_the_roofs_that_are_left() -> None:
    """The FP32 accumulator of a GeForce card and the FP64 of an H800."""
    geforce = {one.resource: one for one in roofs_of(named_product("GeForce RTX 4090"))}
    assert geforce["tensor_fp16"].rate_per_sm == 512
    assert geforce["tensor_fp16_acc16"].rate_per_sm == 1024
    h800 = {one.resource: one for one in roofs_of(named_product("H800 SXM5"))}
    assert (h800["fp64"].rate_per_sm, h800["tensor_fp64"].peak_per_s) == (4, None)


def test_a_cut_rate_has_the_trust_and_the_source_of_the_cut() -> None:
    """What a report of GH200 stores says nothing of an H20, whose rate was fitted."""
    roofs = {one.resource: one for one in roofs_of(named_product("H20 96GB"))}
    assert (roofs["tensor_fp16"].confidence, roofs["fp64"].confidence) == ("C", "D")
    assert "fitted" in roofs["tensor_fp16"].source
    assert "GH200" not in roofs["fp64"].source
    assert (roofs["fp32"].confidence, "GH200" in roofs["fp32"].source) == ("A", True)


def test_every_product_has_roofs_with_a_source() -> None:
    """Also those of which the SM count is not known."""
    for product in products():
        roofs = roofs_of(product)
        assert roofs[0].resource == "dram"
        assert roofs[0].peak_per_s
        assert all(roof.source for roof in roofs)
    (l2,) = (product for product in products() if product.name == "L2")
    assert all(roof.peak_per_s is None for roof in roofs_of(l2)[1:])


def test_a_search_prefers_the_whole_name() -> None:
    """H100 is a driver name and part of others; Jetson is only part of some."""
    found, others = search_products("nvidia h100")
    assert [one.name for one in found] == ["H100 SXM5 96GB HBM2e (cloud)"]
    assert "H100 PCIe 80GB" in [one.name for one in others]
    found, others = search_products("jetson")
    assert (len(found), others) == (7, [])
    assert len(search_products("").found) == len(products())


def test_a_search_without_a_find_says_what_is_near() -> None:
    """A slip of the keyboard is put right."""
    with pytest.raises(UnknownDeviceError, match="Near it are 'GeForce RTX 3090'"):
        search_products("geforce rtx 3009")
