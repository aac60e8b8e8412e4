"""``--batch-from`` and ``--batch-size``: what the user says of the steps of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.cli import arguments

if TYPE_CHECKING:
    import argparse

    from nsightlens.steps import StepRules

__all__ = ["add_step_rules", "check_step_rules", "step_rules_of"]


def add_step_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group(
        "steps", "Where the batch size comes from, where no step label of an engine says it."
    )
    group.add_argument(
        "--batch-from",
        action="append",
        metavar="REGEX",
        help="regular expression with a group named batch_size, to be found in the NVTX path, the "
        "name of the report or the command line of the process; may be repeated",
    )
    group.add_argument(
        "--batch-size",
        metavar="N",
        type=arguments.positive,
        help="batch size of every launch of which nothing else says it",
    )


def check_step_rules(args: argparse.Namespace) -> None:
    """Refuse what cannot be used before any report is read."""
    step_rules_of(args)


def step_rules_of(args: argparse.Namespace) -> StepRules:
    """Return what the options say; nothing where the command has none of them."""
    from nsightlens.steps import StepRules

    return StepRules(
        tuple(getattr(args, "batch_from", None) or ()), getattr(args, "batch_size", None)
    )
