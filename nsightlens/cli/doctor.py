"""``nsightlens doctor``: what profiling needs, whether it is there, and how to repair it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file
from nsightlens.cli.exit_codes import ExitCode
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from nsightlens.harness.doctor import Examination

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "check whether profiling will work here, and say how to repair what will not"
DESCRIPTION = """\
Looks for ncu and nsys, asks the driver for its GPUs, and checks what profiling
needs: the permission to read counters, MIG, other profilers, the temporary
folder, the disk, torch and nvtx. Says of each what was found and how to repair
it here. Runs nothing on the GPU and changes nothing. The exit code is 1 where
something is broken that profiling with ncu needs."""
EPILOG = """\
examples:
  nsightlens doctor
  nsightlens doctor --python ~/venv/bin/python
  nsightlens doctor --format json -o doctor.json"""

FORMATS = ("table", "json", "csv", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    group = parser.add_argument_group("what is checked")
    for name in ("ncu", "nsys"):
        group.add_argument(
            f"--{name}",
            metavar="PATH",
            action=Once,
            type=name_of_file,
            help=f"{name} to be used, or its folder (default: looked for)",
        )
    group.add_argument(
        "--python",
        metavar="PATH",
        action=Once,
        type=name_of_file,
        help="interpreter of the target, asked for torch and nvtx (default: the one that runs "
        "nsightlens)",
    )
    group.add_argument(
        "--folder",
        metavar="FOLDER",
        action=Once,
        type=name_of_file,
        help="where run folders are to be (default: here)",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Check, and say what was found."""
    from pathlib import Path

    from nsightlens.harness.doctor import examine

    check_output(args, [])
    found = examine(
        ncu=args.ncu,
        nsys=args.nsys,
        python=args.python,
        folder=None if args.folder is None else Path(args.folder),
    )
    write_result(args, _pieces(args, found))
    return ExitCode.OK if found.passed else ExitCode.CHECK_FAILED


def _pieces(args: argparse.Namespace, found: Examination) -> Iterable[str]:
    from nsightlens.render.doctor import doctor_markdown, doctor_rows, doctor_text

    form = chosen_format(args)
    rows = doctor_rows(found.checks)
    if form == "table":
        return [doctor_text(rows, chosen_style(args))]
    if form == "markdown":
        return [doctor_markdown(rows)]
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces

        flat: list[dict[str, Any]] = [
            {**row, "remedies": " ".join(row["remedies"])} for row in rows
        ]
        return csv_pieces(list(flat[0]), flat)
    from nsightlens.render.envelope import envelope_pieces

    source = {"tool": "nsightlens", "tool_version": __version__}
    parts = {"passed": found.passed, **found.facts()}
    return envelope_pieces("nsightlens.doctor", source, rows, parts)
