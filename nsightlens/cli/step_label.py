"""``nsightlens step-label``: what a step label says, and how far expectations agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.exit_codes import ExitCode
from nsightlens.cli.lines import lines_of, typed
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "say what the step labels of serving engines tell"
DESCRIPTION = """\
Says of the text of each NVTX range whether it is a step of an engine, which
phase it is, how many requests and tokens it has and whose words it is in. What
the text does not say is left empty: no number is guessed."""
EPILOG = """\
examples:
  nsightlens step-label 'execute_context_1(512)_generation_31(31)'
  nsightlens step-label --file labels.txt --format json
  nsightlens step-label --check expected.tsv
A label that begins with - comes after --."""

FORMATS = ("table", "json", "csv")
FIELDS = (
    "is_step", "phase", "batch_size", "query_tokens", "kv_tokens", "step_index", "engine", "label",
)  # fmt: skip
"""Keys of a row, in order; what a label does not say is null."""
MEASURES = (
    "measure", "field", "right_pct", "right_count", "total_count", "label", "expected", "read",
)  # fmt: skip
"""Keys of a row of ``--check``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "labels",
        metavar="LABEL",
        nargs="*",
        help="text of an NVTX range, quoted; domain@text where its domain is not the default one",
    )
    labels = parser.add_argument_group("labels")
    labels.add_argument(
        "--file",
        metavar="FILE",
        type=arguments.name_of_file,
        help="file with one label a line, - for standard input; one row per line, in order, also "
        "for an empty one",
    )
    labels.add_argument(
        "--check",
        metavar="EXPECTED.TSV",
        type=arguments.name_of_file,
        help="compare with what is expected: tab-separated columns label, is_step and any further "
        "field; a wrong number ends with exit code 1; --verbose lists every difference",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Write what the labels say, or how far they agree with what is expected."""
    asked = [args.labels or None, args.file, args.check]
    if sum(source is not None for source in asked) != 1:
        raise FilterError(
            "say which labels: LABEL ..., or --file FILE, or --check EXPECTED.TSV, one of them. "
            "A label with spaces or brackets must be quoted; one that begins with - comes after --."
        )
    named = args.file or args.check
    check_output(args, [] if named in (None, "-") else [Path(named)])
    if not args.check:
        write_result(args, _readings(args))
        return ExitCode.OK
    rows = _measures(args.check)
    write_result(args, _agreement(args, rows))
    is_wrong = any(row["measure"] == "wrong_number" for row in rows)
    return ExitCode.CHECK_FAILED if is_wrong else ExitCode.OK


def _readings(args: argparse.Namespace) -> Iterable[str]:
    labels: Iterable[str] = map(typed, args.labels) if args.labels else lines_of(args.file)
    rows = map(_row, labels)
    form = chosen_format(args)
    if form == "csv":
        return _csv(FIELDS, rows)
    if form == "json":
        return _json("step-label", args.file, ({"key": row["label"], **row} for row in rows))
    from nsightlens.render.step_labels import label_columns, label_lines

    listed = list(rows)
    if len(args.labels) == 1:
        return (line + "\n" for line in label_lines(listed[0], chosen_style(args)))
    from nsightlens.render.metric_table import table_lines

    return (line + "\n" for line in table_lines(label_columns(listed), chosen_style(args)))


def _row(label: str) -> dict[str, Any]:
    from nsightlens.steps.label import read_spelled_label

    found = {**read_spelled_label(label)._asdict(), "label": label}
    return {name: found[name] for name in FIELDS}


def _measures(path: str) -> list[dict[str, Any]]:
    from nsightlens.steps.agreement import read_expectations, step_measures

    expected = list(read_expectations(path, lines_of(path), lambda text: say("warning", text)))
    return [{name: getattr(one, name) for name in MEASURES} for one in step_measures(expected)]


def _agreement(args: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    form = chosen_format(args)
    if form == "csv":
        return _csv(MEASURES, rows)
    if form == "json":
        return _json("step-label-check", args.check, map(_with_key, rows))
    from nsightlens.render.step_labels import agreement_lines

    lines = agreement_lines(rows, chosen_style(args), differences=args.verbose)
    return (line + "\n" for line in lines)


def _with_key(row: dict[str, Any]) -> dict[str, Any]:
    parts = (row[name] for name in ("measure", "field", "label"))
    return {"key": "|".join(part for part in parts if part is not None), **row}


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    from nsightlens.render.delimited import csv_pieces

    return csv_pieces(columns, rows)


def _json(schema: str, path: str | None, rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    from nsightlens.render.envelope import envelope_pieces

    source = {"tool": "nsightlens", "tool_version": __version__, "path": path}
    return envelope_pieces(f"nsightlens.{schema}", source, rows)
