"""``nsightlens slice``: a smaller report with some of the launches."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nsightlens.cli import arguments, one_report
from nsightlens.cli.exit_codes import ExitCode
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules
from nsightlens.cli.load import has_filters, passing
from nsightlens.errors import FilterError
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "write a smaller report with some of the launches"
DESCRIPTION = """\
Writes a report that holds some of the launches of another, byte for byte as
they are and in their order, with the program code that they refer to. NVIDIA's
tools open it like any other. Launches are counted anew from 0."""
EPILOG = """\
examples:
  nsightlens slice report.ncu-rep -o small.ncu-rep --launch 0,3,10-20
  nsightlens slice report.ncu-rep -o gemm.ncu-rep --family gemm
  nsightlens slice cut.ncu-rep -o sound.ncu-rep --launch 0- --salvage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    one_report.add_report(parser, may_salvage=True)
    arguments.add_filters(parser)
    group = parser.add_argument_group("launches")
    group.add_argument(
        "--launch",
        metavar="IDS",
        type=_extents,
        action="extend",
        help="launch ids as the tables count them, from 0: numbers and ranges such as "
        "0,3,10-20; 7- stands for 7 and all behind it; may be given more than once",
    )
    add_kernel_rules(parser)
    one_report.add_place(parser.add_argument_group("output"))


def _extents(text: str) -> list[tuple[int, int | None]]:
    """Return first and last launch of each part; no last one stands for the end."""
    found = []
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        if not _is_id(first) or not (_is_id(last) or last == ""):
            raise argparse.ArgumentTypeError(
                f"{quoted(part)} is no launch id and no range of them: write 3, 10-20 or 7-"
            )
        end = None if dash and not last else int(last or first)
        if end is not None and end < int(first):
            raise argparse.ArgumentTypeError(f"{part!r} ends before it begins")
        found.append((int(first), end))
    return found


def _is_id(word: str) -> bool:
    # Beyond ten digits there is no launch, and Python refuses to read thousands of them.
    return word.isascii() and word.isdecimal() and len(word) <= 10


def run(args: argparse.Namespace) -> int:
    """Write the smaller report."""
    from nsightlens.ncurep import slice_ncu_rep
    from nsightlens.ncurep.slice import launch_count

    if args.launch is None and not has_filters(args):
        args.parser.error("say which launches to keep: --launch, --kernel, or another filter")
    check_kernel_rules(args)
    with one_report.opened(args) as source:
        path, shown = source.file.path, source.shown
        if has_filters(args) or args.salvage:
            report = source.load(args).report
            count, launches = len(report), _passing(args, shown, report)
        else:
            count = launch_count(path, shown)
            launches = _ids(_named(args.launch, shown, count))
        slice_ncu_rep(
            path,
            args.output,
            launches,
            on_error="salvage" if args.salvage else "raise",
            overwrite=args.force,
            shown=shown,
        )
        source.say_written(args, f"{len(launches)} of {count} launches, ")
    return ExitCode.OK


def _passing(args: argparse.Namespace, path: str, report: Report) -> list[int]:
    """Return the ids of the launches that are wanted and pass the filters.

    Raises
    ------
    FilterError
        There is none.
    """
    _check_some(path, len(report))
    keep = passing(args, report)
    if args.launch is None:
        return _ids(keep)
    named = _named(args.launch, path, len(report))
    if not (keep & named).any():
        raise FilterError(
            f"{path}: none of the launches that --launch names passes the filters. "
            f"The launches that pass them: {_listed(_ids(keep))}."
        )
    return _ids(keep & named)


def _named(extents: Sequence[tuple[int, int | None]], path: str, count: int) -> NDArray[np.bool_]:
    import numpy as np

    _check_some(path, count)
    named = np.zeros(count, dtype=bool)
    for first, last in extents:
        beyond = next((i for i in (first, last) if i is not None and i >= count), None)
        if beyond is not None:
            there = "only launch 0" if count == 1 else f"launches 0 to {count - 1}"
            raise FilterError(f"{path}: there is no launch {beyond}: the report has {there}.")
        named[first : count if last is None else last + 1] = True
    return named


def _check_some(path: str, count: int) -> None:
    if not count:
        raise FilterError(f"{path} holds no launch: there is nothing to choose from.")


def _ids(keep: NDArray[np.bool_]) -> list[int]:
    return [int(launch) for launch in keep.nonzero()[0]]


_SHOWN = 8


def _listed(launches: Sequence[int]) -> str:
    more = f" and {len(launches) - _SHOWN} more" if len(launches) > _SHOWN else ""
    return ", ".join(map(str, launches[:_SHOWN])) + more
