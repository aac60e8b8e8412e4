"""``nsightlens metrics``: the raw metrics of a report, by name and value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.load import filtered, find, load
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from nsightlens.cli.load import Loaded
    from nsightlens.kernels import UserRules
    from nsightlens.render.grid import GridColumn
    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "list the raw metrics of a report, or show their values"
DESCRIPTION = """\
Without --like, lists the names of all metrics with their unit and the number of
launches that have a value. With --like, shows the values, exactly as the report
stores them."""
EPILOG = """\
examples:
  nsightlens metrics report.ncu-rep
  nsightlens metrics report.ncu-rep --like 'dram__*'
  nsightlens metrics report.ncu-rep --like '*duration*' --wide -o times.csv"""

FORMATS = ("table", "json", "csv", "markdown")
LONG = ("report", "launch_id", "kernel", "metric", "kind", "value", "unit")
"""Columns of the values, one row per launch and metric."""
NAMES = ("metric", "unit", "value_count", "launch_count")
"""Columns of the list of names."""
_KINDS = ("", "null", "integer", "real", "text")
"""Word for each `nsightlens.metric_store.MetricKind`, by its number."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    arguments.add_filters(parser)
    add_kernel_rules(parser)
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--like",
        metavar="GLOB",
        action="append",
        help="show the values of the metrics whose name matches; may be repeated",
    )
    rows.add_argument(
        "--wide", action="store_true", help="one row per launch, one column per metric"
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser)


def run(args: argparse.Namespace) -> int:
    """Write the names or the values of the metrics."""
    form = chosen_format(args)
    if args.wide and not args.like:
        raise FilterError("--wide shows values: say which with --like, as in --like 'dram__*'.")
    if args.wide and form == "json":
        raise FilterError("--wide is for table, csv and markdown: JSON has one row per value.")
    found = find(args)
    check_output(args, found.paths)
    check_kernel_rules(args)
    loaded = load(args, found)
    report = filtered(args, loaded.report)
    if not args.like:
        pieces = _names(args, loaded, report, form)
    elif args.wide:
        pieces = _wide(args, report, form)
    else:
        pieces = _long(args, loaded, report, form)
    write_result(args, pieces)
    return loaded.finish()


def _names(args: argparse.Namespace, loaded: Loaded, report: Report, form: str) -> Iterable[str]:
    rows = _name_rows(report)
    if form == "json":
        return _json(args, loaded, "nsightlens.metric-names", rows)
    if form == "csv":
        return _csv(NAMES, rows)
    from nsightlens.render.metric_table import name_columns

    listed = list(rows)
    return _as_grid(args, form, lambda width: name_columns(listed, width))


def _name_rows(report: Report) -> Iterator[dict[str, Any]]:
    from nsightlens.metric_store import MetricKind
    from nsightlens.units import unit_of

    for name in report.metric_names:
        kinds = report.store.kind(name)
        yield {
            "key": name,
            "metric": name,
            "unit": unit_of(name),
            "value_count": int((kinds > MetricKind.NULL).sum()),
            "launch_count": len(report),
        }


def _long(args: argparse.Namespace, loaded: Loaded, report: Report, form: str) -> Iterable[str]:
    names = _matching(report, args.like)
    # The text table has the full name on a line of its own, once per launch.
    has_full_names = args.full_names and form != "table"
    rows = _value_rows(report, names, _kernels(args, report, full_names=has_full_names))
    if form == "json":
        keys = _launch_keys(loaded.report, rules_of(args))
        return _json(args, loaded, "nsightlens.metrics", _with_keys(rows, keys))
    if form == "csv":
        return _csv(LONG, rows)
    from nsightlens.render.metric_table import value_columns

    listed = list(rows)
    below = _full_names_below(report, listed) if args.full_names else None
    return _as_grid(args, form, lambda width: value_columns(listed, width), below)


def _launch_keys(report: Report, rules: UserRules | None) -> dict[tuple[str, int], str]:
    """Return the key of each launch by its report and number.

    Keys count the launches of the whole report, so that they do not depend on a filter.
    """
    from nsightlens.analysis.identity import identify, numbered_keys

    keys = numbered_keys(report, identify(report, rules)).to_pylist()
    columns = (report.launches[name].to_pylist() for name in LONG[:2])
    return dict(zip(zip(*columns, strict=True), keys, strict=True))


def _with_keys(
    rows: Iterable[dict[str, Any]], keys: Mapping[tuple[str, int], str]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        launch = keys[row["report"], row["launch_id"]]
        yield {"key": f"{launch}|{row['metric']}", **row}


def _full_names_below(report: Report, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the full name of the kernel below the first row of each launch."""
    columns = ("report", "launch_id", "kernel_demangled_name")
    *keys, names = (report.launches[name].to_pylist() for name in columns)
    full = dict(zip(zip(*keys, strict=True), names, strict=True))
    below = {}
    for i, row in enumerate(rows):
        name = full.pop((row["report"], row["launch_id"]), None)
        if name is not None and name != row["kernel"]:
            below[i] = name
    return below


def _matching(report: Report, patterns: Sequence[str]) -> list[str]:
    """Return the names that the patterns match.

    A report without launches has no metric; that it matches nothing is then no error.
    """
    if not len(report):
        return []
    return list(report.metric_columns(patterns).column_names[2:])


def _kernels(args: argparse.Namespace, report: Report, *, full_names: bool) -> list[str | None]:
    """Return the name of each launch's kernel, as `classify` shows it."""
    if full_names:
        return list(report.launches["kernel_demangled_name"].to_pylist())
    from nsightlens.kernels import parse_launch_kernels

    spellings = ("kernel_demangled_name", "kernel_name", "kernel_mangled_name")
    columns = (report.launches[name] for name in spellings)
    parsed = parse_launch_kernels(*columns, rules=rules_of(args))
    return list(parsed["short_name"].to_pylist())


def _value_rows(
    report: Report, names: Sequence[str], kernels: Sequence[str | None]
) -> Iterator[dict[str, Any]]:
    """Yield each stored value, by launch in file order and then by name."""
    import numpy as np

    from nsightlens.arrays import number_array
    from nsightlens.render.envelope import json_number
    from nsightlens.units import unit_of

    if not names:
        return
    found = report.store.long()
    rank_of = np.full(len(report.store.names), -1)
    rank_of[[report.store.index_of[name] for name in names]] = np.arange(len(names))
    entries = np.flatnonzero(rank_of[found.name] >= 0)
    ranks = rank_of[found.name[entries]]
    order = np.lexsort((ranks, found.row[entries]))
    entries, ranks = entries[order], ranks[order]
    units = [unit_of(name) for name in names]
    reports = report.launches["report"].to_pylist()
    launch_ids = report.launches["launch_id"].to_pylist()
    # As Python lists: an element of an array costs ten times as much to take.
    stored = (found.row, found.kind, found.integer, found.value)
    columns = (column[entries].tolist() for column in stored)
    texts = found.text.take(number_array(entries)).to_pylist()
    for rank, row, kind, integer, real, text in zip(ranks.tolist(), *columns, texts, strict=True):
        word = _KINDS[kind]
        value: int | float | str | None = text
        if word == "integer":
            value = integer
        elif word == "real":
            value = json_number(real)
        yield {
            "report": reports[row],
            "launch_id": launch_ids[row],
            "kernel": kernels[row],
            "metric": names[rank],
            "kind": word,
            "value": value,
            "unit": units[rank],
        }


def _wide(args: argparse.Namespace, report: Report, form: str) -> Iterable[str]:
    names = _matching(report, args.like)
    table = report.metric_columns(names) if names else report.launches.select(LONG[:2])
    kernels = _kernels(args, report, full_names=args.full_names and form != "table")
    rows = _wide_rows(table, kernels)
    if form == "csv":
        return _csv([*LONG[:3], *names], rows)
    from nsightlens.render.metric_table import wide_columns

    listed = list(rows)
    below = _full_names_below(report, listed) if args.full_names else None
    return _as_grid(args, form, lambda _: wide_columns(listed, names), below)


def _wide_rows(table: pa.Table, kernels: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    for row, kernel in zip(table.to_pylist(), kernels, strict=True):
        yield {**row, "kernel": kernel}


def _json(
    args: argparse.Namespace, loaded: Loaded, schema: str, rows: Iterable[dict[str, Any]]
) -> Iterable[str]:
    from nsightlens.cli.source import source_of
    from nsightlens.render.envelope import envelope_pieces

    names = ("like", "kernel", "family", "nvtx", "grid")
    options = {name: getattr(args, name) for name in names}
    return envelope_pieces(schema, source_of(loaded, options), rows)


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    from nsightlens.render.delimited import csv_pieces

    return csv_pieces(columns, rows)


def _as_grid(
    args: argparse.Namespace,
    form: str,
    columns: Callable[[int], Sequence[GridColumn]],
    below: Mapping[int, str] | None = None,
) -> Iterable[str]:
    """Return a table for the eye; ``columns`` makes them for a width [character]."""
    from nsightlens.render.markdown import markdown_table
    from nsightlens.render.metric_table import table_lines

    style = chosen_style(args)
    if form == "markdown":
        return [markdown_table(columns(style.width), code_columns=("report", "kernel", "metric"))]
    return (line + "\n" for line in table_lines(columns(style.width), style, below))
