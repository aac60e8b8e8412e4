"""Say what limits decode at large batch, and where attention and the GEMMs stand.

Usage: python examples/04_sweep.py [REPORT ...]   (default: the two bundled examples)

The bundled sweeps have opposite answers: with a long context attention uses the DRAM bandwidth up,
with a short one and few heads of keys and values the GEMMs are compute-bound.
"""

import sys

import nsightlens
import nsightlens.example

given = [[path] for path in sys.argv[1:]]
bundled = [[nsightlens.example.path()], [nsightlens.example.path("short_context")]]

for paths in given or bundled:
    sweep = nsightlens.sweep(nsightlens.open_report(paths))
    print(f"{sweep.verdict.explanation}\n{sweep.verdict.paragraph}\n")

    print(f"{'batch':>6} {'attention %':>12} {'matmul %':>9} {'other %':>8}")
    for step in sweep.steps.to_pylist():
        if step["batch_size"] is not None:
            shares = [step[f"{name}_share_pct"] for name in ("attention", "matmul", "other")]
            shown = ["-" if share is None else f"{share:.0f}" for share in shares]
            print(f"{step['batch_size']:>6} {shown[0]:>12} {shown[1]:>9} {shown[2]:>8}")

    for trend in sweep.trends.to_pylist():
        slope, error = trend["useful_intensity_slope"], trend["useful_intensity_slope_stderr"]
        if trend["component"] != "other" and error is not None:
            at = trend["analytic_flip_batch_size"]
            crosses = f"meets the ridge at batch {at:.0f}" if at else "never meets the ridge"
            name = f"{trend['family']}/{trend['subtype']}"
            print(f"{name}: slope {slope:.2f} (error {error:.3f}), {crosses}")
    print()
