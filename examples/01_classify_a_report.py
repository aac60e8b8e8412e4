"""Label every launch of a report and sum the time that each bound takes.

Usage: python examples/01_classify_a_report.py [REPORT ...]   (default: the bundled example)
"""

import sys

import nsightlens
import nsightlens.example

paths = sys.argv[1:] or [nsightlens.example.path()]
report = nsightlens.open_report(paths)
labels = nsightlens.classify(report).labels

time_by_bound = labels.group_by(["family", "bound"]).aggregate([("duration_ns", "sum")])
for row in time_by_bound.sort_by([("duration_ns_sum", "descending")]).to_pylist():
    print(f"{row['family']:>14}  {row['bound']:8}  {(row['duration_ns_sum'] or 0) / 1e3:10.1f} us")

print()
print(labels["reason"][0])
