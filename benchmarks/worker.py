"""One read of a report in a process of its own; prints the seconds that it took as JSON.

Usage: python -m benchmarks.worker READ REPORT [--warm-up TINY --reads N] [--profile]

READ is what to read and who reads it. With ``--warm-up`` a tiny report is read first, so that
the time is that of a process that has its libraries loaded; the best of N reads counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["READS"]

# [s] After this long no further read is begun.
_PATIENCE_S = 10.0


def _our_metrics(path: str, names: Sequence[str] | None) -> Any:
    """Return a table of one row per launch, of some metrics or of all of them."""
    import nsightlens  # noqa: PLC0415 - the import is part of what a whole process takes

    return nsightlens.read_metrics(path, names)


def _our_report(path: str, _: Sequence[str]) -> Any:
    import nsightlens  # noqa: PLC0415 - as above

    return nsightlens.open_report(path)


def _their_metrics(path: str, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return a dict of metrics for each launch, as NVIDIA's own examples read them."""
    import ncu_report  # noqa: PLC0415 - as above

    context = ncu_report.load_report(path)
    return [
        {
            name: action.metric_by_name(name).value()
            for name in (action.metric_names() if names is None else names)
        }
        for i in range(context.num_ranges())
        for action in context.range_by_idx(i)
    ]


READS: dict[str, tuple[str, Callable[[str, Sequence[str]], Any]]] = {
    "our-all": ("nsightlens.readers", lambda path, _: _our_metrics(path, None)),
    "our-forty": ("nsightlens.readers", _our_metrics),
    "our-tables": ("nsightlens.readers", _our_report),
    "their-all": ("ncu_report", lambda path, _: _their_metrics(path, None)),
    "their-forty": ("ncu_report", _their_metrics),
}
"""By name: the module to import before the clock starts, and the function that reads."""


def seconds_of(read: Callable[[], object], limit: int) -> float:
    """Return the best time [s] of some reads; what one returns is freed before the next."""
    best, begin = math.inf, time.perf_counter()
    for _ in range(limit):
        start = time.perf_counter()
        result = read()
        best = min(best, time.perf_counter() - start)
        del result
        if time.perf_counter() - begin > _PATIENCE_S:
            break
    return best


def check(path: str, forty: Sequence[str]) -> int:
    """Compare three launches with what NVIDIA's reader finds; return the number of values.

    Raises
    ------
    SystemExit
        A value differs.
    """
    import ncu_report  # noqa: PLC0415 - as above

    table = _our_metrics(path, None)
    if not set(forty) <= set(table.column_names):
        raise SystemExit(f"{path}: lacks metrics that the benchmark asks for")
    context = ncu_report.load_report(path)
    actions = context.range_by_idx(0)
    count = 0
    for launch in (0, table.num_rows // 2, table.num_rows - 1):
        ours = table.slice(launch, 1).to_pylist()[0]
        action = actions.action_by_idx(launch)
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            theirs = metric.value() if metric.has_value() else None
            if ours[name] != theirs:
                raise SystemExit(f"{path}: launch {launch}, {name}: {ours[name]} is not {theirs}")
            count += 1
    return count


def profile(read: Callable[[], object]) -> str:
    """Return the fifteen functions in which a read spends most of its time."""
    import cProfile  # noqa: PLC0415 - loaded only where asked for
    import io  # noqa: PLC0415
    import pstats  # noqa: PLC0415

    profiler = cProfile.Profile()
    profiler.runcall(read)
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(15)
    return text.getvalue()


def main() -> None:
    """Read what the command line names and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker")
    parser.add_argument("read", choices=[*READS, "check"])
    parser.add_argument("report")
    parser.add_argument("--warm-up", metavar="TINY", help="read this first, untimed")
    parser.add_argument("--reads", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    args = parser.parse_args()
    facts = json.loads(Path(args.report).with_suffix(".json").read_text(encoding="utf-8"))
    forty = facts["forty"]
    if args.read == "check":
        print(json.dumps({"values": check(args.report, forty)}))
        return
    module, function = READS[args.read]
    importlib.import_module(module)
    if args.warm_up:
        function(args.warm_up, forty)
    if args.profile:
        print(profile(lambda: function(args.report, forty)))
    else:
        seconds = seconds_of(lambda: function(args.report, forty), args.reads)
        print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
