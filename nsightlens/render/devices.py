"""The answers of ``nsightlens devices`` as text: a list of products, the roofs of one.

Takes rows as dictionaries, as the machine formats have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, indented
from nsightlens.render.metric_table import table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.render.style import Style

__all__ = ["product_columns", "product_lines", "roof_columns"]

_SOURCE = 24
"""[character] Less of a source says nothing."""
_HEAD = ("driver_names", "compute_capability", "sm_count", "product_class", "clocks", "memory",
         "l2", "source", "note")  # fmt: skip


def product_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    """Return the columns of a list of products."""

    def cells(field: str) -> list[str]:
        return [_number(row[field]) for row in rows]

    def roofs(resource: str) -> list[str]:
        return [numbers.significant(_peak(row, resource, 1e12)) for row in rows]

    return [
        GridColumn("product", [row["product"] for row in rows], 1000),
        GridColumn("cc", [row["compute_capability"] for row in rows], 900, "right"),
        GridColumn("SMs", cells("sm_count"), 890, "right"),
        GridColumn("class", [row["product_class"] for row in rows], 300),
        GridColumn("boost\nMHz", cells("boost_mhz"), 500, "right"),
        GridColumn("DRAM\nGB/s", [_number(row["bandwidth_gb_per_s"], 4) for row in rows],
                   880, "right"),
        GridColumn("FP16 tensor\nTFLOP/s", roofs("tensor_fp16"), 870, "right"),
        GridColumn("FP32\nTFLOP/s", roofs("fp32"), 600, "right"),
        GridColumn("memory", [_memory(row) for row in rows], 400),
        GridColumn("driver's name", [", ".join(row["driver_names"]) for row in rows], 700,
                   comfortable=20, cut="end"),
    ]  # fmt: skip


def product_lines(row: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yield the lines that tell all about one product: what it is, then its roofs."""
    told = {
        "driver_names": ", ".join(row["driver_names"]),
        "compute_capability": row["compute_capability"],
        "sm_count": _number(row["sm_count"]),
        "product_class": row["product_class"],
        "clocks": f"boost {_number(row['boost_mhz'])} MHz, base {_number(row['base_mhz'])} MHz"
        + (f", tensor figures at {row['tensor_mhz']:g} MHz" if row["tensor_mhz"] else ""),
        "memory": _memory(row),
        "l2": f"{_number(row['l2_mib'])} MiB",
        "source": f"{row['source']} ({row['known_from'].replace('_', ' ').replace('+', ', ')})",
        "note": row["note"],
    }
    yield row["product"]
    width = max(map(len, _HEAD)) + 2
    for field in _HEAD:
        if told[field]:
            yield from indented(told[field], style, width, field.replace("_", " "))
    yield ""
    yield from table_lines(roof_columns(row), style)


def roof_columns(row: Mapping[str, Any]) -> list[GridColumn]:
    """Return the columns of the roofs of one product."""
    roofs = row["roofs"]
    return [
        GridColumn("resource", [roof["resource"] for roof in roofs], 1000),
        GridColumn("peak", [_rate(roof["peak_per_s"], roof["unit"]) for roof in roofs],
                   990, "right"),
        GridColumn("ridge\nFLOP/B", [numbers.significant(roof["ridge_point_flop_per_byte"])
                   for roof in roofs], 900, "right"),
        GridColumn("published", [_rate(roof["sheet_per_s"], roof["unit"]) for roof in roofs],
                   800, "right"),
        GridColumn("per SM\nand cycle", [_number(roof["rate_per_sm"]) for roof in roofs],
                   700, "right"),
        GridColumn("trust", [roof["confidence"] or numbers.MISSING for roof in roofs], 600),
        GridColumn("source", [roof["source"] for roof in roofs], 650, comfortable=_SOURCE,
                   cut="end"),
    ]  # fmt: skip


def _peak(row: Mapping[str, Any], resource: str, scale: float) -> float | None:
    for roof in row["roofs"]:
        if roof["resource"] == resource and roof["peak_per_s"] is not None:
            return float(roof["peak_per_s"]) / scale
    return None


def _number(value: float | None, digits: int = 6) -> str:
    return numbers.MISSING if value is None else f"{value:.{digits}g}"


def _memory(row: Mapping[str, Any]) -> str:
    parts = [
        f"{_number(row['memory_gb'])} GB {row['memory_type']}",
        row["bus_bit"] and f"{row['bus_bit']} bit",
        row["memory_mhz"] and f"{row['memory_mhz']:g} MHz",
    ]
    return ", ".join(part for part in parts if part)


def _rate(value: float | None, unit: str) -> str:
    if value is None:
        return numbers.MISSING
    step, prefix = next(
        ((size, sign) for size, sign in ((1e15, "P"), (1e12, "T")) if value >= size), (1e9, "G")
    )
    return f"{numbers.significant(value / step)} {prefix}{unit}"
