"""``nsightlens timeline``: what each step of a trace spent its time on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file, positive, positive_number
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from nsightlens.timelines import Timeline

__all__ = ["DESCRIPTION", "EPILOG", "FORMATS", "HELP", "add_arguments", "run"]

HELP = "say what each step of an nsys trace spent its time on"
DESCRIPTION = """\
Says of each step of an Nsight Systems trace how long the GPU was busy and idle,
and what it waited for; which kernels, copies and gaps it had; and what could be
gained at most, each with its number. Reads exports of nsys (SQLite, arrowdir,
parquetdir) without NVIDIA software, and .nsys-rep where nsys is installed."""
EPILOG = """\
examples:
  nsightlens timeline run.sqlite
  nsightlens timeline run.sqlite --steps-from '^decode_step_'
  nsightlens timeline run.sqlite --link-bandwidth 64 -o timeline.json"""

FORMATS = ("table", "json", "csv", "markdown")
SHORT_US = 20.0
MOST_ROWS = 12
LINKS_GB_PER_S = {"pcie3": 15.75, "pcie4": 31.5, "pcie5": 63.0, "nvlink-c2c": 450.0}
"""[GB/s] Raw rate one way: 16 lanes of 8, 16 or 32 GT/s less their line code (128b/130b); of the
link between the CPU and GPU of a Grace Hopper, half of the 900 GB/s that are published."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "trace", metavar="TRACE", type=name_of_file, help="an export of nsys, or a .nsys-rep"
    )
    group = parser.add_argument_group("steps and limits")
    group.add_argument(
        "--steps-from",
        action=Once,
        metavar="REGEX",
        help="the NVTX ranges whose names contain this are the steps (default: the step labels of "
        "engines and of nsightlens.annotate)",
    )
    group.add_argument(
        "--short",
        action=Once,
        metavar="US",
        type=positive_number,
        help="a kernel that takes less is short (default: 20 us)",
    )
    group.add_argument(
        "--link-bandwidth",
        action=Once,
        metavar="GB/S",
        type=link_gb_per_s,
        help="peak of the link between host and GPU, one way, to set copies against: a number, or "
        f"{', '.join(LINKS_GB_PER_S)}",
    )
    arguments.add_output(parser, FORMATS)
    text = arguments.add_text(parser, names=False)
    text.add_argument(
        "--top",
        action=Once,
        metavar="N",
        type=positive,
        help="rows of each table (default: 12)",
    )


def link_gb_per_s(text: str) -> float:
    """Return the peak of a link, by its name or as a number."""
    return LINKS_GB_PER_S[text] if text in LINKS_GB_PER_S else positive_number(text)


def run(args: argparse.Namespace) -> int:
    """Read the trace, account for its time and write the answer."""
    from pathlib import Path

    from nsightlens.readers import open_trace
    from nsightlens.timelines.timeline import timeline

    check_output(args, [Path(args.trace)])
    link = None if args.link_bandwidth is None else args.link_bandwidth * 1e9
    result = timeline(
        open_trace(args.trace),
        steps_from=args.steps_from,
        short_ns=round((args.short or SHORT_US) * 1e3),
        link_bytes_per_s=link,
    )
    write_result(args, _pieces(args, result))
    return 0


def _pieces(args: argparse.Namespace, result: Timeline) -> Iterable[str]:
    form = chosen_format(args)
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces
        from nsightlens.render.rows import plain_rows

        return csv_pieces(result.steps.column_names, plain_rows(result.steps))
    if form == "json":
        from nsightlens.render.envelope import envelope_pieces
        from nsightlens.render.rows import plain_rows
        from nsightlens.render.timeline_data import timeline_parts

        source: dict[str, Any] = {
            "tool": "nsightlens",
            "tool_version": __version__,
            "trace": result.source,
            "has_steps": result.has_steps,
            "options": {
                name: getattr(args, name) for name in ("steps_from", "short", "link_bandwidth")
            },
        }
        return envelope_pieces(
            "nsightlens.timeline", source, plain_rows(result.steps), timeline_parts(result)
        )
    from nsightlens.render import timeline as render

    if form == "markdown":
        return [render.timeline_markdown(result, args.top or MOST_ROWS)]
    style = chosen_style(args)
    return (line + "\n" for line in render.timeline_lines(result, style, args.top or MOST_ROWS))
