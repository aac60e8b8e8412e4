"""``nsightlens ceilings``: measure the roofs that this GPU really reaches."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file
from nsightlens.cli.output import chosen_style, write_result, write_to_stdout
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.harness.ceilings import Ceiling, MeasuredDevice

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "measure the roofs that this GPU really reaches"
DESCRIPTION = """\
Measures the bandwidth of a large copy and the rate of large GEMMs of each data
type on this GPU, sets them against the peaks of its architecture at the clock
of the measurement, and writes the file that classify --peaks takes. Needs
PyTorch."""
EPILOG = """\
examples:
  nsightlens ceilings
  nsightlens ceilings -o h100.toml
  nsightlens classify report.ncu-rep --peaks h100.toml"""

_WORDS = {
    "above_peak": "above the peak of the architecture, which cannot be",
    "unsteady": "its measurements scatter by more than 5 %",
    "no_clock": "the SM clock is not known, as nvidia-smi did not say",
    "not_measured": "not measured",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    group = parser.add_argument_group("measurement")
    group.add_argument(
        "--device-index",
        action=Once,
        metavar="N",
        type=_index,
        help="GPU among those that PyTorch sees (default: 0)",
    )
    group.add_argument(
        "--seconds",
        action=Once,
        metavar="S",
        type=_seconds,
        help="how long each size of each kernel is measured (default: 1)",
    )
    group.add_argument(
        "--python",
        action=Once,
        metavar="PATH",
        type=name_of_file,
        help="interpreter with PyTorch (default: the one that runs nsightlens)",
    )
    arguments.add_output(parser, ("table", "json"))
    arguments.add_text(parser, names=False)


def _index(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 3:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no number of a GPU")
    return int(text)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 600:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no time up to 600 s")
    return number


def run(args: argparse.Namespace) -> int:
    """Measure, show what was measured, and write the file where one was named."""
    import datetime as dt
    from pathlib import Path

    from nsightlens.files import check_place
    from nsightlens.harness.ceilings import measure, toml_of

    to_file = args.output not in (None, "-")
    if to_file:
        if Path(args.output).suffix.lower() != ".toml":
            raise FilterError(
                f"{args.output}: the file that --peaks takes is TOML: give it the suffix .toml."
            )
        # Before the GPU is kept busy for minutes.
        check_place(Path(args.output), force=args.force, inputs=[])
    measured = measure(
        python=args.python, device_index=args.device_index or 0, seconds=args.seconds or 1.0
    )
    write_to_stdout(_pieces(args, measured))
    for one in measured.ceilings:
        if one.verdict != "ok":
            say("warning", f"{one.resource} is no ceiling: {_WORDS[one.verdict]} ({one.how})")
        elif one.peak_per_s is None:
            say("note", f"{one.resource}: no peak of this GPU is known, to check it against")
    if to_file:
        today = dt.datetime.now(dt.timezone.utc).date().isoformat()
        text = toml_of(measured, date=today, driver_version=_driver_version())
        write_result(args, [text])
    return 0


def _driver_version() -> str | None:
    from nsightlens.harness.host import host_facts

    gpus = host_facts().gpus
    return gpus[0].driver_version if gpus else None


def _pieces(args: argparse.Namespace, measured: MeasuredDevice) -> Iterable[str]:
    if args.format == "json":
        from nsightlens.render.envelope import envelope_pieces

        source: dict[str, Any] = {"tool": "nsightlens", "tool_version": __version__}
        source |= {key: value for key, value in measured._asdict().items() if key != "ceilings"}
        rows = (one._asdict() for one in measured.ceilings)
        return envelope_pieces("nsightlens.ceilings", source, rows)
    from nsightlens.render.metric_table import table_lines

    lines = [f"{measured.device_name}, torch {measured.torch_version}", ""]
    lines += table_lines(_columns(measured.ceilings), chosen_style(args))
    return (line + "\n" for line in lines)


def _columns(ceilings: Iterable[Ceiling]) -> list[Any]:
    from nsightlens.render import numbers
    from nsightlens.render.grid import GridColumn
    from nsightlens.units import format_quantity

    rows = list(ceilings)

    def rate(value: float | None, resource: str) -> str:
        unit = "B/s" if resource == "dram" else "op/s" if "int" in resource else "FLOP/s"
        return numbers.MISSING if value is None else format_quantity(value, unit)

    def clock(value: float | None) -> str:
        return numbers.MISSING if value is None else f"{value / 1e6:.0f}"

    return [
        GridColumn("resource", [one.resource for one in rows], 1000),
        GridColumn("measured", [rate(one.rate_per_s, one.resource) for one in rows], 990, "right"),
        GridColumn("peak", [rate(one.peak_per_s, one.resource) for one in rows], 980, "right"),
        GridColumn("%", [numbers.percent(one.peak_pct) for one in rows], 970, "right"),
        GridColumn("spread\n%", [numbers.percent(one.spread_pct) for one in rows], 900, "right"),
        GridColumn("SM clock\nMHz", [clock(one.sm_clock_hz) for one in rows], 890, "right"),
        GridColumn("verdict", [one.verdict for one in rows], 960),
        GridColumn("how", [one.how for one in rows], 500, comfortable=24, cut="end"),
    ]
