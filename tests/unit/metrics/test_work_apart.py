"""Work that has a column of its own: traffic behind L2, integer instructions."""

from __future__ import annotations

import pytest
from support.stores import CONFIGURED, report_of

from nsightlens.metrics.catalog import is_countable, minimal_metrics

SYSMEM = "lts__t_sectors_aperture_sysmem"
FILLS = "lts__d_sectors_fill_sysmem.sum"
INTEGER = "sass_thread_inst_executed_op_integer_pred_on.sum"


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({f"{SYSMEM}_lookup_miss.sum": 10.0, FILLS: 7.0}, 320.0),
        (
            {f"{SYSMEM}_op_read_lookup_miss.sum": 6.0, f"{SYSMEM}_op_write_lookup_miss.sum": 3.0},
            288,
        ),
        ({FILLS: 7.0, f"{SYSMEM}_op_write_lookup_miss.sum": 3.0}, 320.0),
        ({FILLS: 7.0}, 224.0),
        ({f"{SYSMEM}_lookup_miss.sum.per_second": 5e6}, 5e6 * 32 * 2e-6),
        ({f"{SYSMEM}.sum": 10.0}, None),
    ],
)
def test_what_misses_in_l2_passes_to_system_memory(
    metrics: dict[str, float], expected: float | None
) -> None:
    """In sectors of 32 B; a look-up that may have hit passes nothing."""
    (value,) = report_of({**CONFIGURED, **metrics}).launches["l2_memory_bytes"].to_pylist()
    assert value == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("unit", ["smsp", "sm"])
def test_integer_instructions_are_counted_apart(unit: str) -> None:
    """They are no FLOP of any type."""
    launches = report_of({**CONFIGURED, f"{unit}__{INTEGER}": 1000.0}).launches
    (row,) = launches.to_pylist()
    assert row["integer_op_count"] == 1000.0
    assert row["fp32_flop_count"] is None


def test_the_traffic_is_asked_for_where_dram_cannot_be_counted() -> None:
    """Of a GPU with DRAM counters it would say nothing that a label needs."""
    for architecture in ("7.2", "8.7", "11.0", "12.1"):
        assert is_countable("l2_memory_bytes", architecture)
        assert minimal_metrics("l2_memory_bytes", architecture) == (f"{SYSMEM}_lookup_miss.sum",)
    for architecture in ("9.0", "10.0"):
        assert minimal_metrics("l2_memory_bytes", architecture) == ()
