"""Numbers of one hand-made launch, as the rules of advice take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens import tables
from nsightlens.analysis.quantities import Quantities
from support.stores import store_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_LAUNCH = {column.name for column in tables.LAUNCHES}
_LABEL = {column.name for column in tables.LABELS}


def quantities_of(numbers: Mapping[str, Any]) -> Quantities:
    """Return the numbers of a launch that has these and no others.

    A name is a column of launches or labels, ``fraction:RESOURCE`` or ``peak:RESOURCE``, or a raw
    metric.
    """
    resources: dict[str, dict[str, Any]] = {}
    for name, value in numbers.items():
        kind, _, resource = name.partition(":")
        if kind in ("fraction", "peak"):
            row = resources.setdefault(
                resource, {"resource": resource, "fraction_of_peak": None, "peak_per_s": None}
            )
            row["fraction_of_peak" if kind == "fraction" else "peak_per_s"] = value
    known = {name: value for name, value in numbers.items() if ":" not in name}
    metrics = {name: v for name, v in known.items() if name not in _LAUNCH | _LABEL}
    return Quantities(
        launch={**dict.fromkeys(_LAUNCH), **{n: v for n, v in known.items() if n in _LAUNCH}},
        label={**dict.fromkeys(_LABEL), **{n: v for n, v in known.items() if n in _LABEL}},
        resources=list(resources.values()),
        store=store_of(metrics),
    )
