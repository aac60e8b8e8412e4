"""Arguments of the commands that make one report of another: ``slice`` and ``redact``."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.cli.arguments import name_of_file
from nsightlens.cli.load import Loaded, Unread, find, noticed
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress
from nsightlens.errors import FilterError, NotAReportError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.readers.source import PlainFile

__all__ = ["OneReport", "add_place", "add_report", "opened"]


def add_report(parser: argparse.ArgumentParser, *, may_salvage: bool) -> None:
    """Add the report and how it is read."""
    parser.add_argument(
        "reports",
        metavar="REPORT",
        nargs=1,
        type=name_of_file,
        help="a .ncu-rep file, also compressed, a URL, or - for standard input",
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


class OneReport(NamedTuple):
    """The report that was named, as a .ncu-rep file that can be mapped.

    ``shown`` is what messages call it; ``name`` as in `nsightlens.readers.source.typed`.
    """

    file: PlainFile
    name: str
    shown: str

    def load(self, args: argparse.Namespace) -> Loaded:
        """Read its tables, and tell what is to be known of it."""
        from nsightlens.readers.read import ReadOptions, report_of

        if args.verbose:
            say("reading", self.shown)
        options = ReadOptions(on_error="salvage" if args.salvage else "raise", reader=args.reader)
        with Progress(is_wanted=not args.no_progress) as progress:
            report = report_of(
                self.file, self.name, options, progress=partial(progress.update, self.shown)
            )
        for text in noticed(report):
            say("warning", text)
        return Loaded(report, (report,), ())

    def say_written(self, args: argparse.Namespace, about: str = "") -> None:
        """Say what was written, and how it compares in size."""
        from nsightlens.render.numbers import byte_count

        sizes = [byte_count(Path(path).stat().st_size) for path in (args.output, self.file.path)]
        say("wrote", f"{args.output}: {about}{sizes[0]} of {sizes[1]}")


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[OneReport]:
    """Give the report, once it is sure that the new one may be written.

    Raises
    ------
    FilterError
        The argument is a folder of several reports.
    ReportNotFoundError, CompressedReportError
        There is none, or it cannot be read.
    NotAReportError
        It is text that ncu printed.
    OutputExistsError, OutputError
        See `nsightlens.files.check_place`.
    """
    from nsightlens.files import check_place
    from nsightlens.readers.columns import shown_path
    from nsightlens.readers.source import plain_file, typed

    found = find(args)
    if len(found.entries) > 1:
        count = len(found.entries)
        raise FilterError(f"{args.reports[0]} holds {count} reports: name one of them.")
    for entry in found.entries:
        if isinstance(entry, Unread):
            raise entry.error
    check_place(Path(args.output), force=args.force, inputs=found.paths)
    name = typed(found.reports[0])
    with plain_file(name, salvage=args.salvage) as file:
        _check_report(file, shown_path(name))
        yield OneReport(file, name, shown_path(name))


def _check_report(file: PlainFile, shown: str) -> None:
    from nsightlens.ncucsv import looks_like_csv
    from nsightlens.ncurep.model import MAGIC

    if not file.head.startswith(MAGIC) and looks_like_csv(file.head):
        problem = "this is text, such as ncu prints, and only a report can be made another of"
        raise NotAReportError(shown, problem, "Give the .ncu-rep file that it was printed from.")
