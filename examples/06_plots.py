"""Draw the roofline of a report, and what changes with the batch size, as two pictures.

Usage: python examples/06_plots.py [REPORT]   (default: the bundled example, which is synthetic)

The pictures go to a new temporary folder. Needs matplotlib: pip install "nsightlens[plots]".
"""

import sys
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

import nsightlens
import nsightlens.example
from nsightlens import plots
from nsightlens.sweeps import sweep

report = nsightlens.open_report(sys.argv[1] if sys.argv[1:] else nsightlens.example.path())
folder = Path(tempfile.mkdtemp(prefix="nsightlens-"))

points = plots.roofline_points(report)
ax = plots.roofline(points)
ax.figure.savefig(folder / "roofline.png", dpi=150)
print(f"{folder / 'roofline.png'}: {points.num_rows} points")
for note in plots.notes_of(points):
    print(note)

swept = sweep(report)
figure = Figure(figsize=(12, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
plots.shares(swept, left)
plots.throughput(swept, right)
figure.savefig(folder / "decode.png", dpi=150)
print(folder / "decode.png")
