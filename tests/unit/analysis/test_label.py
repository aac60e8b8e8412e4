"""The rules of the label, with numbers worked by hand.

The launch lasts 1 ms on an H100 whose DRAM moves 3352.32 GB/s and whose SMs do 50.688 TFLOP/s in
FP32: 1 % of the DRAM peak is 33.5232 MB, 1 % of the FP32 peak 506.88 MFLOP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.rooflines import (
    A100,
    DRAM,
    DRAM_PEAK,
    FP32_PEAK,
    MEMORY,
    SM,
    TENSOR_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    label_of,
    launch,
    parts,
    tensor_counts,
)
from support.stores import FAILED, report_of

from nsightlens.analysis import classify

if TYPE_CHECKING:
    from support.rooflines import Metrics

MS = 1e-3
DRAM_ACTIVE = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed"


def fp32(fraction: float) -> dict[str, float]:
    """Return counted FP32 work that needs a fraction of a millisecond, and no other."""
    return flop_counts(fp32=fraction * FP32_PEAK * MS) | tensor_counts()  # type: ignore[return-value]


def test_the_convolution_is_memory_bound_by_l1_and_compute_bound_by_the_classical_rule() -> None:
    """DRAM 1 %, FP32 3 %, L1 98 %."""
    label = label_of(parts(dram=1, l1=98, fma=3, issue=20), dram_bytes(0.01), fp32(0.03))
    assert (label["bound"], label["limiter"]) == ("memory", "l1")
    assert label["limiter_fraction"] == pytest.approx(0.98)
    assert label["roofline_bound"] == "compute"
    assert label["bound_ratio"] == pytest.approx(3.0)
    assert (label["regime"], label["evidence"]) == ("saturated", "counters")


def test_the_random_numbers_are_compute_bound_by_issue_and_memory_bound_by_the_classical_rule() -> (
    None
):
    """DRAM 42 %, FP32 4 %, issue slots 68 %."""
    label = label_of(parts(dram=42, fma=40, issue=68), dram_bytes(0.42), fp32(0.04))
    assert (label["bound"], label["limiter"]) == ("compute", "issue")
    assert label["roofline_bound"] == "memory"
    assert label["bound_ratio"] == pytest.approx(4 / 42)
    assert label["regime"] == "saturated"


def test_the_hand_written_gemm_is_memory_bound_by_l1() -> None:
    """FP32 25 %, DRAM 4 %, L1 76 %."""
    label = label_of(parts(dram=4, l1=76, fma=25, issue=40), dram_bytes(0.04), fp32(0.25))
    assert (label["bound"], label["limiter"], label["roofline_bound"]) == (
        "memory",
        "l1",
        "compute",
    )


def test_decode_attention_is_memory_bound_and_saturated() -> None:
    """DRAM 92 %, FP16 tensor 8 %: intensity 19.4 FLOP/B against a ridge at 242."""
    work = tensor_counts(fp16=0.08 * TENSOR_PEAK * MS)
    label = label_of(parts(dram=92, tensor=8, issue=15), dram_bytes(0.92), flop_counts(), work)
    assert (label["bound"], label["limiter"], label["roofline_bound"]) == (
        "memory",
        "dram",
        "memory",
    )
    assert label["arithmetic_intensity_flop_per_byte"] == pytest.approx(
        0.08 * TENSOR_PEAK / (0.92 * DRAM_PEAK)
    )
    assert label["ridge_point_flop_per_byte"] == pytest.approx(TENSOR_PEAK / DRAM_PEAK)
    assert (label["evidence"], label["confidence"]) == ("counters", "high")


def test_a_launch_that_uses_no_bandwidth_up_is_memory_bound_by_latency() -> None:
    """DRAM 14 % and everything else below."""
    label = label_of(parts(dram=14, issue=6), dram_bytes(0.14), fp32(0.01))
    assert (label["bound"], label["regime"]) == ("memory", "latency")


def test_less_than_a_wave_is_a_small_grid_unless_something_is_busy() -> None:
    """0.4 waves: small grid at 14 %, saturated at 92 %."""
    few = {"launch__waves_per_multiprocessor": 0.4}
    assert label_of(parts(dram=14, issue=6), few)["regime"] == "small_grid"
    assert label_of(parts(dram=92, issue=6), few)["regime"] == "saturated"


@pytest.mark.parametrize(
    ("dram", "issue", "regime"),
    [
        (59.9, 10, "latency"),
        (60, 10, "saturated"),
        (70, 61, "balanced"),
        (70, 59.9, "saturated"),
        (61, 55, "balanced"),
        (85, 84, "saturated"),
    ],
)
def test_the_regime_follows_the_published_thresholds(
    dram: float, issue: float, regime: str
) -> None:
    """60 to be busy, 80 to be used up, 10 between balanced sides."""
    assert label_of(parts(dram=dram, issue=issue))["regime"] == regime


def test_the_intensity_counts_every_type_over_the_dram_bytes() -> None:
    """FP32 and FP64 work add up; the ridge is that of the type with the longest time."""
    work = flop_counts(fp32=4e9, fp64=1e9) | tensor_counts()
    label = label_of(parts(dram=50, fma=8, fp64=4, issue=20), dram_bytes(0.5), work)
    transferred = 0.5 * DRAM_PEAK * MS
    assert label["arithmetic_intensity_flop_per_byte"] == pytest.approx(5e9 / transferred)
    assert label["ridge_point_flop_per_byte"] == pytest.approx(FP32_PEAK / DRAM_PEAK)
    fp64_first = flop_counts(fp32=1e9, fp64=4e9) | tensor_counts()
    label = label_of(parts(dram=50, fma=8, fp64=16, issue=20), dram_bytes(0.5), fp64_first)
    assert label["ridge_point_flop_per_byte"] == pytest.approx(132 * 128 * 1.5e9 / DRAM_PEAK)


def test_a_launch_between_the_ridges_depends_on_the_clock() -> None:
    """1.2 times the ridge at 1.5 GHz is 0.91 of the ridge at 1.98 GHz."""
    between = label_of(parts(dram=50, fma=60, issue=70), dram_bytes(0.5), fp32(0.60))
    assert between["roofline_bound"] == "compute"
    assert between["clock_dependent"] is True
    assert between["ridge_point_boost_flop_per_byte"] == pytest.approx(
        between["ridge_point_flop_per_byte"] * 1.98 / 1.5
    )
    beyond = label_of(parts(dram=50, fma=80, issue=90), dram_bytes(0.5), fp32(0.80))
    assert beyond["clock_dependent"] is False
    below = label_of(parts(dram=50, fma=40, issue=60), dram_bytes(0.5), fp32(0.40))
    assert below["clock_dependent"] is False


def test_active_tensor_pipes_without_their_counter_are_no_counters() -> None:
    """FP32 alone would say 0.15 FLOP/B: no intensity is given, and the pipe itself decides."""
    counted = flop_counts(fp32=5e6)
    label = label_of(parts(dram=10, tensor=60, issue=20), dram_bytes(0.1), counted)
    assert (label["bound"], label["limiter"]) == ("compute", "tensor")
    assert label["evidence"] == "throughput"
    assert label["arithmetic_intensity_flop_per_byte"] is None
    assert label["ridge_point_flop_per_byte"] is None
    assert (label["roofline_bound"], label["bound_ratio"]) == ("unknown", None)
    assert label["confidence"] == "medium"
    assert "tensor pipes are active for 60 %" in label["reason"]


def test_a_counter_of_the_wrong_type_does_not_stand_for_the_tensor_work() -> None:
    """FP16 operations of zero beside a pipe that is active for 60 % explain nothing."""
    zero = {"sm__ops_path_tensor_src_fp16.sum": 0.0}
    label = label_of(parts(dram=10, tensor=60, issue=20), dram_bytes(0.1), flop_counts(), zero)
    assert (label["limiter"], label["evidence"]) == ("tensor", "throughput")
    assert label["arithmetic_intensity_flop_per_byte"] is None


def test_one_counter_is_enough_where_it_explains_the_active_pipe() -> None:
    """BF16 operations of 55 % of the peak explain a pipe that is active for 60 %."""
    work = {
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum": 0.55 * TENSOR_PEAK * MS,
        "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum": 0.0,
    }
    label = label_of(parts(dram=10, tensor=60, issue=20), dram_bytes(0.1), flop_counts(), work)
    assert (label["limiter"], label["evidence"]) == ("tensor_bf16", "counters")
    assert label["limiter_fraction"] == pytest.approx(0.60)
    assert label["bound_ratio"] == pytest.approx(5.5)


def test_a_pipe_is_as_busy_as_it_was_active_and_does_what_was_counted() -> None:
    """FP64 additions alone: the pipe is used up at half of the peak FLOP rate."""
    work = flop_counts(fp64=0.5 * 132 * 128 * 1.5e9 * MS) | tensor_counts()
    label = label_of(parts(fp64=100, dram=60, issue=25), dram_bytes(0.6), work)
    assert (label["bound"], label["limiter"]) == ("compute", "fp64")
    assert label["limiter_fraction"] == pytest.approx(1.0)
    assert (label["roofline_bound"], label["evidence"]) == ("memory", "counters")
    assert label["bound_ratio"] == pytest.approx(0.5 / 0.6)


def test_tensor_work_of_unknown_activity_is_bounded_by_the_sm_throughput() -> None:
    """Neither counted nor seen, it cannot be above 20 %: less than DRAM, more than FP32."""
    counted = flop_counts(fp32=5e6)
    label = label_of(aggregates(sm=20, memory=50, dram=50), dram_bytes(0.5), counted)
    assert label["roofline_bound"] == "memory"
    undecided = label_of(aggregates(sm=60, memory=50, dram=50), dram_bytes(0.5), counted)
    assert undecided["roofline_bound"] == "unknown"


def test_the_basic_set_gives_throughput_evidence() -> None:
    """Percentages without a single counter of work."""
    label = label_of(parts(dram=85, issue=12, fma=5, l2=35))
    assert (label["bound"], label["limiter"], label["evidence"]) == (
        "memory",
        "dram",
        "throughput",
    )
    assert label["roofline_bound"] == "memory"
    assert label["peak_source"] == "percent_of_peak"


@pytest.mark.parametrize(
    ("pipe", "percent", "roofline"),
    [
        ("fma", 7.9, "memory"),
        ("fma", 90.0, "unknown"),
        ("fp64", 7.9, "memory"),
        ("fp64", 90.0, "unknown"),
        ("tensor", 7.9, "memory"),
        ("tensor", 90.0, "unknown"),
    ],
)
def test_activity_of_a_pipe_is_the_most_that_its_flop_can_have_needed(
    pipe: str, percent: float, roofline: str
) -> None:
    """Integers, idle threads and additions keep it busy as well; DRAM is at 10 %, or at 8."""
    label = label_of(parts(dram=10, issue=30, **{pipe: percent}))
    assert label["roofline_bound"] == roofline
    assert (label["bound_ratio"], label["ridge_point_flop_per_byte"]) == (None, None)
    assert label["clock_dependent"] is (False if roofline == "memory" else None)


def test_counted_fp64_stands_where_the_activity_of_its_pipe_would_say_the_opposite() -> None:
    """Pipe active 35 %, counted 15 %, DRAM 25 %: the classical answer is memory."""
    work = flop_counts(fp64=0.15 * 132 * 128 * 1.5e9 * MS) | tensor_counts()
    metrics = parts(fp64=35, dram=25, issue=20)
    assert label_of(metrics, dram_bytes(0.25), work)["roofline_bound"] == "memory"
    assert label_of(metrics, dram_bytes(0.25))["roofline_bound"] == "unknown"


def test_an_unknown_part_of_the_flop_leaves_the_ratio_open_and_the_side_decided() -> None:
    """FP32 needs 20 %, FP64 between nothing and 40 %, DRAM 10 %: compute, unknown how far."""
    counted = {name: n for name, n in fp32(0.20).items() if "_op_d" not in name}
    label = label_of(parts(dram=10, fma=20, fp64=40, issue=45), dram_bytes(0.10), counted)
    assert label["roofline_bound"] == "compute"
    assert (label["bound_ratio"], label["ridge_point_flop_per_byte"]) == (None, None)
    assert label["clock_dependent"] is False


def test_operations_of_an_unknown_instruction_need_what_the_pipe_was_active_at_the_most() -> None:
    """55 % at the rate of wgmma, 83 % at that of mma.sync: DRAM at 67 % is in between."""
    total = tensor_counts(fp16=0.555 * TENSOR_PEAK * MS) | flop_counts()
    metrics = (dram_bytes(0.67), total)
    open_label = label_of(parts(dram=67, tensor=83, issue=20), *metrics)
    assert (open_label["roofline_bound"], open_label["bound_ratio"]) == ("unknown", None)
    assert open_label["ridge_point_flop_per_byte"] is None
    assert open_label["limiter_fraction"] == pytest.approx(0.83)
    wgmma = label_of(parts(dram=67, tensor=55.5, issue=20), *metrics)
    assert wgmma["roofline_bound"] == "memory"


def test_operations_whose_peak_is_not_known_need_what_the_pipe_was_active_at_the_most() -> None:
    """mma.sync on a B200: pipe active 60 %; DRAM at 30 % and at 70 %."""
    b200 = {"device__attribute_display_name": "NVIDIA B200",
            "device__attribute_compute_capability_major": 10,
            "device__attribute_multiprocessor_count": 148}  # fmt: skip
    types = ("tf32_dst_fp32", "bf16_dst_fp32", "int8")
    none = {f"sm__ops_path_tensor_src_{one}.sum": 0.0 for one in types}
    none |= {f"sm__ops_path_tensor_{one}.sum": 0.0 for one in (
        "src_fp64", "src_fp4_fp6_fp8_dst_fp16", "src_fp4_fp6_fp8_dst_fp32", "src_fp4_dst_fp32",
        "op_utchmma_src_fp16_dst_fp16", "op_utchmma_src_fp16_dst_fp32",
        "op_hmma_src_fp16_dst_fp16")}  # fmt: skip
    work = none | {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum": 1e11} | flop_counts()
    label = label_of(b200, parts(tensor=60, dram=30, issue=20), dram_bytes(0.3), work)
    assert (label["limiter"], label["roofline_bound"]) == ("tensor", "unknown")
    assert (label["evidence"], label["ridge_point_flop_per_byte"]) == ("throughput", None)
    assert "the peak of the instructions that did the work is not known" in label["reason"]
    label = label_of(b200, parts(tensor=60, dram=70, issue=20), dram_bytes(0.7), work)
    assert label["roofline_bound"] == "memory"


def test_without_a_clock_flop_need_what_their_pipe_was_active_at_the_most() -> None:
    """At the boost clock they would need 45 %, at that of the launch unknown; DRAM 50 %."""
    metrics = launch(parts(dram=50, fma=60, issue=70), dram_bytes(0.5), fp32(0.60))
    del metrics["sm__cycles_elapsed.avg.per_second"]
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert (label["roofline_bound"], label["bound_ratio"]) == ("unknown", None)


@pytest.mark.parametrize("factor", [1.0, 1.1, 0.9, 3.0])
def test_a_tie_is_a_tie_however_it_was_rounded(factor: float) -> None:
    """Equal percentages of equal durations, at any clock."""
    clock = {"sm__cycles_elapsed.avg.per_second": 1.5e9 * factor}
    label = label_of(parts(tensor=0.01, l1=0.01), clock, duration_ns=1e6 / factor)
    assert (label["bound"], label["limiter"]) == ("memory", "l1")


def test_integer_work_in_the_fma_pipe_is_no_fp32() -> None:
    """Heavy half 78 %, pipe 41 %: the light half, where FP32 would be as well, did 4 %."""
    label = label_of(parts(fma=41, heavy=78, issue=70, dram=12))
    assert (label["bound"], label["limiter"]) == ("compute", "integer")
    assert label["limiter_fraction"] == pytest.approx(0.78)


def test_counted_fp32_leaves_the_rest_of_the_fma_pipe_to_integers() -> None:
    """FP32 needs 4 % and the pipe was busy for 66 %, on a chip without two halves."""
    work = flop_counts(fp32=0.04 * 108 * 128 * 1.41e9 * MS)
    label = label_of(A100, parts(fma=66, issue=50, dram=12), work)
    assert (label["bound"], label["limiter"]) == ("compute", "integer")
    counted = flop_counts(fp32=0.60 * 108 * 128 * 1.41e9 * MS)
    label = label_of(A100, parts(fma=66, issue=50, dram=12), counted)
    assert (label["bound"], label["limiter"]) == ("compute", "fp32")


def test_the_way_to_l1_is_on_the_memory_side() -> None:
    """The load-store pipe is a part of the SM, and it is memory that its instructions wait for."""
    label = label_of(parts(lsu=88, l1=45, issue=30))
    assert (label["bound"], label["limiter"]) == ("memory", "l1")


def test_equal_aggregates_are_the_part_that_both_share() -> None:
    """Both at 64.9 %: no other part of the SM is in both."""
    label = label_of(aggregates(sm=64.9, memory=64.9, dram=8, l2=17))
    assert (label["bound"], label["limiter"]) == ("memory", "l1")


def test_a_tie_is_no_label_where_something_else_may_be_busier() -> None:
    """Memory would win it, and the rest of the SM is not known."""
    tie = parts(xu=1, l1=1)
    del tie[SM], tie["sm__issue_active.avg.pct_of_peak_sustained_elapsed"]
    assert label_of(parts(xu=1, l1=1))["bound"] == "memory"
    assert label_of(tie)["bound"] == "unknown"


def test_an_sm_above_all_memory_is_compute_bound_without_its_parts() -> None:
    """The part is not known, and the label says so."""
    label = label_of(aggregates(sm=70, memory=30, dram=25, l2=30))
    assert (label["bound"], label["limiter"], label["confidence"]) == ("compute", "sm", "low")
    assert "busiest part of the SM 70 %" in label["reason"]


def test_a_memory_throughput_above_dram_and_l2_is_that_of_l1() -> None:
    """Of three levels, two are known."""
    label = label_of(aggregates(sm=20, memory=75, dram=30, l2=40))
    assert (label["limiter"], label["limiter_fraction"]) == ("l1", pytest.approx(0.75))


def test_a_memory_level_that_is_not_known_is_not_named() -> None:
    """With DRAM at 30 % and nothing of the caches, the 75 % are those of either."""
    label = label_of(aggregates(sm=20, memory=75, dram=30))
    assert (label["bound"], label["limiter"]) == ("memory", "memory")


@pytest.mark.parametrize(
    ("metrics", "missing"),
    [
        ({}, "neither throughput nor operation counters"),
        ({SM: 80.0}, "the memory side is not known (gpu__compute_memory_throughput"),
        ({MEMORY: 80.0}, "the compute side is not known (sm__throughput"),
        (dram_bytes(0.9), "neither sm__throughput"),
        (parts(), "no resource was active"),
    ],
)
def test_metrics_that_do_not_decide_give_no_label(metrics: dict[str, float], missing: str) -> None:
    """Unknown stays unknown, and the reason says what would decide it."""
    label = label_of(metrics)
    assert (label["bound"], label["limiter"]) == ("unknown", None)
    assert (label["evidence"], label["confidence"]) == ("none", "none")
    assert missing in label["reason"]


def test_a_launch_without_a_duration_has_no_label() -> None:
    """Percentages alone would do, but there is nothing to compare work with."""
    label = label_of(parts(dram=90), duration_ns=None)
    assert label["bound"] == "unknown"
    assert "gpu__time_duration.sum" in label["reason"]
    nothing = label_of(duration_ns=None)
    assert "only its configuration" in nothing["reason"]


@pytest.mark.parametrize(
    "damage",
    [
        {"dram__bytes_read.sum": -1e9},
        {"dram__bytes_read.sum": float("inf")},
        {DRAM_ACTIVE: -5.0, DRAM: -5.0, "dram__bytes_read.sum": -1.0},
    ],
)
def test_what_cannot_be_measured_is_missing(damage: dict[str, float]) -> None:
    """Neither bytes nor percentages are negative or infinite."""
    label = label_of(parts(l1=90, issue=20), dram_bytes(0.3), fp32(0.1), damage)
    assert label["bound"] == "memory"
    assert label["arithmetic_intensity_flop_per_byte"] is None
    assert "-" not in label["reason"].partition("; confidence")[0].replace("memory-bound", "")


def test_a_failed_collection_has_no_label() -> None:
    """Its percentages are not numbers and its duration is none."""
    from support.stores import report_of

    from nsightlens.analysis import classify

    (label,) = classify(report_of(FAILED | {SM: float("nan")})).labels.to_pylist()
    assert (label["bound"], label["failed_launch_count"]) == ("unknown", 1)
    assert "cut this launch short" in label["reason"]


def test_the_classical_answer_stands_where_the_full_one_does_not() -> None:
    """FLOP and DRAM bytes are counted, L1, L2 and issue slots are not."""
    label = label_of(dram_bytes(0.5), fp32(0.1))
    assert (label["bound"], label["evidence"]) == ("unknown", "none")
    assert label["roofline_bound"] == "memory"
    assert label["bound_ratio"] == pytest.approx(0.2)


def test_fp16_on_cuda_cores_decides_nothing_while_it_may_be_there() -> None:
    """FP32 needs 1 %, DRAM 2 %, and the fma pipe that FP16 shares was active for 5 %."""
    work = flop_counts(fp32=0.01 * FP32_PEAK * MS, fp16=None) | tensor_counts()
    label = label_of(parts(dram=2, fma=5, l1=30, issue=10), dram_bytes(0.02), work)
    assert (label["roofline_bound"], label["evidence"]) == ("unknown", "throughput")
    assert "FP16 on CUDA cores was not counted" in label["reason"]


def test_work_of_zero_is_known_without_a_peak() -> None:
    """An A100 has no FP8, and zero operations of it need no time."""
    metrics = launch(A100, parts(dram=50, issue=10), {"sm__ops_path_tensor_src_fp8.sum": 0.0})
    resources = classify(report_of(metrics)).resources.to_pylist()
    fp8 = next(row for row in resources if row["resource"] == "tensor_fp8")
    assert (fp8["fraction_of_peak"], fp8["peak_per_s"]) == (0.0, None)


def test_a_percentage_of_the_dram_peak_does_not_decide_what_fewer_bytes_would_turn_over() -> None:
    """FP32 at 45 % and DRAM at 50 %, or at 40 % by its bytes: without them the answer is open."""
    busy = parts(fma=45.0, dram=50.0, issue=30.0)
    flop = flop_counts(fp32=0.45 * FP32_PEAK * 1e-3) | tensor_counts()
    counted = label_of(busy, flop, dram_bytes(0.40))
    assert (counted["roofline_bound"], counted["evidence"]) == ("compute", "counters")
    uncounted = label_of(busy, flop)
    assert (uncounted["roofline_bound"], uncounted["bound"]) == ("unknown", "memory")
    assert uncounted["bound_ratio"] is None
    assert "not decided: DRAM bytes were not counted, add --section" in uncounted["reason"]
    clear = label_of(busy, flop_counts(fp32=0.30 * FP32_PEAK * 1e-3) | tensor_counts())
    assert clear["roofline_bound"] == "memory"


@pytest.mark.parametrize(("other", "regime"), [(65.01, "balanced"), (65.0, "saturated")])
def test_sides_ten_points_apart_are_not_balanced(other: float, regime: str) -> None:
    """NVIDIA's rule names the larger side from 10 points on, and 0.75 - 0.65 is not 0.1."""
    label = label_of(parts(dram=75.0, issue=other))
    assert (label["bound"], label["regime"]) == ("memory", regime)


@pytest.mark.parametrize(("sm", "memory"), [(68.0, 70.0), (70.0, 68.0)])
def test_maxima_are_balanced_whichever_is_larger(sm: float, memory: float) -> None:
    """Of a side of which only the maximum is known, that is what it is taken for."""
    assert label_of(aggregates(sm=sm, memory=memory, dram=memory))["regime"] == "balanced"


def test_equal_maxima_are_of_one_part_and_not_balanced() -> None:
    """65 % on both sides is the way to L1, which both have: nothing is known of the other."""
    label = label_of(aggregates(sm=65.0, memory=65.0))
    assert (label["bound"], label["regime"]) == ("memory", "saturated")


NO_WAVES: Metrics = {"launch__waves_per_multiprocessor": None}
IDLE = parts(dram=30.0, issue=5.0)
LIMITS = [
    f"launch__occupancy_limit_{one}" for one in ("blocks", "registers", "shared_mem", "warps")
]


def test_without_waves_a_grid_with_fewer_blocks_than_sms_is_small() -> None:
    """131 blocks on 132 SMs cannot make a wave."""
    few = label_of(IDLE, NO_WAVES, {"launch__grid_size": 131})
    assert (few["regime"], "waves" in few["reason"]) == ("small_grid", False)


@pytest.mark.parametrize(("fit", "regime"), [(11, "small_grid"), (10, "latency")])
def test_without_waves_the_blocks_that_fit_at_once_tell_them(fit: int, regime: str) -> None:
    """1320 blocks on 132 SMs fill ten at once on each, and not eleven."""
    limits: Metrics = {**dict.fromkeys(LIMITS, 16), LIMITS[1]: fit}
    label = label_of(IDLE, NO_WAVES, limits)
    assert (label["regime"], "waves" in label["reason"]) == (regime, False)


def test_where_nothing_tells_the_waves_the_reason_says_that_the_grid_may_be_small() -> None:
    """Nothing is used up, which is latency at least."""
    label = label_of(IDLE, NO_WAVES)
    assert label["regime"] == "latency"
    assert "the waves were not collected, so that it may be a small grid" in label["reason"]
    assert "were not collected" not in label_of(IDLE)["reason"]
