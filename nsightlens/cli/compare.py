"""``nsightlens compare``: two sets of launches side by side."""

from __future__ import annotations

import argparse
import math
import shlex
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.peaks import add_peaks, check_peaks
from nsightlens.cli.step_rules import add_step_rules, check_step_rules, step_rules_of
from nsightlens.cli.two_sides import add_base, find_sides, load_sides

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from nsightlens.cli.two_sides import Sides
    from nsightlens.comparison import Comparison
    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "compared", "run"]

HELP = "compare two sets of launches, with a verdict for each"
DESCRIPTION = """\
Compares BASE with NEW, or the reports of --base with the others. Launches are
matched by kernel, grid, annotation, work, step and neighbours; what has no
counterpart is listed as added or removed. Several reports of one side are
repeats, which say what is noise. A change within the noise is
'indistinguishable'; what was measured on another GPU, or with other clocks, is
'not_comparable'. Regressions do not change the exit code: see nsightlens gate."""
EPILOG = """\
examples:
  nsightlens compare before.ncu-rep after.ncu-rep
  nsightlens compare before.ncu-rep after.ncu-rep --by family
  nsightlens compare after1.ncu-rep after2.ncu-rep --base before/
  nsightlens compare before/ after/ --only regressed -o regressions.md"""

FORMATS = ("table", "json", "csv", "markdown")
VERDICTS = ("improved", "regressed", "indistinguishable", "not_comparable", "added", "removed")
"""Those of `nsightlens.comparison.verdict`, here without loading it."""
_QUIET = ("indistinguishable", "not_comparable")
_SCREEN = 20
"""Rows of a text table up to which those without a finding are shown without being asked for."""
_OPTIONS = (
    "by", "kernel", "family", "nvtx", "grid", "device", "peaks", "kernel_rules", "batch_from",
    "batch_size", "only", "sort", "limit", "noise",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    add_base(parser, "reports of the base; those that stand alone are then all of the new side")
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
        "--only",
        metavar="VERDICT",
        choices=VERDICTS,
        action="append",
        help=f"show rows of this verdict only: {', '.join(VERDICTS)}; may be repeated",
    )
    rows.add_argument(
        "--sort",
        choices=("difference", "change", "file"),
        default="difference",
        help="largest difference of time first (default), largest change in percent, or file order",
    )
    rows.add_argument(
        "--limit", metavar="N", type=arguments.positive, help="show the first N rows only"
    )
    add_noise(parser)
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser)


def add_noise(parser: argparse.ArgumentParser) -> None:
    """Add the option that says what is noise where there are no repeats."""
    group = parser.add_argument_group("noise")
    group.add_argument(
        "--noise",
        metavar="PCT",
        type=_percentage,
        help="change of a duration, in percent, that counts as noise where neither side has "
        "repeats (default: 3)",
    )


def _percentage(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage, such as 3 or 0.5")
    return value


def run(args: argparse.Namespace) -> int:
    """Compare the reports and write the rows."""
    found = find_sides(args, splits_two=True)
    check_output(args, found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    sides = load_sides(args, found)
    base, new = sides.filtered(args)
    comparison = compared(args, base, new, args.by)
    write_result(args, _pieces(args, sides, comparison, _order(comparison.rows, args)))
    return sides.finish()


def compared(
    args: argparse.Namespace, base: Sequence[Report], new: Sequence[Report], by: Any
) -> Comparison:
    """Compare with the options that were given."""
    import warnings

    from nsightlens.comparison import NoiseRules, compare
    from nsightlens.errors import PeaksWarning

    noise = NoiseRules() if args.noise is None else NoiseRules(unrepeated_pct=args.noise)
    with warnings.catch_warnings():
        # Of peaks that fit no launch, classify tells; a comparison of durations does without.
        warnings.simplefilter("ignore", PeaksWarning)
        return compare(
            base,
            new,
            by=by,
            device=args.device,
            peaks=args.peaks,
            kernel_rules=rules_of(args),
            step_rules=step_rules_of(args),
            noise=noise,
        )


def _shown(args: argparse.Namespace, rows: pa.Table, order: Sequence[int]) -> Sequence[int]:
    """Return the rows that are shown: on a screen, of those without a finding a few at most."""
    if args.limit is not None or args.only is not None or chosen_format(args) != "table":
        return order[: args.limit]
    verdicts = rows["verdict"].to_pylist()
    findings = sum(1 for verdict in verdicts if verdict not in _QUIET)
    return order[: max(findings, _SCREEN)]


def _order(rows: pa.Table, args: argparse.Namespace) -> list[int]:
    """Return the positions of the rows in the order in which they are shown."""
    verdicts = rows["verdict"].to_pylist()
    shown = [i for i, one in enumerate(verdicts) if args.only is None or one in args.only]
    if args.sort == "file":
        return shown
    name = "duration_change_pct" if args.sort == "change" else "duration_difference_ns"
    size = [abs(value or 0.0) for value in rows[name].to_pylist()]
    if args.sort == "difference":
        # A launch without counterpart makes a difference of all of its time.
        alone = [rows[f"{side}_duration_ns"].to_pylist() for side in ("base", "new")]
        size = [
            (new or base or 0.0) if verdict in ("added", "removed") else one
            for one, base, new, verdict in zip(size, *alone, verdicts, strict=True)
        ]
    # First what is a finding, then what is noise.
    return sorted(shown, key=lambda i: (verdicts[i] in _QUIET, -size[i]))


def _pieces(
    args: argparse.Namespace, sides: Sides, comparison: Comparison, order: Sequence[int]
) -> Iterable[str]:
    import pyarrow as pa

    from nsightlens.render.comparison import ComparisonView, comparison_markdown, comparison_text
    from nsightlens.render.rows import plain_rows

    form = chosen_format(args)
    shown = comparison.rows.take(pa.array(_shown(args, comparison.rows, order), pa.int64()))
    if form in ("table", "markdown"):
        view = ComparisonView(
            rows=shown,
            every=comparison.rows,
            matching_count=len(order),
            families=comparison.families,
            headline=comparison.total.headline,
            by=comparison.by,
            sides=sides.facts(),
            full_names=args.full_names,
            warnings=[*sides.warnings(), *comparison.notes],
            next_commands=_next_commands(args),
        )
        if form == "markdown":
            return [comparison_markdown(view)]
        return [comparison_text(view, chosen_style(args))]
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces

        return csv_pieces(shown.column_names, plain_rows(shown))
    from nsightlens.render.envelope import envelope_pieces

    options = {name: getattr(args, name) for name in _OPTIONS}
    paths = [[fact.report for fact in facts] for facts in sides.facts()]
    parts = {
        "base": paths[0],
        "new": paths[1],
        "total": comparison.total._asdict(),
        "families": list(plain_rows(comparison.families)),
        "noise": comparison.noise._asdict(),
    }
    source = sides.source(options)
    source["warnings"] = [*source["warnings"], *comparison.notes]
    return envelope_pieces("nsightlens.compare", source, plain_rows(shown), parts)


def _next_commands(args: argparse.Namespace) -> list[tuple[str, str]]:
    named = [*args.reports, *(["--base", *args.base] if args.base else [])]
    words = " ".join(map(shlex.quote, named))
    if args.by == "launch":
        return [(f"nsightlens compare {words} --by family", "sums per family and batch size")]
    return [(f"nsightlens compare {words}", "launch by launch")]
