"""A saved answer of ``/metrics`` is one moment, and says what holds of the server beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry import prometheus_text
from nsightlens.serving.telemetry.exposition import metrics_of

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

(TEXT,) = prometheus_text.FORMATS


def vllm(
    *,
    running: float = 0.0,
    preempted: float = 3.0,
    engine: int = 0,
    generated: float = 500.0,
    at: str = "",
) -> str:
    """Return a scrape of one engine of vLLM."""
    labels = f'engine="{engine}",model_name="acme/small-1b"'
    return (
        "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
        "# TYPE vllm:num_requests_running gauge\n"
        f"vllm:num_requests_running{{{labels}}} {running}{at}\n"
        f"vllm:num_requests_waiting{{{labels}}} 0.0{at}\n"
        f"vllm:kv_cache_usage_perc{{{labels}}} 0.25{at}\n"
        f"vllm:num_preemptions_total{{{labels}}} {preempted}{at}\n"
        f"vllm:generation_tokens_total{{{labels}}} {generated}{at}\n"
        f'vllm:cache_config_info{{block_size="16",cache_dtype="auto",engine="{engine}",'
        'enable_prefix_caching="True",gpu_memory_utilization="0.9",num_gpu_blocks="1000"} 1.0\n'
    )


def part_of(folder: Path, text: str) -> Part:
    """Return the part of a file, which is claimed."""
    path = folder / "metrics.txt"
    path.write_text(text, encoding="utf-8")
    file = OpenedFile(path, "metrics.txt")
    assert TEXT.claims(file)
    (part,) = TEXT.read(file)
    return part


def test_the_pool_stands_in_labels(tmp_path: Path) -> None:
    """What the server was set to, and its blocks, are labels of a metric that is always 1."""
    part = part_of(tmp_path, "# TYPE python_gc_total counter\npython_gc_total 5.0\n" + vllm())
    assert part.kind == "server"
    assert part.samples is None
    assert part.values == {
        "engine": "vllm",
        "model": "small-1b",
        "block_size": 16,
        "kv_block_count": 1000,
        "kv_pool_tokens": 16_000,
        "gpu_memory_utilization": 0.9,
        "prefix_caching": True,
        "preemption_count": 3,
    }
    assert part.wheres["kv_block_count"] == "line 10"


def test_one_moment_is_no_run(tmp_path: Path) -> None:
    """What ran then is told in words, and is no value."""
    part = part_of(tmp_path, vllm(running=8.0))
    assert not {"mean_running", "max_running", "kv_peak_pct"} & set(part.values)
    (note,) = part.notes
    assert note.key == "one_scrape"
    assert "8 ran, 0 waited, 25 % of the pool in use" in note.text


@pytest.mark.parametrize(
    ("scrape", "expected"),
    [
        ({"preempted": 0.0}, 0),
        ({"preempted": 0.0, "running": 4.0}, None),
        ({"preempted": 0.0, "generated": 0.0}, None),
        ({"preempted": 7.0, "running": 4.0}, 7),
    ],
    ids=["served", "still runs", "before the run", "at least"],
)
def test_no_preemption_is_none_only_after_the_run(
    tmp_path: Path, scrape: dict[str, Any], expected: int | None
) -> None:
    """A counter of 0 before or within a run says nothing of the run."""
    part = part_of(tmp_path, vllm(**scrape))
    assert part.values.get("preemption_count") == expected
    assert ("at least" in part.derived.get("preemption_count", "")) == (expected == 7)


def test_engines_are_added_up(tmp_path: Path) -> None:
    """Each has preemptions and a pool of its own."""
    part = part_of(tmp_path, vllm(running=2.0) + vllm(running=3.0, engine=1))
    assert part.values["preemption_count"] == 6
    assert part.values["kv_block_count"] == 1000
    assert {note.key for note in part.notes} == {"one_scrape", "several_engines"}
    assert "5 ran" in next(note.text for note in part.notes if note.key == "one_scrape")


def test_scrapes_with_times_are_samples(tmp_path: Path) -> None:
    """A series that comes again begins the next scrape, at the time in ms that stands with it."""
    text = vllm(running=2.0, at=" 1777491324000") + vllm(running=4.0, at=" 1777491325000")
    part = part_of(tmp_path, text)
    assert part.kind == "samples"
    assert part.samples is not None
    assert list(part.samples.time_s) == [1777491324.0, 1777491325.0]
    assert list(part.samples.columns["running"]) == [2.0, 4.0]
    assert list(part.samples.columns["kv_usage_pct"]) == [25.0, 25.0]
    assert list(part.samples.columns["preemption_total"]) == [3.0, 3.0]


def test_scrapes_without_times_are_no_samples(tmp_path: Path) -> None:
    """The last counts, and the note says so."""
    part = part_of(tmp_path, vllm(running=2.0) + vllm(preempted=5.0))
    assert part.samples is None
    assert part.values["preemption_count"] == 5
    assert "the last of 2 moments without times" in part.notes[0].text


def test_names_of_sglang_are_known(tmp_path: Path) -> None:
    """Ranks of tensor parallelism show the same requests, and retractions have a counter."""
    text = "".join(
        f'sglang:{name}{{model_name="acme/small-1b",tp_rank="{rank}"}} {value}\n'
        for rank in (0, 1)
        for name, value in (
            ("num_running_reqs", 8.0), ("num_queue_reqs", 1.0), ("token_usage", 0.5),
            ("num_retracted_requests_total", 2.0), ("max_total_num_tokens", 40000.0),
        )
    )  # fmt: skip
    part = part_of(tmp_path, text)
    assert part.values == {
        "engine": "sglang",
        "model": "small-1b",
        "kv_pool_tokens": 40_000,
        "preemption_count": 2,
    }
    assert "8 ran, 1 waited, 50 % of the pool" in part.notes[0].text


def test_an_answer_without_values_is_refused(tmp_path: Path) -> None:
    """Help and types alone are of a server that has not started."""
    with pytest.raises(ServingFileError, match="has no value of any"):
        part_of(tmp_path, "# TYPE vllm:num_requests_running gauge\n")


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    """Values that are no number, labels that are cut, and text in between."""
    junk = 'vllm:a{b="c 1\nvllm:b NaN\nvllm:c +Inf\nvllm:d x\nvllm:e{a="}"} 1 2 3\n{}\nvllm:f\n'
    assert part_of(tmp_path, junk + vllm()).values["kv_block_count"] == 1000
    assert [one.name for one in metrics_of(junk)] == ["vllm:b", "vllm:c"]


@pytest.mark.parametrize(
    "text",
    [
        'DCGM_FI_DEV_GPU_UTIL{gpu="0"} 98\n',
        "time [s],vllm:num_requests_running\n1,2\n",
        "The metric vllm:num_requests_running is a gauge.\n",
        '{"vllm:num_requests_running": 1}',
    ],
)
def test_other_files_are_not_claimed(tmp_path: Path, text: str) -> None:
    """Tables and pages name the same metrics."""
    path = tmp_path / "metrics.txt"
    path.write_text(text, encoding="utf-8")
    assert not TEXT.claims(OpenedFile(path))
