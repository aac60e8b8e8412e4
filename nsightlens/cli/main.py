"""Entry point: the parser, the sub-commands and what becomes of an error.

A sub-command is a module with ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``. All of
them are imported to build the parser, so their modules import nothing heavy: that happens in
``run``. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import classify, demo, export, info, metrics, schema
from nsightlens.cli.arguments import OneLineParser, add_every_command
from nsightlens.cli.exit_codes import ExitCode, code_of
from nsightlens.cli.output import let_go_of_stdout
from nsightlens.cli.talk import say
from nsightlens.errors import NsightLensError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS: dict[str, Any] = {
    "classify": classify,
    "info": info,
    "metrics": metrics,
    "export": export,
    "demo": demo,
    "schema": schema,
}
"""Module of each sub-command, in the order of the help."""

_DESCRIPTION = """\
Reads Nsight Compute reports and says, for every kernel launch, whether it is
memory-bound or compute-bound, and why. No GPU and no NVIDIA software is needed."""

_EPILOG = """\
first steps:
  nsightlens demo                       the bundled example, explained
  nsightlens classify report.ncu-rep    a label for every launch
  nsightlens info report.ncu-rep        what the report holds and what it lacks

nsightlens COMMAND --help lists the options of a command."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = OneLineParser(
        prog="nsightlens",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"nsightlens {__version__}")
    add_every_command(parser)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", parser_class=OneLineParser
    )
    for name, module in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            epilog=getattr(module, "EPILOG", None),
        )
        module.add_arguments(command)
        add_every_command(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv
        Arguments without the program's name; ``None`` for those of the process.

    Returns
    -------
    int
        The exit code; see `nsightlens.cli.exit_codes`.
    """
    if argv is None:
        _keep_pandas_out()
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    _advise_on_a_report_in_place_of_a_command(parser, words)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    args.debug = getattr(args, "debug", False)
    args.verbose = getattr(args, "verbose", False)
    return _guarded(args)


class _NoPandas:
    """A finder of modules that finds no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse pandas; leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def _keep_pandas_out() -> None:
    """Keep pyarrow from importing pandas in a process that is ours alone.

    Where pandas is installed, pyarrow imports it at the first conversion of a Python list or a
    NumPy array, only to see whether it is a Series. That takes longer than classifying a report.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())


def _guarded(args: argparse.Namespace) -> int:
    """Run the sub-command; turn an error into one line on stderr and an exit code."""
    try:
        code: int = COMMANDS[args.command].run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        if args.debug:
            import traceback

            traceback.print_exc()
        code = code_of(error)
        if isinstance(error, BrokenPipeError):
            let_go_of_stdout()
        message = _message(error, code)
        if message and not args.debug:
            say("error", message)
        return code


def _message(error: BaseException, code: ExitCode) -> str:
    if code is ExitCode.PIPE_CLOSED:
        return ""
    if code is ExitCode.INTERRUPTED:
        return "interrupted"
    if isinstance(error, NsightLensError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory. Read fewer reports at once, or filter them"
    kind = type(error).__name__
    return f"this is a fault of nsightlens ({kind}: {error}). Run again with --debug and report it"


def _advise_on_a_report_in_place_of_a_command(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> None:
    first = next((word for word in words if not word.startswith("-")), None)
    if first is None or first in COMMANDS:
        return
    if first.endswith(".ncu-rep") or os.path.exists(first):  # noqa: PTH110 - pathlib costs time
        parser.error(f"{first} is not a command. Did you mean: nsightlens classify {first}")


if __name__ == "__main__":
    sys.exit(main())
