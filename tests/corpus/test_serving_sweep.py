"""The paper's raw files give the paper's sweep, to the digits in which it is printed."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.serving.serving import open_serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

COLUMNS = {
    "total_tok_s": "total_tok_per_s",
    "out_tok_s": "output_tok_per_s",
    "req_s": "requests_per_s",
    "mean_itl_ms": "mean_itl_ms",
    "median_itl_ms": "median_itl_ms",
    "p99_itl_ms": "p99_itl_ms",
    "mean_tpot_ms": "mean_tpot_ms",
    "median_tpot_ms": "median_tpot_ms",
    "mean_ttft_ms": "mean_ttft_ms",
    "median_ttft_ms": "median_ttft_ms",
    "duration_s": "duration_s",
    "prompts": "prompt_count",
    "completed": "completed_count",
    "in_tok": "input_token_count",
    "out_tok": "output_token_count",
    "mean_running": "mean_running_whole",
    "mean_running_in_window": "mean_running",
    "max_running": "max_running",
    "kv_peak_pct": "kv_peak_pct",
    "preemptions": "preemption_count",
    "weights_gb": "weights_gib",
    "total_gib": "total_memory_gib",
    "kv_gib": "kv_pool_gib",
    "gpu_blocks": "kv_block_count",
    "gmu": "gpu_memory_utilization",
}
"""Column of the published table to that of ``serving_runs``."""


@pytest.fixture(scope="module")
def corpus(corpus_ncu: Path) -> Path:
    """Return the folder of the corpus, or skip."""
    return corpus_ncu.parent


def _published(facts: Path, model: str) -> dict[int, dict[str, str]]:
    with (facts / "paper" / "serving_sweep.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {int(row["max_num_seqs"]): row for row in rows if row["model"] == model}


def _same_digits(published: str, ours: float) -> bool:
    """Whether a number, printed with the six digits of the table, is the published one."""
    return float(f"{ours:.6g}") == float(published)


@pytest.mark.parametrize("model", ["opt-1.3b", "llama-2-7b"])
def test_raw_files_give_the_published_sweep(corpus: Path, model: str) -> None:
    serving = open_serving(corpus / "serving" / model)
    published = _published(corpus.parent / "facts", model)
    runs: dict[int, dict[str, Any]] = {run["max_num_seqs"]: run for run in serving.runs.to_pylist()}
    assert sorted(runs) == sorted(published)
    wrong = [
        (batch, name, row[name], runs[batch][column])
        for batch, row in published.items()
        for name, column in COLUMNS.items()
        if runs[batch][column] is None or not _same_digits(row[name], runs[batch][column])
    ]
    assert wrong == []
    assert all(run["model"] == model for run in runs.values())


def test_each_value_names_the_file_that_it_came_from(corpus: Path) -> None:
    serving = open_serving(corpus / "serving" / "opt-1.3b")
    origins = {
        (row["run"].split("/")[0], row["column"]): row for row in serving.origins.to_pylist()
    }
    for column, file in (
        ("total_tok_per_s", "openai-infqps-opt-1.3b.json"),
        ("mean_running", "metrics_engine_server_0.csv"),
        ("kv_peak_pct", "metrics_engine_server_0.csv"),
        ("kv_pool_gib", "server.log"),
        ("max_num_seqs", "server.log"),
    ):
        path = origins["max_num_seqs_96", column]["path"]
        assert path.endswith(f"max_num_seqs_96/{file}"), column
    states = set(serving.files["state"].to_pylist())
    assert states == {"read"}
