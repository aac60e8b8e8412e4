"""Peak rates of launches and where they come from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import A100, DRAM_PEAK, FP32_PEAK, H100, TENSOR_PEAK, launch
from support.stores import report_of

from nsightlens.devices import PEAK_SOURCES, peak_rates
from nsightlens.devices.peaks import dram_clock_share

if TYPE_CHECKING:
    from collections.abc import Mapping

FFMA_PEAK = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"
TENSOR = "sm__ops_path_tensor"


B200 = H100 | {
    "device__attribute_display_name": "NVIDIA B200",
    "device__attribute_compute_capability_major": 10,
    "device__attribute_multiprocessor_count": 148,
}
RTX_5090 = H100 | {
    "device__attribute_display_name": "NVIDIA GeForce RTX 5090",
    "device__attribute_compute_capability_major": 12,
    "device__attribute_multiprocessor_count": 170,
}


def peak_of(
    resource: str, *groups: Mapping[str, Any], without: tuple[str, ...] = ()
) -> tuple[Any, str | None]:
    """Return the peak rate of a resource of one launch, and its source."""
    metrics = launch(*groups)
    for name in without:
        metrics.pop(name)
    peaks = peak_rates(report_of(metrics), [resource])
    code = int(peaks.source[resource][0])
    return float(peaks.rate[resource][0]), PEAK_SOURCES[code] if code >= 0 else None


def test_the_peak_of_the_report_comes_first() -> None:
    """16,896 ffma per cycle x 2 at 1.5 GHz is 50.688 TFLOP/s."""
    assert peak_of("fp32", {FFMA_PEAK: 16896.0}) == (pytest.approx(50.688e12), "report")


def test_a_derived_peak_is_already_doubled() -> None:
    """NVIDIA's derived metric holds the FLOP per cycle."""
    derived = "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"
    assert peak_of("fp32", {derived: 33792.0}) == (pytest.approx(FP32_PEAK), "report")


def test_half2_multiply_adds_count_four() -> None:
    """16,896 hfma per cycle are 67,584 FLOP."""
    name = "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained"
    assert peak_of("fp16", {name: 16896.0}) == (pytest.approx(67584 * 1.5e9), "report")


def test_without_it_the_architecture_gives_the_peak_at_the_clock_of_the_report() -> None:
    """256 FLOP per SM and cycle x 132 x 1.5 GHz."""
    assert peak_of("fp32") == (pytest.approx(FP32_PEAK), "architecture")
    assert peak_of("tensor_fp16") == (pytest.approx(TENSOR_PEAK), "architecture")


def test_without_a_clock_nothing_bounds_a_peak_from_below() -> None:
    """The SMs may have run at any clock up to the boost clock."""
    metrics = launch()
    assert peak_rates(report_of(metrics), ["fp32"]).lowest["fp32"][0] == pytest.approx(FP32_PEAK)
    del metrics["sm__cycles_elapsed.avg.per_second"]
    assert peak_rates(report_of(metrics), ["fp32"]).lowest["fp32"][0] == 0.0


def test_without_a_clock_the_boost_clock_is_that_of_a_data_sheet() -> None:
    """At 1.98 GHz, and marked so."""
    peak = peak_of("fp32", without=("sm__cycles_elapsed.avg.per_second",))
    assert peak == (pytest.approx(132 * 256 * 1.98e9), "data_sheet")


def test_a_product_stands_in_for_missing_attributes() -> None:
    """SM count, boost clock and bandwidth of an A100 by its name alone."""
    attributes = tuple(
        name for name in H100
        if name.startswith("device__") and "name" not in name and "capab" not in name
    )  # fmt: skip
    missing = (*attributes, "sm__cycles_elapsed.avg.per_second")
    assert peak_of("fp32", A100, without=missing) == (
        pytest.approx(108 * 128 * 1.41e9),
        "data_sheet",
    )
    assert peak_of("dram", A100, without=missing) == (pytest.approx(1555.2e9), "data_sheet")


def test_an_unknown_device_has_no_peak() -> None:
    """Nothing is made up for a chip without rates."""
    chip = {"device__attribute_compute_capability_major": 6, "device__attribute_display_name": "?"}
    assert peak_of("fp32", chip) == (pytest.approx(math.nan, nan_ok=True), None)


def test_a_tensor_unit_that_the_chip_lacks_has_no_peak() -> None:
    """There is no FP8 on an A100: its rate of zero is no peak."""
    assert peak_of("tensor_fp8", A100) == (pytest.approx(math.nan, nan_ok=True), None)


def dram(per_cycle: float, clock_hz: float) -> dict[str, float]:
    """Return the measured roof of DRAM."""
    return {
        "dram__bytes.sum.peak_sustained": per_cycle,
        "dram__cycles_elapsed.avg.per_second": clock_hz,
    }


def test_the_dram_roof_is_the_measured_one() -> None:
    """1280 B per cycle at 2.5 GHz, below what the attributes say."""
    assert peak_of("dram", dram(1280.0, 2.5e9)) == (pytest.approx(3.2e12), "report")


def test_a_measured_dram_roof_above_the_attributes_is_noise() -> None:
    """2 x 2.619 GHz x 5120 bit / 8 is the most."""
    assert peak_of("dram", dram(1280.0, 3.9e9)) == (pytest.approx(DRAM_PEAK), "attributes")


def test_the_dram_clock_of_a_short_launch_is_noise() -> None:
    """Below 20 us the attributes count, even where the measured roof is lower."""
    short = {"gpu__time_duration.sum": 19_999.0}
    assert peak_of("dram", dram(1280.0, 2.5e9), short) == (
        pytest.approx(DRAM_PEAK),
        "attributes",
    )


@pytest.mark.parametrize(
    ("duration_ns", "share"), [(5_000.0, 1280 * 2.0 / 3352.32), (50_000.0, 1.0)]
)
def test_the_percentage_of_a_short_launch_has_its_noisy_clock(
    duration_ns: float, share: float
) -> None:
    """2.0 GHz where the attribute says 2.619: the same bytes are less of the real peak."""
    report = report_of(launch(dram(1280.0, 2e9), duration_ns=duration_ns))
    assert dram_clock_share(report) == pytest.approx(share)


def test_a_short_launch_without_attributes_keeps_what_was_measured() -> None:
    """Noise is better than nothing."""
    width = "device__attribute_global_memory_bus_width"
    short = {"gpu__time_duration.sum": 5_000.0}
    assert peak_of("dram", dram(1280.0, 2.5e9), short, without=(width,))[1] == "report"


XAVIER = {
    "device__attribute_compute_capability_major": 7,
    "device__attribute_compute_capability_minor": 2,
    "device__attribute_display_name": "Xavier",
    "device__attribute_multiprocessor_count": 8,
}
UNKNOWN_SHARED = {
    "device__attribute_integrated": 1,
    "device__attribute_display_name": "some laptop",
}


@pytest.mark.parametrize(
    ("chip", "peak", "source"),
    [(XAVIER, 136.512e9, "data_sheet"), (UNKNOWN_SHARED, math.nan, None)],
)
def test_no_dram_peak_follows_from_the_attributes_of_a_shared_memory(
    chip: dict[str, Any], peak: float, source: str | None
) -> None:
    """Xavier's memory clock attribute is that of its GPU: its data sheet knows better."""
    assert peak_of("dram", chip) == (pytest.approx(peak, nan_ok=True), source)


def test_the_l2_peak_has_the_l2_clock() -> None:
    """80 slices at 1.7 GHz, whatever the SMs run at: 96 B are looked up a cycle, 64 returned."""
    clock = {"lts__cycles_elapsed.avg.per_second": 1.7e9}
    assert peak_of("l2_returned", clock) == (pytest.approx(80 * 64 * 1.7e9), "architecture")
    peak = peak_of("l2", clock)
    assert peak == (pytest.approx(80 * 96 * 1.7e9), "architecture")
    units = {"device__attribute_fbp_count": 10, "device__attribute_num_l2s_per_fbp": 8,
             "lts__cycles_elapsed.avg.per_second": 1.7e9}  # fmt: skip
    assert peak_of("l2", units, without=("device__attribute_l2s_count",)) == peak


def hopper(**counters: float) -> dict[str, float]:
    """Return fp16 tensor counters of Hopper, with the peak of the total, which is sparse."""
    return {f"{TENSOR}_{name}": value for name, value in counters.items()} | {
        f"{TENSOR}_src_fp16.sum.peak_sustained": 1081344.0
    }


def test_the_peak_of_an_undivided_hopper_counter_is_twice_the_dense_one() -> None:
    """1,081,344 operations per cycle are those of sparse matrices."""
    assert peak_of("tensor_fp16", hopper()) == (pytest.approx(540672 * 1.5e9), "report")


@pytest.mark.parametrize(
    ("wgmma", "mma_sync", "per_cycle"),
    [
        (1e9, 0.0, 540672.0),
        (0.0, 1e9, 360448.0),
        # Half the work at the full rate and half at two thirds of it takes 1.25 times as long.
        (1e9, 1e9, 540672.0 / 1.25),
    ],
)
def test_the_tensor_peak_is_that_of_the_instructions_used(
    wgmma: float, mma_sync: float, per_cycle: float
) -> None:
    """mma.sync reaches two thirds of wgmma on Hopper, and a mix lies between."""
    metrics = hopper() | {
        f"{TENSOR}_op_hgmma_src_fp16_sparsity_off.sum": wgmma,
        f"{TENSOR}_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained": 540672.0,
        f"{TENSOR}_op_hmma_src_fp16_dst_fp32_sparsity_off.sum": mma_sync,
        f"{TENSOR}_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained": 360448.0,
    }
    assert peak_of("tensor_fp16", metrics) == (pytest.approx(per_cycle * 1.5e9), "report")


def test_mma_sync_has_two_thirds_where_its_own_peak_was_not_stored() -> None:
    """With the peak of the total alone, work of mma.sync still gets its own roof."""
    metrics = hopper() | {f"{TENSOR}_op_hmma_src_fp16_dst_fp32.sum": 1e9}
    assert peak_of("tensor_fp16", metrics)[0] == pytest.approx(360448 * 1.5e9)


@pytest.mark.parametrize(
    ("counter", "per_cycle"),
    [("op_hgmma_src_fp16", 540672.0), ("op_hmma_src_fp16_dst_fp32", 360448.0)],
)
def test_mma_sync_has_two_thirds_of_the_rate_of_the_architecture_too(
    counter: str, per_cycle: float
) -> None:
    """The report divides the work by instruction and stores no peak."""
    metrics = {f"{TENSOR}_{counter}.sum": 1e9}
    assert peak_of("tensor_fp16", metrics) == (pytest.approx(per_cycle * 1.5e9), "architecture")


def test_work_that_is_not_divided_by_instruction_has_a_peak_between_two() -> None:
    """Of wgmma and of mma.sync on Hopper; of tcgen05 and of nothing known on Blackwell."""
    metrics = {f"{TENSOR}_src_fp16.sum": 1e9}
    peaks = peak_rates(report_of(launch(metrics)), ["tensor_fp16"])
    assert peaks.rate["tensor_fp16"][0] == pytest.approx(TENSOR_PEAK)
    assert peaks.lowest["tensor_fp16"][0] == pytest.approx(TENSOR_PEAK * 2 / 3)
    metrics = {f"{TENSOR}_src_fp16_dst_fp16.sum": 0.0, f"{TENSOR}_src_fp16_dst_fp32.sum": 1e9}
    peaks = peak_rates(report_of(launch(B200, metrics)), ["tensor_fp16"])
    assert peaks.rate["tensor_fp16"][0] == pytest.approx(148 * 8192 * 1.5e9)
    assert peaks.lowest["tensor_fp16"][0] == 0.0


def test_mma_sync_on_data_centre_blackwell_does_not_get_the_roof_of_tcgen05() -> None:
    """Its rate is not known."""
    used = {f"{TENSOR}_op_hmma_src_fp16_dst_fp32.sum": 1e9}
    assert peak_of("tensor_fp16", B200, used) == (pytest.approx(math.nan, nan_ok=True), None)
    used = {f"{TENSOR}_op_utchmma_src_fp16_dst_fp32.sum": 1e9}
    assert peak_of("tensor_fp16", B200, used)[0] == pytest.approx(148 * 8192 * 1.5e9)


@pytest.mark.parametrize(("state", "per_cycle"), [("off", 540672.0), ("on", 1081344.0)])
@pytest.mark.parametrize("is_stored", [True, False])
def test_sparse_work_has_the_sparse_peak(state: str, per_cycle: float, is_stored: bool) -> None:
    """2:4 sparsity doubles the rate, whether or not the report stores it."""
    base = f"{TENSOR}_op_hgmma_src_fp16_sparsity"
    metrics = {f"{base}_off.sum": 0.0, f"{base}_on.sum": 0.0} | {f"{base}_{state}.sum": 1e9}
    if is_stored:
        metrics |= {
            f"{base}_off.sum.peak_sustained": 540672.0,
            f"{base}_on.sum.peak_sustained": 1081344.0,
        }
    assert peak_of("tensor_fp16", metrics)[0] == pytest.approx(per_cycle * 1.5e9)


@pytest.mark.parametrize(
    ("resource", "counter", "per_sm"),
    [
        ("tensor_fp16", "src_fp16_dst_fp16", 1024),
        ("tensor_fp16", "src_fp16_dst_fp32", 512),
        ("tensor_fp8", "src_fp8_dst_fp16", 2048),
    ],
)
def test_geforce_halves_the_rate_of_the_fp32_accumulator_alone(
    resource: str, counter: str, per_sm: int
) -> None:
    """The counter says which accumulator it was."""
    found = peak_of(resource, RTX_5090, {f"{TENSOR}_{counter}.sum": 1e9})
    assert found == (pytest.approx(170 * per_sm * 1.5e9), "architecture")


def test_fp8_that_may_have_block_scales_has_a_peak_between_two() -> None:
    """On an RTX 5090 they spare an fp32 accumulator the halving, and no counter tells of them."""
    counted = launch(RTX_5090, {f"{TENSOR}_src_fp8_dst_fp32.sum": 1e9})
    peaks = peak_rates(report_of(counted), ["tensor_fp8"])
    assert peaks.rate["tensor_fp8"][0] == pytest.approx(170 * 2048 * 1.5e9)
    assert peaks.lowest["tensor_fp8"][0] == pytest.approx(170 * 1024 * 1.5e9)


def test_fp8_of_an_unknown_accumulator_has_a_peak_between_two() -> None:
    """Ada counts both in one place."""
    chip = RTX_5090 | {"device__attribute_compute_capability_major": 8,
                       "device__attribute_compute_capability_minor": 9,
                       "device__attribute_display_name": "NVIDIA GeForce RTX 4090"}  # fmt: skip
    peaks = peak_rates(report_of(launch(chip, {f"{TENSOR}_src_fp8.sum": 1e9})), ["tensor_fp8"])
    assert peaks.rate["tensor_fp8"][0] == pytest.approx(170 * 2048 * 1.5e9)
    assert peaks.lowest["tensor_fp8"][0] == pytest.approx(170 * 1024 * 1.5e9)


def test_the_dense_peak_of_ampere_is_that_without_sparsity() -> None:
    """221,184 operations per cycle on an A100, not the doubled one."""
    metrics = A100 | {
        f"{TENSOR}_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 221184.0,
        f"{TENSOR}_src_bf16_dst_fp32_sparsity_on.sum.peak_sustained": 442368.0,
        f"{TENSOR}_src_bf16_dst_fp32_sparsity_off.sum": 1e9,
    }
    assert peak_of("tensor_bf16", metrics) == (pytest.approx(221184 * 1.41e9), "report")


def test_launches_on_several_devices_have_their_own_peaks() -> None:
    """One report may hold launches of two kinds of GPU."""
    peaks = peak_rates(report_of(launch(), launch(A100)), ["fp32", "dram"])
    assert peaks.rate["fp32"].tolist() == pytest.approx([FP32_PEAK, 108 * 128 * 1.41e9])
    assert peaks.boost_clock_hz.tolist() == [1.98e9, 1.41e9]


@pytest.mark.parametrize(
    "part",
    [
        {"device__attribute_display_name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb"},
        {"device__attribute_multiprocessor_count": 16},
    ],
)
def test_a_part_of_a_gpu_has_no_known_dram_peak(part: dict[str, Any]) -> None:
    """Attributes, stored peak and product are those of the whole GPU; its SMs are its own."""
    assert peak_of("dram", part, dram(1280.0, 2.5e9)) == (
        pytest.approx(math.nan, nan_ok=True),
        None,
    )
    peaks = peak_rates(report_of(launch(), launch(part)), ["fp32"])
    assert peaks.is_partition.tolist() == [False, True]
