"""``nsightlens plot``: a figure as PNG, SVG or PDF, and the points behind it as CSV."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.load import filtered, find, load
from nsightlens.cli.peaks import add_peaks, check_peaks, classified
from nsightlens.cli.step_rules import add_step_rules, check_step_rules, step_rules_of
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError, NothingToPlotError, OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "draw a figure as PNG, SVG or PDF"
DESCRIPTION = """\
Draws a figure of reports: a roofline, what changes with the batch size, or what
warps wait for. What has no place in a figure is counted below it. --data writes
the points behind it; without -o they alone are written, and nothing is drawn."""
EPILOG = """\
kinds:
  roofline    FLOP/s against arithmetic intensity, under the roofs of the GPU
  intensity   arithmetic intensity against batch size
  shares      shares of attention, matmul and the rest in the time
  throughput  DRAM throughput and occupancy against batch size
  stalls      what warps wait for, by family or kernel
  labels      bound and regime of each family at each batch size

examples:
  nsightlens plot roofline decode.ncu-rep -o roofline.svg
  nsightlens plot roofline decode.ncu-rep --hierarchical -o roofline.png
  nsightlens plot shares runs/ --size 3.3x2.5 -o shares.pdf
  nsightlens plot stalls decode.ncu-rep -o stalls.png --data stalls.csv"""

_ROOFLINE = "roofline"
KINDS = (_ROOFLINE, "intensity", "shares", "throughput", "stalls", "labels")
_BY = {
    _ROOFLINE: ("family", "kernel"),
    "intensity": ("family", "kernel"),
    "stalls": ("family", "kernel", "batch"),
    "labels": ("family", "kernel"),
}
"""What a row or path of a figure can be; the first is the default."""

_SUFFIXES = (".png", ".svg", ".pdf")
_SMALLEST, _LARGEST = 1.5, 60.0
"""[inch] Between them a figure can be drawn and looked at."""

_MOST_PIXELS = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"one of {', '.join(KINDS)}")
    arguments.add_reports(parser)
    arguments.add_filters(parser)
    add_step_rules(parser)
    add_peaks(parser)
    add_kernel_rules(parser)
    _add_what(parser)
    _add_output(parser)


def _add_what(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is shown")
    group.add_argument(
        "--by",
        choices=("family", "kernel", "batch"),
        help="a path, row or bar per family or kernel; of stalls also per family and batch size "
        "(default: family)",
    )
    group.add_argument(
        "--phase",
        metavar="NAME",
        help="launches of this phase only, such as decode; none for those without one",
    )
    group.add_argument(
        "--device-name",
        metavar="NAME",
        help="launches on this GPU only, by its name or a part of it; a figure shows one",
    )
    group.add_argument(
        "--level",
        choices=("dram", "l2", "l1"),
        help="of a roofline: memory level whose bytes count (default: dram)",
    )
    group.add_argument(
        "--hierarchical", action="store_true", help="of a roofline: all three levels"
    )
    group.add_argument(
        "--resource",
        metavar="NAME",
        help="of a roofline: data type such as tensor_fp16 (default: the one with the most time)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        action=Once,
        metavar="FILE",
        type=name_of_file,
        help="the figure, by its suffix a .png, .svg or .pdf",
    )
    group.add_argument(
        "--data", action=Once, metavar="FILE", type=name_of_file, help="the points as CSV"
    )
    group.add_argument("--force", action="store_true", help="replace files that exist")
    group.add_argument(
        "--size",
        metavar="WxH",
        type=_size,
        default=(6.0, 4.0),
        help="width and height in inches: 3.3x2.5 for a column in print (default: 6x4)",
    )
    group.add_argument(
        "--dpi", metavar="N", type=arguments.positive, default=200, help="of a PNG (default: 200)"
    )
    group.add_argument(
        "--title", metavar="TEXT", help="in place of the name of the GPU; '' for none"
    )


def _size(text: str) -> tuple[float, float]:
    """Return width and height [inch] from the command line."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[xX](\d+(?:\.\d+)?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form WxH, such as 6x4")
    width, height = map(float, found.groups())
    if not _SMALLEST <= min(width, height) <= max(width, height) <= _LARGEST:
        raise argparse.ArgumentTypeError(
            f"{text} is not between {_SMALLEST:g} and {_LARGEST:g} inches on each side"
        )
    return width, height


def run(args: argparse.Namespace) -> int:
    """Draw the figure, write its points, or both."""
    _check_options(args)
    found = find(args)
    _check_places(args, found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    if args.output is not None:
        _check_matplotlib()
    loaded = load(args, found)
    if not len(loaded.report):
        raise NothingToPlotError("the reports hold no launch: there is nothing to show.")
    points = _points(args, filtered(args, loaded.report))
    if args.output is not None:
        _write_figure(args, points)
    if args.data is not None:
        _write_points(args, points)
    return loaded.finish()


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what would be dropped without a word."""
    if args.output is None and args.data is None:
        raise FilterError(
            "there is nowhere to draw to: name a .png, .svg or .pdf with -o, or a .csv with --data."
        )
    by = _BY.get(args.kind, ())
    if args.by is not None and args.by not in by:
        said = f"only {', '.join(by)}" if by else "it has the same rows always"
        raise FilterError(f"--by {args.by} is not for {args.kind}: {said}.")
    if args.kind != _ROOFLINE:
        for name in ("level", "hierarchical", "resource"):
            if getattr(args, name):
                raise FilterError(f"--{name} is for a roofline, not for {args.kind}.")
    if args.hierarchical and args.level:
        raise FilterError("--hierarchical shows every level: leave out --level.")
    if max(args.size) * args.dpi > _MOST_PIXELS:
        raise FilterError(
            f"{max(args.size):g} inches at {args.dpi} dpi are more than {_MOST_PIXELS} pixels: "
            "choose a smaller --size or --dpi."
        )


def _check_places(args: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Refuse files that must not be written, before any report is read."""
    from nsightlens.files import check_place

    for name in filter(None, (args.output, args.data)):
        check_place(Path(name), force=args.force, inputs=inputs)
    if args.output is None:
        return
    suffix = Path(args.output).suffix.lower()
    if suffix not in _SUFFIXES:
        what = f"the suffix {suffix} stands" if suffix else "a name without a suffix stands"
        raise FilterError(
            f"{args.output}: {what} for no kind of picture. Name a .png, a .svg or a .pdf."
        )
    if args.data is not None and Path(args.data).absolute() == Path(args.output).absolute():
        raise OutputError(f"{args.data} would be both figure and points: choose two names.")


def _check_matplotlib() -> None:
    from nsightlens.plots.save import own_settings

    with own_settings():
        pass


def _points(args: argparse.Namespace, report: Report) -> pa.Table:
    from nsightlens.plots.kinds import KINDS as FIGURES

    kind = FIGURES[args.kind]
    chosen: dict[str, Any] = {"phase": args.phase, "device_name": args.device_name}
    if kind.is_of_sweep:
        return kind.points(_swept(args, report), **chosen, origin=_origin(report))
    if args.by is not None:
        chosen["by"] = args.by
    if args.kind == _ROOFLINE:
        from nsightlens.analysis.rooflines import LEVELS

        chosen["levels"] = LEVELS if args.hierarchical else (args.level or "dram",)
        chosen["resource"] = args.resource
    return kind.points(report, classified(args, report, "launch"), **chosen)


def _swept(args: argparse.Namespace, report: Report) -> Any:
    from nsightlens.sweeps import sweep

    result = sweep(
        report,
        by=args.by or "family",
        device=args.device,
        peaks=args.peaks,
        kernel_rules=rules_of(args),
        step_rules=step_rules_of(args),
    )
    for text in result.warnings:
        say("warning", text)
    return result


def _origin(report: Report) -> str:
    from nsightlens.plots.points import origin_of

    return origin_of(report)


def _write_figure(args: argparse.Namespace, points: pa.Table) -> None:
    from nsightlens.files import write_bytes
    from nsightlens.plots import new_axes
    from nsightlens.plots.kinds import KINDS as FIGURES
    from nsightlens.plots.save import figure_bytes, own_settings

    path = Path(args.output)
    with own_settings():
        ax = FIGURES[args.kind].draw(points, new_axes(args.size, args.dpi), title=args.title)
        data = figure_bytes(ax, path.suffix.lower().removeprefix("."))
    write_bytes(path, [data], force=args.force, remedy="add --force")
    say("wrote", str(path))


def _write_points(args: argparse.Namespace, points: pa.Table) -> None:
    from nsightlens.files import write_text
    from nsightlens.plots import notes_of
    from nsightlens.render.delimited import csv_pieces
    from nsightlens.render.rows import plain_rows

    path = Path(args.data)
    write_text(path, csv_pieces(points.column_names, plain_rows(points)), force=args.force)
    for note in notes_of(points):
        say("note", note)
    say("wrote", f"{path} with {points.num_rows} rows")
