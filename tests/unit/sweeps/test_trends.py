"""Trends of hand-made rows: flips, saturation and notes."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens import tables
from nsightlens.sweeps import trends_of
from nsightlens.sweeps.trends import flip_notes


def table(*rows: dict[str, Any], **common: Any) -> Any:
    """Return rows of one family, at batch 1, 2, 4, ... where they do not say it."""
    filled = [
        {"origin": "measured", "device_name": "H100", "phase": "decode", "family": "gemm",
         "component": "matmul", "batch_size": 2**i, "duration_ns": 10.0, **common, **row}
        for i, row in enumerate(rows)
    ]  # fmt: skip
    data = {column.name: [row.get(column.name) for row in filled] for column in tables.SWEEP}
    return tables.table_of(tables.schema_of(tables.SWEEP), data, len(filled))


def trend(*rows: dict[str, Any], **common: Any) -> dict[str, Any]:
    """Return the one trend of rows."""
    (found,) = trends_of(table(*rows, **common)).to_pylist()
    return dict(found)


def ridge(ratio: float | None, side: str | None = None) -> dict[str, Any]:
    """Return a row with this ratio of compute to DRAM time."""
    told = None if ratio is None else ("compute" if ratio >= 1 else "memory")
    return {"bound_ratio": ratio, "roofline_bound": side or told}


def test_a_family_that_crosses_the_ridge_once_flips_there() -> None:
    """Between 0.5 at batch 2 and 2 at batch 4: in the middle of the logarithms."""
    found = trend(ridge(0.25), ridge(0.5), ridge(2.0), ridge(3.0))
    assert (found["flip"], found["flip_batch_size"]) == ("memory_to_compute", 4)
    assert found["flip_batch_size_interpolated"] == pytest.approx(8**0.5)


def test_a_family_can_flip_the_other_way() -> None:
    """As where a larger batch runs on another kernel."""
    assert trend(ridge(2.0), ridge(0.5))["flip"] == "compute_to_memory"


def test_a_family_that_stays_does_not_flip() -> None:
    """None is said of it, which is not nothing."""
    found = trend(ridge(0.1), ridge(0.2))
    assert (found["flip"], found["flip_batch_size"]) == ("none", None)


def test_too_few_answers_are_null() -> None:
    """One batch size, or two of which one is unknown."""
    assert trend(ridge(0.5))["flip"] is None
    assert trend(ridge(0.5), ridge(None, "unknown"))["flip"] is None


def test_a_flip_that_an_unknown_answer_may_hide_is_not_denied() -> None:
    """At any batch size where none was seen, and after the only one that was."""
    low, high, unknown = ridge(0.5), ridge(2.0), ridge(None, "unknown")
    for rows in ((unknown, low, low), (low, unknown, low), (low, low, unknown)):
        assert trend(*rows)["flip"] is None
    found = trend(low, high, unknown)
    assert (found["flip"], found["flip_batch_size"]) == (None, None)
    found = trend(low, high, low, unknown)
    assert (found["flip"], found["flip_batch_size"]) == ("several", None)


def test_an_unknown_answer_before_the_other_side_leaves_the_flip_known() -> None:
    """The first batch size that is known to lie on the other side is that of the flip."""
    found = trend(ridge(0.5), ridge(None, "unknown"), ridge(2.0))
    assert (found["flip"], found["flip_batch_size"]) == ("memory_to_compute", 4)


def test_shapes_say_where_they_flip_where_it_was_not_measured() -> None:
    """The operations were counted at one batch size alone, which gives the ridge."""
    useful = "useful_arithmetic_intensity_flop_per_byte"
    rows = [{**ridge(None, "unknown"), useful: value} for value in (50.0, 100.0, 200.0)]
    found = trend(*rows, ridge_point_flop_per_byte=100.0 * 2**0.5)
    assert (found["flip"], found["flip_batch_size"]) == (None, None)
    assert found["useful_flip_batch_size"] == pytest.approx(8**0.5)


def test_several_flips_are_listed_in_a_note() -> None:
    """The last one counts: it is for good."""
    rows = (ridge(0.5), ridge(2.0), ridge(0.5), ridge(2.0))
    found = trend(*rows)
    assert (found["flip"], found["flip_batch_size"]) == ("several", 8)
    assert found["flip_batch_size_interpolated"] == pytest.approx(32**0.5)
    (note,) = flip_notes(table(*rows))
    assert note == (
        "gemm in decode changes sides of the ridge 3 times along the batch size: compute at 2,"
        " memory at 4, compute at 8."
    )
    assert flip_notes(table(*rows[:2])) == []


def test_a_flip_without_ratios_is_measured_and_not_interpolated() -> None:
    """Where percentages decide the side and operations were not counted."""
    found = trend(ridge(None, "memory"), ridge(None, "compute"))
    assert (found["flip_batch_size"], found["flip_batch_size_interpolated"]) == (2, None)


def test_the_flip_of_the_shapes_does_not_look_at_what_was_executed() -> None:
    """Padding has put the executed work beyond the ridge from the start."""
    useful = "useful_arithmetic_intensity_flop_per_byte"
    rows = [{**ridge(2.0), useful: value} for value in (50.0, 100.0, 200.0)]
    found = trend(*rows, ridge_point_flop_per_byte=100.0 * 2**0.5)
    assert found["flip"] == "none"
    assert found["useful_flip_batch_size"] == pytest.approx(8**0.5)


@pytest.mark.parametrize(
    ("percent", "saturated", "largest"),
    [
        ([10.0, 80.0, 90.0], 2, 90.0),
        ([85.0, 79.9, 90.0], 4, 90.0),
        ([85.0, 90.0, 79.9], None, 90.0),
        ([85.0, None, 90.0], 4, 90.0),
        ([85.0, 90.0, None], None, 90.0),
        ([None, None, None], None, None),
    ],
)
def test_dram_is_used_up_from_where_it_stays_so(
    percent: list[float | None], saturated: int | None, largest: float | None
) -> None:
    """At 80 % or more; what was not measured does not count as staying."""
    found = trend(*({"dram_throughput_pct": value} for value in percent))
    assert found["dram_saturated_batch_size"] == saturated
    assert found["dram_throughput_max_pct"] == largest


def test_the_label_of_the_limiter_flips_by_itself() -> None:
    """Caches and latency enter it: it is not the flip at the ridge."""
    rows = [{**ridge(0.5), "bound": bound} for bound in ("memory", "compute", "compute")]
    found = trend(*rows)
    assert (found["flip"], found["bound_flip_batch_size"]) == ("none", 2)


def test_rows_without_a_batch_size_are_in_no_trend() -> None:
    """The family is there all the same."""
    found = trend(*({**ridge(0.5), "batch_size": None} for _ in range(3)))
    assert (found["batch_size_count"], found["batch_size_min"], found["flip"]) == (0, None, None)
    assert found["duration_ns"] is None
    mixed = trend(ridge(0.5), {**ridge(2.0), "batch_size": None})
    assert (mixed["batch_size_count"], mixed["duration_ns"]) == (1, 10.0)


def test_rows_may_come_in_any_order() -> None:
    """Batch sizes are what orders them."""
    rows = [{**ridge(ratio), "batch_size": b} for ratio, b in ((2.0, 64), (0.5, 2), (0.7, 16))]
    found = trend(*rows)
    assert (found["flip_batch_size"], found["batch_size_min"], found["batch_size_max"]) == (
        64, 2, 64
    )  # fmt: skip


def test_families_gpus_phases_and_kernels_have_trends_of_their_own() -> None:
    """A row of each."""
    rows: list[dict[str, Any]] = [
        {},
        {"family": "norm"},
        {"device_name": "A100"},
        {"phase": None},
        {"kernel": "a"},
    ]
    assert trends_of(table(*rows)).num_rows == len(rows)


def test_no_rows_have_no_trends() -> None:
    """With every column."""
    found = trends_of(table())
    assert found.num_rows == 0
    assert found.schema.equals(tables.schema_of(tables.SWEEP_TRENDS))
