"""GPUs that share their memory with the CPU and have no DRAM counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import DRAM, H100, MEMORY, flop_counts, launch, parts
from support.stores import report_of

from nsightlens import classify
from nsightlens.analysis.activity import part_of

if TYPE_CHECKING:
    from support.rooflines import Metrics

BANDWIDTH = 204.8e9
FP32_PEAK = 16 * 256 * 1e9
ORIN = H100 | {
    "device__attribute_display_name": "Orin",
    "device__attribute_compute_capability_major": 8,
    "device__attribute_compute_capability_minor": 7,
    "device__attribute_multiprocessor_count": 16,
    "device__attribute_integrated": 1,
    "sm__cycles_elapsed.avg.per_second": 1e9,
}
NO_DRAM_COUNTERS = "this GPU has no DRAM counters"


def busy(**percent: float) -> Metrics:
    """Return parts [%] of both sides of a GPU that has none for DRAM."""
    metrics = parts(**percent)
    kept = {n: v for n, v in metrics.items() if n != DRAM and not n.startswith("dram__")}
    lists = str(metrics[f"breakdown:{MEMORY}"]).split(", ")
    kept[f"breakdown:{MEMORY}"] = ", ".join(n for n in lists if not n.startswith("dram__"))
    return kept


def traffic(fraction: float) -> Metrics:
    """Return sectors between L2 and memory that need a fraction of 1 ms at the peak of an Orin."""
    return {"lts__t_sectors_aperture_sysmem_lookup_miss.sum": fraction * BANDWIDTH * 1e-3 / 32}


def label_of(*groups: Metrics) -> dict[str, Any]:
    """Return the label of one launch on an Orin."""
    (label,) = classify(report_of(launch(ORIN, *groups))).labels.to_pylist()
    row: dict[str, Any] = label
    return row


def test_traffic_behind_l2_stands_in_for_dram() -> None:
    """Bytes over the bandwidth of the product are a limiter as ever, with less confidence."""
    work = (busy(fma=25.0, l2=40.0), flop_counts(fp32=0.2 * FP32_PEAK * 1e-3))
    label = label_of(*work, traffic(0.7))
    assert (label["bound"], label["limiter"]) == ("memory", "dram")
    assert label["limiter_fraction"] == pytest.approx(0.7)
    assert (label["roofline_bound"], label["evidence"]) == ("memory", "counters")
    assert label["confidence"] == "medium"
    assert f"by L2-to-memory traffic: {NO_DRAM_COUNTERS}" in label["reason"]
    assert "data_sheet" in label["peak_source"]
    assert "that of the data sheet" not in label["reason"]


def test_the_ridge_lies_where_the_product_has_it() -> None:
    """Right of 20 FLOP/B an Orin at 1 GHz is compute-bound."""
    work = (busy(fma=92.0, l2=40.0), flop_counts(fp32=0.9 * FP32_PEAK * 1e-3), traffic(0.3))
    label = label_of(*work)
    assert (label["bound"], label["roofline_bound"]) == ("compute", "compute")
    assert label["ridge_point_flop_per_byte"] == pytest.approx(FP32_PEAK / BANDWIDTH)


def test_without_it_there_is_no_classical_answer() -> None:
    """Nothing else says what came from memory."""
    label = label_of(busy(fma=25.0, l2=40.0), flop_counts(fp32=1e9))
    assert (label["roofline_bound"], label["evidence"]) == ("unknown", "throughput")
    assert f"{NO_DRAM_COUNTERS}, so that there is no classical answer" in label["reason"]
    assert "traffic" not in label["reason"]


def test_issue_slots_win_only_over_a_memory_that_was_measured_as_far_as_dram() -> None:
    """DRAM at 95 % decides; without the counter the side is open, and the reason names it."""
    work = (busy(issue=50.0, l1=30.0, l2=20.0), flop_counts())
    label = label_of(*work, traffic(0.95))
    assert (label["bound"], label["limiter"], label["regime"]) == ("memory", "dram", "saturated")
    label = label_of(*work)
    assert (label["bound"], label["regime"]) == ("unknown", "unknown")
    assert NO_DRAM_COUNTERS in label["reason"]
    assert "add --metrics lts__t_sectors_aperture_sysmem_lookup_miss.sum" in label["reason"]


def test_a_cache_that_is_busier_than_the_sm_needs_no_dram_to_decide_the_side() -> None:
    """L2 at 55 % against issue slots at 40 %: memory-bound, and the regime hangs on DRAM."""
    label = label_of(busy(issue=40.0, l2=55.0), flop_counts())
    assert (label["bound"], label["regime"], label["confidence"]) == ("memory", "unknown", "medium")
    assert "nothing says whether DRAM was busier" in label["reason"]


def test_bytes_without_a_peak_ask_for_the_device() -> None:
    """A name that the table lacks: the bytes were counted, and their peak is not known."""
    name: Metrics = {"device__attribute_display_name": "GA10B of tomorrow"}
    label = label_of(busy(issue=50.0, l1=30.0), flop_counts(), traffic(0.95), name)
    assert label["bound"] == "unknown"
    assert "the DRAM peak of this GPU is not known: --device names it" in label["reason"]
    assert NO_DRAM_COUNTERS not in label["reason"]


def test_it_is_no_work_of_a_gpu_with_memory_of_its_own() -> None:
    """What an H100 fetches from the host does not pass its DRAM."""
    report = report_of(launch(busy(fma=25.0, l2=40.0), traffic(0.7)))
    result = classify(report)
    assert "dram" not in result.resources["resource"].to_pylist()
    assert "traffic" not in result.labels["reason"][0].as_py()


def test_the_memory_controller_of_a_unified_chip_is_dram() -> None:
    """Orin and Thor have a percentage of it, which is no part of L2."""
    name = "mcc__dram_throughput_op_read.avg.pct_of_peak_sustained_elapsed"
    assert part_of(name).resource == "dram"
