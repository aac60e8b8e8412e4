"""Compare three repeats of a kernel with three of a faster version, and check a rule.

Usage: python examples/05_compare.py [BASE NEW]   (default: reports that it writes itself)
"""

import random
import sys
import tempfile
from pathlib import Path

from nsightlens import Report, compare, open_report
from nsightlens.comparison import gate
from nsightlens.ncurep import write_ncu_rep
from nsightlens.ncurep.spec import LaunchSpec

RULES = """
[[rule]]
name = "no kernel is slower"
metric = "duration_ns"
max_increase_pct = 2
"""


def write_repeats(folder: Path, name: str, mean_ns: float) -> list[Report]:
    """Write three reports of one kernel whose durations scatter by half a percent."""
    chance = random.Random(name)
    for i in range(3):
        duration_ns = 32 * round(chance.gauss(mean_ns, 0.005 * mean_ns) / 32)
        launch = LaunchSpec(
            name="axpy",
            grid=(1024, 1, 1),
            block=(256, 1, 1),
            metrics={"gpu__time_duration.sum": duration_ns},
        )
        write_ncu_rep(folder / f"{name}{i}.ncu-rep", [launch])
    return [open_report(path) for path in sorted(folder.glob(f"{name}*.ncu-rep"))]


with tempfile.TemporaryDirectory() as temporary:
    if len(sys.argv) == 3:
        base, new = (open_report(path) for path in sys.argv[1:])
    else:
        base = write_repeats(Path(temporary), "base", 100_000)
        new = write_repeats(Path(temporary), "new", 90_000)
    comparison = compare(base, new)
    print(comparison.total.headline)
    for reason in comparison.rows["reason"].to_pylist():
        print(f"  {reason}")

    rules = Path(temporary) / "gate.toml"
    rules.write_text(RULES, encoding="utf-8")
    for row in gate(rules, new, base).rows.to_pylist():
        print(f"{row['status']}: {row['rule']}: {row['message']}")
