"""The sentence that says why."""

from __future__ import annotations

import pytest
from support.reports import stall_metrics
from support.rooflines import (
    DRAM,
    FP32_PEAK,
    MEMORY,
    SM,
    TENSOR_PEAK,
    dram_bytes,
    flop_counts,
    label_of,
    launch,
    parts,
    tensor_counts,
)
from support.stores import report_of

from nsightlens.analysis import classify

MS = 1e-3


def test_a_saturated_launch_is_explained_by_its_limiter_and_its_intensity() -> None:
    """Rate, roof, intensity and ridge: 15.1 against 15.1 FLOP/B would be on it."""
    work = flop_counts(fp32=3e9) | tensor_counts()
    reason = label_of(parts(dram=92, fma=6, issue=20), dram_bytes(0.92), work)["reason"]
    assert reason == (
        "memory-bound, saturated: DRAM 92 % of peak (3.08 of 3.35 TB/s); "
        "intensity 0.973 FLOP/B lies left of the ridge at 15.1"
    )


def test_a_launch_that_waits_is_explained_by_its_stall_and_its_waves() -> None:
    """DRAM 14 %, wait 61 % of warp latency, 0.4 waves."""
    stalls = stall_metrics({"wait": 6.1, "long_scoreboard": 2.9, "selected": 1.0})
    waves = {"launch__waves_per_multiprocessor": 0.4}
    reason = label_of(parts(dram=14, issue=2), stalls, waves)["reason"]
    assert reason.startswith(
        "memory-bound, small grid: no resource above 60 %; DRAM 14 % of peak, "
        "wait 61 % of warp latency, 0.4 waves"
    )


def test_waiting_for_data_is_named_where_not_every_state_is_known() -> None:
    """The largest state is not known then, the share of long scoreboard is."""
    stalls = {
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 3.0,
        "smsp__average_warp_latency_per_inst_issued.ratio": 10.0,
    }
    reason = label_of(parts(dram=14, issue=2), stalls)["reason"]
    assert "DRAM 14 % of peak, long_scoreboard 30 % of warp latency, 5 waves" in reason


def test_a_compute_bound_launch_names_its_data_type_and_rate() -> None:
    """567.7 of 811 TFLOP/s."""
    work = tensor_counts(bf16=0.7 * TENSOR_PEAK * MS) | flop_counts()
    reason = label_of(parts(dram=20, tensor=70, issue=20), dram_bytes(0.2), work)["reason"]
    assert reason == (
        "compute-bound, saturated: tensor BF16 70 % of peak (568 of 811 TFLOP/s); "
        "intensity 847 FLOP/B lies right of the ridge at 242"
    )


def test_integer_tensor_work_is_counted_in_operations() -> None:
    """INT8 has no floating point."""
    work = tensor_counts(int8=0.7 * 2 * TENSOR_PEAK * MS) | flop_counts()
    reason = label_of(parts(dram=20, tensor=70, issue=20), dram_bytes(0.2), work)["reason"]
    assert "tensor INT8 70 % of peak (1135 of 1622 Top/s)" in reason.replace(
        "1.14 of 1.62 P", "1135 of 1622 T"
    )


def test_an_active_pipe_is_not_said_to_reach_a_share_of_its_peak() -> None:
    """FP64 pipe active 35 %, operations 15 % of its peak."""
    work = flop_counts(fp64=0.15 * 132 * 128 * 1.5e9 * MS) | tensor_counts()
    reason = label_of(parts(fp64=35, dram=5, issue=20), dram_bytes(0.05), work)["reason"]
    assert "FP64 pipe active 35 % (FLOP 15 % of peak)" in reason
    reason = label_of(parts(fp64=35, dram=5, issue=20))["reason"]
    assert "FP64 pipe active 35 %, 5 waves" in reason


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (flop_counts(fp32=0.0, fp16=None), "fma pipe active 80 % (not FP32: FP16 or integer"),
        ({}, "fma pipe active 80 % (FP32, FP16 or integer multiply-add)"),
        (flop_counts(), "integer pipe active 80 %"),
    ],
)
def test_the_fma_pipe_is_not_said_to_do_what_nobody_counted(
    counts: dict[str, float], said: str
) -> None:
    """Active for 80 %, both halves alike."""
    busy = parts(fma=80, heavy=80, dram=33, issue=50)
    assert said in label_of(busy, dram_bytes(0.33), counts)["reason"]


def test_a_half2_kernel_is_bound_by_fp16() -> None:
    """Counted at 79 % of the FP16 peak, with the fma pipe active for 80 %."""
    work = flop_counts(fp16=0.79 * 132 * 512 * 1.5e9 * MS) | tensor_counts()
    label = label_of(parts(fma=80, heavy=80, dram=33, issue=50), dram_bytes(0.33), work)
    assert label["limiter"] == "fp16"
    assert "FP16 79 % of peak (80.1 of 101 TFLOP/s)" in label["reason"]


def test_two_answers_are_both_given() -> None:
    """The classical one with its numbers."""
    work = flop_counts(fp32=0.03 * FP32_PEAK * MS) | tensor_counts()
    reason = label_of(parts(dram=1, l1=98, fma=3, issue=20), dram_bytes(0.01), work)["reason"]
    assert "L1 with shared memory 98 % of peak" in reason
    assert "the classical roofline says compute: FP32 3.0 % against DRAM 1.0 %" in reason


def test_the_boost_clock_is_named_where_it_turns_the_answer() -> None:
    """Compute-bound at 1.5 GHz, memory-bound at 1.98 GHz."""
    work = flop_counts(fp32=0.6 * FP32_PEAK * MS) | tensor_counts()
    reason = label_of(parts(dram=50, fma=60, issue=65), dram_bytes(0.5), work)["reason"]
    assert "at the boost clock the ridge is at 20 FLOP/B and the classical answer memory" in reason


@pytest.mark.parametrize("duration", [0.0, 0, -5.0, float("inf"), float("nan")])
def test_a_duration_that_cannot_be_is_not_said_to_be_missing(duration: float) -> None:
    """It was collected, and it is damaged."""
    reason = label_of(parts(dram=90), {"gpu__time_duration.sum": duration})["reason"]
    assert "is not a positive number" in reason
    assert "the duration was not collected" in label_of(parts(dram=90), duration_ns=None)["reason"]


def test_a_launch_without_throughput_says_what_is_known_of_it() -> None:
    """A copy with all FLOP counted as zero: issue slots may still be above DRAM."""
    reason = label_of(dram_bytes(0.9), flop_counts(), tensor_counts())["reason"]
    assert reason.startswith("DRAM is at 90 % of its peak, but neither sm__throughput")
    assert "the classical roofline says memory: FP32 0 % against DRAM 90 %" in reason


def test_a_stall_above_the_whole_says_how_that_can_be() -> None:
    """Its cycles and the latency were measured in different passes."""
    state = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    stalls = stall_metrics({"imc_miss": 10.4, "selected": 0.0}) | {
        "smsp__average_warp_latency_per_inst_issued.ratio": 10.0
    }
    assert state.format("imc_miss") in stalls
    reason = label_of(parts(dram=14, issue=2), stalls)["reason"]
    assert "imc_miss 104 % of warp latency (measured in different passes)" in reason


def test_the_mean_of_a_group_is_said_to_be_one() -> None:
    """Some of its launches may have been busy."""
    report = report_of(launch(parts(dram=90, issue=20)), launch(parts(dram=10, issue=2)))
    (reason,) = classify(report, by="family").labels["reason"].to_pylist()
    assert "no resource above 60 % on average; DRAM 50 % of peak" in reason


def test_a_group_says_which_of_its_launches_are_left_out() -> None:
    """One of two has no duration."""
    busy = parts(dram=90, issue=20)
    report = report_of(launch(busy), launch(busy, duration_ns=None))
    (reason,) = classify(report, by="family").labels["reason"].to_pylist()
    assert reason.endswith("1 of 2 launches have no duration and are left out")


def test_a_group_with_some_dram_measured_does_not_say_that_none_was() -> None:
    """One of many launches has nothing but a duration."""
    busy = launch(parts(dram=90, issue=20), dram_bytes(0.9), flop_counts(), tensor_counts())
    report = report_of(*[busy] * 9, launch(duration_ns=1e5))
    (reason,) = classify(report, by="family").labels["reason"].to_pylist()
    assert "DRAM was not measured in every launch" in reason


@pytest.mark.parametrize(
    ("fp32", "bf16", "fp16", "fma", "intensity"),
    [
        (3e9, 0.0, None, 6, None),
        (0.0, 0.0, None, 60, None),
        (0.0, 0.0, None, 0.04, 0.0),
        (0.0, 0.3 * TENSOR_PEAK * MS, None, 6, pytest.approx(78.9, abs=0.1)),
        (3e9, 0.0, 0.0, 6, pytest.approx(0.973, abs=0.001)),
    ],
)
def test_there_is_no_intensity_where_fp16_that_was_not_counted_can_matter(
    fp32: float, bf16: float, fp16: float | None, fma: float, intensity: float | None
) -> None:
    """It is part of the fma pipe: 6 % of its peak are twice the FP32 and 3 % of the tensor work."""
    work = flop_counts(fp32=fp32, fp16=fp16) | tensor_counts(bf16=bf16)
    busy = parts(dram=92, fma=fma, issue=65, tensor=30 if bf16 else 0)
    report = report_of(launch(busy, dram_bytes(0.92), work))
    result = classify(report)
    (label,) = result.labels.to_pylist()
    assert (label["bound"], label["roofline_bound"]) == ("memory", "memory")
    assert label["evidence"] == ("throughput" if intensity is None else "counters")
    assert label["confidence"] == "high"
    (roofline,) = (row for row in result.rooflines.to_pylist() if row["level"] == "dram")
    names = ("flop_count", "attainable_flop_per_s", "achieved_flop_per_s")
    assert {roofline[name] is None for name in names} == {intensity is None}
    for row in (label, roofline):
        assert row["arithmetic_intensity_flop_per_byte"] == intensity
    # Where FP32 needs as much time as FP16 can have needed, its ridge is the nearest.
    assert (label["ridge_point_flop_per_byte"] is None) == (intensity is None and fp32 == 0)


@pytest.mark.parametrize(("fp32", "side"), [(0.5, "right"), (0.49995, "left")])
def test_an_intensity_that_reads_as_the_ridge_is_said_to_lie_on_it(fp32: float, side: str) -> None:
    """15.1 against 15.1 FLOP/B is not one right of the other to a reader."""
    work = flop_counts(fp32=fp32 * FP32_PEAK * 1e-3) | tensor_counts()
    label = label_of(parts(fma=50.0, dram=50.0), dram_bytes(0.5), work)
    assert f"15.1 FLOP/B lies on, or just {side} of, the ridge at 15.1" in label["reason"]


def test_an_unknown_regime_names_the_maximum_that_is_lacking() -> None:
    """DRAM at 54 % beats an SM at 20 %, and a cache may be saturated."""
    label = label_of({SM: 20.0, DRAM: 54.0})
    assert (label["bound"], label["regime"]) == ("memory", "unknown")
    assert f"whether another part of the memory system was busier ({MEMORY})" in label["reason"]
