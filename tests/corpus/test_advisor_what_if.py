"""Predictions and reasons on the paper's own sweeps: what is left out is predicted back."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.advice_curves import curve_of_paper, runs

from nsightlens.advisor.answers import Plateau
from nsightlens.advisor.busy import busy_share_at
from nsightlens.advisor.fitting import fit
from nsightlens.advisor.measured_law import measured_law
from nsightlens.advisor.what_if import analytic_knee, what_if
from nsightlens.advisor.why import why
from nsightlens.models import kv_bytes_per_token, read_model

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.advisor.answers import Curve

pytestmark = pytest.mark.corpus

MODELS = ("opt-1.3b", "llama-2-7b")
KNEES = {"opt-1.3b": 28.2, "llama-2-7b": 50.8}


@pytest.fixture(scope="module")
def facts(corpus_ncu: Path) -> Path:
    """Return the folder of the paper's tables, or skip."""
    folder = corpus_ncu.parent.parent / "facts" / "paper"
    if not folder.is_dir():
        pytest.skip("the paper's tables do not lie beside this checkout")
    return folder


def _rows(facts: Path, name: str, model: str) -> list[dict[str, str]]:
    with (facts / f"{name}.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    chosen = [one for one in rows if one["model"] == model]
    assert chosen
    return chosen


def _plateau(curve: Curve) -> Plateau:
    law = measured_law(curve)
    found = fit(law.running, law.itl_ms, law.weight)
    return Plateau(found, None, None, None, None, law.largest, None, None)


@pytest.mark.parametrize("model", MODELS)
def test_each_batch_is_predicted_from_the_others(facts: Path, model: str) -> None:
    """Latency within 6 %, as the back-test of the rest says, and throughput within 7 %."""
    rows = [one for one in _rows(facts, "serving_sweep", model) if one["preemptions"] == "0"]
    for at in range(1, len(rows) - 1):  # with one on either side
        others = curve_of_paper([*rows[:at], *rows[at + 1 :]])
        found = what_if(others, _plateau(others), batch_size=float(rows[at]["max_num_seqs"]))
        assert found.itl_ms == pytest.approx(float(rows[at]["mean_itl_ms"]), rel=0.06)
        assert found.throughput_tok_s == pytest.approx(float(rows[at]["total_tok_s"]), rel=0.07)
        assert found.backtest_max_error_pct is not None
        assert found.backtest_max_error_pct < 6


def test_batch_192_of_opt_is_predicted_within_two_percent(facts: Path) -> None:
    """From all other batch sizes of the sweep."""
    rows = _rows(facts, "serving_sweep", "opt-1.3b")
    others = curve_of_paper([one for one in rows if one["max_num_seqs"] != "192"])
    found = what_if(others, _plateau(others), batch_size=192)
    assert found.itl_ms == pytest.approx(23.5787, rel=0.02)
    assert found.throughput_tok_s == pytest.approx(10317.7, rel=0.02)
    assert found.kv_peak_pct == pytest.approx(28.2986, rel=0.03)
    assert found.itl_low_ms is not None
    assert found.itl_high_ms is not None
    assert found.itl_low_ms < 23.5787 < found.itl_high_ms
    assert found.text.startswith("Predicted")


@pytest.mark.parametrize("model", MODELS)
def test_the_knee_follows_from_the_model_within_fifteen_percent(facts: Path, model: str) -> None:
    """Weights over the cache of what the pool held per running sequence at its peak."""
    curve = curve_of_paper(_rows(facts, "serving_sweep", model))
    sizes = read_model(model)
    held = measured_law(curve).held_bytes()
    assert held is not None
    knee = analytic_knee(sizes, held / kv_bytes_per_token(sizes))
    assert knee == pytest.approx(KNEES[model], rel=0.15)


def test_preempted_batches_of_llama_are_refused(facts: Path) -> None:
    """256 was preempted when it was measured, and would have needed more than the pool."""
    curve = curve_of_paper(_rows(facts, "serving_sweep", "llama-2-7b"))
    found = what_if(curve, _plateau(curve), batch_size=256)
    assert found.itl_ms is None
    assert found.kv_peak_pct == pytest.approx(117, abs=1)


@pytest.mark.parametrize("model", MODELS)
def test_the_papers_shares_rise_and_prove_nothing(facts: Path, model: str) -> None:
    """The GPU is busy in what the host leaves; attention's share alone does not say why."""
    table: list[dict[str, Any]] = [
        {
            "run": f"decode_time_shares.tsv: row {at}",
            "static_batch_size": int(one["batch"]),
            "attention_share_pct": float(one["attention_pct"]),
            "matmul_share_pct": float(one["matmul_pct"]),
            "host_share_pct": float(one["cpu_time_pct"]),
        }
        for at, one in enumerate(_rows(facts, "decode_time_shares", model))
    ]
    curve = curve_of_paper(_rows(facts, "serving_sweep", model))
    found = why(curve, _plateau(curve), runs=runs(table))
    assert found.verdict == "unclear"
    assert "a share is no evidence" in found.text
    attention = np.array([one[1] for one in found.shares], dtype=float)
    assert attention[-1] > 4 * attention[0]
    busy = busy_share_at(128, (), runs(table))
    assert busy is not None
    assert busy[0] == pytest.approx({"opt-1.3b": 0.6779, "llama-2-7b": 0.8477}[model])
