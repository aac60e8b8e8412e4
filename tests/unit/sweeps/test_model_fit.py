"""A model that cannot be the one that ran is said to be another, and nothing of it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import with_columns

from nsightlens import open_report, sweep
from nsightlens.example import path

if TYPE_CHECKING:
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

SHOWN = ("useful_flop_count", "algorithmic_bytes", "useful_source", "expectation")


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the bundled report: one layer of OPT-1.3B, with annotated shapes."""
    return open_report(path())


@pytest.fixture(scope="module")
def bare(report: Report) -> Report:
    """Return the report without them."""
    return of_context(report, 500)


def of_context(report: Report, context: int) -> Report:
    """Return the report with the ranges of steps alone, which say this context length."""
    paths = [
        one.partition("/")[0].replace("context=500", f"context={context}")
        for one in report.launches["nvtx_path"].to_pylist()
    ]
    return with_columns(report, nvtx_path=paths)


def shown(result: Sweep, component: str) -> list[dict[str, Any]]:
    """Return what is shown of the work that a component needs."""
    rows = result.rows.to_pylist()
    return [{name: row[name] for name in SHOWN} for row in rows if row["component"] == component]


def test_the_model_of_the_annotated_shapes_agrees_with_them(report: Report) -> None:
    """Which is worth a note, as the annotations count and not the model."""
    result = sweep(report, model="opt-1.3b")
    assert "opt-1.3b agrees with the annotated shapes of attention and matmul." in result.notes


@pytest.mark.parametrize("model", ["llama-3-8b", "llama-2-7b", "opt-2.7b"])
def test_another_model_does_not_fit_the_annotated_shapes(report: Report, model: str) -> None:
    """The tables are those without it."""
    plain, result = sweep(report), sweep(report, model=model)
    (note,) = (note for note in result.notes if note not in plain.notes)
    assert note.startswith(f"{model} does not fit the annotated shapes and is not used: of matmul")
    assert result.rows.equals(plain.rows)
    assert result.steps.equals(plain.steps)


def test_another_context_does_not_fit_the_annotated_shapes(report: Report) -> None:
    """The matrix products do, whatever the context."""
    paths = [one.replace("context=500", "context=1000")
             for one in report.launches["nvtx_path"].to_pylist()]  # fmt: skip
    (note,) = sweep(with_columns(report, nvtx_path=paths), model="opt-1.3b").notes
    assert "is not used: of attention at batch" in note
    assert "its context length" in note


@pytest.mark.parametrize("model", ["llama-3-8b", "llama-2-7b", "opt-2.7b"])
def test_fewer_operations_than_a_model_needs_are_those_of_another(bare: Report, model: str) -> None:
    """Tiles of small batches hide it; from batch 8 on they do not, and nothing of it is shown."""
    plain, result = sweep(bare), sweep(bare, model=model)
    (note,) = result.notes
    assert note.startswith(f"{model} does not fit what was measured and is not used: matmul at")
    assert "another model ran" in note
    assert result.rows.equals(plain.rows)
    assert result.steps.equals(plain.steps)


def test_too_long_a_context_leaves_the_matrix_products_alone(report: Report) -> None:
    """Attention executed fewer operations than 50 000 tokens of context need."""
    result = sweep(of_context(report, 50_000), model="opt-1.3b")
    (note,) = result.notes
    assert "is not used for attention: attention at batch" in note
    assert "the model or the context length is another" in note
    assert {row["useful_source"] for row in shown(result, "attention")} == {None}
    assert {row["useful_source"] for row in shown(result, "matmul")} == {"model"}
    steps = result.steps.to_pylist()
    assert {step["useful_attention_intensity_flop_per_byte"] for step in steps} == {None}
    assert None not in {step["useful_matmul_intensity_flop_per_byte"] for step in steps}


def test_without_counters_no_model_is_refuted(bare: Report) -> None:
    """What was executed is not known; that few bytes pass DRAM has two possible causes."""
    counted = [
        name for name in bare.launches.column_names if name.endswith(("flop_count", "op_count"))
    ]
    nothing = {name: [None] * len(bare) for name in counted}
    result = sweep(with_columns(bare, **nothing), model="llama-2-7b")
    rows = [row for row in result.rows.to_pylist() if row["component"] == "matmul"]
    assert {row["useful_source"] for row in rows} == {"model"}
    assert all("or it is another model" in row["expectation_reason"] for row in rows)
