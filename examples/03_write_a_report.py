"""Write a report of our own, read it back, and see what a missing counter does to its label.

The writer makes fixtures: a report with exactly the launches and metrics that a test needs. What
it writes opens in NVIDIA's tools, too.
"""

import tempfile
from pathlib import Path

import nsightlens
from nsightlens.ncurep import LaunchSpec, ReportSpec, write_ncu_rep

PEAKS = {
    "dram__bytes.sum.peak_sustained": 1280.0,  # [B/cycle]
    "dram__cycles_elapsed.avg.per_second": 2.6e9,  # [Hz]
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16896.0,  # [inst/cycle]
    "sm__cycles_elapsed.avg.per_second": 1.5e9,  # [Hz]
}
DEVICE = {
    "device__attribute_display_name": "NVIDIA H100 80GB HBM3",
    "device__attribute_compute_capability_major": 9,
    "device__attribute_compute_capability_minor": 0,
    "launch__waves_per_multiprocessor": 4.0,
}
COPY = {
    "gpu__time_duration.sum": 1.0e6,  # [ns]
    "dram__bytes_read.sum": 1.5e9,  # [B]
    "dram__bytes_write.sum": 1.5e9,
    **{
        f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum": 0.0
        for op in ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")
    },
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 0.0,
}
WITHOUT_BYTES = {name: value for name, value in COPY.items() if not name.startswith("dram__bytes")}

with tempfile.TemporaryDirectory() as folder:
    launches = [
        LaunchSpec(name="copy_kernel", metrics={**DEVICE, **PEAKS, **COPY}),
        LaunchSpec(name="copy_kernel", metrics={**DEVICE, **PEAKS, **WITHOUT_BYTES}),
    ]
    path = write_ncu_rep(Path(folder) / "copy.ncu-rep", ReportSpec(launches=launches))
    for row in nsightlens.classify(nsightlens.open_report(path)).labels.to_pylist():
        print(f"{row['bound']} ({row['evidence']}): {row['reason']}")
