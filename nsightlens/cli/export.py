"""``nsightlens export``: reports and their labels into a dataset of Parquet files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.exit_codes import ExitCode, SeveralErrors, code_of
from nsightlens.cli.kernel_rules import add_kernel_rules
from nsightlens.cli.load import Unread, find
from nsightlens.cli.peaks import add_peaks
from nsightlens.cli.step_rules import add_step_rules, step_rules_of
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.cli.load import Found
    from nsightlens.errors import NsightLensError
    from nsightlens.pipelines import ExportOptions, ExportSummary

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "add reports and their labels to a dataset of Parquet files"
DESCRIPTION = """\
Adds the tables of reports, with a label for every launch, to a dataset: a
folder of Parquet files that DuckDB, Polars and pandas read, and
nsightlens.open_dataset. Reports are read one at a time and added together, in
one step: an export that is interrupted leaves the dataset as it was. A report
that the dataset has already is not added again, whatever its name. The table
instances is written where --instances asks for it: it is the bulk of a report."""
EPILOG = """\
examples:
  nsightlens export report.ncu-rep -o dataset/
  nsightlens export runs/ -o dataset/ --tables launches,labels
  nsightlens export report.ncu-rep -o dataset/ --instances '*pcsamp*'
  nsightlens export runs/ --family attention -o attention/ --force"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        type=arguments.name_of_file,
        help="read the reports on the workers of this Dask cluster, one task each; --jobs then "
        "says nothing",
    )
    arguments.add_filters(parser)
    add_peaks(parser)
    add_kernel_rules(parser)
    add_step_rules(parser)
    group = parser.add_argument_group("tables")
    group.add_argument(
        "--tables",
        metavar="NAME,...",
        action=arguments.Once,
        type=_names,
        help="write these tables and the list of reports (default: launches, labels, resources, "
        "rooflines, stalls, metrics, rules, nvtx, sessions)",
    )
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
        metavar="DATASET",
        required=True,
        type=_folder,
        help="dataset to add to; made where there is none; required",
    )
    group.add_argument(
        "--force",
        action="store_true",
        help="replace what the dataset holds, if nothing else lies in its folder",
    )


def _folder(text: str) -> str:
    if text == "-":
        raise argparse.ArgumentTypeError("a dataset is a folder, not a stream: name a folder")
    return arguments.name_of_file(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError("no table is named")
    return names


def run(args: argparse.Namespace) -> int:
    """Add the reports to the dataset."""
    from nsightlens.pipelines import export_reports
    from nsightlens.store import check_dataset_place

    found = find(args)
    check_dataset_place(args.output, force=args.force, inputs=found.paths)
    met: dict[str, NsightLensError] = {}
    if not found.reports:
        raise SeveralErrors([one.error for one in found.entries if isinstance(one, Unread)])
    with Progress(is_wanted=not args.no_progress) as progress:
        summary = export_reports(
            found.reports,
            args.output,
            options=_options(args),
            force=args.force,
            jobs=args.jobs,
            dask=args.dask,
            progress=_told_by(args, progress),
            on_error=met.__setitem__,
            on_wait=lambda: say("waiting", f"another process is writing to {args.output}"),
        )
    for text in summary.warnings:
        say("warning", text)
    if summary.added or summary.present:
        say(*_done(summary))
    return _finish(found, met, args.output)


def _options(args: argparse.Namespace) -> ExportOptions:
    from nsightlens.pipelines.contents import EXPORTED, ExportOptions

    return ExportOptions(
        tables=args.tables or EXPORTED,
        instances=tuple(args.instances or ()),
        kernel=tuple(args.kernel or ()),
        families=tuple(args.family or ()),
        nvtx=tuple(args.nvtx or ()),
        grid=tuple(args.grid or ()),
        device=args.device,
        peaks=args.peaks,
        kernel_rules=args.kernel_rules,
        step_rules=step_rules_of(args),
        on_error="salvage" if args.salvage else "raise",
        reader=args.reader,
    )


def _told_by(args: argparse.Namespace, progress: Progress) -> Callable[[str, int, int], None]:
    def update(name: str, done: int, total: int) -> None:
        if args.verbose:
            say("read", name)
        progress.update(name, done, total)

    return update


def _done(summary: ExportSummary) -> tuple[str, str]:
    """Say what became of the reports, in one line."""
    folder = Path(summary.folder)
    there = f"{len(summary.present)} in it already" if summary.present else ""
    if not summary.added:
        return "unchanged", f"{folder}: nothing to add" + (f", {there}" if there else "")
    count = len(summary.added)
    added = f"added {count} report{'s' if count > 1 else ''}"
    rows = ", ".join(f"{name} {number}" for name, number in summary.row_counts.items())
    return "wrote", f"{folder}: {', '.join(filter(None, (added, there)))}; rows: {rows}"


def _finish(found: Found, met: dict[str, NsightLensError], folder: str) -> int:
    """Name what could not be read or added, in the order of the reports; return the exit code."""
    errors = [
        entry.error if isinstance(entry, Unread) else met[_name_of(entry)]
        for entry in found.entries
        if isinstance(entry, Unread) or _name_of(entry) in met
    ]
    errors += [met[folder]] if folder in met else []
    for error in errors:
        say("error", str(error))
    return code_of(errors[0]) if errors else ExitCode.OK


def _name_of(entry: Path | str) -> str:
    from nsightlens.readers.source import typed

    return typed(entry)
