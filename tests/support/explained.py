"""Numbers of one hand-made launch, as the rules of advice take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens import tables
from nsightlens.analysis.quantities import Quantities
from support.stores import store_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_RESOURCE = {
    "fraction": "fraction_of_peak",
    "peak": "peak_per_s",
    "counter": "busiest_counter",
}
_LAUNCH = {column.name for column in tables.LAUNCHES}
_LABEL = {column.name for column in tables.LABELS}


def quantities_of(numbers: Mapping[str, Any]) -> Quantities:
    """Return the numbers of a launch that has these and no others.

    A name is a column of launches or labels, ``fraction:RESOURCE``, ``peak:RESOURCE`` or
    ``counter:RESOURCE``, or a raw metric.
    """
    resources: dict[str, dict[str, Any]] = {}
    for name, value in numbers.items():
        kind, _, resource = name.partition(":")
        if kind in _OF_RESOURCE:
            row = resources.setdefault(
                resource, {"resource": resource, **dict.fromkeys(_OF_RESOURCE.values())}
            )
            row[_OF_RESOURCE[kind]] = value
    known = {name: value for name, value in numbers.items() if ":" not in name}
    metrics = {name: v for name, v in known.items() if name not in _LAUNCH | _LABEL}
    return Quantities(
        launch={**dict.fromkeys(_LAUNCH), **{n: v for n, v in known.items() if n in _LAUNCH}},
        label={**dict.fromkeys(_LABEL), **{n: v for n, v in known.items() if n in _LABEL}},
        resources=list(resources.values()),
        store=store_of(metrics),
    )
