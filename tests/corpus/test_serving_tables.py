"""Real tables: the paper's samples and its facts, Argonne's results, MLPerf's."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular import argonne, mlperf_table, other_tables, plain_table
from nsightlens.serving.telemetry import prometheus_csv
from nsightlens.serving.windows import of_server_samples

if TYPE_CHECKING:
    from nsightlens.serving.part import Format, Part

pytestmark = pytest.mark.corpus

SHARED = Path(__file__).resolve().parents[3] / "shared"
SERVING = SHARED / "corpus" / "serving"
FACTS = SHARED / "facts" / "paper"
SAMPLES = sorted(SERVING.glob("*/*/metrics_engine_server_0.csv"))
OURS: tuple[Format, ...] = (
    *prometheus_csv.FORMATS,
    *argonne.FORMATS,
    *mlperf_table.FORMATS,
    *other_tables.FORMATS,
    *plain_table.FORMATS,
)


@pytest.fixture(scope="module", autouse=True)
def _present() -> None:
    if not (SERVING.is_dir() and FACTS.is_dir()):
        pytest.skip("the corpus of serving results does not lie beside this checkout")


def _read(path: Path, name: str) -> list[Part]:
    file = OpenedFile(path)
    found = next((one for one in OURS if one.claims(file)), None)
    assert found is not None
    assert found.name == name
    return found.read(file)


def _facts(name: str) -> list[dict[str, str]]:
    with (FACTS / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda one: "/".join(one.parts[-3:-1]))
def test_samples_give_what_the_paper_counted(path: Path) -> None:
    """Preemptions, the peak of the pool, and what ran, to the printed digits."""
    model, batch = path.parts[-3], path.parts[-2].rpartition("_")[2]
    (row,) = (
        one
        for one in _facts("serving_sweep")
        if (one["model"], one["max_num_seqs"]) == (model, batch)
    )
    (part,) = _read(path, "prometheus-csv")
    assert part.samples is not None
    assert part.samples.begins_with_run
    found = of_server_samples([part.samples], float(row["duration_s"]))
    assert found["preemption_count"].value == float(row["preemptions"])
    for column, fact in (
        ("kv_peak_pct", "kv_peak_pct"),
        ("mean_running", "mean_running_in_window"),
        ("mean_running_whole", "mean_running"),
        ("max_running", "max_running"),
    ):
        assert found[column].value == pytest.approx(float(row[fact]), rel=1e-5)


_NAMES = {
    "model": "model", "max_num_seqs": "max_num_seqs", "batch": "static_batch_size",
    "total_tok_s": "total_tok_per_s", "out_tok_s": "output_tok_per_s", "req_s": "requests_per_s",
    "prompts": "prompt_count", "completed": "completed_count", "in_tok": "input_token_count",
    "out_tok": "output_token_count", "mean_running_in_window": "mean_running",
    "mean_running": "mean_running_whole", "max_running": "max_running",
    "preemptions": "preemption_count", "weights_gb": "weights_gib",
    "total_gib": "total_memory_gib", "kv_gib": "kv_pool_gib", "gpu_blocks": "kv_block_count",
    "gmu": "gpu_memory_utilization", "duration_s": "duration_s", "kv_peak_pct": "kv_peak_pct",
    "attention_pct": "attention_share_pct", "matmul_pct": "matmul_share_pct",
    "cpu_time_pct": "host_share_pct", "replicas": "replicas",
    **{f"{one}_{two}_ms": f"{one}_{two}_ms" for one in ("mean", "median", "p99")
       for two in ("itl", "tpot", "ttft")},
}  # fmt: skip


def _agree(part: Part, row: dict[str, str]) -> None:
    for name, column in _NAMES.items():
        if name not in row:
            continue
        expected: Any = row[name] if column == "model" else float(row[name])
        zero_is_missing = expected == 0 and column != "preemption_count"
        assert part.values.get(column) == (None if zero_is_missing else expected), (
            name,
            part.where,
        )


@pytest.mark.parametrize(
    "name",
    ["serving_sweep", "serving_sweep_fixed_output_390", "replication_runs", "decode_time_shares"],
)
def test_the_tables_of_the_paper_read_as_they_are(name: str) -> None:
    """Every row is a run, with every number that has a column."""
    rows = _facts(name)
    parts = _read(FACTS / f"{name}.tsv", "table")
    assert [part.where for part in parts] == [f"row {n}" for n in range(1, len(rows) + 1)]
    for part, row in zip(parts, rows, strict=True):
        _agree(part, row)


def test_the_sweep_lists_what_it_does_not_use() -> None:
    """And keeps the attention backend for a hint at the engine."""
    (first, *_) = _read(FACTS / "serving_sweep.tsv", "table")
    notes = {note.key: note.text for note in first.notes}
    assert "excluded_by_paper" in notes["unknown_columns"]
    assert first.values["?engine"] == "vllm"


def test_fixed_lengths_are_kept_in_the_workload() -> None:
    """So that these runs are not joined with those of ShareGPT."""
    parts = _read(FACTS / "serving_sweep_fixed_output_390.tsv", "table")
    assert {part.values["workload"] for part in parts} == {"out390"}


def test_replicas_keep_the_worst_of_their_servers() -> None:
    """The largest use, the smallest pool, and whether any was preempted."""
    parts = _read(FACTS / "replication_runs.tsv", "table")
    by_setting = {
        tuple(part.values[one] for one in ("max_num_seqs", "replicas", "mps")): part.values
        for part in parts
    }
    four = by_setting[256, 4, True]
    assert (four["kv_peak_pct"], four["kv_block_count"]) == (99.97, 3570)
    assert four["preemption_count"] > 0
    two = by_setting[96, 2, True]
    assert (two["kv_peak_pct"], two["kv_block_count"], two["preemption_count"]) == (31.94, 8748, 0)
    assert "kv_block_count" not in by_setting[96, 2, False]
    assert parts[-1].values["chunked_prefill"] is True


@pytest.mark.parametrize("name", ["expected_batch_advice", "expected_replicas"])
def test_tables_of_answers_are_no_runs(name: str) -> None:
    """They have latencies, and no batch size that these belong to."""
    with pytest.raises(ServingFileError):
        _read(FACTS / f"{name}.tsv", "table")


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("argonne-lcf__LLM-Inference-Bench__Plots_All_results.csv", 769),
        ("argonne-lcf__LLM-Inference-Bench__Plots_All_results_nvidia_1024.csv", 285),
    ],
)
def test_tables_of_argonne_are_read_whole(name: str, count: int) -> None:
    """In every row, throughput is batch size times both lengths over latency."""
    parts = _read(SERVING / "other" / "argonne_csv" / name, "argonne")
    assert len(parts) == count
    for part in parts:
        values = part.values
        assert values["output_tok_per_s"] == pytest.approx(values["total_tok_per_s"] / 2, rel=1e-6)
        assert values["duration_s"] > 0
        assert values["static_batch_size"] >= 1
        assert [note.key for note in part.notes] == ["tpot_includes_prefill"]


@pytest.mark.parametrize("version", ["5.1", "6.0"])
def test_tables_of_mlperf_are_refused(version: str) -> None:
    """One number per system says nothing about a batch size."""
    (path,) = (SERVING / "other" / "mlperf_csv").glob(f"*mlperf-{version}.csv")
    with pytest.raises(ServingFileError, match="one throughput per system"):
        _read(path, "mlperf-table")


def test_a_list_of_fields_is_no_table_of_ours() -> None:
    """It is refused where DCGM is read."""
    (path,) = (SERVING / "other" / "gpu_telemetry").glob("*.csv")
    assert not any(one.claims(OpenedFile(path)) for one in OURS)


def test_no_other_real_file_is_taken_for_a_table() -> None:
    """Logs, JSON, telemetry and the tables of profilers are left to their readers."""
    ours = {"argonne_csv", "mlperf_csv"}
    paths = [
        *(one for one in SERVING.glob("*/*/*") if one.name != "metrics_engine_server_0.csv"),
        *(SHARED / "corpus").glob("n*-csv/*.csv"),
    ]
    for path in paths:
        if path.is_file() and path.parent.name not in ours:
            file = OpenedFile(path)
            assert [one.name for one in OURS if one.claims(file)] == [], path
