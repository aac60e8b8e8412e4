"""From the paper's raw files to its advice: the command reads what lies there and says the same."""

from __future__ import annotations

import csv
import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.command import CommandLine

from nsightlens.advisor.advice import Wishes, advise
from nsightlens.advisor.answers import Slo
from nsightlens.serving.serving import open_serving

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.serving import Serving

pytestmark = pytest.mark.corpus

MODELS = ("opt-1.3b", "llama-2-7b")


@pytest.fixture(scope="module")
def corpus(corpus_ncu: Path) -> Path:
    """Return the folder of the corpus, or skip."""
    return corpus_ncu.parent


@pytest.fixture(scope="module")
def paper(corpus: Path) -> Path:
    """Return the folder of the paper's tables."""
    return corpus.parent / "facts" / "paper"


@cache
def _serving(path: Path) -> Serving:
    return open_serving(path)


def _rows(path: Path, **wanted: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _printed_as(published: str, ours: float) -> bool:
    """Whether a number rounds to what is printed, with as many digits."""
    places = len(published.partition(".")[2])
    return math.isclose(round(ours, places), float(published), abs_tol=10.0**-places * 1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_twenty_choices_of_a_model_are_the_published_ones(
    corpus: Path, paper: Path, model: str
) -> None:
    serving = _serving(corpus / "serving" / model)
    rows = _rows(paper / "expected_batch_advice.tsv", model=model)
    assert len(rows) == 20
    for row in rows:
        factor = float(row["slo_mult"])
        slos = (Slo(factor=factor),) if math.isfinite(factor) else ()
        advice = advise(serving, Wishes(slos=slos, epsilon=float(row["eps"])))
        choice, memory = advice.choice, advice.memory
        assert choice.row is not None
        assert memory is not None
        ours: dict[str, float | None] = {
            "B_opt": choice.batch_size,
            "B_largest_feasible": choice.largest_feasible,
            "T_tok_s": choice.row["throughput_tok_s"],
            "itl_ms": choice.row["itl_ms"],
            "efficiency": choice.row["efficiency"],
            "kv_peak_pct": memory.kv_peak_pct,
            "kv_pool_gib": memory.kv_pool_gib,
            "kv_used_gib": memory.kv_used_gib,
            "kv_freed_gib": memory.kv_freed_gib,
        }
        if slos:
            ours["slo_ms"] = choice.limits_ms[0]
        wrong = {
            name: (row[name], value)
            for name, value in ours.items()
            if value is None or not _printed_as(row[name], value)
        }
        assert wrong == {}, row


@pytest.mark.parametrize("model", MODELS)
def test_the_second_rule_gives_the_memory_of_the_papers_figure(paper: Path, model: str) -> None:
    serving = _serving(paper / "serving_sweep_fixed_output_390.tsv")
    (row,) = _rows(paper / "expected_memory_freed.tsv", model=model, output_len="390")
    wishes = Wishes(slos=(Slo("tpot", factor=3.0),), rule="largest")
    advice = advise(serving, wishes, conditions={"model": model})
    assert advice.memory is not None
    assert advice.choice.row is not None
    assert advice.choice.batch_size == float(row["B_opt(max_running)"])
    for name, ours in (
        ("slo_ms(3x tpot@32)", advice.choice.limits_ms[0]),
        ("tpot_ms", advice.choice.row["mean_tpot_ms"]),
        ("kv_peak_pct", advice.memory.kv_peak_pct),
        ("kv_pool_gib", advice.memory.kv_pool_gib),
        ("kv_freed_gib", advice.memory.kv_freed_gib),
    ):
        assert ours is not None
        assert abs(ours - float(row[name])) <= 0.6 * 10.0 ** -len(row[name].partition(".")[2]), name


@pytest.mark.parametrize(("model", "knee"), [("opt-1.3b", 28.2), ("llama-2-7b", 50.8)])
def test_the_knee_by_least_squares_in_ms_is_the_published_one(
    corpus: Path, model: str, knee: float
) -> None:
    advice = advise(_serving(corpus / "serving" / model), Wishes(fit="milliseconds"))
    assert advice.plateau.fit is not None
    assert advice.plateau.fit.knee == pytest.approx(knee, rel=0.01)
    assert advice.plateau.other_fit is not None
    assert advice.plateau.other_fit.method == "relative"


def test_the_papers_own_two_servers_break_the_limit_that_chose_their_batch(
    corpus: Path, paper: Path
) -> None:
    """Before they are run, by prediction; afterwards, by measurement."""
    raw, shares = corpus / "serving" / "opt-1.3b", paper / "decode_time_shares.tsv"
    wishes = Wishes(slos=(Slo(factor=2.0),))
    opt = {"model": "opt-1.3b"}
    before = advise(open_serving([raw, shares]), wishes, conditions=opt).replicas
    measured = open_serving([raw, shares, paper / "replication_runs.tsv"])
    after = advise(measured, wishes, conditions=opt).replicas
    for replicas, origin, itl_ms in ((before, "predicted", 19.2), (after, "measured", 18.98)):
        assert replicas is not None
        rows = [
            row
            for row in replicas.rows.to_pylist()
            if row["replicas"] == 2 and row["mps"] and row["batch_size"] == 96
        ]
        assert [row["origin"] for row in rows] == [origin]
        assert rows[0]["itl_ms"] == pytest.approx(itl_ms, rel=0.01)
        assert rows[0]["meets_slo"] is False
        assert replicas.recommended == 1


def test_the_gain_bound_covers_every_measured_replica(corpus: Path, paper: Path) -> None:
    serving = open_serving(
        [
            corpus / "serving" / "opt-1.3b",
            paper / "decode_time_shares.tsv",
            paper / "replication_runs.tsv",
        ]
    )
    seen = 0
    for epsilon in (0.1, 0.2):
        replicas = advise(
            serving, Wishes(epsilon=epsilon), conditions={"model": "opt-1.3b"}
        ).replicas
        assert replicas is not None
        for row in replicas.rows.to_pylist():
            if row["origin"] == "measured" and row["replicas"] > 1 and row["gain"] is not None:
                seen += 1
                assert row["gain"] <= row["gain_bound"], row
    assert seen >= 5


def test_the_command_says_it_as_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = str(corpus / "serving" / "opt-1.3b")
    done = CommandLine(capsys)("advise", raw, "--slo-x", "2", "--json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    assert answer["b_opt"] == 96
    assert answer["binding_constraint"] == "slo"
    assert answer["slo_ms"] == pytest.approx(15.019, abs=1e-3)
    assert answer["kv_freed_gib"] == pytest.approx(45.60, abs=0.01)
    assert answer["replicas_max"] == 4
    assert answer["warnings"]
