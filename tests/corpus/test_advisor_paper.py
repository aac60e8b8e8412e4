"""The advice of "Mind the Memory Gap", from the tables of its sweeps: choice, memory, replicas."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.advice_curves import curve, curve_of_paper, runs, runs_of_paper

from nsightlens.advisor.answers import Slo
from nsightlens.advisor.batch import choose_batch
from nsightlens.advisor.curve import curve_of
from nsightlens.advisor.kv_pool import kv_pool_of
from nsightlens.advisor.memory import memory_advice
from nsightlens.advisor.replica_rows import replica_memory
from nsightlens.advisor.replicas import replica_advice
from nsightlens.models import read_model
from nsightlens.serving.serving import open_serving

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.advisor.answers import BatchChoice, Curve

pytestmark = pytest.mark.corpus

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def facts(corpus_ncu: Path) -> Path:
    """Return the folder of the paper's tables, or skip."""
    folder = corpus_ncu.parent.parent / "facts" / "paper"
    if not folder.is_dir():
        pytest.skip("the paper's tables do not lie beside this checkout")
    return folder


def table(facts: Path, name: str, **equal: str) -> Rows:
    """Return the rows of a table whose columns are as given; there are some."""
    with (facts / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    chosen = [one for one in rows if all(one[key] == value for key, value in equal.items())]
    assert chosen
    return chosen


def test_all_forty_choices_of_batch_are_the_papers(facts: Path) -> None:
    """Batch size, throughput, latency, efficiency and KV use, to the digits that are printed."""
    expected = table(facts, "expected_batch_advice")
    assert len(expected) == 40
    for wanted in expected:
        sweep = table(facts, "serving_sweep", model=wanted["model"])
        factor = float(wanted["slo_mult"])
        slos = [] if factor == float("inf") else [Slo(factor=factor)]
        choice = choose_batch(curve_of_paper(sweep), slos, epsilon=float(wanted["eps"]))
        row = choice.row
        assert row is not None
        assert choice.batch_size == float(wanted["B_opt"])
        assert choice.largest_feasible == float(wanted["B_largest_feasible"])
        for limit in choice.limits_ms:
            assert f"{limit:.3f}" == wanted["slo_ms"]
        assert row["throughput_tok_s"] == pytest.approx(float(wanted["T_tok_s"]), abs=0.051)
        assert row["mean_itl_ms"] == pytest.approx(float(wanted["itl_ms"]), abs=0.00051)
        assert row["efficiency"] == pytest.approx(float(wanted["efficiency"]), abs=0.000051)
        assert row["kv_peak_pct"] == pytest.approx(float(wanted["kv_peak_pct"]), abs=0.00051)
        memory = memory_advice(runs_of_paper(sweep), curve_of_paper(sweep), choice)
        for name in ("kv_pool_gib", "kv_used_gib", "kv_freed_gib"):
            # The paper's figures are differences of numbers that were rounded to 0.01 GiB before.
            assert getattr(memory, name) == pytest.approx(float(wanted[name]), abs=0.0101)
        assert memory.kv_freed_gib is not None
        freed_pct = 100 * memory.kv_freed_gib / 64
        assert freed_pct == pytest.approx(float(wanted["freed_pct_of_64"]), abs=0.0151)


@pytest.mark.parametrize("model", ["opt-1.3b", "llama-2-7b"])
def test_the_raw_files_of_the_sweep_give_the_same_choices(facts: Path, model: str) -> None:
    """Results, metrics and logs as the paper's repository has them: no number passes by a table."""
    folder = facts.parent.parent / "corpus" / "serving" / model
    if not folder.is_dir():
        pytest.skip("the raw files of the paper's sweep do not lie beside this checkout")
    raw = open_serving(str(folder)).runs
    rows = curve_of(raw)
    for wanted in table(facts, "expected_batch_advice", model=model):
        factor = float(wanted["slo_mult"])
        slos = [] if factor == float("inf") else [Slo(factor=factor)]
        choice = choose_batch(rows, slos, epsilon=float(wanted["eps"]))
        memory = memory_advice(raw, rows, choice)
        assert choice.row is not None
        found = {
            "B_opt": choice.batch_size,
            "B_largest_feasible": choice.largest_feasible,
            "T_tok_s": choice.row["throughput_tok_s"],
            "itl_ms": choice.row["mean_itl_ms"],
            "efficiency": choice.row["efficiency"],
            "kv_peak_pct": choice.row["kv_peak_pct"],
            "kv_pool_gib": memory.kv_pool_gib,
            "kv_used_gib": memory.kv_used_gib,
            "kv_freed_gib": memory.kv_freed_gib,
        }
        if choice.limits_ms:
            found["slo_ms"] = choice.limits_ms[0]
        for name, value in found.items():
            digits = len(wanted[name].partition(".")[2])
            assert value is not None
            assert round(value, digits) == float(wanted[name]), (wanted, name)


@pytest.mark.parametrize("model", ["opt-1.3b", "llama-2-7b"])
def test_the_memory_that_the_second_rule_frees_is_the_papers(facts: Path, model: str) -> None:
    """Rule `largest` with its own limit: batch size, limit, pool and memory freed."""
    sweep = table(facts, "serving_sweep_fixed_output_390", model=model)
    (wanted,) = table(facts, "expected_memory_freed", model=model, output_len="390")
    choice = choose_batch(curve_of_paper(sweep), rule="largest")
    assert choice.batch_size == float(wanted["max_num_seqs"])
    assert f"{choice.limits_ms[0]:.3f}" == wanted["slo_ms(3x tpot@32)"]
    memory = memory_advice(runs_of_paper(sweep), curve_of_paper(sweep), choice)
    assert memory.kv_freed_gib is not None
    assert f"{memory.kv_pool_gib:.2f}" == wanted["kv_pool_gib"]
    assert f"{memory.kv_freed_gib:.2f}" == wanted["kv_freed_gib"]
    assert f"{100 * memory.kv_freed_gib / 64:.2f}" == wanted["freed_pct_of_64GB"]


def test_the_setting_leaves_what_the_choice_needs(facts: Path) -> None:
    """The new share of memory gives a pool of the blocks that are needed, and few more."""
    sweep = table(facts, "serving_sweep", model="opt-1.3b")
    choice = choose_batch(curve_of_paper(sweep), [Slo(factor=2)])
    memory = memory_advice(runs_of_paper(sweep), curve_of_paper(sweep), choice)
    assert memory.gpu_memory_utilization == 0.195
    assert memory.kv_needed_gib is not None
    pool = 63.43 * 0.195 - 2.72 - 0.10
    assert 0 <= pool - memory.kv_needed_gib < 0.07


# Replicas. Busy share of the paper's decode traces: what the CPU leaves, on a line between batches.


def busy_share(facts: Path, batch: float) -> tuple[float, str]:
    """Return the busy share at a batch size, and its source."""
    rows = table(facts, "decode_time_shares", model="opt-1.3b")
    batches = [float(one["batch"]) for one in rows]
    shares = [1 - float(one["cpu_time_pct"]) / 100 for one in rows]
    return float(np.interp(batch, batches, shares)), "decode_time_shares"


def replication(facts: Path, batch: str) -> tuple[pa.Table, Curve]:
    """Return all measured replication runs, and the curve of single servers up to a batch size."""
    sweep = {one["max_num_seqs"]: one for one in table(facts, "serving_sweep", model="opt-1.3b")}
    peaks = {
        one["B"]: float(one["kv_peak_pct_single"]) for one in table(facts, "expected_replicas")
    }
    found: list[dict[str, Any]] = []
    for i, one in enumerate(table(facts, "replication_runs", model="opt-1.3b")):
        measured = runs_of_paper([sweep[one["max_num_seqs"]]]).to_pylist()[0]
        measured |= {
            "run": str(i),
            "replicas": int(one["replicas"]),
            "mps": one["mps"] == "1",
            "chunked_prefill": one["chunked_prefill"] == "1",
            "total_tok_per_s": float(one["total_tok_s"]),
            "mean_itl_ms": float(one["mean_itl_ms"]),
            "preemption_count": float(one["preempted(excluded by paper)"] == "True"),
        }
        if measured["replicas"] == 1:
            measured["kv_peak_pct"] = peaks[one["max_num_seqs"]]
        else:
            blocks = one["gpu_blocks_each"].split(",")[0]
            measured |= dict.fromkeys(("kv_pool_gib", "gpu_memory_utilization"))
            measured["kv_block_count"] = int(blocks) if blocks else None
        found.append(measured)
    table_of_runs = runs(found)
    rows = [
        {
            "run": one["run"],
            "batch_size": float(one["max_num_seqs"]),
            "throughput_tok_s": one["total_tok_per_s"],
            "itl_ms": one["mean_itl_ms"],
            "itl_source": "mean_itl_ms",
            "mean_itl_ms": one["mean_itl_ms"],
            "kv_peak_pct": one["kv_peak_pct"],
            "kv_pool_gib": one["kv_pool_gib"],
        }
        for one in plain_servers(table_of_runs).to_pylist()
    ]
    return table_of_runs, curve([one for one in rows if one["batch_size"] <= float(batch)])


def plain_servers(table_of_runs: pa.Table) -> pa.Table:
    """Return the runs of one server without chunked prefill."""
    found = table_of_runs.to_pylist()
    return table_of_runs.filter(
        [one["replicas"] == 1 and not one["chunked_prefill"] for one in found]
    )


def largest_of(rows: Curve) -> BatchChoice:
    """Choose the largest batch size, whatever its latency."""
    return choose_batch(rows, [Slo(limit_ms=1e9)], rule="largest")


@pytest.mark.parametrize(("batch", "most"), [("96", 4), ("256", 2), ("768", 1)])
def test_how_many_servers_fit_is_as_expected(facts: Path, batch: str, most: int) -> None:
    """Pools, blocks, blocks needed and whether they fit, for one to six servers."""
    expected = table(facts, "expected_replicas", B=batch)
    assert len(expected) == 6
    table_of_runs, rows = replication(facts, batch)
    single = plain_servers(table_of_runs)
    model = read_model("opt-1.3b")
    pool = kv_pool_of(single, largest_of(rows), model)
    advice = replica_advice(single, rows, largest_of(rows), most=6, model=model)
    for wanted, row in zip(expected, advice.rows.to_pylist(), strict=True):
        count = int(wanted["replicas"])
        assert row["replicas"] == count
        assert row["kv_blocks_needed"] == float(wanted["blocks_needed"])
        assert row["fits"] == (wanted["pred_feasible"] == "1")
        # The paper's servers of batch size 96 took 0.48 GiB each, and those of 256 took 0.3.
        memory = replica_memory(pool, count, 0.48 if batch == "96" else 0.3)
        assert memory.pool_gib == pytest.approx(float(wanted["pred_kv_pool_gib"]), abs=0.0051)
        assert memory.block_count == int(wanted["pred_blocks"])
    assert advice.replicas_max == most


@pytest.mark.parametrize("batch", ["96", "256"])
def test_what_was_measured_agrees_with_what_fits(facts: Path, batch: str) -> None:
    """Servers that ran are predicted to fit, and those that were preempted are not."""
    table_of_runs, rows = replication(facts, batch)
    choice = largest_of(rows)
    predicted = {
        one["replicas"]: one["fits"]
        for one in replica_advice(plain_servers(table_of_runs), rows, choice).rows.to_pylist()
    }
    measured = replica_advice(table_of_runs, rows, choice).rows.to_pylist()
    ran = [one for one in measured if one["origin"] == "measured" and one["replicas"] > 1]
    assert len(ran) == {"96": 4, "256": 2}[batch]
    for one in ran:
        assert one["fits"] == predicted[one["replicas"]]


def test_the_bound_on_the_gain_covers_every_measured_run(facts: Path) -> None:
    """No run that was not preempted gained more; the docs say how far below the bound each lies."""
    above: dict[tuple[float, int, bool], float] = {}
    for batch in ("96", "256"):
        table_of_runs, rows = replication(facts, batch)
        busy = busy_share(facts, float(batch))
        advice = replica_advice(table_of_runs, rows, largest_of(rows), busy_share=busy)
        for one in advice.rows.to_pylist():
            if one["origin"] == "measured" and one["replicas"] > 1 and one["fits"]:
                key = (one["batch_size"], one["replicas"], one["mps"])
                above[key] = one["gain_bound"] / one["gain"]
        assert not [one for one in advice.warnings if one.key == "gain_above_bound"]
    assert all(one >= 1 for one in above.values())
    assert {key: round(100 * (one - 1), 1) for key, one in above.items()} == {
        (96.0, 2, False): 26.0,
        (96.0, 2, True): 7.4,
        (96.0, 4, False): 34.1,
        (96.0, 4, True): 0.4,
        (256.0, 2, True): 12.0,
    }


def test_the_papers_own_two_servers_exceed_the_limit_that_chose_their_batch_size(
    facts: Path,
) -> None:
    """Predicted from one server alone, and measured: 19.0 ms against 15.019 ms."""
    table_of_runs, rows = replication(facts, "96")
    slo = Slo(limit_ms=15.019)
    choice = choose_batch(rows, [slo])
    assert choice.batch_size == 96
    busy = busy_share(facts, 96)
    assert busy[0] == pytest.approx(0.690, abs=0.0005)
    alone = replica_advice(plain_servers(table_of_runs), rows, choice, busy_share=busy)
    two = alone.rows.to_pylist()[1]
    assert (two["replicas"], two["origin"], two["meets_slo"]) == (2, "predicted", False)
    assert two["itl_ms"] == pytest.approx(19.0, abs=0.05)
    assert alone.recommended == 1
    assert "exceed the limit (mean ITL of 15.019 ms)" in alone.text
    measured = replica_advice(table_of_runs, rows, choice, busy_share=busy)
    row = next(one for one in measured.rows.to_pylist() if one["replicas"] == 2 and one["mps"])
    assert (row["origin"], row["meets_slo"], row["itl_ms"]) == ("measured", False, 18.98)
    assert measured.recommended == 1


@pytest.mark.parametrize(
    ("batch", "servers", "best", "larger"),
    [("96", 4, "11.0 % more", "20.1 % more"), ("256", 2, "23.6 % more", "33.8 % more")],
)
def test_servers_are_compared_as_in_the_paper(
    facts: Path, batch: str, servers: int, best: str, larger: str
) -> None:
    """Against a single server with chunked prefill, and against simply batch size 768."""
    table_of_runs, rows = replication(facts, "768")
    choice = choose_batch(rows, [Slo(limit_ms={"96": 14.0, "256": 30.0}[batch])])
    assert choice.batch_size == float(batch)
    # A limit that all servers meet: here it is the throughput that is compared.
    advice = replica_advice(table_of_runs, rows, choice, slos=[Slo(limit_ms=1e3)])
    assert advice.recommended == servers
    first, second, *_ = advice.comparisons
    assert f"{best} than the best single server, batch size 768 with chunked prefill" in first
    assert f"{larger} than simply a larger batch, batch size 768" in second
