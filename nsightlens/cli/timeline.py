"""``nsightlens timeline``: not there yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "not there yet"
DESCRIPTION = "Not there yet."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""


def run(args: argparse.Namespace) -> int:
    """Run it."""
    raise NotImplementedError(args)
