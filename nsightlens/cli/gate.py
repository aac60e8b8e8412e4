"""``nsightlens gate``: rules that a report has to keep, for CI."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.exit_codes import ExitCode, SeveralErrors
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.output import (
    check_output,
    chosen_format,
    chosen_style,
    files_read,
    write_result,
)
from nsightlens.cli.peaks import add_peaks, check_peaks
from nsightlens.cli.step_rules import add_step_rules, check_step_rules, step_rules_of
from nsightlens.cli.two_sides import add_base, find_sides, load_sides
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from nsightlens.cli.two_sides import FoundSides, Sides
    from nsightlens.comparison import GateResult, GateRules

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "check reports against rules, for CI: exit code 1 where one does not hold"
DESCRIPTION = """\
Checks the launches of REPORT against the rules of a TOML file: a limit, an
expected label, or a change against the reports of --base. Several reports of
one side are repeats. A change within the noise is no failure. A rule whose
scope holds no launch fails, and so does one whose values are not known."""
EPILOG = """\
examples:
  nsightlens gate --rules gate.toml report.ncu-rep
  nsightlens gate --rules gate.toml new.ncu-rep --base main.ncu-rep
  nsightlens gate --rules gate.toml new/ --base main/ --junit gate.xml"""

FORMATS = ("table", "json", "csv", "markdown")
_OPTIONS = ("rules", "device", "peaks", "kernel_rules", "batch_from", "batch_size")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    parser.add_argument(
        "--rules",
        metavar="FILE",
        action=arguments.Once,
        required=True,
        type=arguments.name_of_file,
        help="TOML file of rules",
    )
    add_base(parser, "reports that changes are measured against")
    add_peaks(parser)
    add_kernel_rules(parser)
    add_step_rules(parser)
    arguments.add_output(parser, FORMATS)
    parser.add_argument(
        "--junit",
        metavar="FILE",
        action=arguments.Once,
        type=arguments.name_of_file,
        help="write JUnit XML too, one test case per rule and per report that cannot be read; "
        "--force replaces it",
    )
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Check the reports; return 1 where a rule does not hold."""
    from nsightlens.comparison import read_gate_rules

    found = find_sides(args, splits_two=False)
    check_output(args, found.paths)
    _check_junit(args, found)
    rules = read_gate_rules(args.rules)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    try:
        sides = load_sides(args, found)
    except SeveralErrors as failure:
        # Of a file from an earlier run CI would read that everything is well.
        _write_junit(
            args, None, [(f"report {i}", str(one)) for i, one in enumerate(failure.errors, 1)]
        )
        raise
    result = _result(args, rules, sides)
    write_result(args, _pieces(args, sides, result))
    _write_junit(args, result, [(path, str(error)) for path, error in sides.unread])
    code = sides.finish()
    return code or (ExitCode.OK if result.passed else ExitCode.CHECK_FAILED)


def _check_junit(args: argparse.Namespace, found: FoundSides) -> None:
    if args.junit is None:
        return
    from nsightlens.files import check_place

    if args.junit == "-":
        raise FilterError("--junit writes to a file: name one. Stdout holds the answer.")
    if args.output is not None and Path(args.junit).absolute() == Path(args.output).absolute():
        raise FilterError(f"--junit and -o both name {args.junit}: choose another name for one.")
    check_place(Path(args.junit), force=args.force, inputs=files_read(args, found.paths))


def _write_junit(
    args: argparse.Namespace, result: GateResult | None, unread: Sequence[tuple[str, str]]
) -> None:
    """Write the rules, none of which was checked where there is no result."""
    if args.junit is None:
        return
    from nsightlens import tables
    from nsightlens.files import write_text
    from nsightlens.render.junit import junit_xml

    rows = tables.schema_of(tables.GATE).empty_table() if result is None else result.rows
    write_text(Path(args.junit), [junit_xml(rows, unread=unread)], force=args.force)


def _result(args: argparse.Namespace, rules: GateRules, sides: Sides) -> GateResult:
    from nsightlens.comparison import gate
    from nsightlens.errors import PeaksWarning

    with warnings.catch_warnings():
        # Of peaks that fit no launch, classify tells.
        warnings.simplefilter("ignore", PeaksWarning)
        return gate(
            rules,
            sides.new.parts,
            None if sides.base is None else sides.base.parts,
            device=args.device,
            peaks=args.peaks,
            kernel_rules=rules_of(args),
            step_rules=step_rules_of(args),
        )


def _pieces(args: argparse.Namespace, sides: Sides, result: GateResult) -> Iterable[str]:
    from nsightlens.render.gate import gate_markdown, gate_text
    from nsightlens.render.rows import plain_rows

    form = chosen_format(args)
    if form == "table":
        return [gate_text(result.rows, chosen_style(args), len(sides.unread))]
    if form == "markdown":
        return [gate_markdown(result.rows, len(sides.unread))]
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces

        return csv_pieces(result.rows.column_names, plain_rows(result.rows))
    from nsightlens.render.envelope import envelope_pieces

    options = {name: getattr(args, name) for name in _OPTIONS}
    paths = [[fact.report for fact in facts] for facts in sides.facts()]
    parts = {
        "base": paths[0] if sides.base is not None else [],
        "new": paths[-1],
        "passed": result.passed and not sides.unread,
    }
    return envelope_pieces("nsightlens.gate", sides.source(options), plain_rows(result.rows), parts)
