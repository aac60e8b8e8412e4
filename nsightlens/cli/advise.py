"""``nsightlens advise``: the batch size to serve with, from serving benchmarks and profiles."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.advise_profiles import open_profiles
from nsightlens.cli.arguments import Once, name_of_file, positive, positive_number
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.advisor.advice import Wishes
    from nsightlens.advisor.answers import Advice, Metric, Slo
    from nsightlens.serving.serving import Serving

__all__ = ["DESCRIPTION", "EPILOG", "FORMATS", "HELP", "add_arguments", "duration_ms", "run"]

HELP = "say which batch size to serve with"
DESCRIPTION = """\
Reads results of serving benchmarks, server logs and telemetry, and says which
batch size to serve with under a limit of latency, which limit binds, what the
next choices would cost, where throughput stops to grow and why, how much KV
memory could be given back, and how many servers would fit on the GPU."""
EPILOG = """\
examples:
  nsightlens advise results/ --slo-itl 30ms
  nsightlens advise results/ --slo-x 2 -o advice.md --figures figures/
  nsightlens advise results/ --slo-ttft 2s --statistic p99 --profile run/
  nsightlens advise results/ --what-if batch=160,context=4000 --model opt-1.3b"""

FORMATS = ("table", "json", "csv", "markdown")
_ASKS = ("unit_missing", "unit_contradiction", "throughput_unclear")
"""Notes that ask for something, and that an error would hide."""
_TO_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}
_DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?\s*(s|ms|us|µs|ns)\s*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        type=name_of_file,
        help="results, server logs, telemetry, or a CSV or Parquet with named columns; a folder "
        "is searched, and files that lie together are taken together",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="COLUMN=VALUE",
        type=condition,
        default=[],
        help="take the runs whose column is so, such as model=opt-1.3b; may be repeated",
    )
    parser.add_argument(
        "--no-progress",
        action="store_true",
        help="show no progress; it is shown only on a terminal",
    )
    _add_limits(parser)
    _add_rules(parser)
    _add_profiles(parser)
    arguments.add_output(parser, FORMATS)
    parser.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as -f json"
    )
    parser.add_argument(
        "--figures",
        action=Once,
        metavar="FOLDER",
        type=name_of_file,
        help="write the figures there: throughput and ITL, KV use, shares of time",
    )
    arguments.add_text(parser, names=False)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits of latency", "All that are given must be met.")
    for metric, words in (
        ("itl", "time between tokens"),
        ("tpot", "time per output token after the first"),
        ("ttft", "time to the first token, queueing included"),
    ):
        group.add_argument(
            f"--slo-{metric}",
            action=Once,
            metavar="TIME",
            type=duration_ms,
            help=f"limit of the {words}, with its unit, such as 30ms",
        )
    group.add_argument(
        "--slo-x",
        action=Once,
        metavar="K",
        type=positive_number,
        help="limit as a multiple of the latency at a reference batch size",
    )
    group.add_argument(
        "--slo-on",
        choices=("itl", "tpot", "ttft"),
        default=None,
        help="latency of --slo-x (default: itl; tpot by the rule largest)",
    )
    group.add_argument(
        "--slo-reference",
        action=Once,
        metavar="B",
        type=positive,
        help="the measured batch size nearest to this is the reference (default: 32)",
    )
    group.add_argument(
        "--statistic",
        choices=("mean", "median", "p99"),
        default="mean",
        help="which value of the latency is limited (default: mean)",
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("rules")
    group.add_argument(
        "--rule",
        choices=("throughput", "largest"),
        default="throughput",
        help="throughput: the most within all limits; largest: the largest batch size within the "
        "limit of latency (default: throughput)",
    )
    group.add_argument(
        "--epsilon",
        action=Once,
        metavar="E",
        type=not_negative,
        help="least efficiency T(B) / (B T(1)) of the rule throughput (default: 0.1)",
    )
    group.add_argument(
        "--throughput",
        choices=("auto", "total", "output"),
        default="auto",
        help="which throughput counts: prompt and generated tokens, or generated ones (default: "
        "total where it is known and no prompt is cached)",
    )
    group.add_argument(
        "--interpolate",
        action="store_true",
        help="choose between measured batch sizes too; marked as such",
    )
    group.add_argument(
        "--fit",
        choices=("relative", "milliseconds"),
        default="relative",
        help="least squares of the relative error, or of the error in ms (default: relative)",
    )
    group.add_argument(
        "--over",
        choices=("running", "nominal"),
        default="running",
        help="fit over the batch that ran, or the one that was set (default: running)",
    )
    group.add_argument(
        "--margin",
        action=Once,
        metavar="PCT",
        type=not_negative,
        help="KV memory that is kept beside what was used, in percent of it (default: 10)",
    )
    group.add_argument(
        "--max-replicas",
        action=Once,
        metavar="R",
        type=positive,
        help="most servers on the GPU to look at (default: 8)",
    )
    group.add_argument(
        "--replica-memory",
        action=Once,
        metavar="GIB",
        type=not_negative,
        help="memory that each of several servers needs beside its own of one (default: 0.3)",
    )


def _add_profiles(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("profiles and predictions")
    group.add_argument(
        "--profile",
        action="append",
        metavar="FILE",
        type=name_of_file,
        default=[],
        help="report of ncu, trace of nsys, or folder of them, of the same model and GPU; may be "
        "repeated",
    )
    group.add_argument(
        "--busy",
        action=Once,
        metavar="PCT",
        type=percentage,
        help="share of a step in which the GPU works, where no trace says it",
    )
    group.add_argument(
        "--model",
        action=Once,
        metavar="NAME",
        type=name_of_file,
        help="sizes of the model: config.json, its folder, or a built-in name",
    )
    group.add_argument(
        "--device", action=Once, metavar="NAME", help="name of the GPU, where no file says it"
    )
    group.add_argument(
        "--what-if",
        action="append",
        metavar="LIST",
        default=[],
        help="predict what was not measured: batch=B, context=TOKENS, device=NAME, joined by "
        "commas; may be repeated",
    )


def duration_ms(text: str) -> float:
    """Return a time in ms.

    Examples
    --------
    >>> duration_ms("0.03s"), duration_ms("30ms"), duration_ms("30000us")
    (30.0, 30.0, 30.0)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r:.40} is no time: give a number with its unit, such as 30ms, 0.03s or 500us"
        )
    number = float(f"{match[1]}e{match[2] or 0}") * _TO_MS[match[3]]
    number = float(f"{number:.15g}")
    if not 0 < number < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no time that a limit can have")
    return number


def not_negative(text: str) -> float:
    """Return a number that is zero or above."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no number, zero or above")
    return number


def percentage(text: str) -> float:
    """Return a percentage from 1 to 100."""
    number = positive_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is below 1 %: 60 stands for 60 %")
    if number > 100:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no percentage")
    return number


def condition(text: str) -> tuple[str, str]:
    """Return the column and the value of ``COLUMN=VALUE``."""
    column, sign, value = text.partition("=")
    if not sign or not column.strip():
        raise argparse.ArgumentTypeError(f"{text!r:.60} is not COLUMN=VALUE")
    return column.strip(), value.strip()


def run(args: argparse.Namespace) -> int:
    """Read everything, choose, and write the answer."""
    from pathlib import Path

    from nsightlens.advisor.advice import advise
    from nsightlens.serving.serving import open_serving

    wishes = wishes_of(args)
    check_output(args, [Path(name) for name in (*args.paths, *args.profile)])
    with Progress(is_wanted=not args.no_progress) as progress:
        serving = open_serving(args.paths, progress=progress.update)
    _tell_of_files(serving)
    model = None
    if args.model is not None:
        from nsightlens.models import read_model

        model = read_model(args.model)
    sweeps, timelines = open_profiles(args.profile)
    for text in dict.fromkeys(one.text for one in serving.notes if one.key in _ASKS):
        say("warning", text)
    advice = advise(
        serving,
        wishes,
        conditions=dict(args.only),
        sweeps=sweeps,
        timelines=timelines,
        model=model,
        device=args.device,
    )
    figures = _figures(args, advice)
    write_result(args, _pieces(args, advice, figures))
    return 0


def wishes_of(args: argparse.Namespace) -> Wishes:
    """Return what was asked for on the command line."""
    from nsightlens.advisor.advice import Wishes
    from nsightlens.advisor.what_if import parse_question

    def given(value: float | None, default: float) -> float:
        return default if value is None else value

    return Wishes(
        slos=_slos(args),
        rule=args.rule,
        epsilon=given(args.epsilon, 0.1),
        throughput=args.throughput,
        interpolate=args.interpolate,
        fit=args.fit,
        over=args.over,
        margin=given(args.margin, 10.0) / 100,
        most_replicas=int(given(args.max_replicas, 8)),
        replica_memory_gib=given(args.replica_memory, 0.3),
        busy_share=None if args.busy is None else args.busy / 100,
        questions=tuple(parse_question(one) for one in args.what_if),
    )


def _slos(args: argparse.Namespace) -> tuple[Slo, ...]:
    from nsightlens.advisor.answers import Slo

    limits: dict[Metric, float | None] = {
        "itl": args.slo_itl,
        "tpot": args.slo_tpot,
        "ttft": args.slo_ttft,
    }
    found = [
        Slo(metric, args.statistic, limit) for metric, limit in limits.items() if limit is not None
    ]
    if args.slo_x is not None:
        metric: Metric = args.slo_on or ("tpot" if args.rule == "largest" else "itl")
        reference = float(args.slo_reference or 32)
        found.append(Slo(metric, args.statistic, None, args.slo_x, reference))
    elif args.slo_on is not None or args.slo_reference is not None:
        raise FilterError("--slo-on and --slo-reference say what --slo-x is of: give --slo-x too.")
    if args.rule == "largest" and not found:
        raise FilterError(
            "the rule largest needs a limit of latency: --slo-tpot TIME, or --slo-x 3 as the paper."
        )
    return tuple(found)


def _tell_of_files(serving: Serving) -> None:
    """Say which files were of no use, and which lie there for another command."""
    rows = [row for row in serving.files.to_pylist() if row["state"] == "refused"]
    for row in rows[:5]:
        say("warning", f"{row['path']}: {row['reason']}")
    if len(rows) > 5:
        say("warning", f"{len(rows) - 5} more files were refused.")
    if serving.profiles:
        say("note", f"{serving.profiles[0]} and such are of a profiler: name them by --profile.")


def _figures(args: argparse.Namespace, advice: Advice) -> dict[str, str]:
    """Write the figures; return their names and where they lie, as the report refers to them."""
    if args.figures is None:
        return {}
    import os
    from pathlib import Path

    from nsightlens.plots.draw_advice import save_figures

    folder = Path(args.figures)
    written = save_figures(advice, folder, force=args.force)
    base = Path(args.output).parent if args.output not in {None, "-"} else Path()
    return {path.stem: Path(os.path.relpath(path, base)).as_posix() for path in written}


def _pieces(args: argparse.Namespace, advice: Advice, figures: dict[str, str]) -> Iterable[str]:
    form = chosen_format(args)
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces
        from nsightlens.render.rows import plain_rows

        rows = advice.curve.rows
        return csv_pieces(rows.column_names, plain_rows(rows))
    if form == "json":
        from nsightlens.render.advice_data import advice_pieces

        return advice_pieces(advice, tool_version=__version__)
    if form == "markdown":
        from nsightlens.render.advice_markdown import advice_markdown

        return [advice_markdown(advice, figures)]
    from nsightlens.render.advice import advice_lines

    style = chosen_style(args)
    return (line + "\n" for line in advice_lines(advice, style))
