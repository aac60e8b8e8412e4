"""``nsightlens explain``: one launch on one screen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules
from nsightlens.cli.load import find, load
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.peaks import add_peaks, check_peaks, classified, named_device
from nsightlens.cli.step_rules import STEP_OPTIONS, add_step_rules, check_step_rules
from nsightlens.cli.talk import tell
from nsightlens.errors import AmbiguousLaunchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.analysis.explanation import Explanation
    from nsightlens.cli.load import Loaded
    from nsightlens.errors import LaunchMatch

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "explain one launch: its label, the arithmetic behind it, and what to try"
DESCRIPTION = """\
Shows one launch on one screen: what it is, what was measured, how far it is
from every roof, the label with the arithmetic behind it step by step, NVIDIA's
verdict beside it, what the warps wait for, what to collect to be surer, and
what is worth trying, each with the measured number that speaks for it."""
EPILOG = """\
examples:
  nsightlens explain report.ncu-rep 3
  nsightlens explain report.ncu-rep flash_fwd
  nsightlens explain report.ncu-rep 'gemm|gemv' --nth 2
  nsightlens explain report.ncu-rep 3 -o launch3.md"""

FORMATS = ("table", "json", "markdown")
_MATCHES_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser, several=False)
    parser.add_argument(
        "launch",
        metavar="LAUNCH",
        nargs="?",
        help="launch id as the tables count them, from 0; a key of the labels; or a text or "
        "regular expression found in the kernel's short, full or mangled name. May be left out "
        "where there is only one launch",
    )
    # Whoever names several reports learns what is taken, not only what is left over.
    parser.add_argument("others", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument(
        "--nth",
        metavar="N",
        type=arguments.positive,
        help="of several launches that match, explain the Nth, from 1 in the order of the report",
    )
    add_peaks(parser)
    add_kernel_rules(parser)
    add_step_rules(parser)
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser)


def run(args: argparse.Namespace) -> int:
    """Explain the launch."""
    if args.others:
        given = [*args.reports, args.launch, *args.others]
        args.parser.error(
            f"explain takes one REPORT, or a folder, and one LAUNCH, not {len(given)} arguments"
        )
    from nsightlens.analysis.explanation import explain

    found = find(args)
    check_output(args, found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    loaded = load(args, found)
    labels = classified(args, loaded.report, "launch")
    try:
        explanation = explain(loaded.report, args.launch, nth=args.nth, classification=labels)
    except AmbiguousLaunchError as error:
        tell("\n".join(_match_lines(error.matches)) + "\n")
        raise
    write_result(args, _pieces(args, loaded, explanation))
    return loaded.finish()


def _match_lines(matches: Sequence[LaunchMatch]) -> list[str]:
    """Return a line for each launch that matches, as far as they fill no more than a screen."""
    from nsightlens.render import numbers

    shown = matches[:_MATCHES_SHOWN]
    several = len({match.report for match in matches}) > 1
    names = [match.kernel or "(no name)" for match in shown]
    width = max(map(len, names))
    lines = [
        f"{match.launch_id:>6}  {name:<{width}}  {numbers.duration(match.duration_ns):>9}"
        + (f"  {match.report}" if several else "")
        for match, name in zip(shown, names, strict=True)
    ]
    hidden = len(matches) - len(shown)
    return [*lines, f"        and {hidden} more"] if hidden else lines


def _pieces(args: argparse.Namespace, loaded: Loaded, explanation: Explanation) -> Iterable[str]:
    from nsightlens.render.explanation import (
        ExplanationView,
        explanation_markdown,
        explanation_text,
    )

    form = chosen_format(args)
    view = ExplanationView(explanation, args.full_names, named_device(args))
    if form == "table":
        return [explanation_text(view, chosen_style(args))]
    if form == "markdown":
        return [explanation_markdown(view)]
    from nsightlens.cli.source import source_of
    from nsightlens.render.envelope import envelope_pieces
    from nsightlens.render.explanation_row import explanation_row

    options: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("launch", "nth", "device", "peaks", "kernel_rules", *STEP_OPTIONS)
    }
    row = explanation_row(explanation)
    return envelope_pieces("nsightlens.explain", source_of(loaded, options), [row])
