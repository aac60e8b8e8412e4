"""What `nsightlens.sweep` and `nsightlens.predict` say of kernels along the batch size.

Three tables with one origin: ``sweep`` has a row per family and batch size, ``sweep_trends`` a row
per family, ``sweep_steps`` a row per batch size.
"""

from __future__ import annotations

from nsightlens.tables.column import Column, category, count, flag, real, text, whole

__all__ = ["SWEEP", "SWEEP_STEPS", "SWEEP_TRENDS"]

_ORIGIN = category("origin", "measured (from a report) or analytic (from a model, without a GPU)")
_PLACE = (
    category("device_name", "name of the GPU, without the maker's"),
    category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
)
_FAMILY = (
    category("family", "what the kernels compute: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    category(
        "kernel",
        "the kernel's name, or the kind of the result in brackets; null in a row of a family",
    ),
    category("component", "the paper's three classes: attention, matmul or other"),
)
_BATCH = whole("batch_size", "sequences in the step, real ones; null where nothing says so")
_FITS = flag(
    "fits_in_memory",
    "weights and cache of the step fit in the memory of the GPU; null where origin is measured or the memory is not known",
)

SWEEP: tuple[Column, ...] = (
    _ORIGIN,
    *_PLACE,
    *_FAMILY,
    _BATCH,
    category("batch_source", "where the batch size came from, joined by '+': see labels"),
    whole("context_length", "KV tokens per sequence; null where it is not known or not one", "token"),
    _FITS,
    count("report_count", "reports with launches in the row"),
    count("launch_count", "launches in the row"),
    count("failed_launch_count", "of these, launches that failed to be collected and are left out of sums"),
    # Time.
    real("duration_ns", "ns", "sum over the launches; the roofline time where origin is analytic"),
    real("duration_share_pct", "%", "share of the duration of all rows of the same GPU, phase and batch size"),
    # Work and bytes.
    real("flop_count", "FLOP", "operations executed, of every data type; null where they were not all counted"),
    real("dram_bytes", "B", "bytes read from and written to DRAM"),
    real("l2_bytes", "B", "bytes at L2, on the path of its roof"),
    real("l1_bytes", "B", "bytes at L1, on the path of its roof"),
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over dram_bytes"),
    real("l2_arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over l2_bytes"),
    real("l1_arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over l1_bytes"),
    real("useful_flop_count", "FLOP", "operations that the shapes need: of the annotations, else of the model config"),
    real("algorithmic_bytes", "B", "bytes that the shapes need to move: as above"),
    real("useful_arithmetic_intensity_flop_per_byte", "FLOP/B", "useful_flop_count over algorithmic_bytes"),
    category("useful_source", "where useful_flop_count and algorithmic_bytes came from: annotation or model"),
    real("executed_per_useful_flop", "1", "operations executed over those needed: 1 without padding"),
    real("dram_per_algorithmic_byte", "1", "DRAM bytes over those needed"),
    category("expectation", "within or beyond the stated band around what the shapes need; null where that is not known"),
    text("expectation_reason", "what lies beyond the band, with the numbers; null where nothing does"),
    # Against the roof.
    real("ridge_point_flop_per_byte", "FLOP/B", "peak of the data type used most over peak DRAM bandwidth"),
    real("peak_flop_per_s", "FLOP/s", "flat roof"),
    real("peak_bytes_per_s", "B/s", "slanted roof of DRAM"),
    real("fraction_of_roof", "1", "the larger of compute and DRAM roofline time over duration"),
    real("bound_ratio", "1", "compute roofline time over DRAM roofline time; 1 is on the ridge"),
    # What else was measured, as the mean over the duration.
    real("dram_throughput_pct", "%", "see launches"),
    real("dram_read_pct", "%", "bytes read from DRAM per second, percent of peak bandwidth"),
    real("dram_write_pct", "%", "bytes written to DRAM per second, percent of peak bandwidth"),
    real("sm_throughput_pct", "%", "see launches"),
    real("achieved_occupancy_pct", "%", "see launches"),
    real("active_warps_per_scheduler", "warp", "warps in flight per scheduler and active cycle"),
    real("stalled_for_data_pct", "%", "see launches"),
    category("top_stall", "see launches; that of the longest launch"),
    # Label: see labels.
    category("bound", "memory, compute or unknown"),
    category("roofline_bound", "memory, compute or unknown: arithmetic intensity against the ridge point"),
    category("regime", "saturated, latency, small_grid, balanced or unknown"),
    category("limiter", "resource with the largest roofline time"),
    real("limiter_fraction", "1", "roofline time of the limiter over duration"),
    flag("clock_dependent", "compute-bound at the report's clock, memory-bound at the boost clock"),
    category("evidence", "counters, throughput, analytic or none"),
    category("confidence", "high, medium, low or none"),
    category("peak_source", "where the peaks came from, joined by '+': see resources"),
    text("reason", "why, in one sentence with the numbers"),
)  # fmt: skip

SWEEP_TRENDS: tuple[Column, ...] = (
    _ORIGIN,
    *_PLACE,
    *_FAMILY,
    count("batch_size_count", "batch sizes with a row"),
    whole("batch_size_min", "smallest of them"),
    whole("batch_size_max", "largest of them"),
    real("duration_ns", "ns", "sum over all batch sizes"),
    # Slopes of least squares in log-log: 0 is flat, 1 is in proportion to the batch size.
    real("intensity_slope", "1", "slope of ln(arithmetic intensity, executed) against ln(batch size)"),
    real("intensity_slope_stderr", "1", "its standard error; null with fewer than three batch sizes"),
    real("intensity_slope_min", "1", "smallest slope between neighbouring batch sizes"),
    real("intensity_slope_max", "1", "largest slope between neighbouring batch sizes"),
    category("intensity_growth", "flat (slope and two standard errors within 0.1 of 0), proportional (of 1), falling, below_proportion, above_proportion or unclear; null where slope or error is not known"),
    real("useful_intensity_slope", "1", "the same of the useful intensity, without padding"),
    real("useful_intensity_slope_stderr", "1", "its standard error"),
    real("useful_intensity_slope_min", "1", "smallest slope between neighbours"),
    real("useful_intensity_slope_max", "1", "largest slope between neighbours"),
    category("useful_intensity_growth", "see intensity_growth; shapes have no error, so that where that leaves it open, the slopes between neighbours say it"),
    # Where the classical answer flips: bound_ratio passes 1.
    category("flip", "memory_to_compute, compute_to_memory, several or none; null where fewer than two batch sizes have a classical answer, or a batch size without one may hide a flip"),
    whole("flip_batch_size_before", "last batch size before the flip, which lies between this and flip_batch_size"),
    whole("flip_batch_size", "first batch size on the other side, for good"),
    real("flip_batch_size_interpolated", "", "where bound_ratio passes 1, on a line in log-log between its neighbours; null where origin is analytic: the law is known between them"),
    real("useful_flip_batch_size", "", "the same by the useful intensity against the ridge point"),
    real("analytic_flip_batch_size", "", "where the law of the useful intensity meets the ridge point, beyond the batch sizes of the rows too; where origin is analytic, the model solved for it; else 1 / AI = c / B + d, null where three batch sizes do not follow it to 1 %; null where it never does"),
    # The label of the limiter, which latency and caches enter as well.
    whole("bound_flip_batch_size", "first measured batch size from which on bound is another than at the smallest"),
    # Where DRAM is used up.
    whole("dram_saturated_batch_size", "first batch size from which on DRAM throughput stays at 80 % or more"),
    real("dram_throughput_max_pct", "%", "largest DRAM throughput"),
)  # fmt: skip

SWEEP_STEPS: tuple[Column, ...] = (
    _ORIGIN,
    *_PLACE,
    _BATCH,
    _FITS,
    count("launch_count", "launches"),
    count("failed_launch_count", "of these, launches that failed to be collected"),
    real("duration_ns", "ns", "sum of the durations of kernels; host time is not in it"),
    real("attention_share_pct", "%", "share of attention in it; null where it has launches, none with a duration"),
    real("matmul_share_pct", "%", "share of GEMM and GEMV in it; null as above"),
    real("other_share_pct", "%", "share of everything else in it; null as above"),
    real("attention_intensity_flop_per_byte", "FLOP/B", "executed, of attention"),
    real("matmul_intensity_flop_per_byte", "FLOP/B", "executed, of matmul"),
    real("useful_attention_intensity_flop_per_byte", "FLOP/B", "without padding"),
    real("useful_matmul_intensity_flop_per_byte", "FLOP/B", "without padding"),
    real("attention_dram_throughput_pct", "%", "DRAM throughput of attention"),
    real("matmul_dram_throughput_pct", "%", "DRAM throughput of matmul"),
    real("dram_read_pct", "%", "bytes read from DRAM per second of kernel time, percent of peak bandwidth"),
    real("dram_write_pct", "%", "bytes written to DRAM per second of kernel time, percent of peak bandwidth"),
    real("achieved_occupancy_pct", "%", "mean over the duration"),
    real("active_warps_per_scheduler", "warp", "warps in flight, mean over the duration"),
    real("stalled_for_data_pct", "%", "mean over the duration"),
    category("bound", "of all kernels of the step together"),
    category("regime", "of all kernels of the step together"),
)  # fmt: skip
