"""The numbers of "Mind the Memory Gap", reproduced from formulas; and the page that explains them.

Each comparison is with the tables taken from the paper's repository, column by column.
"""

from __future__ import annotations

import csv
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsightlens.models import (
    attention_intensity_flop_per_byte,
    knee_batch_size,
    kv_block_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    parameter_count,
    read_model,
    step_work,
)
from nsightlens.sweeps.predict import prediction
from nsightlens.sweeps.predict_facts import reference_crossovers

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.corpus

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "paper.md"
# The table was made with parameters of three digits: half a unit of 1.01 is 0.5 %.
ROUNDED = 0.005
PAPER_BYTES_PER_S = 1.631e12


@pytest.fixture(scope="module")
def facts(corpus_ncu: Path) -> Path:
    """Return the folder of the paper's tables, or skip."""
    folder = corpus_ncu.parent.parent / "facts" / "paper"
    if not folder.is_dir():
        pytest.skip("the paper's tables do not lie beside this checkout")
    return folder


def table(facts: Path, name: str) -> list[dict[str, str]]:
    """Return the rows of a table; there are some."""
    with (facts / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert rows
    return rows


def _name(row: dict[str, str]) -> str:
    return row["model"].partition(" ")[0]


def test_every_column_of_the_table_of_models_is_reproduced(facts: Path) -> None:
    """Sizes and bytes exactly, crossovers within the rounding of the parameters."""
    for row in table(facts, "model_kv_and_crossover"):
        model = read_model(_name(row))
        sizes = (model.layer_count, model.head_count, model.kv_head_count, model.head_dim)
        assert sizes == tuple(int(row[name]) for name in ("layers", "h_q", "h_kv", "d_head"))
        assert parameter_count(model) == pytest.approx(float(row["params"]), rel=ROUNDED)
        assert kv_bytes_per_token(model) == int(row["kv_bytes_per_token_fp16"])
        assert kv_block_bytes(model) == int(row["vllm_block16_bytes"])
        intensities = [attention_intensity_flop_per_byte(model, kv_bytes=b) for b in (2.0, 1.0)]
        assert intensities == [
            float(row["attn_decode_AI_fp16"]),
            float(row["attn_decode_AI_fp8kv"]),
        ]
        for one, column in zip(
            reference_crossovers(model),
            ("S_star_H100SXM", "S_star_H200", "S_star_MN5_64GB"),
            strict=True,
        ):
            expected = float(row[column])
            assert one.context_length is not None
            assert abs(one.context_length - expected) <= 0.5 + ROUNDED * expected, (row, one)
        expected = float(row["B_star_at_S500_tokens(KV bytes=weight bytes)"])
        assert knee_batch_size(model, 500) == pytest.approx(expected, rel=ROUNDED, abs=0.05)


def test_predict_says_the_same(facts: Path) -> None:
    """The command's facts are those of the table, for every model."""
    for row in table(facts, "model_kv_and_crossover"):
        found = prediction(_name(row), "H100 SXM5 80GB", [1], 500).facts
        assert found.kv_bytes_per_token == int(row["kv_bytes_per_token_fp16"])
        assert found.kv_block_bytes_16bit == int(row["vllm_block16_bytes"])
        crossover = float(row["S_star_H100SXM"])
        assert found.crossover_context_length is not None
        assert abs(found.crossover_context_length - crossover) <= 0.5 + ROUNDED * crossover
        knee = float(row["B_star_at_S500_tokens(KV bytes=weight bytes)"])
        assert found.knee_batch_size == pytest.approx(knee, rel=ROUNDED, abs=0.05)
        assert found.knee_batch_size_at_500 == found.knee_batch_size


@pytest.mark.parametrize(
    ("name", "line", "knee"),
    [("opt-1.3b", (3.328, 0.11795), 28.2), ("llama-2-7b", (10.885, 0.21422), 50.8)],
)
def test_the_knee_by_bytes_lies_within_15_percent_of_the_measured_one(
    facts: Path, name: str, line: tuple[float, float], knee: float
) -> None:
    """Latency against requests in flight is fitted again; the bytes know nothing of it."""
    rows = [
        row
        for row in table(facts, "serving_sweep")
        if (row["model"], row["excluded_by_paper"], row["preemptions"]) == (name, "0", "0")
    ]
    running, latency = (
        np.array([float(row[column]) for row in rows])
        for column in ("mean_running_in_window", "mean_itl_ms")
    )
    slope, start = np.polyfit(running, latency, 1)
    assert (start, slope) == pytest.approx(line, rel=1e-3)
    assert start / slope == pytest.approx(knee, abs=0.05)
    assert knee_batch_size(read_model(name), 500) == pytest.approx(start / slope, rel=0.15)


def test_implied_bandwidths_follow_from_bytes_and_times(facts: Path) -> None:
    """KV bytes, weights, rates and shares of peak, for every batch size of both models."""
    for row in table(facts, "implied_bandwidth"):
        batch = int(row["batch"])
        works = step_work(read_model(row["model"]), batch_size=batch, context_length=330)
        gemm = [work for work in works if work.family == "gemm"]
        kv = sum(work.kv_cache_bytes for work in works)
        weights = sum(work.weight_bytes for work in gemm)
        attention_s, matmul_s = (
            float(row[name]) / 1e3 for name in ("attn_ms_per_step", "matmul_ms_per_step")
        )
        found = {
            "kv_GB_per_step_mean": kv / 1e9,
            "implied_attn_TBs": kv / attention_s / 1e12,
            "implied_attn_pct_of_1.631TBs": 100 * kv / attention_s / PAPER_BYTES_PER_S,
            "weights_GB_per_step": weights / 1e9,
            "implied_matmul_weight_TBs": weights / matmul_s / 1e12,
            "implied_matmul_pct_peak_bw": 100 * weights / matmul_s / PAPER_BYTES_PER_S,
            "matmul_TFLOPs": sum(work.flop for work in gemm) / matmul_s / 1e12,
            "gemm_AI_weight_only": sum(work.flop for work in gemm) / weights,
        }
        for column, value in found.items():
            assert value == pytest.approx(float(row[column]), rel=2e-3), (row, column)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the script that writes the page."""
    path = ROOT / "scripts" / "make_paper_page.py"
    spec = importlib.util.spec_from_file_location("make_paper_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_its_script_writes(facts: Path, script: ModuleType) -> None:
    """No number of it was typed by hand, and none is out of date."""
    assert PAGE.read_text(encoding="utf-8") == script.page(facts)


def test_what_the_page_says_of_misfiled_kernels_holds(facts: Path, script: ModuleType) -> None:
    """Only where "other" is large do weights come faster than DRAM delivers; moved, they do not."""
    for name in script.MEASURED_MODELS:
        rates, share = script.implied(facts, name), script.shares(facts, name)
        impossible = {batch for batch, one in rates.items() if one.matmul_pct > 100}
        swollen = {batch for batch, one in share.items() if one["other_pct"] > 20}
        assert impossible == swollen
        first, last = map(int, script.over_peak(rates).split(" to "))
        assert impossible == {batch for batch in rates if first <= batch <= last}
    llama, llama_share = script.implied(facts, "llama-2-7b"), script.shares(facts, "llama-2-7b")
    _, rate = script.misfiled(llama, llama_share)
    assert rate == pytest.approx(llama[1].matmul_pct, rel=0.02)


def test_what_the_page_says_of_latency_holds(facts: Path, script: ModuleType) -> None:
    """Twice the bytes in the same time at batch 1; near peak, in proportion, at large batch."""
    for name in script.MEASURED_MODELS:
        rates = list(script.implied(facts, name).values())
        assert 10 <= rates[0].attention_pct <= 23
        assert rates[1].attention_ms < 1.15 * rates[0].attention_ms
        assert rates[-1].attention_pct > 85
        assert rates[-1].attention_ms > 1.9 * rates[-2].attention_ms


def test_what_the_page_says_of_shares_holds(facts: Path, script: ModuleType) -> None:
    """From batch 32 on bytes alone give attention's share within ten points, and equality."""
    for name in script.MEASURED_MODELS:
        rates, share = script.implied(facts, name), script.shares(facts, name)
        for batch in (batch for batch in rates if batch >= 32):
            predicted = script.predicted_share_pct(rates[batch].needed)
            assert predicted == pytest.approx(script.measured_share_pct(share[batch]), abs=10)
        measured = script.equal_measured(share)
        assert script.equal_batch_by_bytes(rates) == pytest.approx(measured, rel=0.15)
    rows = table(facts, "gpu_metrics_vs_batch_opt-1.3b")
    rates = script.implied(facts, "opt-1.3b")
    for row in rows:
        by_bytes = rates[int(row["batch"])].whole_pct
        assert 0 <= float(row["dram_read_mean_pct"]) - by_bytes < 10


def test_every_number_of_the_tables_on_the_page_is_in_the_facts_or_computed(
    facts: Path, script: ModuleType
) -> None:
    """Apart from the script: shares as measured, and bytes by the closed form of the cache."""
    shown = _tables(PAGE.read_text(encoding="utf-8"))
    share = {(row["model"], row["batch"]): row for row in table(facts, "decode_time_shares")}
    assert len(shown) == 7
    for name, rows in zip(script.MEASURED_MODELS, shown[4:6], strict=True):
        for row in rows:
            measured = share[name, row[0]]
            for column, cell in zip(
                ("attention_pct", "matmul_pct", "other_pct", "cpu_time_pct"), row[3:], strict=True
            ):
                assert float(cell) == pytest.approx(float(measured[column]), abs=0.051)
    for name, rows in zip(script.MEASURED_MODELS, shown[2:4], strict=True):
        of_one = kv_bytes_of_sequence(read_model(name), 330)
        for row in rows:
            assert float(row[1]) == pytest.approx(int(row[0]) * of_one / 1e9, rel=6e-3)


def _tables(text: str) -> list[list[list[str]]]:
    """Return the rows of every table of a page, without headings."""
    found: list[list[list[str]]] = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines: list[Any] = [line.strip("|").split("|") for line in block.splitlines()]
        if lines[1][0].strip() == "---" and len(lines[0]) > 2:
            found.append([[cell.strip() for cell in line] for line in lines[2:]])
    return found
