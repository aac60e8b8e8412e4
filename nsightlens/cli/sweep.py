"""``nsightlens sweep``: families along the batch size, and what limits decode."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file
from nsightlens.cli.exit_codes import SeveralErrors
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.load import FILTERS, Unread, find, finish
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.peaks import add_peaks, check_peaks, named_device
from nsightlens.cli.step_rules import add_step_rules, check_step_rules, step_rules_of
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from nsightlens.cli.load import Found
    from nsightlens.models import ModelConfig
    from nsightlens.pipelines.sweep import SweptReports
    from nsightlens.render.facts import ReportFacts
    from nsightlens.sweeps import Sweep

__all__ = ["DESCRIPTION", "EPILOG", "FORMATS", "HELP", "add_arguments", "run", "sweep_pieces"]

HELP = "say how kernels change with the batch size, and what limits decode"
DESCRIPTION = """\
Says for attention, the GEMMs and every other family of kernels how they change
with the batch size: arithmetic intensity, bound, DRAM throughput, share of
time; and what limits decode at small and at large batch. The batch size comes
from the labels that serving engines give their steps, or from the options."""
EPILOG = """\
examples:
  nsightlens sweep decode.ncu-rep
  nsightlens sweep runs/ --batch-from 'bs(?P<batch_size>[0-9]+)'
  nsightlens sweep decode.ncu-rep --model llama-3-8b
  nsightlens sweep runs/ -o sweep.csv"""

FORMATS = ("table", "json", "csv", "markdown")
_OPTIONS = (
    "by", *FILTERS, "device", "peaks", "kernel_rules", "batch_from", "batch_size", "model",
)  # fmt: skip
"""What the JSON repeats of the command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    parser.add_argument(
        "--dask",
        action=Once,
        metavar="ADDRESS",
        help="read the reports on the workers of this Dask scheduler",
    )
    arguments.add_filters(parser)
    add_step_rules(parser)
    add_peaks(parser)
    add_kernel_rules(parser)
    rows = parser.add_argument_group("rows")
    rows.add_argument(
        "--by",
        choices=("family", "kernel"),
        default="family",
        help="what a row is, at each phase and batch size (default: family)",
    )
    rows.add_argument(
        "--model",
        action=Once,
        metavar="NAME",
        type=name_of_file,
        help="set what was done beside what this model needs: a built-in name such as llama-3-8b, "
        "or a config.json of Hugging Face",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Sweep over the reports and write the answer."""
    found = find(args)
    check_output(args, found.paths)
    check_peaks(args)
    check_kernel_rules(args)
    check_step_rules(args)
    model = _model(args)
    swept = _swept(args, found, model)
    unread = _unread(found, swept)
    if not swept.sources:
        raise SeveralErrors([one.error for one in unread])
    for text in (*_noticed(swept), *swept.sweep.warnings):
        say("warning", text)
    write_result(args, _pieces(args, swept, unread))
    return finish(unread)


def _model(args: argparse.Namespace) -> ModelConfig | None:
    """Read the model before any report is read: a slip in its name shall cost nothing."""
    if args.model is None:
        return None
    from nsightlens.models import read_model
    from nsightlens.models.read import namesake

    model = read_model(args.model)
    hidden = namesake(args.model)
    if hidden is not None:
        say("note", f"the model was read from {model.source}, it is not the built-in {hidden}")
    return model


def _swept(args: argparse.Namespace, found: Found, model: ModelConfig | None) -> SweptReports:
    from nsightlens.pipelines.sweep import Filters, sweep_reports
    from nsightlens.sweeps import SweepOptions

    filters = (getattr(args, name) for name in FILTERS)
    options = SweepOptions(
        by=args.by,
        device=args.device,
        peaks=args.peaks,
        kernel_rules=rules_of(args),
        step_rules=step_rules_of(args),
        model=model,
    )
    with Progress(is_wanted=not args.no_progress) as progress:
        return sweep_reports(
            found.reports,
            options,
            filters=Filters(*(None if values is None else tuple(values) for values in filters)),
            on_error="salvage" if args.salvage else "raise",
            reader=args.reader,
            jobs=args.jobs,
            dask=args.dask,
            progress=progress.update,
        )


def _unread(found: Found, swept: SweptReports) -> list[Unread]:
    """Return what could not be found or read, in the order of the arguments."""
    from nsightlens.readers.source import typed

    errors = dict(swept.unread)
    unread = []
    for entry in found.entries:
        if isinstance(entry, Unread):
            unread.append(entry)
        elif (name := typed(entry)) in errors:
            unread.append(Unread(name, errors[name]))
    return unread


def _noticed(swept: SweptReports) -> list[str]:
    from nsightlens.cli.load import empty_note

    return [*swept.warnings, *map(empty_note, swept.empty)]


def _facts(swept: SweptReports) -> list[ReportFacts]:
    from nsightlens.render.facts import report_facts

    return list(report_facts(swept.sources, swept.sessions, swept.devices).values())


def _pieces(
    args: argparse.Namespace, swept: SweptReports, unread: Sequence[Unread]
) -> Iterable[str]:
    form = chosen_format(args)
    if form == "table":
        return [_text(args, swept)]
    if form == "json":
        from nsightlens.cli.source import source_from

        options = {name: getattr(args, name) for name in _OPTIONS}
        source = source_from(_facts(swept), unread, _noticed(swept), options)
        return sweep_pieces(swept.sweep, form, source)
    return sweep_pieces(swept.sweep, form)


def sweep_pieces(sweep: Sweep, form: str, source: dict[str, Any] | None = None) -> Iterable[str]:
    """Return a sweep, measured or analytic, as one of the formats for machines.

    Parameters
    ----------
    sweep
        The sweep.
    form
        ``json``, ``csv`` or ``markdown``.
    source
        What the rows were made from, and by what, for JSON.
    """
    from nsightlens.render.rows import plain_rows

    if form == "markdown":
        from nsightlens.render.sweep_markdown import sweep_markdown

        return [sweep_markdown(sweep)]
    if form == "csv":
        from nsightlens.render.delimited import csv_pieces

        return csv_pieces(sweep.rows.column_names, plain_rows(sweep.rows))
    from nsightlens.render.envelope import envelope_pieces
    from nsightlens.render.sweep_data import sweep_parts

    rows = plain_rows(sweep.rows)
    return envelope_pieces("nsightlens.sweep", source or {}, rows, sweep_parts(sweep))


def _text(args: argparse.Namespace, swept: SweptReports) -> str:
    from nsightlens.render.sweep_text import SweepView, sweep_text

    device = named_device(args)
    view = SweepView(
        sweep=swept.sweep,
        facts=_facts(swept),
        heading=[f"peaks of {device}"] if device else [],
        next_commands=_next_commands(args, swept.sweep),
    )
    return sweep_text(view, chosen_style(args))


def _next_commands(args: argparse.Namespace, sweep: Sweep) -> list[tuple[str, str]]:
    named = " ".join(map(shlex.quote, args.reports)) if len(args.reports) <= 2 else "REPORT..."
    found = []
    if not sweep.rows.num_rows:
        return [(f"nsightlens info {named}", "what the report holds and what it lacks")]
    if "unknown" in sweep.rows["bound"].to_pylist():
        found.append((f"nsightlens info {named}", "what the report lacks, and how to collect it"))
    if args.model is None and _lacks_model(sweep):
        command = f"nsightlens sweep {named} --model NAME"
        found.append((command, "beside what the shapes of a model need"))
    found.append((f"nsightlens sweep {named} -o sweep.csv", "every number of every row"))
    return found[:2]


def _lacks_model(sweep: Sweep) -> bool:
    """Say whether a model could say of attention or GEMMs at a batch size what they need."""
    names = ("component", "batch_size", "useful_source")
    rows = zip(*(sweep.rows[name].to_pylist() for name in names), strict=True)
    return any(
        component != "other" and batch is not None and source is None
        for component, batch, source in rows
    )
