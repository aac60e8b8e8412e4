"""Arguments that several sub-commands share, so that they mean the same in each of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from nsightlens.cli.talk import tell
from nsightlens.cli.terminal import width_of
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Once",
    "OneLineParser",
    "add_every_command",
    "add_filters",
    "add_output",
    "add_reports",
    "add_text",
    "name_of_file",
    "positive",
    "positive_number",
]

BY = ("launch", "kernel", "family")
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "table",
}
"""Format that the name of an output file stands for."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help that names the value of an option once, as Python does from 3.13 on."""

    def __init__(self, prog: str, **keywords: Any) -> None:
        # As argparse would, but it asks shutil, which loads the compression libraries, and does
        # so to build any parser.
        super().__init__(prog, **{"width": width_of(sys.__stdout__, 80) - 2, **keywords})

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        default = self._get_default_metavar_for_optional(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, default)}"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, with the command that explains more."""

    def __init__(self, **keywords: Any) -> None:
        # An abbreviation that works today is ambiguous when an option is added.
        super().__init__(**{"formatter_class": _HelpFormatter, "allow_abbrev": False, **keywords})

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse swallows what goes wrong in writing, and what it left in the buffer of a full
        # or closed stdout turns up as a traceback when the interpreter exits.
        if file is sys.stderr:
            tell(message)
        else:
            from nsightlens.cli.output import write_to_stdout

            write_to_stdout([message])

    def error(self, message: str) -> NoReturn:
        """Write the error and leave with the exit code of a usage error."""
        self.exit(2, f"nsightlens: error: {message}. See: {self.prog} --help\n")


class Once(argparse.Action):
    """An option that counts once: the first of two would be dropped without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse calls it so
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Keep the value, or refuse a second one."""
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "was given twice: only one is taken")
        setattr(namespace, self.dest, values)


def add_every_command(parser: argparse.ArgumentParser) -> None:
    """Add the options that may stand before and after the name of the sub-command."""
    # SUPPRESS: a default in the sub-command would overwrite what stood before its name.
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=argparse.SUPPRESS,
        help="say on stderr what is being done",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )


def add_reports(parser: argparse.ArgumentParser, *, several: bool = True) -> None:
    """Add the reports, or the one, and how they are read."""
    parser.add_argument(
        "reports",
        metavar="REPORT",
        nargs="+" if several else 1,
        type=name_of_file,
        help=".ncu-rep file, also compressed with gzip or zstd; a CSV of ncu; a URL; - for "
        "standard input; a folder stands for all reports below it",
    )
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--salvage",
        action="store_true",
        help="of a damaged report, take the launches before the damage",
    )
    group.add_argument(
        "--reader",
        choices=("auto", "native", "ncu_report"),
        default="auto",
        help="ncu_report: NVIDIA's own, if installed, to cross-check (default: auto, which takes "
        "it only for a container that is newer than what the native one knows)",
    )
    group.add_argument(
        "--jobs",
        metavar="N",
        type=_count,
        help="reports to read at once, 1 for one after another (default: as it pays)",
    )
    group.add_argument(
        "--no-progress",
        action="store_true",
        help="show no progress; it is shown only on a terminal",
    )


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the filters: a launch is kept that passes all of them."""
    group = parser.add_argument_group(
        "filters",
        "A launch is kept that passes all of them. Each may be repeated: any\n"
        "of its values will do.",
    )
    group.add_argument(
        "--kernel",
        metavar="REGEX",
        action="append",
        help="regular expression found in the short, full or mangled name",
    )
    group.add_argument(
        "--family",
        metavar="NAME",
        action="append",
        help="kernel family, such as attention or gemm",
    )
    group.add_argument(
        "--nvtx",
        metavar="GLOB",
        action="append",
        help="pattern with * and ? for the NVTX path or one of its ranges",
    )
    group.add_argument(
        "--grid",
        metavar="X,Y,Z",
        action="append",
        help="blocks of the launch; * stands for any number, as in '*,1,1'",
    )


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the format and place of the result."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "-f",
        "--format",
        choices=formats,
        help="default: by the suffix of the -o file, else table",
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=name_of_file,
        help="write to a file, not to stdout",
    )
    group.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.set_defaults(formats=tuple(formats))


def add_text(parser: argparse.ArgumentParser, *, names: bool = True) -> argparse._ArgumentGroup:
    """Add the options of the text table; ``names`` where it shows those of kernels."""
    group = parser.add_argument_group("text table")
    group.add_argument(
        "--width",
        metavar="N",
        type=_width,
        help="columns of a line (default: $COLUMNS, else the terminal's, else 100)",
    )
    if names:
        group.add_argument(
            "--full-names",
            action="store_true",
            help="full names of kernels, with template arguments; in a table below their rows",
        )
    return group


def name_of_file(text: str) -> str:
    """Return the name of a file or folder from the command line; an empty one is a slip."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _width(text: str) -> int:
    return _at_least(text, 40)


def _count(text: str) -> int:
    return _at_least(text, 0)


def positive(text: str) -> int:
    """Return a number of rows from the command line."""
    return _at_least(text, 1)


def positive_number(text: str) -> float:
    """Return a positive number from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no positive number")
    return number


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}")
    return number
