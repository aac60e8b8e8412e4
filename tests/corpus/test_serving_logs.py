"""Logs and telemetry of the paper's servers give the memory that its tables have."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.logs import server_log
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry import dcgm, nvidia_smi, prometheus_text

pytestmark = pytest.mark.corpus

SHARED = Path(__file__).resolve().parents[3] / "shared"
SERVING = SHARED / "corpus" / "serving"
SWEEP = SHARED / "facts" / "paper" / "serving_sweep.tsv"
MINE = (
    *server_log.FORMATS, *prometheus_text.FORMATS, *nvidia_smi.FORMATS, *dcgm.FORMATS
)  # fmt: skip


def sweep() -> list[dict[str, str]]:
    """Return the rows of the paper's sweep whose files lie here."""
    if not SWEEP.is_file():
        return []
    with SWEEP.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [row for row in rows if folder_of(row).is_dir()]


def folder_of(row: dict[str, str]) -> Path:
    """Return the folder of a run of the sweep."""
    return SERVING / row["model"] / f"max_num_seqs_{row['max_num_seqs']}"


ROWS = sweep()


@pytest.fixture(params=ROWS, ids=[f"{row['model']}-{row['max_num_seqs']}" for row in ROWS])
def row(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return a row of the sweep."""
    found: dict[str, str] = request.param
    return found


@pytest.mark.skipif(not ROWS, reason="the corpus of serving results does not lie here")
def test_the_corpus_has_both_models() -> None:
    """Nothing below is tested where no file is found."""
    assert len(ROWS) == 27


def test_a_log_gives_settings_and_memory(row: dict[str, str]) -> None:
    """Each number of the table that came from the log is in it, to the last digit."""
    file = OpenedFile(folder_of(row) / "server.log")
    assert [one.name for one in MINE if one.claims(file)] == ["server-log"]
    (part,) = server_log.FORMATS[0].read(file)
    values = part.values
    assert (values["model"], values["engine"]) == (row["model"], "vllm")
    assert values["max_num_seqs"] == int(row["max_num_seqs"])
    assert values["kv_block_count"] == int(row["gpu_blocks"])
    assert values["kv_pool_tokens"] == 16 * int(row["gpu_blocks"])
    for column, name in (
        ("weights_gib", "weights_gb"), ("total_memory_gib", "total_gib"),
        ("kv_pool_gib", "kv_gib"), ("gpu_memory_utilization", "gmu"),
    ):  # fmt: skip
        assert values[column] == float(row[name])
    assert (values["block_size"], values["max_model_len"]) == (16, 2048)
    assert (values["dtype"], values["scheduler_steps"], values["gpu_count"]) == ("float16", 1, 1)
    assert values["chunked_prefill"] is values["prefix_caching"] is values["speculative"] is False
    pool = values["gpu_memory_utilization"] * values["total_memory_gib"]
    pool -= values["peak_torch_gib"] + values["non_torch_gib"]
    assert pool == pytest.approx(values["kv_pool_gib"], abs=0.02)


def test_warnings_bound_the_preemptions(row: dict[str, str]) -> None:
    """The counter of the metrics lies between the last warning and the next that never came."""
    (part,) = server_log.FORMATS[0].read(OpenedFile(folder_of(row) / "server.log"))
    at_least, counted = part.values["preemption_count"], int(row["preemptions"])
    warnings = int(row["preempt_warn"])
    assert (at_least - 1) / 50 + 1 == warnings if warnings else at_least == 0
    assert at_least <= counted < at_least + 50


def test_telemetry_begins_with_the_run(row: dict[str, str]) -> None:
    """A reading a second, no clock that was limited, and more memory than the log says is total."""
    (path,) = folder_of(row).glob("metrics_gpu_*.csv")
    file = OpenedFile(path)
    assert [one.name for one in MINE if one.claims(file)] == ["nvidia-smi"]
    (part,) = nvidia_smi.FORMATS[0].read(file)
    samples = part.samples
    assert samples is not None
    assert samples.begins_with_run
    assert 0 <= samples.time_s[0] < 1
    assert samples.time_s[-1] > float(row["duration_s"])
    assert float(np.median(np.diff(samples.time_s))) == pytest.approx(1, abs=0.01)
    assert set(samples.columns) == {"gpu_utilization_pct", "memory_used_mib", "clock_limited"}
    assert not samples.columns["clock_limited"].any()
    assert part.values["?total_memory_gib"] > float(row["total_gib"])
    assert part.notes == ()


@pytest.mark.skipif(not ROWS, reason="the corpus of serving results does not lie here")
def test_of_all_other_files_a_list_of_fields_alone_is_claimed() -> None:
    """Results of benchmarks and samples of servers are other readers'."""
    claimed = {}
    for path in sorted(SERVING.rglob("*")):
        if path.is_file() and path.name != "server.log" and "metrics_gpu" not in path.name:
            file = OpenedFile(path)
            names = [one.name for one in MINE if one.claims(file)]
            if names:
                claimed[path.name] = names
    ((name, formats),) = claimed.items()
    assert formats == ["dcgm"]
    assert "custom_gpu_metrics" in name
    with pytest.raises(ServingFileError, match="lists the fields"):
        dcgm.FORMATS[0].read(OpenedFile(next(SERVING.rglob(name))))
