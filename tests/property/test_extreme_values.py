"""Whatever number a metric has, every launch goes through to a label.

Values come from a file that may be damaged, so a percentage may be 1e300 and a count a fraction.
None of that may raise, warn or leave a launch without a label; a warning is an error here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.reports import attention_launch, basic_set_launch, gemm_launch, write_report

import nsightlens

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec, Value

EXTREMES: tuple[Value, ...] = (
    0, 0.0, -1.0, 0.5, 1e-320, 1e300, math.inf, -math.inf, math.nan, None, 2**53 + 1, 2**63,
    2**64 - 1, "text", "",
)  # fmt: skip


def variants(launch: LaunchSpec, value: Value) -> list[LaunchSpec]:
    """Return the launch once for each of its metrics, with the value in place of that one."""
    metrics = dict(launch.metrics)  # type: ignore[arg-type]
    return [replace(launch, metrics={**metrics, name: value}) for name in metrics]


@pytest.mark.parametrize("value", EXTREMES, ids=repr)
@pytest.mark.parametrize("make", [gemm_launch, attention_launch, basic_set_launch])
def test_any_value_of_any_metric_goes_through_to_a_label(
    make: type[LaunchSpec], value: Value, tmp_path: Path
) -> None:
    """Each metric of the launch in turn has the extreme value."""
    launches = variants(make(), value)
    report = nsightlens.open_report(write_report(tmp_path, launches))
    for table in (report.launches, report.stalls, report.metrics):
        table.validate(full=True)
    for by in ("launch", "kernel", "family"):
        labels = nsightlens.classify(report, by=by).labels
        assert labels["bound"].null_count == labels["reason"].null_count == 0
        assert set(labels["bound"].to_pylist()) <= {"memory", "compute", "unknown"}
