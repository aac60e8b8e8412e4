"""Peaks of a GPU that is named: at which clock, and with measured ceilings in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.devices.products import products
from nsightlens.errors import UnknownDeviceError
from nsightlens.sweeps.predict_peaks import predicted_peaks

if TYPE_CHECKING:
    from pathlib import Path

CEILINGS = """
format = "nsightlens.peaks"
version = 1

[[device]]
name = "NVIDIA H100 80GB HBM3"
sm_clock_hz = 0.915e9
source = "kernels of our own"

[device.peak_per_s]
dram = "3.05 TB/s"
tensor_fp16 = 3e14
"""


@pytest.mark.parametrize(
    ("clock", "tera", "fp32"),
    [("sheet", 989.4, 66.9), ("boost", 1070.5, 66.9), ("base", 859.7, 53.7)],
)
def test_the_clock_decides_what_tensor_cores_can_do(clock: str, tera: float, fp32: float) -> None:
    """An H100 SXM reaches its data sheet at 1830 MHz, below its highest clock; DRAM has none."""
    peaks = predicted_peaks("H100 SXM5 80GB", clock=clock)
    assert peaks.flop_per_s["tensor_fp16"] / 1e12 == pytest.approx(tera, abs=0.1)
    assert peaks.flop_per_s["fp32"] / 1e12 == pytest.approx(fp32, abs=0.1)
    assert peaks.bytes_per_s == pytest.approx(3.352e12, rel=1e-3)
    assert "MHz" in peaks.clock


def test_at_the_clock_of_the_sheet_the_peaks_are_those_of_the_sheet() -> None:
    """For every product whose tensor throughput is published, within 4 %.

    Of GV100 and H20 the clock behind the figure is not in the table.
    """
    compared = 0
    for product in products():
        sheet = product.sheet_tera_per_s.get("tensor_fp16")
        if (
            sheet
            and product.product_class not in ("unknown", "h20")
            and "GV100" not in product.name
        ):
            peaks = predicted_peaks(product.name)
            assert peaks.flop_per_s["tensor_fp16"] / 1e12 == pytest.approx(sheet, rel=0.04), product
            compared += 1
    assert compared > 30


def test_measured_ceilings_take_the_place_of_the_product(tmp_path: Path) -> None:
    """Those of the SMs in proportion to the clock."""
    path = tmp_path / "peaks.toml"
    path.write_text(CEILINGS, encoding="utf-8")
    peaks = predicted_peaks("H100 SXM5 80GB", peaks=path)
    assert peaks.bytes_per_s == 3.05e12
    assert peaks.flop_per_s["tensor_fp16"] == pytest.approx(6e14)
    assert peaks.source == "measured_ceiling+named_device"
    measured = f"dram measured, tensor_fp16 measured ({path})"
    assert peaks.clock == f"tensor cores at 1830 MHz, the clock of the data sheet; {measured}"
    assert peaks.warnings == ()
    boost = predicted_peaks("H100 SXM5 80GB", peaks=path, clock="boost")
    assert boost.clock == f"SMs at 1980 MHz, their highest clock; {measured}"
    other = predicted_peaks("H100 PCIe 80GB", peaks=path)
    assert other.source == "named_device"
    assert other.clock.endswith("as in the data sheet")
    (said,) = other.warnings
    assert said == (
        f"{path}: its ceilings are not used: the device that was named is 'H100 PCIe 80GB', not "
        "'NVIDIA H100 80GB HBM3'."
    )


def test_ceilings_alone_are_enough_for_a_product_without_a_clock(tmp_path: Path) -> None:
    path = tmp_path / "peaks.toml"
    lines = CEILINGS.replace("H100 80GB HBM3", "H20") + "fp32 = 4e13\n"
    path.write_text(lines, encoding="utf-8")
    peaks = predicted_peaks("H20 96GB", clock="base", peaks=path)
    assert peaks.flop_per_s["fp32"] == 4e13
    assert peaks.clock.startswith("SMs at a clock that is not known; dram measured, ")


def test_a_base_clock_that_is_not_known_is_the_cause_that_is_named() -> None:
    with pytest.raises(
        UnknownDeviceError, match=r"^the base clock of 'H20 96GB' is not known\..*--clock sheet\.$"
    ):
        predicted_peaks("H20 96GB", clock="base")
    assert predicted_peaks("H20 96GB").flop_per_s["fp32"] > 0


def test_a_product_of_which_too_little_is_known_is_refused() -> None:
    """How this one was cut, nobody has published."""
    with pytest.raises(UnknownDeviceError, match=r"no peak of tensor_fp16.*--peaks FILE"):
        predicted_peaks("GeForce RTX 5090 D")
