"""Arguments of the commands that make one report of another: ``slice`` and ``redact``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli.arguments import name_of_file
from nsightlens.cli.load import Unread, find
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from nsightlens.cli.load import Found

__all__ = ["add_place", "add_report", "found_for", "say_written"]


def add_report(parser: argparse.ArgumentParser, *, may_salvage: bool) -> None:
    """Add the report and how it is read."""
    parser.add_argument(
        "reports", metavar="REPORT", nargs=1, type=name_of_file, help="a .ncu-rep file"
    )
    group = parser.add_argument_group("reading")
    if may_salvage:
        group.add_argument(
            "--salvage",
            action="store_true",
            help="of a damaged report, take the launches before the damage",
        )
    group.add_argument(
        "--no-progress",
        action="store_true",
        help="show no progress; it is shown only on a terminal",
    )
    # One file, copied as it lies there: what the other commands may choose is settled.
    parser.set_defaults(salvage=False, reader="native", jobs=1)


def add_place(group: argparse._ArgumentGroup) -> None:
    """Add where the new report goes."""
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        type=_file,
        help="the new report, never the one that is read; required",
    )
    group.add_argument("--force", action="store_true", help="replace the file if it exists")


def _file(text: str) -> str:
    if text == "-":
        raise argparse.ArgumentTypeError("a report is a file, not a stream: name a file")
    return name_of_file(text)


def found_for(args: argparse.Namespace) -> tuple[Path, Found]:
    """Return the report, once it is sure that the new one may be written.

    Raises
    ------
    FilterError
        The argument is a folder of several reports, or not a file.
    ReportNotFoundError
        There is none.
    OutputExistsError, OutputError
        See `nsightlens.files.check_place`.
    """
    from nsightlens.files import check_place

    found = find(args)
    given = args.reports[0]
    if len(found.paths) > 1:
        raise FilterError(f"{given} holds {len(found.paths)} reports: name one of them.")
    if any(isinstance(entry, str) for entry in found.entries):
        raise FilterError(f"{given} is no file on a disk: save it first, and name that.")
    for entry in found.entries:
        if isinstance(entry, Unread):
            raise entry.error
    check_place(Path(args.output), force=args.force, inputs=found.paths)
    return found.paths[0], found


def say_written(args: argparse.Namespace, source: Path, about: str = "") -> None:
    """Say what was written, and how it compares in size."""
    from nsightlens.render.numbers import byte_count

    sizes = [byte_count(Path(path).stat().st_size) for path in (args.output, source)]
    say("wrote", f"{args.output}: {about}{sizes[0]} of {sizes[1]}")
