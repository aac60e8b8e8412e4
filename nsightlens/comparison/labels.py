"""Bound, regime and what else is a word, for each slot of a side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array
from nsightlens.devices.columns import text_column
from nsightlens.report import concat_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.comparison.match import Slots
    from nsightlens.comparison.side import LabelOptions, Side
    from nsightlens.report import Report

__all__ = ["LABEL_COLUMNS", "group_labels", "slot_labels"]

LABEL_COLUMNS = ("top_stall", "bound", "regime", "limiter")


def slot_labels(
    side: Side, slots: Slots, parts: Sequence[Report], by: str, options: LabelOptions
) -> list[Any]:
    """Return the columns `LABEL_COLUMNS` of every slot.

    A slot of launches has what most of the time of its repeats has; a group has its own label, from
    the sums over its launches.
    """
    if by == "launch":
        return [_of_most_time(side, slots, name) for name in LABEL_COLUMNS]
    groups = group_labels(side, slots, parts, by, options)
    return [groups[name].cast(pa.string()).combine_chunks() for name in LABEL_COLUMNS]


def group_labels(
    side: Side, slots: Slots, parts: Sequence[Report], by: str, options: LabelOptions
) -> pa.Table:
    """Return the label of every slot that is a group, with the schema of labels."""
    groups = options.classify(concat_reports(parts), by).labels
    names = ["family", "subtype", "phase", "batch_size"]
    columns = [side.labels[name].cast(pa.string()) for name in names]
    if by == "kernel":
        kind = pc.binary_join_element_wise("(", side.labels["kind"].cast(pa.string()), ")", "")
        columns.insert(0, pc.coalesce(side.labels["kernel"].cast(pa.string()), kind))
    columns.append(pa.chunked_array([side.text["gpu"]]))
    # As `nsightlens.analysis.aggregate.group_columns` names a group.
    parts_of_key = [pc.fill_null(one, "-") for one in columns]
    key = pc.binary_join_element_wise(*parts_of_key, "|").combine_chunks()
    row = pc.index_in(key.take(number_array(slots.first)), value_set=groups["key"].combine_chunks())
    return groups.take(row)


def _of_most_time(side: Side, slots: Slots, name: str) -> Any:
    code, texts = text_column(side.labels, name)
    # Null is the last text, and counts only where there is nothing else.
    weight = np.where(side.counts, side.number["duration_ns"], 0.0) + (code < len(texts) - 1)
    pairs, first, of_pair = np.unique(
        slots.slot * len(texts) + code, return_index=True, return_inverse=True
    )
    total = np.bincount(of_pair, weight)
    order = np.lexsort((first, -total, pairs // len(texts)))
    _, best = np.unique((pairs // len(texts))[order], return_index=True)
    chosen = (pairs % len(texts))[order][best]
    return pa.array(texts, pa.string()).take(number_array(chosen))
