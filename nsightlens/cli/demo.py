"""``nsightlens demo``: the bundled example, swept over its batch sizes and explained."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.output import write_to_stdout
from nsightlens.cli.terminal import style_for

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_sections import Section
    from nsightlens.sweeps import Sweep

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "show the answer for the bundled example, explained"
DESCRIPTION = """\
Sweeps over the report that comes with nsightlens, synthetic decode steps of a
language model at batch 1 to 512, and says what to read from the answer. Needs
no file and no GPU."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Show the example."""
    import sys

    from nsightlens.example import path
    from nsightlens.readers import open_report
    from nsightlens.sweeps import sweep

    report = open_report(path())
    devices = dict.fromkeys(report.launches["device_name"].to_pylist())
    about = (
        "One layer of OPT-1.3B decoding with 500 tokens of context at batch 1 to 512 on an "
        f"{', '.join(filter(None, devices))}, {len(report)} kernel launches. What limits large "
        "batches, memory or compute?"
    )
    lines = _lines(sweep(report), about, str(path()), style_for(sys.stdout, args.width))
    write_to_stdout(line + "\n" for line in lines)
    return 0


_SHOWN = (
    "bound",
    "regime",
    "useful_arithmetic_intensity_flop_per_byte",
    "dram_throughput_pct",
    "duration_share_pct",
)
"""Columns of the table: as many as stand side by side in 100 columns."""


def _lines(sweep: Sweep, about: str, path: str, style: Style) -> Iterator[str]:
    from nsightlens.example import serving_path
    from nsightlens.render.grid import indented
    from nsightlens.render.sweep_sections import sections_of
    from nsightlens.render.sweep_table import series_table
    from nsightlens.render.sweep_text import verdict_lines

    (section,) = sections_of(sweep)
    yield style.paint("SYNTHETIC EXAMPLE", "head") + ": an analytic model, no GPU was measured."
    yield from indented(about, style, 0)
    yield ""
    yield from verdict_lines(sweep, style)
    yield ""
    yield from series_table(section.main, style, _SHOWN).lines
    yield ""
    yield style.paint("What to read from it", "head")
    for point in (*_trends(section, style), *_WHY, *_words(section)):
        yield from indented(point, style, 2, "- ")
    yield ""
    yield "next: nsightlens sweep your-report.ncu-rep"
    yield from indented("the same answer for a report of your own", style, 10)
    yield f"      nsightlens sweep {shlex.quote(path)}"
    yield from indented("all numbers of this answer", style, 10)
    yield f"      nsightlens classify {shlex.quote(path)}"
    yield from indented("every launch of this example, with its reason", style, 10)
    yield f"      nsightlens advise {shlex.quote(str(serving_path()))} --slo-x 2"
    yield from indented("which batch size to serve with, for a synthetic serving sweep", style, 10)


def _trends(section: Section, style: Style) -> Iterator[str]:
    from nsightlens.render.sweep_trends import trend_sentence

    for series, trend in zip(section.main, section.trends, strict=True):
        if trend is not None:
            yield f"{series.title}: {trend_sentence(trend, series, style)}."


def _words(section: Section) -> Iterator[str]:
    from nsightlens.render.columns import REGIMES

    yield (
        "FLOP/B useful is arithmetic intensity without padding. Below the ridge point the "
        "classical answer is memory, above it compute; it lies at different places because "
        "attention and the GEMMs use different tensor instructions here."
    )
    present = {row["regime"] for one in section.main for row in one.rows.values()}
    yield "; ".join(f"{name}: {text}" for name, text in REGIMES.items() if name in present) + "."


_WHY = (
    (
        "Why: a GEMM reads its weights once for the whole batch, so a larger batch does more with "
        "the same bytes. Attention reads the keys and values of every sequence: twice the batch "
        "is twice the work and twice the bytes."
    ),
    (
        "What is executed is more than what is useful: attention fills a tile of 64 rows with one "
        "query, and the smallest tile of a GEMM has 8 rows. So a busy tensor core is no proof of "
        "being compute-bound."
    ),
)
