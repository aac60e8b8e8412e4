"""Work done against the work that annotated shapes need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import (
    DRAM_PEAK,
    TENSOR_PEAK,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
    with_columns,
)
from support.stores import report_of

from nsightlens.analysis import classify

if TYPE_CHECKING:
    from nsightlens.report import Report

EXECUTED = 0.2 * TENSOR_PEAK * 1e-3
MOVED = 0.5 * DRAM_PEAK * 1e-3
COUNTED = (
    parts(dram=50, tensor=20, issue=10)
    | flop_counts()
    | tensor_counts(fp16=EXECUTED)
    | dram_bytes(0.5)
)


def annotated(*shapes: tuple[float, float], metrics: dict[str, Any] | None = None) -> Report:
    """Return launches, each alone in an operation that needs so many FLOP and bytes."""
    paths = [
        f"nsightlens@op v1 name=fc{i} flop={flop} bytes={moved}"
        for i, (flop, moved) in enumerate(shapes)
    ]
    return with_columns(report_of(*[launch(metrics or COUNTED)] * len(paths)), nvtx_path=paths)


def label_of(report: Report, **options: Any) -> dict[str, Any]:
    """Return the first label."""
    row: dict[str, Any] = classify(report, **options).labels.to_pylist()[0]
    return row


def test_a_batch_of_one_in_a_tile_of_sixteen_executes_sixteen_times_its_operations() -> None:
    """A decode GEMM on tensor cores: the rows of the tile that no sequence fills are padding."""
    label = label_of(annotated((EXECUTED / 16, MOVED)))
    assert label["executed_per_useful_flop"] == pytest.approx(16.0)
    assert label["dram_per_algorithmic_byte"] == pytest.approx(1.0)
    assert "16 times the operations of its shape are executed" in label["reason"]
    assert "bytes of its shape" not in label["reason"]


def test_bytes_that_are_read_again_are_named() -> None:
    """Twice the bytes that the shape needs."""
    label = label_of(annotated((EXECUTED, MOVED / 2)))
    assert label["dram_per_algorithmic_byte"] == pytest.approx(2.0)
    assert "2 times the bytes of its shape come from DRAM" in label["reason"]
    assert "operations of its shape" not in label["reason"]


def test_bytes_that_a_cache_already_held_are_named() -> None:
    """Half of the bytes of the shape came from DRAM."""
    label = label_of(annotated((EXECUTED, MOVED * 2)))
    assert "only 0.5 of the bytes of its shape come from DRAM" in label["reason"]


def test_a_little_more_than_the_shape_is_not_worth_a_word() -> None:
    """20 % more operations and bytes."""
    label = label_of(annotated((EXECUTED / 1.2, MOVED / 1.2)))
    assert label["executed_per_useful_flop"] == pytest.approx(1.2)
    assert "of its shape" not in label["reason"]


@pytest.mark.parametrize("name", ["sm__ops_path_tensor_src_fp16.sum", "dram__bytes_read.sum"])
def test_what_was_not_counted_has_no_ratio(name: str) -> None:
    """Tensor operations or DRAM bytes are missing: null, not one and not zero."""
    metrics = {one: value for one, value in COUNTED.items() if one != name}
    label = label_of(annotated((EXECUTED, MOVED), metrics=metrics))
    column = "dram_per_algorithmic_byte" if "dram" in name else "executed_per_useful_flop"
    assert label[column] is None


def test_launches_that_share_an_operation_have_no_ratio() -> None:
    """The work of one annotation cannot be divided among two launches."""
    path = f"nsightlens@op v1 name=fc flop={EXECUTED} bytes={MOVED}"
    report = with_columns(report_of(launch(COUNTED), launch(COUNTED)), nvtx_path=[path, path])
    assert label_of(report)["executed_per_useful_flop"] is None


def test_an_annotation_of_nothing_has_no_ratio() -> None:
    """Zero operations, as of a copy."""
    label = label_of(annotated((0.0, MOVED)))
    assert label["executed_per_useful_flop"] is None
    assert label["dram_per_algorithmic_byte"] == pytest.approx(1.0)


def test_a_group_is_the_quotient_of_sums() -> None:
    """Two launches, one with all and one with half of its operations useful: 2 / 1.5."""
    label = label_of(annotated((EXECUTED, MOVED), (EXECUTED / 2, MOVED)), by="family")
    assert label["launch_count"] == 2
    assert label["executed_per_useful_flop"] == pytest.approx(2 / 1.5)
