"""How many layers and which products were profiled, from the numbers of launches alone."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import launch, parts, with_columns
from support.stores import report_of

from nsightlens import sweep
from nsightlens.models import read_model, step_work

BATCH = 8
EXPERTS = "fused_moe_kernel"
GEMM, ATTENTION = "nvjet_hsh_64x8_64x16", "flash_fwd_splitkv_kernel"


def profiled(model: str, *, layers: int, products: int, experts: int = 0, query: int = 1) -> Any:
    """Sweep a step with so many launches of attention, of products and of products of experts."""
    names = [ATTENTION] * layers + [GEMM] * products + [EXPERTS] * experts
    path = f"nsightlens@step v1 phase=decode batch_size={BATCH} context=500 query={query}"
    report = with_columns(
        report_of(*[launch(parts(dram=50))] * len(names)),
        kernel_name=names,
        nvtx_path=[path] * len(names),
    )
    return sweep(report, model=model)


def useful(result: Any, family: str) -> float | None:
    """Return the operations that a family needs."""
    (row,) = [row for row in result.rows.to_pylist() if row["family"] == family]
    value: float | None = row["useful_flop_count"]
    return value


def needed(model: str, *operations: str, query: int = 1) -> float:
    """Return the operations of a whole step by the model."""
    works = step_work(
        read_model(model), batch_size=BATCH, context_length=500, query_length=query, phase="decode"
    )
    return sum(work.flop for work in works if work.operation in operations)


IN_LAYERS = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")


@pytest.mark.parametrize("per_layer", [4, 5, 6, 7])
def test_products_may_be_fused_or_not(per_layer: int) -> None:
    """Queries, keys and values in one or three, gate and up in one or two: the same work."""
    result = profiled("llama-3-8b", layers=2, products=2 * per_layer)
    assert useful(result, "gemm") == pytest.approx(needed("llama-3-8b", *IN_LAYERS) / 16)
    assert result.notes == ()


def test_a_whole_step_may_have_its_last_product() -> None:
    """One launch more than the layers have."""
    result = profiled("llama-3-8b", layers=32, products=32 * 4 + 1)
    assert useful(result, "gemm") == pytest.approx(needed("llama-3-8b", *IN_LAYERS, "lm_head"))


def test_a_part_of_a_step_has_no_last_product() -> None:
    """Nine launches for two layers are not eight and one."""
    result = profiled("llama-3-8b", layers=2, products=9)
    assert useful(result, "gemm") is None
    assert any("9 launches of matrix products do not fit 2" in note for note in result.notes)


def test_layers_that_differ_are_compared_in_whole_steps_alone() -> None:
    """Half of the layers see a window; which of them were profiled is not known."""
    result = profiled("gemma-2-9b", layers=3, products=12)
    assert useful(result, "attention") is None
    assert any("its layers differ" in note for note in result.notes)
    whole = profiled("gemma-2-9b", layers=42, products=42 * 4)
    names = ("attention", "attention_in_window")
    assert useful(whole, "attention") == pytest.approx(needed("gemma-2-9b", *names))


def test_query_tokens_of_speculative_decoding_count() -> None:
    """Three tokens per sequence are three times the work of one."""
    result = profiled("llama-3-8b", layers=32, products=128, query=3)
    assert useful(result, "gemm") == pytest.approx(needed("llama-3-8b", *IN_LAYERS, query=3))
    assert useful(result, "attention") == pytest.approx(needed("llama-3-8b", "attention", query=3))


def test_products_of_experts_are_rows_of_their_own() -> None:
    """Kernels that do them for all experts at once are known by name."""
    result = profiled("mixtral-8x7b", layers=32, products=32 * 3, experts=32 * 2)
    found = {row["subtype"]: row["useful_flop_count"] for row in result.rows.to_pylist()}
    dense, grouped = ("qkv_proj", "o_proj", "router"), ("experts_gate_up", "experts_down")
    assert found["dense"] == pytest.approx(needed("mixtral-8x7b", *dense))
    assert found["grouped"] == pytest.approx(needed("mixtral-8x7b", *grouped))
    assert result.notes == ()
