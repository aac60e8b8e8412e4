"""What lowers confidence, and that the reason says so."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.rooflines import (
    DRAM,
    DRAM_PEAK,
    FP32_PEAK,
    SM,
    TENSOR_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    label_of,
    launch,
    parts,
    tensor_counts,
    with_columns,
)
from support.stores import report_of

from nsightlens.analysis import classify
from nsightlens.metrics.tensor import tensor_paths_of

CLEAR = parts(dram=85, fma=10, issue=20)
COUNTED = dram_bytes(0.85) | flop_counts(fp32=0.1 * FP32_PEAK * 1e-3) | tensor_counts()


def test_a_clear_label_is_sure() -> None:
    """One side far above the other, all work counted."""
    assert label_of(CLEAR, COUNTED)["confidence"] == "high"


@pytest.mark.parametrize(
    ("metrics", "confidence", "cause"),
    [
        (parts(dram=50, issue=45), "medium", "compute at 45 % and memory at 50 % are close"),
        (parts(dram=9, issue=1), "low", "nothing is busier than 9.0 %"),
        (parts(dram=106, issue=1), "low", "DRAM at 106 % of its peak cannot be"),
        (aggregates(sm=10, memory=80, dram=20), "medium", "parts of the busiest unit"),
        (parts(l1=50, dram=10, fma=15, issue=20), "medium", "FLOP were not counted, add"),
        (parts(l1=50, issue=20) | {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": None},
         "medium", "roofline is not decided"),
    ],
)  # fmt: skip
def test_each_doubt_lowers_confidence_and_is_named(
    metrics: dict[str, Any], confidence: str, cause: str
) -> None:
    """The reason ends in what speaks against the label."""
    label = label_of(metrics)
    assert label["confidence"] == confidence
    assert cause in label["reason"]


def test_counted_bytes_above_the_peak_contradict_themselves() -> None:
    """106 % of the DRAM peak by bytes, whatever the percentage says."""
    label = label_of(CLEAR, COUNTED, {"dram__bytes_read.sum": 1.06 * DRAM_PEAK * 1e-3})
    assert label["confidence"] == "low"
    assert "DRAM at 106 % of its peak (peak: report) cannot be" in label["reason"]


def test_counted_operations_above_the_peak_name_their_pipe() -> None:
    """An FP32 rate of 110 % of what the architecture can do at this clock."""
    fp32 = flop_counts(fp32=1.1 * FP32_PEAK * 1e-3)
    label = label_of(parts(fma=99, issue=50, dram=5), COUNTED | dram_bytes(0.05) | fp32)
    assert label["confidence"] == "low"
    assert "FP32 at 110 % of its peak (peak: architecture) cannot be" in label["reason"]


def test_a_peak_of_the_data_sheet_is_not_that_of_the_clock() -> None:
    """Without an SM clock the roof is that of the boost clock."""
    metrics = launch(parts(fma=90, issue=60, dram=5), flop_counts(fp32=6e10), tensor_counts())
    del metrics["sm__cycles_elapsed.avg.per_second"]
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert (label["limiter"], label["confidence"]) == ("fp32", "medium")
    assert "data sheet at boost clock" in label["reason"]


def test_a_launch_at_another_clock_than_its_report_is_marked() -> None:
    """One of four launches ran at 1.2 GHz, 20 % below the others."""
    slow = {"sm__cycles_elapsed.avg.per_second": 1.2e9}
    busier = parts(dram=85, fma=12.5, issue=20)
    launches = [launch(CLEAR, COUNTED) for _ in range(3)] + [launch(busier, COUNTED, slow)]
    labels = classify(report_of(*launches)).labels
    assert labels["confidence"].to_pylist() == ["high"] * 3 + ["medium"]
    assert "SM clock differs from the rest" in labels["reason"][3].as_py()


@pytest.mark.parametrize(("duration_ns", "confidence"), [(5e5, "medium"), (5e4, "high")])
def test_a_launch_at_another_dram_clock_than_its_report_is_marked(
    duration_ns: float, confidence: str
) -> None:
    """A fifth below the others; in a launch under 100 us that is scatter."""
    slow = {"dram__cycles_elapsed.avg.per_second": 2.1e9, "gpu__time_duration.sum": duration_ns}
    counted = COUNTED | dram_bytes(0.85, duration_ns) | slow
    launches = [launch(CLEAR, COUNTED) for _ in range(3)] + [launch(CLEAR, counted)]
    label = classify(report_of(*launches)).labels.to_pylist()[3]
    is_said = "the DRAM clock differs from the rest of the report" in label["reason"]
    assert is_said == (confidence == "medium")


def test_metrics_that_a_failed_pass_left_without_a_number_are_counted() -> None:
    """Two counters are stored as not-a-number in a launch whose other passes worked."""
    lost = {"lts__t_bytes.sum": math.nan, "l1tex__t_bytes.sum": math.nan}
    label = label_of(CLEAR, COUNTED, lost)
    assert label["confidence"] == "medium"
    assert "2 metrics have no value, for a pass failed" in label["reason"]


@pytest.mark.parametrize("name", ["lts__t_sector_hit_rate.pct", "derived__x", "launch__y"])
def test_a_quotient_of_nothing_by_nothing_is_no_failed_pass(name: str) -> None:
    """A hit rate without accesses is not-a-number as well."""
    assert label_of(CLEAR, COUNTED, {name: math.nan})["confidence"] == "high"


def test_a_percentage_of_active_cycles_among_percentages_of_elapsed_ones_is_marked() -> None:
    """Tensor pipes at 70 % of active cycles: with half of the SMs idle that is 35 % of elapsed."""
    active = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 70.0}
    label = label_of(aggregates(sm=70, memory=20, dram=20), active)
    assert label["limiter"] == "tensor"
    said = "percentage of tensor pipes is one of active cycles, the others are of elapsed ones"
    assert said in label["reason"]


def test_active_cycles_turn_a_percentage_of_them_into_one_of_elapsed_cycles() -> None:
    """SMs were active for half of the cycles: 70 % of those are 35 % of all."""
    active = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 70.0,
              "sm__cycles_active.avg": 0.5 * 1.5e9 * 1e-3}  # fmt: skip
    label = label_of(aggregates(sm=35, memory=20, dram=20), active)
    assert (label["limiter"], label["limiter_fraction"]) == ("tensor", pytest.approx(0.35))
    assert "active cycles" not in label["reason"]


def test_an_l1_percentage_of_active_cycles_is_marked_where_nothing_else_tells() -> None:
    """Without the memory throughput, which L1 cannot exceed."""
    l1 = {"l1tex__throughput.avg.pct_of_peak_sustained_active": 80.0, SM: 20.0, DRAM: 10.0}
    label = label_of(l1)
    assert (label["bound"], label["limiter"]) == ("memory", "l1")
    assert "percentage of L1 with shared memory is one of active cycles" in label["reason"]


def test_the_clock_of_a_short_launch_is_not_held_against_it() -> None:
    """Below 20 us the clock is a quotient of small counts."""
    slow = {"sm__cycles_elapsed.avg.per_second": 1.2e9, "gpu__time_duration.sum": 5e3}
    launches = [launch(CLEAR) for _ in range(3)] + [launch(CLEAR, slow)]
    assert classify(report_of(*launches)).labels["confidence"][3].as_py() == "high"


def test_a_clock_is_held_against_launches_of_the_same_device() -> None:
    """Two GPUs in one report have clocks of their own."""
    other = {"device__attribute_display_name": "NVIDIA H100 PCIe",
             "sm__cycles_elapsed.avg.per_second": 1.2e9}  # fmt: skip
    launches = [launch(CLEAR), launch(CLEAR), launch(CLEAR, other)]
    assert classify(report_of(*launches)).labels["confidence"].to_pylist() == ["high"] * 3


@pytest.mark.parametrize(("dram", "confidence"), [(9, "low"), (15, "medium"), (25, "high")])
def test_a_launch_that_uses_little_is_doubted_by_degrees(dram: float, confidence: str) -> None:
    """Below 10 %, below 20 %."""
    label = label_of(parts(dram=dram, issue=1), dram_bytes(dram / 100))
    assert label["confidence"] == confidence


def test_a_grid_that_leaves_sms_without_a_block_is_doubted() -> None:
    """One block on 132 SMs."""
    label = label_of(CLEAR, COUNTED, {"launch__grid_size": 131})
    assert label["confidence"] == "medium"
    assert "the grid has fewer blocks than the GPU has SMs" in label["reason"]
    assert label_of(CLEAR, COUNTED, {"launch__grid_size": 132})["confidence"] == "high"


@pytest.mark.parametrize(("by_bytes", "confidence"), [(0.30, "low"), (0.70, "high"), (0.2, "low")])
def test_dram_bytes_that_contradict_their_percentage_are_doubted(
    by_bytes: float, confidence: str
) -> None:
    """85 % by percentage; more than 1.25 times apart."""
    label = label_of(CLEAR, COUNTED | dram_bytes(by_bytes))
    assert label["confidence"] == confidence
    assert ("DRAM is at 85 % by its percentage and at" in label["reason"]) == (by_bytes < 0.7)


def test_dram_bytes_above_their_percentage_are_doubted_as_well() -> None:
    """20 % by percentage, 90 % by bytes."""
    label = label_of(parts(dram=20, issue=40), COUNTED | dram_bytes(0.9))
    assert label["confidence"] == "low"
    assert "DRAM is at 20 % by its percentage and at 90 % by its bytes" in label["reason"]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (flop_counts(fp32=0.7 * FP32_PEAK * 1e-3),
         "FLOP of 70 % of the peak were counted in a pipe active for 10 %"),
        (tensor_counts(fp16=0.6 * TENSOR_PEAK * 1e-3),
         "FLOP of 60 % of the peak were counted in a pipe active for 1.0 %"),
        (flop_counts(fp32=0.104 * FP32_PEAK * 1e-3), None),
    ],
)  # fmt: skip
def test_flop_that_their_pipe_had_no_time_for_are_doubted(
    work: dict[str, Any], said: str | None
) -> None:
    """The fma pipe was active for 10 %, the tensor pipes for 1 %."""
    busy = parts(dram=85, fma=10, issue=20, tensor=1)
    label = label_of(busy, COUNTED | tensor_counts(fp16=0.01 * TENSOR_PEAK * 1e-3) | work)
    assert label["confidence"] == ("high" if said is None else "low")
    assert said is None or said in label["reason"]


def test_a_part_of_a_gpu_has_no_classical_answer() -> None:
    """Its attributes are those of the whole: a seventh of an H100 is at 92 %, not at 12 %."""
    mig = {"device__attribute_display_name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
           "device__attribute_multiprocessor_count": 16}  # fmt: skip
    label = label_of(parts(dram=92, issue=20), dram_bytes(0.12), flop_counts(fp32=1e8), mig)
    assert (label["bound"], label["limiter"]) == ("memory", "dram")
    assert (label["roofline_bound"], label["ridge_point_flop_per_byte"]) == ("unknown", None)
    assert "the GPU is a part of one (MIG)" in label["reason"]


def test_a_gpu_without_dram_counters_is_doubted_for_what_it_could_have_counted() -> None:
    """Orin shares its memory with the CPU: L2 decides the side, DRAM may be busier than L2."""
    orin = {"device__attribute_display_name": "Orin",
            "device__attribute_multiprocessor_count": 16,
            "device__attribute_integrated": 1,
            "device__attribute_compute_capability_major": 8,
            "device__attribute_compute_capability_minor": 7}  # fmt: skip
    busy = {name: v for name, v in parts(l2=90, issue=20).items() if "dram" not in name}
    memory = "breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    busy[memory] = ",".join(one for one in str(busy[memory]).split(",") if "dram" not in one)
    label = label_of(busy, flop_counts(fp32=1e8), orin)
    assert (label["bound"], label["confidence"]) == ("memory", "medium")
    assert "how busy DRAM was is not known" in label["reason"]
    assert "this GPU has no DRAM counters" in label["reason"]


def test_a_dram_peak_of_the_data_sheet_has_no_boost_clock() -> None:
    """Without attributes and measured peak the product's bandwidth stands in."""
    counted = dram_bytes(0.85)
    del counted["dram__bytes.sum.peak_sustained"]
    metrics = launch(CLEAR, flop_counts(fp32=1e9), tensor_counts(), counted)
    del metrics["device__attribute_memory_clock_rate"]
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert "the DRAM peak is that of the data sheet" in label["reason"]
    assert "boost" not in label["reason"]


def test_an_unsupported_device_is_marked() -> None:
    """Where ncu itself does not know the chip."""
    report = with_columns(report_of(launch(CLEAR, COUNTED)), is_unsupported_device=[True])
    (label,) = classify(report).labels.to_pylist()
    assert label["confidence"] == "medium"
    assert "ncu does not support this device" in label["reason"]


def test_no_doubt_goes_below_low_and_no_label_has_none() -> None:
    """Several doubts together are low; without a label there is no confidence."""
    doubtful = parts(dram=5, issue=4.9, fma=4)
    assert label_of(doubtful)["confidence"] == "low"
    assert label_of()["confidence"] == "none"


def test_a_side_of_which_only_the_maximum_is_known_is_as_close_as_that() -> None:
    """SM at 1 % beside DRAM at 62 % is not close, SM at 61 % is, and the reason says so."""
    far = label_of(aggregates(sm=1.0, memory=62.0, dram=62.0))
    near = label_of(aggregates(sm=61.0, memory=62.0, dram=62.0))
    assert "are close" not in far["reason"]
    assert "compute at up to 61 % and memory at 62 % are close" in near["reason"]
    assert (far["bound"], far["confidence"]) == ("memory", "high")


@pytest.mark.parametrize(
    ("name", "roofline", "evidence"),
    [
        ("NVIDIA A10G", "compute", "counters"),
        ("NVIDIA A10", "memory", "counters"),
        ("NVIDIA A10X", "unknown", "throughput"),
    ],
)
def test_a_label_that_hangs_on_how_an_unknown_product_was_cut_stays_open(
    name: str, roofline: str, evidence: str
) -> None:
    """BF16 at 48 % of the full rate and DRAM at 60 %: with half the rate it is compute-bound."""
    label = label_of(*on_a_chip_like_a10(name, tensor_active=96.0))
    assert (label["roofline_bound"], label["evidence"]) == (roofline, evidence)
    is_doubted = "active twice as long as their operations need" in label["reason"]
    assert is_doubted == (name != "NVIDIA A10G")
    assert (label["confidence"] == "high") == (name == "NVIDIA A10G")
    assert (label["ridge_point_flop_per_byte"] is None) == (roofline == "unknown")


def test_an_unknown_product_is_no_doubt_where_the_pipe_shows_its_rate() -> None:
    """Active for 48 % of the time with 48 % of the full rate: the rate is the full one."""
    label = label_of(*on_a_chip_like_a10("NVIDIA A10X", tensor_active=48.0))
    assert (label["roofline_bound"], label["confidence"]) == ("memory", "high")


def test_the_rate_of_an_unknown_geforce_card_is_assumed() -> None:
    """That of GeForce cards, and the reason says so."""
    label = label_of(*on_a_chip_like_a10("NVIDIA GeForce RTX 3099", tensor_active=96.0))
    assert (label["roofline_bound"], label["confidence"]) == ("compute", "medium")
    assert "its tensor BF16 rate is that of others" in label["reason"]


def on_a_chip_like_a10(name: str, *, tensor_active: float) -> tuple[dict[str, Any], ...]:
    """Return a launch with BF16 at 48 % of the full rate of 80 SMs, and DRAM at 60 %."""
    device = {
        "device__attribute_display_name": name,
        "device__attribute_compute_capability_major": 8,
        "device__attribute_compute_capability_minor": 6,
        "device__attribute_multiprocessor_count": 80,
        "device__attribute_clock_rate": 1_710_000,
        "device__attribute_memory_clock_rate": 6_251_000,
        "device__attribute_global_memory_bus_width": 384,
        "sm__cycles_elapsed.avg.per_second": 1.71e9,
    }
    bases = [base for path in tensor_paths_of("8.6") for base in path.bases]
    work = {f"{base}{state}.sum": 0.0
            for base in bases for state in ("", "_sparsity_off", "_sparsity_on")}  # fmt: skip
    done = 0.48 * 80 * 1024 * 1.71e9 * 1e-3
    work["sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum"] = done
    work["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = done
    dram = {"dram__bytes_read.sum": 0.6 * 600.096e9 * 1e-3, "dram__bytes_write.sum": 0.0}
    return (parts(tensor=tensor_active, dram=60), device, dram, flop_counts(), work)


def test_a_counter_of_one_pipe_does_not_hide_how_busy_the_others_may_be() -> None:
    """SM at 36.8 %, of which the special functions are 1 %: as close to 37.3 % as without them."""
    maxima = aggregates(sm=36.8, memory=37.3, dram=37.3)
    one_pipe = maxima | {"sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed": 1.0}
    without, with_it = label_of(maxima), label_of(one_pipe)
    assert with_it["confidence"] == without["confidence"] == "low"
    assert "compute at up to 37 % and memory at 37 % are close" in with_it["reason"]
