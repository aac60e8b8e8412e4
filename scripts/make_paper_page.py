"""Write docs/paper.md: what "Mind the Memory Gap" measured, recomputed from formulas.

Run as ``python scripts/make_paper_page.py FACTS``, where FACTS is the folder of tables taken from
the paper's repository. The text stands in ``paper_page.md`` beside this file; every number in it
and every table is computed here, from those tables and from `nsightlens.models`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.models import (
    attention_intensity_flop_per_byte,
    knee_batch_size,
    kv_block_bytes,
    kv_bytes_per_token,
    parameter_count,
    read_model,
    step_work,
)
from nsightlens.sweeps.predict_facts import reference_crossovers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nsightlens.models import ModelConfig

TEXT = Path(__file__).with_name("paper_page.md")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper.md"

# The GPU of the paper: HBM2e at 1593 MHz on 4096 bit, tensor cores of an H100 SXM.
BYTES_PER_S = 1.631e12
FLOP_PER_S = 989.4e12
# Prompt of 161 tokens, 338 more: half of them are there on average.
CONTEXT = 161 + 338 // 2
KNEE_CONTEXT = 500
MEASURED_MODELS = ("opt-1.3b", "llama-2-7b")
# Requests in flight from which on their lengths are mixed as they are in the whole set.
MIXED_FROM = 32

Row = dict[str, str]


def rows_of(facts: Path, name: str) -> list[Row]:
    """Return the rows of one of the paper's tables."""
    with (facts / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def of_model(rows: Iterable[Row], model: str) -> list[Row]:
    """Return the rows of one model."""
    return [row for row in rows if row["model"] == model]


class Fit(NamedTuple):
    """A straight line of inter-token latency [ms] against requests in flight."""

    start_ms: float
    per_request_ms: float
    r_squared: float
    context: float

    @property
    def knee(self) -> float:
        """Requests at which the second half of the latency equals the first."""
        return self.start_ms / self.per_request_ms


def fit_of(rows: Sequence[Row]) -> Fit:
    """Fit the serving runs in which no request had to give up its cache."""
    kept = [row for row in rows if row["excluded_by_paper"] == "0" and row["preemptions"] == "0"]
    running, latency = (
        np.array([float(row[name]) for row in kept])
        for name in ("mean_running_in_window", "mean_itl_ms")
    )
    slope, start = np.polyfit(running, latency, 1)
    rest = latency - (start + slope * running)
    r_squared = 1 - (rest**2).sum() / ((latency - latency.mean()) ** 2).sum()
    tokens = [
        float(row["kv_peak_pct"]) / 100 * float(row["gpu_blocks"]) * 16 / float(row["max_running"])
        for row in kept
        if float(row["max_running"]) >= MIXED_FROM
    ]
    return Fit(float(start), float(slope), float(r_squared), float(np.mean(tokens)))


class StepBytes(NamedTuple):
    """[B] and [FLOP] What a decode step of the offline runs needs, by our formulas."""

    kv: float
    weights: float
    product_flop: float


def step_bytes(model: ModelConfig, batch: int) -> StepBytes:
    """Return keys and values, weights of matrix products, and their operations."""
    works = step_work(model, batch_size=batch, context_length=CONTEXT)
    return StepBytes(
        sum(work.kv_cache_bytes for work in works),
        sum(work.weight_bytes for work in works if work.family == "gemm"),
        sum(work.flop for work in works if work.family == "gemm"),
    )


class Implied(NamedTuple):
    """Rates that bytes and measured times imply, one decode step."""

    batch: int
    step_ms: float
    attention_ms: float
    matmul_ms: float
    needed: StepBytes

    @property
    def attention_pct(self) -> float:
        """[%] Of peak DRAM bandwidth."""
        return 100 * self.needed.kv / (self.attention_ms * 1e-3) / BYTES_PER_S

    @property
    def matmul_pct(self) -> float:
        """[%] Of peak DRAM bandwidth, by the weights."""
        return 100 * self.needed.weights / (self.matmul_ms * 1e-3) / BYTES_PER_S

    @property
    def whole_pct(self) -> float:
        """[%] Of peak DRAM bandwidth, over the whole step."""
        moved = self.needed.kv + self.needed.weights
        return 100 * moved / (self.step_ms * 1e-3) / BYTES_PER_S


def implied(facts: Path, model: str) -> dict[int, Implied]:
    """Return the implied rates of a model by batch size."""
    sizes = read_model(model)
    found = {}
    for row in of_model(rows_of(facts, "implied_bandwidth"), model):
        batch = int(row["batch"])
        found[batch] = Implied(
            batch,
            float(row["step_ms"]),
            float(row["attn_ms_per_step"]),
            float(row["matmul_ms_per_step"]),
            step_bytes(sizes, batch),
        )
    return found


def shares(facts: Path, model: str) -> dict[int, dict[str, float]]:
    """Return the measured shares of a decode step [%] by batch size."""
    names = ("attention_pct", "matmul_pct", "cpu_time_pct", "other_pct")
    return {
        int(row["batch"]): {name: float(row[name]) for name in names}
        for row in of_model(rows_of(facts, "decode_time_shares"), model)
    }


def predicted_share_pct(needed: StepBytes) -> float:
    """Return attention's share [%] of attention and matmul, by bytes and operations alone."""
    attention_s = needed.kv / BYTES_PER_S
    products_s = max(needed.weights / BYTES_PER_S, needed.product_flop / FLOP_PER_S)
    return 100 * attention_s / (attention_s + products_s)


def measured_share_pct(share: Mapping[str, float]) -> float:
    """Return the same as it was measured: the rest of the step is left out."""
    return 100 * share["attention_pct"] / (share["attention_pct"] + share["matmul_pct"])


def launch_floor(by_batch: Mapping[int, Implied]) -> tuple[float, float]:
    """Fit attention's time from batch 16 on: what stays [ms] and what a sequence adds [ms]."""
    kept = [one for batch, one in by_batch.items() if batch >= 16]
    slope, start = np.polyfit([one.batch for one in kept], [one.attention_ms for one in kept], 1)
    return float(start), float(slope)


def table(heading: str, rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; the first column is words."""
    headers = heading.split(" | ")
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def models_table(facts: Path) -> str:
    """Return the sizes and crossovers of the models of the paper's table."""
    rows = []
    for row in rows_of(facts, "model_kv_and_crossover"):
        model = read_model(row["model"].split(" ")[0])
        crossovers = [
            "none" if one.context_length is None else round(one.context_length)
            for one in reference_crossovers(model)
        ]
        rows.append([
            model.name,
            f"{parameter_count(model) / 1e9:.3g}",
            f"{kv_bytes_per_token(model):,.0f}",
            f"{kv_block_bytes(model):,.0f}",
            f"{attention_intensity_flop_per_byte(model):g}",
            f"{attention_intensity_flop_per_byte(model, kv_bytes=1.0):g}",
            *crossovers,
            f"{knee_batch_size(model, KNEE_CONTEXT):.1f}",
        ])  # fmt: skip
    heading = (
        "model | parameters, 10⁹ | B per token | B per block of 16 | FLOP/B, 16 bit | "
        "FLOP/B, 8 bit | S\\* H100 | S\\* H200 | S\\* 64 GB | B\\* at 500"
    )
    return table(heading, rows)


def knees_table(fits: Mapping[str, Fit]) -> str:
    """Return the knees, measured and by bytes."""
    rows = []
    for name, fit in fits.items():
        model = read_model(name)
        at_500, at_runs = (
            weights_over_cache(model, tokens) for tokens in (KNEE_CONTEXT, fit.context)
        )
        rows.append([
            name,
            f"{fit.start_ms:.3f} + {fit.per_request_ms:.5f} B",
            f"{fit.r_squared:.4f}",
            f"{fit.knee:.1f}",
            f"{at_500:.1f} ({100 * (at_500 / fit.knee - 1):+.0f} %)",
            f"{fit.context:.0f}",
            f"{at_runs:.1f} ({100 * (at_runs / fit.knee - 1):+.0f} %)",
        ])  # fmt: skip
    heading = (
        "model | inter-token latency, ms | R² | "
        "t0 / a | B\\* at 500 tokens | tokens in the runs | B\\* at those"
    )
    return table(heading, rows)


def weights_over_cache(model: ModelConfig, tokens: float) -> float:
    """Return the knee at a context that is no whole number."""
    return knee_batch_size(model, 1) / tokens


def implied_table(by_batch: Mapping[int, Implied], share: Mapping[int, Mapping[str, float]]) -> str:
    """Return the implied bandwidths of a model."""
    rows = [
        [
            batch,
            f"{one.needed.kv / 1e9:.3g}",
            f"{one.attention_ms:.3g}",
            f"{one.attention_pct:.1f}",
            f"{one.needed.weights / 1e9:.2f}",
            f"{one.matmul_ms:.3g}",
            f"{one.matmul_pct:.1f}",
            f"{share[batch]['other_pct']:.1f}",
        ]
        for batch, one in by_batch.items()
    ]
    heading = (
        "batch | KV, GB | attention, ms | KV, % of peak | "
        "weights, GB | matmul, ms | weights, % of peak | other, % of time"
    )
    return table(heading, rows)


def shares_table(by_batch: Mapping[int, Implied], share: Mapping[int, Mapping[str, float]]) -> str:
    """Return attention against matmul, by bytes and as measured, and what is left."""
    names = ("attention_pct", "matmul_pct", "other_pct", "cpu_time_pct")
    rows = [
        [
            batch,
            f"{predicted_share_pct(one.needed):.0f}",
            f"{measured_share_pct(share[batch]):.0f}",
            *(f"{share[batch][name]:.1f}" for name in names),
        ]
        for batch, one in by_batch.items()
    ]
    heading = (
        "batch | attention of both, % by bytes | the same, measured | "
        "attention, % of step | matmul | other kernels | host"
    )
    return table(heading, rows)


def dram_table(facts: Path, by_batch: Mapping[int, Implied]) -> str:
    """Return DRAM reads over whole steps, by bytes and as measured."""
    rows = [
        [
            row["batch"],
            f"{by_batch[int(row['batch'])].whole_pct:.1f}",
            f"{float(row['dram_read_mean_pct']):.1f}",
        ]
        for row in rows_of(facts, "gpu_metrics_vs_batch_opt-1.3b")
    ]
    return table("batch | weights and KV over the step, % of peak | measured reads, %", rows)


def values_of(facts: Path) -> dict[str, str]:
    """Return every number and table of the text by its name."""
    serving = rows_of(facts, "serving_sweep")
    fits = {name: fit_of(of_model(serving, name)) for name in MEASURED_MODELS}
    opt, llama = (implied(facts, name) for name in MEASURED_MODELS)
    opt_share, llama_share = (shares(facts, name) for name in MEASURED_MODELS)
    floor_ms, per_sequence_ms = launch_floor(opt)
    moved = misfiled(llama, llama_share)
    layers = read_model("opt-1.3b").layer_count
    of_one = opt[1].needed.kv
    numbers = {
        "context": f"{CONTEXT}",
        "bandwidth": f"{BYTES_PER_S / 1e12:.3f}",
        "attention_ms_1": f"{opt[1].attention_ms:.3f}",
        "attention_ms_2": f"{opt[2].attention_ms:.3f}",
        "attention_us_layer": f"{1e3 * opt[1].attention_ms / layers:.0f}",
        "attention_mb_layer": f"{of_one / layers / 1e6:.1f}",
        "attention_peak_us": f"{of_one / layers / BYTES_PER_S * 1e6:.1f}",
        "attention_pct_1": f"{opt[1].attention_pct:.0f}",
        "attention_pct_1_llama": f"{llama[1].attention_pct:.0f}",
        "attention_pct_512": f"{opt[512].attention_pct:.1f}",
        "attention_pct_128_llama": f"{llama[128].attention_pct:.1f}",
        "floor_ms": f"{floor_ms:.2f}",
        "per_sequence_us": f"{1e3 * per_sequence_ms:.1f}",
        "per_sequence_pct": f"{100 * of_one / (per_sequence_ms * 1e-3) / BYTES_PER_S:.0f}",
        "over_peak_opt": over_peak(opt),
        "over_peak_llama": over_peak(llama),
        "matmul_pct_most": f"{max(one.matmul_pct for one in opt.values()):.0f}",
        "matmul_pct_most_llama": f"{max(one.matmul_pct for one in llama.values()):.0f}",
        "matmul_pct_1_llama": f"{llama[1].matmul_pct:.0f}",
        "other_1_llama": f"{llama_share[1]['other_pct']:.1f}",
        "other_2_llama": f"{llama_share[2]['other_pct']:.1f}",
        "other_32_llama": f"{llama_share[32]['other_pct']:.1f}",
        "moved_ms": f"{moved[0]:.1f}",
        "moved_total_ms": f"{moved[0] + llama[2].matmul_ms:.1f}",
        "moved_pct": f"{moved[1]:.0f}",
        "equal_bytes_opt": f"{equal_batch_by_bytes(opt):.0f}",
        "equal_bytes_llama": f"{equal_batch_by_bytes(llama):.0f}",
        "equal_measured_opt": f"{equal_measured(opt_share):.0f}",
        "equal_measured_llama": f"{equal_measured(llama_share):.0f}",
        "host_1": f"{opt_share[1]['cpu_time_pct']:.0f}",
        "host_512": f"{opt_share[512]['cpu_time_pct']:.0f}",
        "host_1_llama": f"{llama_share[1]['cpu_time_pct']:.0f}",
        "host_128_llama": f"{llama_share[128]['cpu_time_pct']:.0f}",
        "host_ms_1": f"{opt[1].step_ms * opt_share[1]['cpu_time_pct'] / 100:.1f}",
        "host_ms_512": f"{opt[512].step_ms * opt_share[512]['cpu_time_pct'] / 100:.0f}",
        "gain_512": f"{100 / (100 - opt_share[512]['cpu_time_pct']):.2f}",
    }
    tables = {
        "models_table": models_table(facts),
        "knees_table": knees_table(fits),
        "implied_opt": implied_table(opt, opt_share),
        "implied_llama": implied_table(llama, llama_share),
        "shares_opt": shares_table(opt, opt_share),
        "shares_llama": shares_table(llama, llama_share),
        "dram_table": dram_table(facts, opt),
    }
    return {**numbers, **tables}


def over_peak(by_batch: Mapping[int, Implied]) -> str:
    """Return the batch sizes whose weights came faster than DRAM delivers, such as ``2 to 16``."""
    batches = list(by_batch)
    over = [batch for batch, one in by_batch.items() if one.matmul_pct > 100]
    first = batches.index(over[0])
    if over != batches[first : first + len(over)]:
        raise ValueError(f"the batch sizes {over} are no range")
    return f"{over[0]} to {over[-1]}"


def misfiled(
    by_batch: Mapping[int, Implied], share: Mapping[int, Mapping[str, float]]
) -> tuple[float, float]:
    """Return the time of "other" that is no other at batch 2 [ms], and matmul's rate with it [%].

    At batch 1 and from 32 on, where no kernel was filed wrongly, the others take that much less.
    """
    two = by_batch[2]
    extra = share[2]["other_pct"] - share[1]["other_pct"]
    moved_ms = two.step_ms * extra / 100
    rate = two.needed.weights / ((two.matmul_ms + moved_ms) * 1e-3) / BYTES_PER_S
    return moved_ms, 100 * rate


def equal_batch_by_bytes(by_batch: Mapping[int, Implied]) -> float:
    """Return the batch size at which the cache weighs as much as the weights of products."""
    one = by_batch[1].needed
    return one.weights / one.kv


def equal_measured(share: Mapping[int, Mapping[str, float]]) -> float:
    """Return the batch size from which on attention took longer, log in batch."""
    measured = {batch: measured_share_pct(one) for batch, one in share.items()}
    for (low, before), (high, after) in pairwise(measured.items()):
        if before < 50 <= after:
            return float(low * (high / low) ** ((50 - before) / (after - before)))
    raise ValueError("attention never takes longer")


def page(facts: Path) -> str:
    """Return the whole page."""
    return TEXT.read_text(encoding="utf-8").format_map(values_of(facts))


def main() -> int:
    """Write the page; return 1 if it was out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("facts", type=Path, help="folder of the paper's tables")
    text = page(parser.parse_args().facts)
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE} is written anew: commit it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
