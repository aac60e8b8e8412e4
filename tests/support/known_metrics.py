"""Which metric names NVIDIA's library knows for the chip of a report."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Not counters of the chip: what the launch and the driver say, and the occupancy calculator.
OTHER_SOURCES = ("launch__", "device__", "breakdown:", "profiler__", "sm__maximum_warps_")

_SCRIPT = """
import sys, ncu_report
found = ncu_report.load_report(sys.argv[1]).range_by_idx(0)
actions = [found.action_by_idx(i) for i in range(found.num_actions())]
metrics = {n: a.metric_by_name(n) for a in actions for n in a.metric_names()}
print("\\n".join(sorted(name for name, metric in metrics.items() if not metric.description())))
"""


def unknown_metrics(report: Path) -> list[str]:
    """Return the counters of a report that NVIDIA's library cannot describe.

    A process of its own, because the library keeps the descriptions of the first chip that it
    sees and gives them for every later one.
    """
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(report)], capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.split() if not name.startswith(OTHER_SOURCES)]
