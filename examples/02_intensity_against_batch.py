"""Show that attention's arithmetic intensity is flat in batch size while a GEMM's grows.

Usage: python examples/02_intensity_against_batch.py [REPORT]   (default: the bundled example)

The batch size comes from the NVTX ranges of the report. Any report whose steps are annotated as
the bundled one works.
"""

import sys

import nsightlens
import nsightlens.example

report = nsightlens.open_report(sys.argv[1] if sys.argv[1:] else nsightlens.example.path())
groups = nsightlens.classify(report, by="family").labels.to_pylist()

print(f"{'batch':>6} {'family':>10} {'FLOP/B':>8} {'ridge':>7} {'DRAM %':>7}  bound")
for row in sorted(groups, key=lambda row: (row["family"], row["batch_size"] or 0)):
    if row["family"] in {"attention", "gemm"}:
        numbers = (
            row["arithmetic_intensity_flop_per_byte"],
            row["ridge_point_flop_per_byte"],
            row["dram_throughput_pct"],
        )
        shown = ["-" if number is None else f"{number:.1f}" for number in numbers]
        print(
            f"{row['batch_size']:>6} {row['family']:>10} {shown[0]:>8} {shown[1]:>7}"
            f" {shown[2]:>7}  {row['bound']}, {row['regime']}"
        )
