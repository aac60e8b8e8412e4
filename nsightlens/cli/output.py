"""Where a result goes, stdout or a file written whole or not at all, and in which format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli.arguments import SUFFIXES
from nsightlens.cli.talk import let_go_of
from nsightlens.cli.terminal import style_for
from nsightlens.errors import FilterError, OutputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from nsightlens.render.style import Style

__all__ = [
    "check_output",
    "chosen_format",
    "chosen_style",
    "files_read",
    "write_result",
    "write_to_stdout",
]

_STDOUT = "-"
_SETTINGS = ("rules", "peaks", "kernel_rules")
"""Options that name a file which is read."""


def chosen_format(args: argparse.Namespace) -> str:
    """Return the format that was asked for, by name or by the suffix of the output.

    Raises
    ------
    FilterError
        The suffix stands for no format, or for one that the command does not write.
    """
    if args.format is not None:
        return str(args.format)
    suffix = "" if _goes_to_stdout(args) else Path(args.output).suffix.lower()
    chosen = SUFFIXES.get(suffix) if suffix else "table"
    if chosen not in args.formats:
        what = f"stands for {chosen}" if chosen else "stands for no format"
        raise FilterError(
            f"{args.output}: the suffix {suffix} {what}, and this command writes "
            f"{', '.join(args.formats)}. Say which with --format, or change the suffix."
        )
    return str(chosen)


def chosen_style(args: argparse.Namespace) -> Style:
    """Return how text may look where the result goes."""
    return style_for(sys.stdout if _goes_to_stdout(args) else None, args.width)


def _goes_to_stdout(args: argparse.Namespace) -> bool:
    return args.output is None or args.output == _STDOUT


def check_output(args: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Refuse an output that must not be written, before any report is read.

    Raises
    ------
    OutputExistsError
        The file exists and ``--force`` was not given.
    OutputError
        It is one of the files that are read, or its folder does not exist.
    FilterError
        Its suffix stands for no format; see `chosen_format`.
    """
    if not _goes_to_stdout(args):
        from nsightlens.files import check_place

        check_place(Path(args.output), force=args.force, inputs=files_read(args, inputs))
    chosen_format(args)


def files_read(args: argparse.Namespace, reports: Sequence[Path]) -> list[Path]:
    """Return reports and files of settings: no output may take the place of any of them."""
    named = (getattr(args, name, None) for name in _SETTINGS)
    return [*reports, *(Path(name) for name in named if name is not None)]


def write_result(args: argparse.Namespace, pieces: Iterable[str]) -> None:
    """Write the result to where it was asked for.

    Parameters
    ----------
    args
        With ``output`` and ``force``.
    pieces
        The text; read once.

    Raises
    ------
    OutputError
        It could not be written.
    """
    if _goes_to_stdout(args):
        write_to_stdout(pieces)
    else:
        from nsightlens.files import write_text

        write_text(Path(args.output), pieces, force=args.force)


def write_to_stdout(pieces: Iterable[str]) -> None:
    """Write text to stdout as it is, with the line ends that it has.

    Raises
    ------
    BrokenPipeError
        The reader went away.
    OutputError
        Stdout is closed, or its device is full.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("stdout is closed: there is nowhere to write the answer to.")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a stand-in, such as io.StringIO
        stream.writelines(pieces)
        return
    encoding = stream.encoding or "utf-8"
    try:
        # Not through the text layer: on Windows it would turn the CRLF of a CSV into CR CR LF.
        stream.flush()
        for piece in pieces:
            buffer.write(piece.encode(encoding, "backslashreplace"))
        buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        let_go_of(stream)
        raise OutputError(f"stdout could not be written: {error.strerror or error}.") from error
