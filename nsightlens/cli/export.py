"""``nsightlens export``: the tables as Parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

from nsightlens.cli import arguments
from nsightlens.cli.classify import labels_of
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules
from nsightlens.cli.load import find, load
from nsightlens.cli.peaks import add_peaks, check_peaks
from nsightlens.cli.step_rules import add_step_rules, check_step_rules
from nsightlens.cli.talk import say

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "write the tables to a folder of Parquet files"
DESCRIPTION = """\
Writes the tables launches, stalls, metrics, rules, nvtx, sessions, labels,
resources and rooflines to a new folder, one Parquet file each. Unit, meaning
and source of a column are in its field metadata. The table instances is
written where --instances asks for it: it is the bulk of a report."""
EPILOG = """\
examples:
  nsightlens export report.ncu-rep -o tables/
  nsightlens export report.ncu-rep -o tables/ --instances '*pcsamp*'
  nsightlens export runs/ --family attention -o tables/ --force"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    arguments.add_filters(parser)
    add_peaks(parser)
    add_kernel_rules(parser)
    add_step_rules(parser)
    group = parser.add_argument_group("tables")
    group.add_argument(
        "--instances",
        metavar="GLOB",
        action="append",
        help="write the instanced values of the metrics whose name matches too, "
        "'*' for all of them; may be repeated",
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        required=True,
        type=_folder,
        help="folder to make; required",
    )
    group.add_argument(
        "--force", action="store_true", help="replace the folder if it is an earlier export"
    )


def _folder(text: str) -> str:
    if text == "-":
        raise argparse.ArgumentTypeError("an export is a folder, not a stream: name a folder")
    return arguments.name_of_file(text)


def run(args: argparse.Namespace) -> int:
    """Write the folder."""
    from nsightlens.report import rows_of_launches
    from nsightlens.store import check_export_place, write_export

    found = find(args)
    check_export_place(args.output, force=args.force, inputs=found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    loaded = load(args, found, instances=args.instances or False)
    if len(loaded.report):
        # An error where a pattern matches nothing, before anything is written.
        loaded.report.matching_metric_names(args.instances or ())
    report, result = labels_of(args, loaded.report, "launch")
    tables = {
        "launches": report.launches,
        "stalls": report.stalls,
        "metrics": report.metrics,
        "rules": report.rules,
        "nvtx": report.nvtx,
        "sessions": report.sessions,
        **({"instances": report.instances} if args.instances else {}),
        "labels": result.labels,
        "resources": rows_of_launches(result.resources, report.launches),
        "rooflines": rows_of_launches(result.rooflines, report.launches),
    }
    write_export(args.output, tables, sources=report.sources, force=args.force)
    counts = ", ".join(f"{name} {table.num_rows}" for name, table in tables.items())
    say("wrote", f"{Path(args.output)} with rows: {counts}")
    return loaded.finish()
