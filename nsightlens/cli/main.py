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
from nsightlens.cli import (
    advise,
    ceilings,
    classify,
    compare,
    demo,
    devices,
    doctor,
    explain,
    export,
    gate,
    info,
    kernel_name,
    metrics,
    plot,
    predict,
    profile,
    redact,
    schema,
    step_label,
    sweep,
    timeline,
)
from nsightlens.cli import slice as slice_
from nsightlens.cli.arguments import OneLineParser, add_every_command
from nsightlens.cli.exit_codes import ExitCode, SeveralErrors, code_of
from nsightlens.cli.interrupt import was_interrupted
from nsightlens.cli.talk import let_go_of, say, tell
from nsightlens.errors import NsightLensError
from nsightlens.no_pandas import keep_pandas_out

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS: dict[str, Any] = {
    "profile": profile,
    "classify": classify,
    "sweep": sweep,
    "timeline": timeline,
    "advise": advise,
    "predict": predict,
    "plot": plot,
    "compare": compare,
    "gate": gate,
    "explain": explain,
    "info": info,
    "metrics": metrics,
    "export": export,
    "slice": slice_,
    "redact": redact,
    "kernel-name": kernel_name,
    "step-label": step_label,
    "devices": devices,
    "ceilings": ceilings,
    "doctor": doctor,
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
  nsightlens explain report.ncu-rep 0   one launch, and why it has its label
  nsightlens info report.ncu-rep        what the report holds and what it lacks
  nsightlens advise results/            which batch size to serve with

nsightlens COMMAND --help lists the options of a command."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    Parameters
    ----------
    only
        A sub-command that is known to be the first word; the parser then has no other.
    """
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
        if only not in (None, name):
            continue
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            epilog=getattr(module, "EPILOG", None),
        )
        module.add_arguments(command)
        add_every_command(command)
        command.set_defaults(parser=command)
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
        keep_pandas_out()  # the process is ours alone
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return ExitCode.INTERRUPTED if was_interrupted() else code
    except (Exception, KeyboardInterrupt) as error:
        return _told(error, debug="--debug" in words)


def _run(words: Sequence[str]) -> int:
    """Run the sub-command that the words name."""
    # To build those of the other commands takes milliseconds that nobody gains from.
    parser = build_parser(words[0] if words and words[0] in COMMANDS else None)
    _advise_on_a_report_in_place_of_a_command(parser, words)
    args, unknown = parser.parse_known_args(words)
    if unknown:
        # The sub-command's own help explains more than that of the whole.
        getattr(args, "parser", parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if args.command is None:
        tell(parser.format_help())
        return ExitCode.USAGE
    args.verbose = getattr(args, "verbose", False)
    return int(COMMANDS[args.command].run(args))


def _told(error: BaseException, *, debug: bool) -> ExitCode:
    """Tell an error in one line on stderr; return the exit code."""
    code = ExitCode.INTERRUPTED if was_interrupted() else code_of(error)
    if isinstance(error, BrokenPipeError):
        let_go_of(sys.stdout)
    if debug:
        import traceback

        tell("".join(traceback.format_exception(type(error), error, error.__traceback__)))
        return code
    for one in error.errors if isinstance(error, SeveralErrors) else (error,):
        message = _message(one, code)
        if message:
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
