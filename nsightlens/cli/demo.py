"""``nsightlens demo``: the bundled example, classified and explained."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nsightlens.cli import arguments
from nsightlens.cli.output import write_to_stdout
from nsightlens.cli.terminal import style_for

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Series

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


def _lines(
    rows: Mapping[str, Sequence[Any]], path: str, launch_count: int, device: str, style: Style
) -> Iterator[str]:
    from nsightlens.render.grid import indented
    from nsightlens.render.sweep import sweep_findings, sweep_lines

    series = _main_series(rows)
    batches = [batch for one in series for batch in one.batches]
    yield style.paint("SYNTHETIC EXAMPLE", "head") + ": an analytic model, no GPU was measured."
    about = (
        f"One layer of OPT-1.3B decoding at batch {min(batches)} to {max(batches)} on an {device}, "
        f"{launch_count} kernel launches. What limits attention and the GEMMs, memory or compute?"
    )
    yield from indented(about, style, 0)
    yield ""
    yield from sweep_lines(series, style)
    yield ""
    yield style.paint("What to read from it", "head")
    words = _words_on_the_columns(series)
    for point in (*sweep_findings(series), *_WHY, *words, _PADDING):
        yield from indented(point[0].upper() + point[1:], style, 2, "- ")
    yield ""
    yield "next: nsightlens classify your-report.ncu-rep"
    yield from indented("the same answer for every launch of a report of your own", style, 10)
    yield f"      nsightlens classify {shlex.quote(path)}"
    yield from indented("every launch of this example, with its reason", style, 10)


def _main_series(rows: Mapping[str, Sequence[Any]]) -> list[Series]:
    """Return attention and the GEMMs, each by the kernels that ran at every batch size."""
    from nsightlens.render.sweep_series import series_of

    every = series_of(rows)
    longest = max(len(one.rows) for one in every)
    return [
        one
        for family in ("attention", "gemm")
        for one in every
        if one.first["family"] == family and len(one.rows) == longest
    ]


def _words_on_the_columns(series: Sequence[Series]) -> Iterator[str]:
    from nsightlens.render.columns import REGIMES

    about = "FLOP/B is the arithmetic intensity: operations executed per byte of DRAM traffic."
    ridges = [
        f"{max(found):.0f} FLOP/B for {one.title}"
        for one in series
        if (found := _known(one, "ridge_point_flop_per_byte"))
    ]
    if ridges:
        about += (
            " Below the ridge point the classical answer is memory, above it compute; it lies at "
            f"{' and '.join(ridges)}, for the instructions that each of them uses."
        )
    yield about
    present = {row["regime"] for one in series for row in one.rows.values()}
    yield "; ".join(f"{name}: {text}" for name, text in REGIMES.items() if name in present) + "."


def _known(series: Series, name: str) -> list[float]:
    return [row[name] for row in series.rows.values() if row[name]]


_WHY = (
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
_PADDING = (
    "Most of what attention executes here is padding: the tensor cores work on 64 rows where a "
    "decode step has one query. Its useful intensity is about 1 FLOP/B. The GEMMs pad as well: "
    "a tile has at least 8 rows, so that FLOP/B stays at 8 up to batch 8, while the useful "
    "intensity is about the batch size."
)
