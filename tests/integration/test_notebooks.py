"""Every notebook runs from top to bottom, as it lies there and with other inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


def _printed(path: Path, inputs: str = "") -> str:
    """Run a notebook, its cell of inputs followed by other ones; return what it printed."""
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[0].source += f"\n{inputs}"
    client: Any = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(path.parent))
    outputs = (out for cell in code for out in cell.outputs)
    return "".join(out.get("text", "") for out in outputs if out.output_type == "stream")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs_and_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    assert _printed(path).strip()


@pytest.fixture(scope="module")
def argument() -> Path:
    return next(path for path in NOTEBOOKS if "where_batching" in path.name)


def test_the_argument_holds_for_multi_head_attention_and_a_long_context(argument: Path) -> None:
    printed = _printed(argument, 'MODEL, CONTEXT = "llama-2-7b", 2000')
    assert "bandwidth-saturated attention limits batch" in printed


def test_the_argument_does_not_hold_for_grouped_queries_and_a_short_context(argument: Path) -> None:
    """A reader who changes the inputs gets the other answer, not the same text."""
    printed = _printed(argument, 'MODEL, CONTEXT = "llama-3-8b", 64')
    assert "bandwidth-saturated attention" not in printed
    assert "the matrix products" in printed


def test_a_limit_that_nothing_meets_is_said(argument: Path) -> None:
    assert "no batch size that fits is within" in _printed(argument, "SLO_FACTOR = 0.01")


def test_an_8_bit_cache_doubles_the_intensity(argument: Path) -> None:
    assert "attention of opt-1.3b: 2 FLOP/B" in _printed(argument, 'KV_DTYPE = "fp8"')
