"""``--batch-from`` and ``--batch-size``: what the user says of the steps of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.talk import say

if TYPE_CHECKING:
    import argparse

    from nsightlens.report import Report
    from nsightlens.steps import StepRules

__all__ = ["STEP_OPTIONS", "add_step_rules", "check_step_rules", "say_step_notes", "step_rules_of"]

STEP_OPTIONS = ("batch_from", "batch_size")
"""What a JSON result repeats of these options."""


def add_step_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group(
        "steps", "Where the batch size comes from, where no step label of an engine says it."
    )
    group.add_argument(
        "--batch-from",
        action="append",
        metavar="REGEX",
        help="regular expression with groups such as (?P<batch_size>[0-9]+), to be found in the "
        "NVTX path, the path of the report or the command line of the process; may be repeated",
    )
    group.add_argument(
        "--batch-size",
        metavar="N",
        type=arguments.positive,
        help="batch size of every launch of which nothing else says it",
    )


def check_step_rules(args: argparse.Namespace) -> None:
    """Refuse what cannot be used before any report is read.

    Raises
    ------
    FilterError
        An expression is none, or has no named group that is known.
    """
    if getattr(args, "batch_from", None) or getattr(args, "batch_size", None) is not None:
        from nsightlens.steps.rules import compiled

        compiled(step_rules_of(args))


def step_rules_of(args: argparse.Namespace) -> StepRules:
    """Return what the options say; nothing where the command has none of them."""
    from nsightlens.steps import StepRules

    return StepRules(
        tuple(getattr(args, "batch_from", None) or ()), getattr(args, "batch_size", None)
    )


def say_step_notes(args: argparse.Namespace, report: Report) -> None:
    """Tell on stderr what a person must know of the steps of a report."""
    from nsightlens.steps import step_notes

    for note in step_notes(report, step_rules_of(args)):
        say("note", note)
