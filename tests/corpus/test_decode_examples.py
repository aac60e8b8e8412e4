"""Decode kernels of a real model on an RTX 5090: memory-bound at DRAM, in the regime they are in.

Two cuBLAS GEMV and one attention launch of a language model at batch 1, as `ncu --csv` printed
them. None of them uses up the bandwidth: NVIDIA's own rule says small grid, latency and latency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.analysis import classify
from nsightlens.example import path as example_path
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

PREFIX = "CodeGandee__llm-perf-opt__reports_20251107-dsocr_ncu-v2_kernel"


def launch_of(corpus_ncu: Path, number: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the launch on a details page, and its label."""
    (page,) = (corpus_ncu.parent / "ncu-csv").glob(f"{PREFIX}_{number}_*_ncu.details.csv")
    report = open_report(page)
    (launch,), (label,) = report.launches.to_pylist(), classify(report).labels.to_pylist()
    return launch, label


@pytest.mark.parametrize(
    ("number", "megabytes", "microseconds", "dram_pct", "sm_pct", "nvidia"),
    [
        ("0001", 2.33, 6.75, 19.66, 9.15, "small_grid"),
        ("0002", 17.57, 18.34, 54.36, 22.47, "latency"),
    ],
)
def test_a_gemv_is_memory_bound_by_dram_below_saturation(
    corpus_ncu: Path,
    number: str,
    megabytes: float,
    microseconds: float,
    dram_pct: float,
    sm_pct: float,
    nvidia: str,
) -> None:
    """The weights are read once: DRAM is busiest, and too short a time for its bandwidth."""
    launch, label = launch_of(corpus_ncu, number)
    assert (label["family"], label["subtype"]) == ("gemm", "gemv")
    assert launch["dram_bytes"] == pytest.approx(megabytes * 1e6)
    assert launch["duration_ns"] == pytest.approx(microseconds * 1e3)
    assert (label["dram_throughput_pct"], label["sm_throughput_pct"]) == (dram_pct, sm_pct)
    assert (label["bound"], label["limiter"], label["roofline_bound"]) == (
        "memory",
        "dram",
        "memory",
    )
    assert label["limiter_fraction"] == pytest.approx(dram_pct / 100)
    # The page has no waves; the message of NVIDIA's rule tells whether there was one.
    assert label["regime"] == label["nvidia_stored_verdict"] == nvidia
    assert f"no resource above 60 %; DRAM {dram_pct:.0f} % of peak" in label["reason"]


def test_attention_is_memory_bound_by_dram_and_waits(corpus_ncu: Path) -> None:
    """DRAM 37.3 against SM 36.8 %: memory by a hair, and confidence is low; neither is busy."""
    _, label = launch_of(corpus_ncu, "0009")
    assert label["family"] == "attention"
    assert (label["bound"], label["limiter"], label["regime"]) == ("memory", "dram", "latency")
    assert (label["nvidia_stored_verdict"], label["confidence"]) == ("latency", "low")
    assert "no resource above 60 %; DRAM 37 % of peak" in label["reason"]
    assert "compute at up to 37 % and memory at 37 % are close" in label["reason"]


def test_split_kv_attention_of_the_example_waits_at_batch_1_and_saturates_at_256() -> None:
    """No real report has this kernel; in the bundled, synthetic one it is bound by DRAM at both."""
    labels = [
        label
        for label in classify(open_report(example_path())).labels.to_pylist()
        if label["subtype"] == "flash_splitkv"
    ]
    by_batch = {label["batch_size"]: label for label in labels}
    for batch, regime in ((1, "small_grid"), (256, "saturated")):
        label = by_batch[batch]
        assert (label["bound"], label["limiter"], label["regime"]) == ("memory", "dram", regime)
        assert (label["roofline_bound"], label["evidence"]) == ("memory", "counters")
        assert label["top_stall"] == "long_scoreboard"
    assert by_batch[1]["limiter_fraction"] < 0.25
    assert by_batch[256]["limiter_fraction"] > 0.9
