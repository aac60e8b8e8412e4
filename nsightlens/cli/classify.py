"""``nsightlens classify``: a label for every launch, kernel or family."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules
from nsightlens.cli.load import filtered, find, has_filters, load, passing
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.peaks import add_peaks, check_peaks, classified, named_device
from nsightlens.cli.step_rules import (
    STEP_OPTIONS,
    add_step_rules,
    check_step_rules,
    say_step_notes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from nsightlens.analysis.classification import By, Classification
    from nsightlens.cli.load import Loaded
    from nsightlens.render.facts import ReportFacts
    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "say what bounds every launch, and why"
DESCRIPTION = """\
Says for every kernel launch whether it is memory-bound or compute-bound, what
limits it, and why. A launch whose metrics do not decide it is 'unknown', with
the reason; nothing is guessed."""
EPILOG = """\
examples:
  nsightlens classify report.ncu-rep
  nsightlens classify runs/ --by family
  nsightlens classify report.ncu-rep --kernel 'flash|attn' --reasons
  nsightlens classify report.ncu-rep --peaks measured.toml
  nsightlens classify report.ncu-rep -o labels.json"""

FORMATS = ("table", "json", "csv", "markdown")
_OPTIONS = (
    "by", "kernel", "family", "nvtx", "grid", "device", "peaks", "kernel_rules", *STEP_OPTIONS,
    "sort", "limit",
)  # fmt: skip
"""What the JSON repeats of the command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    arguments.add_filters(parser)
    add_peaks(parser)
    add_kernel_rules(parser)
    add_step_rules(parser)
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--by",
        choices=arguments.BY,
        default="launch",
        help="one row per launch, or per kernel or family at each phase and batch size",
    )
    rows.add_argument(
        "--sort",
        choices=("file", "duration"),
        help="default: file for launches, duration for kernels; families by phase and batch size",
    )
    rows.add_argument(
        "--limit", metavar="N", type=arguments.positive, help="show the first N rows only"
    )
    arguments.add_output(parser, FORMATS)
    text = arguments.add_text(parser)
    text.add_argument(
        "--reasons",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show the reason below each row (default: where there are few rows)",
    )


def run(args: argparse.Namespace) -> int:
    """Classify the reports and write the labels."""
    found = find(args)
    check_output(args, found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    loaded = load(args, found)
    report, result = labels_of(args, loaded.report, args.by)
    if args.by == "family":
        say_step_notes(args, report)
    labels = result.labels
    order = _order(labels, args.by, args.sort)[: args.limit]
    write_result(args, _pieces(args, loaded, report, labels, order))
    return loaded.finish()


def labels_of(args: argparse.Namespace, report: Report, by: By) -> tuple[Report, Classification]:
    """Return the launches that pass the filters, and their labels.

    Launches are labelled before they are filtered: a key counts the launches of one kind in the
    whole report, so that it does not depend on the filter. ``resources`` and ``rooflines`` of the
    result are those of the launches that were labelled.
    """
    from dataclasses import replace

    from nsightlens.analysis.shares import with_shares
    from nsightlens.arrays import number_array

    if by != "launch":
        kept = filtered(args, report)
        return kept, classified(args, kept, by)
    result = classified(args, report, by)
    if not has_filters(args):
        return report, result
    keep = passing(args, report)
    labels = result.labels.filter(number_array(keep))
    return report.filter(keep), replace(result, labels=with_shares(labels))


def _pieces(
    args: argparse.Namespace, loaded: Loaded, report: Report, labels: pa.Table, order: Sequence[int]
) -> Iterable[str]:
    import pyarrow as pa

    form = chosen_format(args)
    if form == "table":
        return [_text(args, report, labels, order)]
    shown = labels.take(pa.array(order, pa.int64()))
    if form == "markdown":
        return [_markdown(args, shown)]
    from nsightlens.render.rows import plain_rows

    rows = plain_rows(shown)
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces

        return csv_pieces(labels.column_names, rows)
    from nsightlens.cli.source import source_of
    from nsightlens.render.envelope import envelope_pieces

    options = {name: getattr(args, name) for name in _OPTIONS}
    return envelope_pieces("nsightlens.classify", source_of(loaded, options), rows)


def _order(labels: pa.Table, by: str, sort: str | None) -> list[int]:
    """Return the positions of the rows in the order in which they are shown."""
    positions = list(range(labels.num_rows))
    if sort == "file" or (sort is None and by == "launch"):
        return positions
    durations = [value or 0.0 for value in labels["duration_ns"].to_pylist()]
    if by != "family" or sort == "duration":
        return sorted(positions, key=lambda i: -durations[i])
    # A family's rows stay together, along the batch size; the family with the most time first.
    families = labels["family"].to_pylist()
    total: dict[str | None, float] = {}
    for family, duration_ns in zip(families, durations, strict=True):
        total[family] = total.get(family, 0.0) + duration_ns
    names = ("family", "subtype", "phase")
    texts = list(zip(*(labels[name].to_pylist() for name in names), strict=True))
    batches = labels["batch_size"].to_pylist()
    return sorted(
        positions,
        key=lambda i: (
            -total[families[i]],
            [text or "" for text in texts[i]],
            -1 if batches[i] is None else batches[i],
        ),
    )


def _text(args: argparse.Namespace, report: Report, labels: pa.Table, order: Sequence[int]) -> str:
    from nsightlens.render.classification import ClassificationView, classification_text

    view = ClassificationView(
        labels=labels,
        by=args.by,
        reports=_shown_facts(args, report),
        shown=None if list(order) == list(range(labels.num_rows)) else order,
        full_names=args.full_names,
        reasons=args.reasons,
        warnings=report.warnings,
        remedy=_remedy(labels, args.reports),
        named_device=named_device(args),
        next_commands=_next_commands(args, labels),
    )
    return classification_text(view, chosen_style(args))


def _shown_facts(args: argparse.Namespace, report: Report) -> list[ReportFacts]:
    """Return the facts of the reports that have rows, or were asked for without a filter."""
    from nsightlens.cli.source import facts_of

    with_rows = set(report.launches["report"].to_pylist())
    is_filtered = has_filters(args)
    return [fact for fact in facts_of(report) if fact.report in with_rows or not is_filtered]


def _markdown(args: argparse.Namespace, labels: pa.Table) -> str:
    from nsightlens.render.columns import label_columns
    from nsightlens.render.grid import GridColumn
    from nsightlens.render.markdown import markdown_table

    rows = labels.to_pydict()
    shown = label_columns(rows, args.by, full_names=args.full_names)
    if len(set(rows["report"])) > 1:
        shown.insert(0, GridColumn("report", [path or "" for path in rows["report"]]))
    if args.reasons:
        shown.append(GridColumn("reason", [reason or "" for reason in rows["reason"]]))
    return markdown_table(shown, code_columns=("report", "kernel"))


def _remedy(labels: pa.Table, reports: Sequence[str]) -> str:
    """Say where to read what would turn unknown labels into known ones, if collecting would."""
    undecided = [
        bound == "unknown" and failed < count
        for bound, failed, count in zip(
            *(labels[n].to_pylist() for n in ("bound", "failed_launch_count", "launch_count")),
            strict=True,
        )
    ]
    if not any(undecided):
        return ""
    return f"All that could be added: {_command('info', reports)}"


def _next_commands(args: argparse.Namespace, labels: pa.Table) -> list[tuple[str, str]]:
    found = []
    groups = set(zip(labels["family"].to_pylist(), labels["batch_size"].to_pylist(), strict=True))
    if args.by == "launch" and len(groups) > 1:
        command = _command("classify --by family", args.reports)
        found.append((command, "sums per family, phase and batch size"))
    if (
        args.by == "launch"
        and len(args.reports) == 1
        and len(set(labels["report"].to_pylist())) == 1
    ):
        command = f"{_command('explain', args.reports)} {_longest(labels)}"
        found.append((command, "the longest launch, and why it has its label"))
    evidence = set(labels["evidence"].to_pylist())
    if evidence - {"counters"}:
        command = _command("info", args.reports)
        found.append((command, "what the report lacks, and how to collect it"))
    if labels.num_rows and len(found) < 2:
        found.append((f"{_command('export', args.reports)} -o FOLDER", "its tables as Parquet"))
    return found


def _longest(labels: pa.Table) -> int:
    """Return the id of the launch that took longest; of the first where no duration is known."""
    durations = [value or 0.0 for value in labels["duration_ns"].to_pylist()]
    return int(labels["launch_id"][durations.index(max(durations))].as_py())


def _command(command: str, reports: Sequence[str]) -> str:
    named = " ".join(map(shlex.quote, reports)) if len(reports) <= 2 else "REPORT..."
    return f"nsightlens {command} {named}"
