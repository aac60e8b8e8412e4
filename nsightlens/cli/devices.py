"""``nsightlens devices``: the GPUs that are known, and the roofs of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.talk import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from nsightlens.devices import Product

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "list the GPUs that are known, or show the roofs of one"
DESCRIPTION = """\
Lists the GPUs that are known by name. Of one of them, shows the roofs: for each
data type the dense peak at the boost clock, the ridge point against DRAM, the
published figure, and where the numbers come from. Names are those that classify
--device takes."""
EPILOG = """\
examples:
  nsightlens devices
  nsightlens devices h100
  nsightlens devices H100 PCIe
  nsightlens devices NVIDIA H100 80GB HBM3
  nsightlens devices --format json"""

FORMATS = ("table", "json", "csv", "markdown")
ROOF_FIELDS = (
    "resource", "peak_per_s", "unit", "ridge_point_flop_per_byte", "sheet_per_s", "rate_per_sm",
    "confidence", "source",
)  # fmt: skip
"""Keys of a roof; with the product in front, columns of the CSV of one product."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="*",
        help="driver name or product name, or a part of one, which lists all that have it; its "
        "words need no quotes",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """List the products, or show one."""
    from nsightlens.devices.overrides import search_products

    check_output(args, [])
    found, others = search_products(" ".join(args.name))
    write_result(args, _pieces(args, [_row(product) for product in found]))
    if others:
        say("note", f"other names with it: {', '.join(one.name for one in others)}")
    return 0


def _row(product: Product) -> dict[str, Any]:
    from nsightlens.devices import roofs_of

    return {
        "key": product.name,
        "product": product.name,
        "driver_names": list(product.driver_names),
        "compute_capability": product.compute_capability,
        "sm_count": product.sm_count,
        "product_class": product.product_class,
        "base_mhz": product.base_mhz,
        "boost_mhz": product.boost_mhz,
        "tensor_mhz": product.tensor_mhz if product.tensor_mhz != product.boost_mhz else None,
        "memory_gb": product.memory_gb,
        "memory_type": product.memory_type,
        "bus_bit": product.bus_bit,
        "memory_mhz": product.memory_mhz,
        "bandwidth_gb_per_s": product.bandwidth_gb_per_s,
        "l2_mib": product.l2_mib,
        "known_from": product.known_from,
        "source": product.source,
        "note": product.note or None,
        "roofs": [dict(zip(ROOF_FIELDS, roof, strict=True)) for roof in roofs_of(product)],
    }


def _pieces(args: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    form = chosen_format(args)
    if form == "json":
        from nsightlens.render.envelope import envelope_pieces

        source = {"tool": "nsightlens", "tool_version": __version__}
        return envelope_pieces("nsightlens.devices", source, rows)
    if form == "csv":
        return _csv(rows)
    from nsightlens.render.devices import product_columns, product_lines, roof_columns

    columns = roof_columns(rows[0]) if len(rows) == 1 else product_columns(rows)
    if form == "markdown":
        from nsightlens.render.markdown import markdown_table

        heading = f"# {rows[0]['product']}\n\n" if len(rows) == 1 else ""
        return [heading + markdown_table(columns)]
    style = chosen_style(args)
    if len(rows) == 1:
        return (line + "\n" for line in product_lines(rows[0], style))
    from nsightlens.render.metric_table import table_lines

    return (line + "\n" for line in table_lines(columns, style))


def _csv(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Return the roofs of one product, of several all but their roofs."""
    from nsightlens.render.delimited import csv_pieces

    if len(rows) == 1:
        named = ({"product": rows[0]["product"], **roof} for roof in rows[0]["roofs"])
        return csv_pieces(("product", *ROOF_FIELDS), named)
    fields = [field for field in rows[0] if field not in ("key", "roofs")]
    return csv_pieces(fields, ({**row, "driver_names": "; ".join(row["driver_names"])}
                               for row in rows))  # fmt: skip
