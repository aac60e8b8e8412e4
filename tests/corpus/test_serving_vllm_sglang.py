"""Real results of vLLM and SGLang are read to the digit, and none of another tool is claimed."""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING

import pytest

from nsightlens.serving.benchmarks import sglang_bench, sglang_offline, vllm_bench, vllm_offline
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Format, Part

pytestmark = pytest.mark.corpus

FORMATS: tuple[Format, ...] = (
    *vllm_bench.FORMATS,
    *vllm_offline.FORMATS,
    *sglang_bench.FORMATS,
    *sglang_offline.FORMATS,
)
MODELS = ("opt-1.3b", "llama-2-7b")
# Column of the paper's table -> column of ours.
COMPARED = {
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
}


@pytest.fixture(scope="module")
def serving(corpus_ncu: Path) -> Path:
    """Return the folder of real serving results, or skip."""
    folder = corpus_ncu.parent / "serving"
    if not folder.is_dir():
        pytest.skip("the corpus of serving results does not lie beside this checkout")
    return folder


def read(path: Path) -> list[Part]:
    """Read a file by the first format that claims it."""
    file = OpenedFile(path, path.name)
    return next(one for one in FORMATS if one.claims(file)).read(file)


@pytest.mark.parametrize("model", MODELS)
def test_the_papers_sweep_is_read_to_the_printed_digits(serving: Path, model: str) -> None:
    """Rates, latencies and counts of every run equal the table made of the paper's repository."""
    table = serving.parents[1] / "facts" / "paper" / "serving_sweep.tsv"
    if not table.is_file():
        pytest.skip("the paper's tables do not lie beside this checkout")
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["model"] == model]
    assert len(rows) >= 12
    for row in rows:
        folder = serving / model / f"max_num_seqs_{row['max_num_seqs']}"
        (part,) = read(folder / f"openai-infqps-{model}.json")
        for theirs, ours in COMPARED.items():
            assert f"{part.values[ours]:.6g}" == f"{float(row[theirs]):.6g}", (folder, ours)
        assert part.values["model"] == model
        assert part.values["failed_count"] == 0
        assert math.isinf(part.values["request_rate_per_s"])
        assert part.notes == ()
        assert not {"max_num_seqs", "max_concurrency", "engine", "mean_e2e_ms"} & set(part.values)


def test_runs_of_sglang_are_read_line_by_line(serving: Path) -> None:
    """Every line of the old JSON lines is a run with its rates, and the requests in flight."""
    paths = sorted((serving / "other" / "sglang_bench_serving").iterdir())
    count = 0
    for path in paths:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        parts = read(path)
        assert len(parts) == len(lines)
        count += len(parts)
        for part, line in zip(parts, lines, strict=True):
            values = part.values
            assert values["engine"] == "sglang"
            assert values["output_tok_per_s"] == line["output_throughput"]
            assert values["median_itl_ms"] == line["median_itl_ms"]
            assert values["request_rate_per_s"] == line["request_rate"]
            in_flight = line["completed"] * line["mean_e2e_latency_ms"] / 1e3 / line["duration"]
            assert values["concurrency"] == pytest.approx(in_flight)
            assert not {"mean_itl_ms", "mean_tpot_ms", "model"} & values.keys()
            assert part.notes == ()
    assert count == 21


def test_lengths_that_were_asked_for_and_lengths_that_were(serving: Path) -> None:
    """With a range ratio of 0, 1,024 tokens asked for are 508 to 535 on average."""
    (path,) = (serving / "other" / "sglang_bench_serving").glob("*405b_online*")
    part = read(path)[0]
    assert part.values["workload"] == "in1024_out1024_ratio0"
    assert part.values["mean_output_tokens"] == pytest.approx(534.49)
    assert part.values["concurrency"] == pytest.approx(23.024, rel=1e-4)


def test_nothing_else_is_claimed(serving: Path) -> None:
    """Of all real files, these readers claim vLLM's and SGLang's results and no other."""
    claimed: dict[str, int] = {}
    for path in sorted(path for path in serving.rglob("*") if path.is_file()):
        file = OpenedFile(path)
        names = [one.name for one in FORMATS if one.claims(file)]
        assert len(names) <= 1, path
        for name in names:
            claimed[name] = claimed.get(name, 0) + 1
            folder = path.parent.name
            assert folder == "sglang_bench_serving" or path.name.startswith("openai-infqps-")
    assert claimed == {"vllm-bench": 27, "sglang-bench": 4}
