"""``nsightlens demo``: the bundled example, classified and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.output import write_to_stdout
from nsightlens.cli.terminal import style_for

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from nsightlens.render.style import Style

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "classify the bundled example and explain the answer"
DESCRIPTION = """\
Classifies the report that comes with nsightlens, a synthetic decode sweep of a
language model, and says what to read from the answer. Needs no file and no GPU."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Show the example."""
    import sys

    from nsightlens.analysis import classify
    from nsightlens.example import path
    from nsightlens.readers import open_report

    report = open_report(path())
    rows = classify(report, by="family").labels.to_pydict()
    devices = list(dict.fromkeys(report.launches["device_name"].to_pylist()))
    style = style_for(sys.stdout, args.width)
    lines = _lines(rows, str(path()), len(report), ", ".join(filter(None, devices)), style)
    write_to_stdout(line + "\n" for line in lines)
    return 0


_MAIN = ("attention", "gemm")


def _lines(
    rows: Mapping[str, Sequence[Any]], path: str, launch_count: int, device: str, style: Style
) -> Iterator[str]:
    from nsightlens.render.grid import indented
    from nsightlens.render.sweep import sweep_findings, sweep_lines

    batches = [batch for batch in rows["batch_size"] if batch is not None]
    yield style.paint(
        "SYNTHETIC EXAMPLE: written from an analytic model, no GPU was measured.", "head"
    )
    yield from indented(
        f"One layer of OPT-1.3B, decode steps at batch {min(batches)} to {max(batches)} on "
        f"{device}: {launch_count} kernel launches. Does memory or compute limit each of them?",
        style, 0,
    )  # fmt: skip
    yield ""
    yield from sweep_lines(rows, style, _MAIN)
    yield ""
    yield style.paint("What to read from it", "head")
    ridges = [value for value in rows["ridge_point_flop_per_byte"] if value]
    if ridges:
        yield from indented(
            f"Below {max(ridges):.0f} FLOP per DRAM byte, the ridge point of this GPU, memory is "
            "the limit; above it, arithmetic is.",
            style, 2, "- ",
        )  # fmt: skip
    for finding in sweep_findings(rows, _MAIN):
        yield from indented(finding[0].upper() + finding[1:], style, 2, "- ")
    for reason in _REASONS:
        yield from indented(reason, style, 2, "- ")
    yield ""
    yield "next: nsightlens classify your-report.ncu-rep"
    yield from indented("the same answer for every launch of a report of your own", style, 10)
    yield f"      nsightlens classify {path}"
    yield from indented("every launch of this example, with its reason", style, 10)


_REASONS = (
    (
        "Why: a GEMM reads its weights once for the whole batch, so a larger batch does more with "
        "the same bytes. Attention reads the keys and values of every sequence: twice the batch "
        "is twice the work and twice the bytes."
    ),
    (
        "So a larger batch stops paying off when attention has used up the DRAM bandwidth, long "
        "before the arithmetic units are busy."
    ),
)
