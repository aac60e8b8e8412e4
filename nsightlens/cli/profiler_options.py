"""Arguments that say what ncu and nsys are told, and the records that they become."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nsightlens.cli.arguments import Once, positive
from nsightlens.harness.options import NcuOptions, NsysOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "add_profiler_options",
    "from_zero",
    "ncu_options_of",
    "nsys_options_of",
    "seconds",
]

_KINDS = {"push-pop": "push_pop", "start-end": "start_end"}


def add_profiler_options(parser: argparse.ArgumentParser) -> None:
    """Add the groups of both tools, of ncu, and of nsys.

    Parameters
    ----------
    parser
        Of the sub-command that profiles.
    """
    _add_both(parser)
    _add_ncu_collection(parser)
    _add_ncu_launches(parser)
    _add_nsys(parser)


def ncu_options_of(args: argparse.Namespace) -> NcuOptions:
    """Return what ncu is told.

    Parameters
    ----------
    args
        Parsed by a parser with `add_profiler_options`.

    Raises
    ------
    FilterError
        A range cannot be asked for so.
    """
    given: dict[str, Any] = {
        "metric_set": args.set,
        "metrics": _listed(args.metrics),
        "sections": _listed(args.section),
        "nvtx_include": (*(args.nvtx_include or ()), *_ranges(args)),
        "nvtx_exclude": tuple(args.nvtx_exclude or ()),
        "kernel": args.kernel,
        "launch_skip": args.launch_skip,
        "launch_count": args.launch_count,
        "replay_mode": args.replay_mode,
        "graph_profiling": args.graph_profiling,
        "clock_control": args.clock_control,
        "cache_control": args.cache_control,
        "are_collectives_excluded": not args.with_collectives,
        "waits_for_profiler_start": args.from_profiler_start,
        "ends_target": args.end_after_count,
        "more": tuple(args.ncu_option or ()),
    }
    return NcuOptions(**_without_none(given))


def nsys_options_of(args: argparse.Namespace) -> NsysOptions:
    """Return what nsys is told.

    Parameters
    ----------
    args
        Parsed by a parser with `add_profiler_options`.
    """
    capture = "nvtx" if args.nvtx_window else None
    if args.from_profiler_start and capture is None:
        capture = "cudaProfilerApi"
    given: dict[str, Any] = {
        "trace": _listed(args.trace) or None,
        "cuda_graph_trace": args.graph_profiling,
        "capture_range": capture,
        "nvtx_capture": args.nvtx_window,
        "capture_range_end": args.window_end,
        "traces_forks": args.trace_forks,
        "gpu_metrics_devices": args.gpu_metrics,
        "delay_s": args.delay,
        "duration_s": args.duration,
        "wait": args.wait,
        "more": tuple(args.nsys_option or ()),
    }
    return NsysOptions(**_without_none(given))


def _add_both(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is profiled")
    group.add_argument(
        "--from-profiler-start",
        action="store_true",
        help="nothing before the program calls cudaProfilerStart",
    )
    group.add_argument(
        "--graph-profiling",
        choices=("node", "graph"),
        action=Once,
        help="of CUDA graphs: each kernel, or the whole graph as one result, which cannot be "
        "labelled (default: node)",
    )


def _add_ncu_collection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "ncu: what is collected",
        "By default the smallest list of metrics that labels need on this GPU.",
    )
    group.add_argument(
        "--set",
        metavar="NAME",
        action=Once,
        help="set of ncu's own, such as full; smallest for ours; none for --metrics and --section "
        "alone (default: smallest)",
    )
    group.add_argument(
        "--metrics",
        metavar="NAMES",
        action="append",
        help="metrics beside those of the set, with commas between; may be repeated",
    )
    group.add_argument(
        "--section",
        metavar="NAME",
        action="append",
        help="section beside the set; may be repeated",
    )
    group.add_argument(
        "--replay-mode",
        choices=("kernel", "application", "range", "app-range"),
        action=Once,
        help="how a launch is run again for each pass; application needs less GPU memory and a "
        "program that does the same each time; ranges have no labels (default: kernel)",
    )
    group.add_argument(
        "--clock-control",
        choices=("none", "base", "boost"),
        action=Once,
        help="base locks the clocks to their base frequency: reproducible, and slower than real "
        "(default: none)",
    )
    group.add_argument(
        "--cache-control",
        choices=("none", "all"),
        action=Once,
        help="all flushes the caches before each pass (default: none)",
    )
    group.add_argument(
        "--ncu-option",
        metavar="OPT",
        action="append",
        help="passed to ncu as it is; write --ncu-option=--name=value; may be repeated",
    )


def _add_ncu_launches(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "ncu: which launches",
        "A launch is profiled that is in any of the ranges and has the name.",
    )
    group.add_argument(
        "--range",
        metavar="NAME",
        action="append",
        help="NVTX range by its whole name, whatever characters it has; may be repeated",
    )
    group.add_argument(
        "--range-domain",
        metavar="NAME",
        action=Once,
        help="NVTX domain of --range (default: NVTX's own default domain)",
    )
    group.add_argument(
        "--range-kind",
        choices=tuple(_KINDS),
        action=Once,
        help="start-end for ranges that are opened and closed by a handle (default: push-pop)",
    )
    group.add_argument(
        "--nvtx-include",
        metavar="EXPR",
        action="append",
        help="NVTX filter in ncu's own words, such as 'DOMAIN@RANGE/'; may be repeated",
    )
    group.add_argument(
        "--nvtx-exclude",
        metavar="EXPR",
        action="append",
        help="the same for ranges whose launches are left out",
    )
    group.add_argument(
        "--kernel",
        metavar="NAME",
        action=Once,
        help="name of the kernel without namespace and arguments, or regex:EXPR",
    )
    group.add_argument(
        "--launch-skip",
        metavar="N",
        type=from_zero,
        action=Once,
        help="launches to leave out first, of those that pass the filters",
    )
    group.add_argument(
        "--launch-count", metavar="N", type=positive, action=Once, help="launches to profile"
    )
    group.add_argument(
        "--end-after-count",
        action="store_true",
        help="end the program after --launch-count launches",
    )
    group.add_argument(
        "--with-collectives",
        action="store_true",
        help="profile kernels of NCCL and the like too; they hang where they wait for a GPU whose "
        "launches are replayed later",
    )


def _add_nsys(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("nsys")
    group.add_argument(
        "--trace",
        metavar="NAMES",
        action="append",
        help="what nsys traces, with commas between (default: cuda,nvtx)",
    )
    group.add_argument(
        "--trace-forks",
        action="store_true",
        help="trace children between fork and exec too; some programs crash or hang with it",
    )
    group.add_argument(
        "--nvtx-window",
        metavar="RANGE@DOMAIN",
        action=Once,
        help="NVTX range that opens and closes the window; RANGE@* for any domain",
    )
    group.add_argument(
        "--window-end",
        metavar="WHAT",
        action=Once,
        help="what happens when the window closes, such as repeat:3 (default: stop, which lets "
        "the program run on)",
    )
    group.add_argument(
        "--gpu-metrics",
        metavar="DEVICES",
        action=Once,
        help="GPUs whose metrics are sampled: all, or numbers with commas between",
    )
    group.add_argument(
        "--delay", metavar="S", type=seconds, action=Once, help="start to trace after S seconds"
    )
    group.add_argument(
        "--duration", metavar="S", type=seconds, action=Once, help="trace for S seconds"
    )
    group.add_argument(
        "--wait",
        choices=("primary", "all"),
        action=Once,
        help="primary: not for processes that outlive the program (default: all)",
    )
    group.add_argument(
        "--nsys-option",
        metavar="OPT",
        action="append",
        help="passed to nsys as it is; write --nsys-option=--name=value; may be repeated",
    )


def _ranges(args: argparse.Namespace) -> list[str]:
    from nsightlens.harness.nvtx_filter import range_expression

    if not args.range and (args.range_domain or args.range_kind):
        from nsightlens.errors import FilterError

        raise FilterError("--range-domain and --range-kind say more of a --range: add one.")
    kind: Any = _KINDS[args.range_kind or "push-pop"]
    return [
        range_expression(name, domain=args.range_domain, kind=kind) for name in args.range or ()
    ]


def _listed(texts: Iterable[str] | None) -> tuple[str, ...]:
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    """Leave the defaults of a record to the record."""
    return {name: value for name, value in given.items() if value is not None}


def from_zero(text: str) -> int:
    """Return a number that may be 0 from the command line."""
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")


def seconds(text: str) -> float:
    """Return a time [s] from the command line."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number
