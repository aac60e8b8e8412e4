"""What `nsightlens.compare` and `nsightlens.comparison.gate` say.

``comparison`` has a row per launch or group of either side, ``comparison_families`` a row per
family, ``gate`` a row per rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from nsightlens.tables.column import Column, category, count, flag, real, text, whole

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMPARED", "COMPARISON", "COMPARISON_FAMILIES", "GATE"]

COMPARED: tuple[Column, ...] = (
    real("duration_ns", "ns", "time under ncu"),
    real("dram_bytes", "B", "bytes read from and written to DRAM"),
    real("flop_count", "FLOP", "operations executed, where all were counted"),
    real("dram_throughput_pct", "%", "DRAM throughput, percent of peak"),
    real("achieved_occupancy_pct", "%", "warps active, percent of the maximum"),
    real("stalled_for_data_pct", "%", "share of warp latency stalled on long_scoreboard"),
)
"""The quantities that are compared."""


def _both(make: Callable[..., Column], name: str, *about: str) -> tuple[Column, Column]:
    """Return a column for each side."""
    *unit, meaning = about
    return (
        make(f"base_{name}", *unit, f"{meaning}, in the base"),
        make(f"new_{name}", *unit, f"{meaning}, in the new reports"),
    )


def _compared(quantity: Column) -> tuple[Column, ...]:
    stem = quantity.name.rpartition("_")[0] if quantity.unit == "%" else quantity.name
    stem = "duration" if quantity.name == "duration_ns" else stem
    return (
        *_both(real, quantity.name, quantity.unit, f"{quantity.meaning}; mean over the repeats"),
        real(f"{stem}_change_pct", "%", "new over base, less 1; null where one side is not known"),
        real(
            f"{stem}_noise_pct",
            "%",
            "largest increase n that noise explains, and 100 n / (100 + n) the largest decrease; null"
            " where there is no change, or where noise explains any",
        ),
    )


COMPARISON: tuple[Column, ...] = (
    text("key", "names the row; the same in every comparison of the same programs"),
    category(
        "verdict",
        "improved or regressed, where the change of the duration is beyond the noise;"
        " indistinguishable, where it is not; not_comparable; added or removed, where the other"
        " side has no counterpart",
    ),
    text("reason", "why, in one sentence with the numbers"),
    category(
        "matched_by",
        "what the two sides have in common: launch (name, grid, block, phase, batch size,"
        " annotated operation and lengths, operations executed, step, place), work (the same in"
        " another step or process), kernel (the name, with another grid or other work), operation"
        " (the annotated one), family (family and subtype); null without counterpart",
    ),
    category("family", "what the kernel computes, in the new reports; in the base where removed"),
    category("subtype", "finer class within the family"),
    category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
    whole("batch_size", "sequences in the step; null where nothing says so"),
    *_both(category, "kernel", "name of the kernel"),
    *_both(text, "grid", "blocks as x,y,z; null for a group"),
    *_both(text, "block", "threads per block as x,y,z; null for a group"),
    *_both(category, "device_name", "name of the GPU"),
    *_both(category, "report", "path of the report, of the first repeat; null for a group"),
    Column("base_launch_id", pa.uint32(), "", "position in base_report; null for a group"),
    Column("new_launch_id", pa.uint32(), "", "position in new_report; null for a group"),
    *_both(real, "launch_count", "", "launches in the row; mean over the repeats"),
    *_both(count, "repeat_count", "reports with a duration for the row"),
    real("duration_difference_ns", "ns", "new less base; null where one side is not known"),
    category(
        "noise_source",
        "where duration_noise_pct comes from: repeats (the spread over several reports of a side),"
        " equal_launches (the spread of launches of equal work within a report, where that is"
        " wider than the default) or default (a stated band, because there are no repeats)",
    ),
    *(column for quantity in COMPARED for column in _compared(quantity)),
    text("not_compared", "compared quantities that one side alone has, joined by ', '; else null"),
    *_both(category, "top_stall", "warp state with the largest share of warp latency"),
    *_both(category, "bound", "memory, compute or unknown"),
    *_both(category, "regime", "saturated, latency, small_grid, balanced or unknown"),
    *_both(category, "limiter", "resource with the largest roofline time"),
    flag("is_label_changed", "bound or regime differ, and neither is unknown"),
)

COMPARISON_FAMILIES: tuple[Column, ...] = (
    category("family", "what the kernels compute"),
    category("verdict", "of the family as a whole: see comparison"),
    *_both(real, "duration_ns", "ns", "sum over the rows that can be compared"),
    real("duration_difference_ns", "ns", "new less base"),
    real("duration_change_pct", "%", "new over base, less 1"),
    real("duration_noise_pct", "%", "largest increase that noise explains; null: any"),
    category("noise_source", "see comparison"),
    *(
        count(f"{name}_count", f"rows that are {name.replace('_', ' ')}")
        for name in ("improved", "regressed", "indistinguishable", "not_comparable", "added",
                     "removed")
    ),
    real("added_duration_ns", "ns", "of rows without counterpart in the base"),
    real("removed_duration_ns", "ns", "of rows without counterpart in the new reports"),
)  # fmt: skip

GATE: tuple[Column, ...] = (
    text("rule", "name of the rule"),
    category("status", "passed or failed"),
    text("message", "what was found, in one sentence with the numbers"),
    category("metric", "what is checked"),
    category("unit", "of limit and worst_value"),
    category("aggregate", "each, max, min, mean or sum"),
    text("scope", "which launches; null for all of them"),
    text("limit", "what is allowed"),
    real("worst_value", "", "the value that is nearest to the limit or farthest beyond it"),
    text("worst_key", "the launch or group that has it; null for mean and sum"),
    count("checked_count", "values that were checked"),
    count("failed_count", "of these, values that break the limit"),
    count("missing_count", "values that are not known or cannot be compared"),
    count("noise_count", "changes beyond the limit that are within the noise: no failure"),
)
