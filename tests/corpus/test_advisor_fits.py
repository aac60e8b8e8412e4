"""The law and the curve on real sweeps: the paper's numbers, other sources, and real refusals."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow.compute as pc
import pytest
from support.advice_curves import runs

from nsightlens.advisor.curve import curve_of
from nsightlens.advisor.fitting import leave_one_out
from nsightlens.advisor.plateau import plateau
from nsightlens.advisor.setups import setups_of
from nsightlens.serving.serving import open_serving

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.advisor.answers import Curve, Fit

pytestmark = pytest.mark.corpus

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
COLUMNS = {
    "max_num_seqs": "max_num_seqs",
    "total_tok_per_s": "total_tok_s",
    "output_tok_per_s": "out_tok_s",
    "requests_per_s": "req_s",
    "mean_itl_ms": "mean_itl_ms",
    "median_itl_ms": "median_itl_ms",
    "mean_tpot_ms": "mean_tpot_ms",
    "duration_s": "duration_s",
    "completed_count": "completed",
    "prompt_count": "prompts",
    "mean_running": "mean_running_in_window",
    "max_running": "max_running",
    "kv_peak_pct": "kv_peak_pct",
    "preemption_count": "preemptions",
}
MODELS = ("opt-1.3b", "llama-2-7b")


def rows_of(name: str, model: str) -> list[dict[str, str]]:
    """Return the rows of a model in a table of the paper, or skip."""
    path = SHARED / "facts" / "paper" / f"{name}.tsv"
    if not path.is_file():
        pytest.skip("the paper's tables do not lie beside this checkout")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["model"] == model]
    assert rows
    return rows


def sweep(name: str, model: str) -> Curve:
    """Return the curve of a sweep of the paper."""
    rows = [
        {"run": row["max_num_seqs"], **{ours: float(row[its]) for ours, its in COLUMNS.items()}}
        for row in rows_of(name, model)
    ]
    return curve_of(runs(rows))


def law(curve: Curve, method: Literal["relative", "milliseconds"]) -> Fit:
    """Return the law, which holds."""
    answer = plateau(curve, method=method)
    assert answer.refused is None
    assert answer.fit is not None
    return answer.fit


@pytest.mark.parametrize(
    ("model", "t0", "a", "knee", "r2"),
    [("opt-1.3b", 3.328, 0.11795, 28.2, 0.9988), ("llama-2-7b", 10.885, 0.21422, 50.8, 0.9990)],
)
def test_the_papers_knees_by_plain_least_squares(
    model: str, t0: float, a: float, knee: float, r2: float
) -> None:
    """To the digits that are printed, over what ran, without preempted runs."""
    found = law(sweep("serving_sweep", model), "milliseconds")
    assert round(found.t0_ms, 3) == t0
    assert round(found.a_ms, 5) == a
    assert found.knee == pytest.approx(knee, rel=0.01)
    assert found.r2 is not None
    assert round(found.r2, 4) == r2
    assert found.knee_low is not None
    assert found.knee_high is not None
    assert found.knee_low < knee < found.knee_high


@pytest.mark.parametrize("name", ["serving_sweep", "serving_sweep_fixed_output_390"])
@pytest.mark.parametrize("model", MODELS)
def test_relative_fits_stay_within_six_percent(name: str, model: str) -> None:
    """Which least squares in ms does not: they miss the smallest batch."""
    curve = sweep(name, model)
    found = law(curve, "relative")
    assert found.max_error_pct < 5.9
    assert found.max_error_pct <= law(curve, "milliseconds").max_error_pct + 0.1
    weight = curve.rows["fit_weight"].to_numpy()
    counted = len(weight) - int(pc.sum(pc.greater(curve.rows["preemption_count"], 0)).as_py() or 0)
    assert found.row_count == counted
    assert set(weight.tolist()) <= {0.0, 1.0}
    left_out = leave_one_out(
        curve.rows["running_batch"].to_numpy(), curve.rows["itl_ms"].to_numpy(), weight
    )
    assert left_out is not None
    assert left_out[1] < 8


@pytest.mark.parametrize("model", MODELS)
def test_efficiency_and_share_are_those_of_the_expected_advice(model: str) -> None:
    """To their four digits, in every row of the table."""
    curve = sweep("serving_sweep", model)
    ours = {row["batch_size"]: row for row in curve.rows.to_pylist()}
    for expected in rows_of("expected_batch_advice", model):
        row = ours[float(expected["B_opt"])]
        assert round(row["efficiency"], 4) == float(expected["efficiency"])
        assert round(row["share_of_best"], 4) == float(expected["T_frac_of_best"])
        assert round(row["itl_ms"], 3) == float(expected["itl_ms"])


def test_where_the_papers_sweeps_stop_to_grow() -> None:
    """OPT-1.3B at 192 and 256 of 640; Llama-2-7B at 192, the last that is not preempted."""
    opt = plateau(sweep("serving_sweep", "opt-1.3b"))
    assert (opt.batch_at_90, opt.batch_at_95, opt.best_batch) == (192, 256, 640)
    llama = plateau(sweep("serving_sweep", "llama-2-7b"))
    assert (llama.batch_at_95, llama.best_batch) == (192, 192)
    assert opt.is_plateau_reached


def test_the_batch_asked_for_does_not_follow_the_law_where_less_ran() -> None:
    """Of 512, 304 ran: 23 % off a line over what was asked for, 3 % over what ran."""
    curve = sweep("serving_sweep_fixed_output_390", "opt-1.3b")
    refused = plateau(curve, over="nominal").refused
    assert refused is not None
    assert refused.key == "nominal_beyond_running"
    assert "of 512, 304 ran, and a line misses by up to 23.4 %" in refused.text


@pytest.mark.parametrize("model", MODELS)
def test_littles_law_is_near_to_what_ran(model: str) -> None:
    """Where no samples are, generated tokens times TPOT stand for them: within 13 %."""
    curve = sweep("serving_sweep", model)
    rows = [
        {"run": row["max_num_seqs"], **{ours: float(row[its]) for ours, its in COLUMNS.items()}}
        for row in rows_of("serving_sweep", model)
    ]
    for row in rows:
        del row["mean_running"]
    other = curve_of(runs(rows))
    assert set(other.rows["running_source"].to_pylist()) == {"little"}
    ratio = other.rows["running_batch"].to_numpy() / curve.rows["running_batch"].to_numpy()
    good = curve.rows["preemption_count"].to_numpy() == 0
    assert np.abs(ratio[good] - 1).max() < 0.13


def real_setups(folder: str) -> list[tuple[dict[str, Any], pa.Table]]:
    """Return the setups of a folder of real files, or skip."""
    path = SHARED / "corpus" / "serving" / folder
    if not path.is_dir():
        pytest.skip("the corpus of serving results does not lie beside this checkout")
    return [(one.key, one.runs) for one in setups_of(open_serving(path).runs)]


@pytest.mark.parametrize(("folder", "knee"), [("opt-1.3b", 28.2), ("llama-2-7b", 50.8)])
def test_the_papers_raw_files_give_its_knees(folder: str, knee: float) -> None:
    """From result JSON, server logs and samples, without a table in between."""
    ((_, table),) = real_setups(folder)
    found = law(curve_of(table), "milliseconds")
    assert found.knee == pytest.approx(knee, rel=0.01)


def test_llama_cpp_dense_models_have_a_law_and_mixtures_have_none() -> None:
    """Static batches: Qwen2.5-7B within 5 %, at every context; gpt-oss and Qwen3-A3B bend."""
    dense, bent = [], []
    for key, table in real_setups("other/llama_batched_bench"):
        answer = plateau(curve_of(table))
        if key["model"].startswith("Qwen2.5"):
            assert answer.refused is None
            dense.append(answer.fit)
        else:
            assert answer.refused is not None
            bent.append(answer.refused)
    assert max(one.max_error_pct for one in dense if one is not None) < 5
    assert {one.key for one in bent} == {"not_linear"}
    assert all("both ends" in one.text for one in bent)


def test_requests_that_wait_would_break_the_law_of_real_sglang_runs() -> None:
    """Llama-3.1-405B on H200: 880 in flight, 436 decoding. Over these, a line is within 9.1 %."""
    sweeps = [
        curve_of(table)
        for key, table in real_setups("other/sglang_bench_serving")
        if key["workload"] == "in1024_out1024_ratio0" and table.num_rows == 4
    ]
    (curve,) = sweeps
    assert curve.rows["batch_size"].to_pylist() == [23, 53, 350, 436]
    assert curve.rows["batch_source"].to_pylist()[-1] == "running"
    assert law(curve, "relative").max_error_pct < 9.1


def test_a_real_mixture_of_experts_is_refused_by_its_name_or_by_its_errors() -> None:
    """MiniMax-M2.5: up to 85 % off a line."""
    for _, table in real_setups("other/inferencex"):
        refused = plateau(curve_of(table)).refused
        assert refused is not None
        assert refused.key in {"moe", "not_linear", "too_few_batches"}
