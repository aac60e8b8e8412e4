"""``nsightlens redact``: a report that can be shared, and what it still says."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from nsightlens.cli import one_report
from nsightlens.cli.exit_codes import ExitCode
from nsightlens.cli.talk import tell

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from nsightlens.cli.load import Loaded
    from nsightlens.ncurep import Redaction, Remaining

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "write a report without what names people, machines and programs"
DESCRIPTION = """\
Writes a report that can be shared: without names and addresses of hosts, names
of users, paths, command lines, environment, comments, call stacks, program code
and sources. Every metric stays as it is, and NVIDIA's tools open it like any
other. Lists what was removed, and what still names something: read that list
before you share the report."""
EPILOG = """\
examples:
  nsightlens redact report.ncu-rep -o shared.ncu-rep
  nsightlens redact report.ncu-rep -o shared.ncu-rep --no-kernel-names --no-nvtx
  nsightlens redact report.ncu-rep -o shared.ncu-rep --format json"""

FORMATS = ("table", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    one_report.add_report(parser, may_salvage=False)
    group = parser.add_argument_group("removed on request")
    group.add_argument(
        "--no-kernel-names",
        action="store_true",
        help="call kernels kernel_0001 and so on: the same for the same kernel",
    )
    group.add_argument(
        "--no-nvtx",
        action="store_true",
        help="remove NVTX ranges and the names of contexts and streams",
    )
    group = parser.add_argument_group("output")
    one_report.add_place(group)
    group.add_argument(
        "-f",
        "--format",
        choices=FORMATS,
        default="table",
        help="of the list: a table on stderr, with the most frequent names of each kind, or "
        "JSON with all of them on stdout",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report, and list what it still says."""
    from nsightlens.ncurep import redact_ncu_rep

    with one_report.opened(args) as report:
        # The tables are of no use here, but JSON says from which GPU and ncu the rows are.
        loaded = report.load(args) if args.format == "json" else None
        done = redact_ncu_rep(
            report.file.path,
            args.output,
            keep_kernel_names=not args.no_kernel_names,
            keep_nvtx=not args.no_nvtx,
            overwrite=args.force,
            shown=report.shown,
        )
        _tell(args, loaded, done)
        report.say_written(args)
    return ExitCode.OK


def _tell(args: argparse.Namespace, loaded: Loaded | None, done: Redaction) -> None:
    """List what was removed and what is left."""
    if loaded is not None:
        from nsightlens.cli.output import write_to_stdout
        from nsightlens.cli.source import source_of
        from nsightlens.render.envelope import envelope_pieces

        options = {"no_kernel_names": args.no_kernel_names, "no_nvtx": args.no_nvtx}
        source = source_of(loaded, options)
        write_to_stdout(envelope_pieces("nsightlens.redact", source, _rows(done)))
    else:
        tell("\n".join(_lines(done)) + "\n")


def _rows(done: Redaction) -> Iterator[dict[str, Any]]:
    for kind, count in done.removed.items():
        yield {
            "key": f"removed|{kind}",
            "status": "removed",
            "kind": kind,
            "where": None,
            "text": None,
            "count": count,
        }
    for one in done.remaining:
        yield {
            "key": f"remaining|{one.kind}|{one.where}|{one.text}",
            "status": "remaining",
            "kind": one.kind,
            "where": one.where,
            "text": one.text,
            "count": one.occurrence_count,
        }


_SHOWN = 5
"""Names of a kind in the list for the eye."""
_LONGEST = 100
"""[character] Of a name there."""


def _lines(done: Redaction) -> Iterator[str]:
    yield "removed"
    for kind, count in done.removed.items():
        yield f"  {count:>7}  {kind}"
    if not done.removed:
        yield "  nothing: the report held none of it"
    yield "still in the report"
    for (kind, where), group in groupby(done.remaining, lambda one: (one.kind, one.where)):
        yield from _kind_lines(kind if where == kind else f"{kind} in a {where}", list(group))
    if not done.remaining:
        yield "  nothing that names something"


def _kind_lines(what: str, found: list[Remaining]) -> Iterator[str]:
    yield f"  {what}: {len(found)} different"
    for one in found[:_SHOWN]:
        text = one.text if len(one.text) <= _LONGEST else f"{one.text[:_LONGEST]}..."
        yield f"  {one.occurrence_count:>7}  {' '.join(text.split())}"
    if len(found) > _SHOWN:
        yield f"           and {len(found) - _SHOWN} more: --format json lists all"
