"""``nsightlens schema``: the JSON Schemas of what the other commands write as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "print the JSON Schema of a JSON result"
DESCRIPTION = """\
Prints the JSON Schema (draft 2020-12) of the results that --format json writes.
Without a name, lists the schemas."""

NAMES = (
    "classify", "explain", "info", "metrics", "metric-names", "redact", "kernel-name",
    "kernel-name-check", "step-label", "step-label-check", "devices", "compare", "gate", "sweep",
    "timeline",
    "doctor", "advice",
)  # fmt: skip
"""The schemas: those of `nsightlens.render.json_schema.SCHEMAS`, here without loading it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "name", metavar="NAME", nargs="?", choices=NAMES, help=f"one of {', '.join(NAMES)}"
    )


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the list of all."""
    from nsightlens.cli.output import write_to_stdout
    from nsightlens.render.json_schema import SCHEMAS, published

    if args.name is not None:
        write_to_stdout([published(args.name)])
        return 0
    width = max(map(len, SCHEMAS))
    write_to_stdout(f"{name:<{width}}  {about}\n" for name, about in SCHEMAS.items())
    return 0
