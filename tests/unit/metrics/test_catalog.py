from __future__ import annotations

import pytest

from nsightlens import tables
from nsightlens.metrics import SOURCES
from nsightlens.metrics.catalog import (
    CATALOG,
    MEASURED,
    is_countable,
    minimal_metrics,
    peak_metrics,
)
from nsightlens.metrics.formula import formula
from nsightlens.metrics.tensor import TENSOR_COLUMNS, TENSOR_PATHS, tensor_paths_of
from nsightlens.units import unit_of

ARCHITECTURES = sorted({cc for path in TENSOR_PATHS for cc in path.compute_capabilities})
# What the results themselves say, not their metrics.
FROM_THE_FILE = {
    "report", "launch_id", "kind", "process_id", "process_name", "thread_id", "api_call_id",
    "kernel_name", "kernel_demangled_name", "kernel_mangled_name", "nvtx_path",
    "is_alone_in_range", "is_unsupported_device", "is_clock_locked",
}  # fmt: skip


def test_every_measured_column_of_the_table_has_a_source() -> None:
    """No column of launches is forgotten, and none is named that the table does not have."""
    assert SOURCES.keys() == {column.name for column in tables.LAUNCHES} - FROM_THE_FILE


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.column)
def test_every_formula_compiles_and_is_listed_once(entry: object) -> None:
    """A slip in a formula shows here, not in a report that nobody has."""
    formulas = MEASURED[entry.column].formulas  # type: ignore[attr-defined]
    assert len(set(formulas)) == len(formulas)
    assert all(formula(text).metrics for text in formulas)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("column", MEASURED)
def test_what_is_asked_for_fills_the_column(column: str, architecture: str) -> None:
    """The metrics that a user is told to collect satisfy one of the formulas."""
    asked = set(minimal_metrics(column, architecture)) | {"gpu__time_duration.sum"}
    if minimal_metrics(column, architecture):
        assert any(set(formula(text).metrics) <= asked for text in MEASURED[column].formulas)


@pytest.mark.parametrize("column", ["dram_bytes", "dram_clock_hz", "dram_throughput_pct"])
@pytest.mark.parametrize("architecture", ["7.2", "8.7", "11.0", "12.1"])
def test_unified_memory_has_no_dram_counter(column: str, architecture: str) -> None:
    """Asking ncu for a counter that the chip lacks is an error for the whole kernel."""
    assert not is_countable(column, architecture)
    assert minimal_metrics(column, architecture) == ()


def test_an_unknown_architecture_is_not_said_to_lack_a_counter() -> None:
    """A GPU newer than the table, or not named by the report, may have any counter."""
    assert is_countable("tensor_fp8_flop_count", "99.0")
    assert is_countable("tensor_fp8_flop_count", None)
    assert minimal_metrics("tensor_fp8_flop_count", "99.0") == ()


@pytest.mark.parametrize(
    ("architecture", "asked", "not_asked"),
    [
        ("9.0", "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off", "src_int4"),
        ("8.0", "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off", "src_fp8"),
        ("8.7", "sm__ops_path_tensor_src_int4_sparsity_off", "dram__"),
        (None, "dram__bytes", "tensor"),
    ],
)
def test_the_peaks_to_collect_are_those_of_the_architecture(
    architecture: str | None, asked: str, not_asked: str
) -> None:
    """Roofs from the report itself need its own peaks, dense, and only those that exist."""
    names = peak_metrics(architecture)
    assert f"{asked}.sum.peak_sustained" in names
    assert not [name for name in names if not_asked in name]


def test_tensor_paths_are_one_per_column_and_architecture() -> None:
    """Two paths for the same column and GPU would count the same work twice."""
    for architecture in ARCHITECTURES:
        columns = [path.column for path in tensor_paths_of(architecture)]
        assert len(set(columns)) == len(columns)


@pytest.mark.parametrize(
    ("architecture", "lacking"),
    [
        ("7.0", {"tensor_bf16_flop_count", "tensor_tf32_flop_count", "tensor_int8_op_count"}),
        ("8.0", {"tensor_fp8_flop_count", "tensor_fp4_flop_count"}),
        ("9.0", {"tensor_int4_op_count", "tensor_fp4_flop_count"}),
        ("12.0", {"tensor_int4_op_count", "tensor_int1_op_count"}),
    ],
)
def test_an_architecture_lacks_the_types_that_it_cannot_multiply(
    architecture: str, lacking: set[str]
) -> None:
    """Data types come and go with the architectures."""
    assert lacking <= {name for name in TENSOR_COLUMNS if not is_countable(name, architecture)}


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.column)
def test_a_metric_used_as_it_is_has_the_unit_of_its_column(entry: object) -> None:
    """A formula of one metric and nothing else must not change the unit."""
    column = next(c for c in tables.LAUNCHES if c.name == entry.column)  # type: ignore[attr-defined]
    alike = {"FLOP": "op", "B": "B/block", "": None}
    for text in MEASURED[column.name].formulas:
        if formula(text).metrics == (text,) and unit_of(text) not in {None, ""}:
            assert unit_of(text) in {
                column.unit,
                alike.get(column.unit),
                *(("SM", "register/thread", "pass") if not column.unit else ()),
            }, text
