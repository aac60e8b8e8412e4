"""Peaks that a user gives in place of those of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.rooflines import H100, launch
from support.stores import report_of

from nsightlens.devices import PEAK_SOURCES, PeakOverrides, peak_rates
from nsightlens.devices.ceilings import Ceilings
from nsightlens.devices.overrides import named_product, peak_overrides
from nsightlens.devices.peaks import misnamed_devices, unused_ceilings
from nsightlens.errors import UnknownDeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping

FFMA_PEAK = {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16896.0}
NO_CLOCK = {"sm__cycles_elapsed.avg.per_second": None}
MIG = {
    "device__attribute_display_name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    "device__attribute_multiprocessor_count": 16,
}
CEILINGS = Ceilings(
    place="peaks.toml, [[device]] 1",
    name="NVIDIA H100 80GB HBM3",
    compute_capability=None,
    sm_count=None,
    sm_clock_hz=1.8e9,
    l2_clock_hz=None,
    source="measured",
    peak_per_s={"dram": 3e12, "l2": 6e12, "l1": 3e13, "tensor_bf16": 7.2e14},
)


def peaks_of(
    overrides: PeakOverrides, resource: str, *groups: Mapping[str, Any]
) -> tuple[Any, Any, str | None]:
    """Return the peak of one launch on an H100, its least, and its source."""
    metrics = {name: value for name, value in launch(*groups).items() if value is not None}
    peaks = peak_rates(report_of(metrics), [resource], overrides)
    code = int(peaks.source[resource][0])
    source = PEAK_SOURCES[code] if code >= 0 else None
    return float(peaks.rate[resource][0]), float(peaks.lowest[resource][0]), source


def named(device: str) -> PeakOverrides:
    """Return what ``--device`` makes of a name."""
    return peak_overrides(device=device)


def measured(**changes: Any) -> PeakOverrides:
    """Return `CEILINGS` with some fields replaced."""
    return PeakOverrides(ceilings=(CEILINGS._replace(**changes),))


def test_a_named_device_has_its_own_rates_at_the_clock_of_the_report() -> None:
    """108 SMs of an A100 at the 1.5 GHz of the launch, whatever peak the report stores."""
    fp32 = peaks_of(named("NVIDIA A100-SXM4-40GB"), "fp32", FFMA_PEAK)
    assert fp32 == (108 * 128 * 1.5e9, 108 * 128 * 1.5e9, "named_device")
    dram = peaks_of(named("A100 SXM4 40GB"), "dram")
    assert dram == (pytest.approx(1555.2e9), pytest.approx(1555.2e9), "named_device")


def test_a_named_device_without_a_clock_is_at_its_boost_clock_at_the_most() -> None:
    """1.41 GHz is that of an A100; nothing bounds the peak from below."""
    peak = peaks_of(named("a100 sxm4 40gb"), "fp32", NO_CLOCK)
    assert peak == (pytest.approx(108 * 128 * 1.41e9), 0.0, "named_device")
    report = report_of(launch())
    assert peak_rates(report, [], named("A100 SXM4 40GB")).boost_clock_hz.tolist() == [1.41e9]


def test_stored_tensor_peaks_are_not_those_of_a_named_device() -> None:
    """The report stores 540,672 operations a cycle; half as many are those of 66 SMs."""
    stored = {
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 540672.0,
        "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum": 1e9,
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum": 0.0,
    }
    peak = peaks_of(named("H100 PCIe"), "tensor_bf16", stored)
    assert peak[0] == pytest.approx(114 * 4096 * 1.5e9 * 2 / 3)
    assert peak[2] == "named_device"


def test_the_l2_of_a_named_device_is_known_where_the_report_has_the_same_chip() -> None:
    """Slices are an attribute of the report; those of another architecture are not known."""
    clock = {"lts__cycles_elapsed.avg.per_second": 1.7e9}
    assert peaks_of(named("NVIDIA H200"), "l2_returned", clock)[0] == pytest.approx(80 * 64 * 1.7e9)
    assert peaks_of(named("A100 SXM4 40GB"), "l2", clock)[2] is None
    assert peaks_of(named("A100 SXM4 40GB"), "l1")[0] == pytest.approx(108 * 128 * 1.5e9)


def test_a_part_of_a_named_device_keeps_its_sms_and_has_no_dram_peak() -> None:
    """A MIG partition of 16 SMs is no whole A100."""
    assert peaks_of(named("A100 SXM4 40GB"), "fp32", MIG)[0] == 16 * 128 * 1.5e9
    assert peaks_of(named("A100 SXM4 40GB"), "dram", MIG)[2] is None


@pytest.mark.parametrize("name", ["NVIDIA B9999", "", "SXM9"])
def test_an_unknown_device_is_said_with_what_is_near(name: str) -> None:
    """What is no word of a name is none."""
    with pytest.raises(UnknownDeviceError, match="is no known GPU"):
        named_product(name)


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("H100", ["H100 SXM5 80GB", "H100 SXM5 96GB HBM2e (cloud)", "H100 NVL 94GB"]),
        ("h200", ["H200 SXM 141GB", "H200 NVL"]),
        ("A100", ["A100 SXM4 40GB", "A100 PCIe 80GB"]),
        ("80GB", ["A100 SXM4 80GB", "H100 PCIe 80GB"]),
        ("GeForce RTX", ["GeForce RTX 3090", "and 2"]),
    ],
)
def test_a_name_that_may_be_several_products_asks_which(name: str, listed: list[str]) -> None:
    """Also where a driver calls one of them by nothing else: people call all of them that."""
    with pytest.raises(UnknownDeviceError, match="name of several products") as caught:
        named_product(name)
    assert all(one in str(caught.value) for one in listed)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("NVIDIA H100", "H100 SXM5 96GB HBM2e (cloud)"),
        ("nvidia  h200", "H200 SXM 141GB"),
        ("T4", "Tesla T4"),
        ("A6000", "RTX A6000"),
        ("GeForce RTX 4070", "GeForce RTX 4070"),
        ("L4", "L4"),
    ],
)
def test_a_whole_name_or_words_of_a_single_one_find_a_product(name: str, product: str) -> None:
    """The vendor in front makes a driver's name whole; a product's own is always."""
    assert named_product(name).name == product


def test_a_driver_name_of_several_products_asks_which() -> None:
    """Every module with an Orin has the same driver name."""
    with pytest.raises(UnknownDeviceError, match="'Jetson AGX Orin 64GB', 'Jetson AGX Orin 32GB'"):
        named_product("Orin")
    assert named_product("Jetson AGX Orin 32GB").sm_count == 14


def test_a_measured_ceiling_wins_and_follows_the_clock_that_it_depends_on() -> None:
    """Tensor and L1 rates at 1.5 of 1.8 GHz; DRAM as it was measured, the rest as ever."""
    assert peaks_of(measured(), "dram") == (3e12, 3e12, "measured_ceiling")
    assert peaks_of(measured(), "l1") == (pytest.approx(2.5e13),) * 2 + ("measured_ceiling",)
    assert peaks_of(measured(), "tensor_bf16")[0] == pytest.approx(6e14)
    assert peaks_of(measured(), "fp32", FFMA_PEAK)[2] == "report"


def test_an_l2_ceiling_follows_the_l2_clock_where_its_own_is_given() -> None:
    """6 TB/s at 1.5 GHz are 6.8 at 1.7; both paths through the cache have the ceiling."""
    clock = {"lts__cycles_elapsed.avg.per_second": 1.7e9}
    for resource in ("l2", "l2_returned"):
        assert peaks_of(measured(), resource, clock)[0] == 6e12
        assert peaks_of(measured(l2_clock_hz=1.5e9), resource, clock)[0] == pytest.approx(6.8e12)


def test_without_the_clock_of_the_launch_a_ceiling_is_one_at_the_most() -> None:
    """As measured, and nothing bounds it from below."""
    peak = peaks_of(measured(), "tensor_bf16", NO_CLOCK)
    assert peak == (7.2e14, 0.0, "measured_ceiling")


def test_a_measured_ceiling_wins_over_a_named_device() -> None:
    """Together they complete each other: the entry is that of the device that was named."""
    overrides = PeakOverrides(named_product("NVIDIA H200"), (CEILINGS._replace(name="H200"),))
    assert peaks_of(overrides, "dram")[2] == "measured_ceiling"
    assert peaks_of(overrides, "fp32")[2] == "named_device"


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"name": "H100 80GB HBM3"}, True),
        ({"name": "H100 SXM5 80GB"}, True),
        ({"name": "nvidia h100 80gb  hbm3"}, True),
        ({"name": "h100 sxm5 80gb"}, True),
        ({"name": "NVIDIA H100"}, False),
        ({"name": None, "compute_capability": "9.0"}, True),
        ({"name": None, "compute_capability": "8.0"}, False),
        ({"compute_capability": "8.0"}, False),
        ({"sm_count": 132}, True),
        ({"sm_count": 66}, False),
    ],
)
def test_an_entry_is_for_the_devices_that_fit_all_it_says(
    changes: dict[str, Any], fits: bool
) -> None:
    """By whole name, compute capability and number of SMs; one that fits none is told."""
    overrides = measured(**changes)
    assert (peaks_of(overrides, "dram")[2] == "measured_ceiling") is fits
    unused = unused_ceilings(report_of(launch()), overrides)
    assert len(unused) == (not fits)
    assert all("only on NVIDIA H100 80GB HBM3" in text for text in unused)


def test_the_ceilings_of_a_gpu_are_not_those_of_a_part_of_it() -> None:
    """A MIG partition needs an entry with its own name, or with its number of SMs."""
    assert peaks_of(measured(), "dram", MIG)[2] is None
    own = measured(name=MIG["device__attribute_display_name"])
    assert peaks_of(own, "dram", MIG)[2] == "measured_ceiling"
    by_count = measured(name=None, compute_capability="9.0", sm_count=16)
    assert peaks_of(by_count, "dram", MIG)[2] == "measured_ceiling"
    assert not peak_rates(report_of(launch(MIG)), ["dram"], own).is_partition[0]


def test_the_first_entry_that_names_a_resource_wins_on_each_device() -> None:
    """Two GPUs in one report have each their own ceiling."""
    a100 = {"device__attribute_display_name": "NVIDIA A100-SXM4-40GB",
            "device__attribute_compute_capability_major": 8}  # fmt: skip
    other = CEILINGS._replace(name="A100 SXM4 40GB", peak_per_s={"dram": 1.4e12})
    ceilings = (CEILINGS, other, CEILINGS._replace(name=None, compute_capability="9.0",
                peak_per_s={"dram": 1e12, "fp32": 4.5e13}))  # fmt: skip
    report = report_of(launch(), launch(a100 | {"device__attribute_multiprocessor_count": 108}))
    peaks = peak_rates(report, ["dram", "fp32"], PeakOverrides(ceilings=ceilings))
    assert peaks.rate["dram"].tolist() == [3e12, 1.4e12]
    assert peaks.rate["fp32"][0] == pytest.approx(4.5e13 * 1.5 / 1.8)


def test_a_report_without_launches_leaves_no_entry_unused() -> None:
    """There is nothing that they could have been for."""
    report = report_of(launch()).filter(np.array([False]))
    assert unused_ceilings(report, measured(name="NVIDIA B200")) == []


def test_nothing_given_changes_nothing() -> None:
    """Without options the reports speak for themselves."""
    assert peak_overrides() == PeakOverrides()
    assert peaks_of(PeakOverrides(), "dram", H100)[2] == "attributes"


A40 = {
    "device__attribute_display_name": "NVIDIA A40",
    "device__attribute_compute_capability_major": 8,
    "device__attribute_compute_capability_minor": 6,
    "device__attribute_multiprocessor_count": 84,
}


def test_another_gpu_is_no_part_of_the_named_one() -> None:
    """84 SMs of an A40 do not make it a part of an H100 with 132: the two are not the same."""
    report = report_of(launch(A40))
    peaks = peak_rates(report, ["dram", "fp32"], named("H100 80GB HBM3"))
    assert not peaks.is_partition.any()
    assert peaks.rate["dram"][0] == pytest.approx(3352.32e9)
    assert peaks.rate["fp32"][0] == pytest.approx(132 * 256 * 1.5e9)
    (warning,) = misnamed_devices(report, named("H100 80GB HBM3"))
    assert "ran on NVIDIA A40 with compute capability 8.6, not 9.0" in warning


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA H100 of tomorrow", None])
def test_only_a_number_of_sms_that_no_part_explains_is_another_gpu(name: str | None) -> None:
    """With 16 SMs it is a part of an H100, with 140 something else."""
    attribute = "device__attribute_multiprocessor_count"
    device: dict[str, Any] = {"device__attribute_display_name": name}
    report = report_of(launch(device | {attribute: 16}))
    assert misnamed_devices(report, named("H100 80GB HBM3")) == []
    assert peak_rates(report, ["dram"], named("H100 80GB HBM3")).is_partition.all()
    (warning,) = misnamed_devices(
        report_of(launch(device | {attribute: 140})), named("H100 80GB HBM3")
    )
    assert "with 140 SMs, not 132" in warning
    assert misnamed_devices(report, PeakOverrides()) == []
