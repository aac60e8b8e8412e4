"""The advice of "Mind the Memory Gap", from the tables of its sweeps: choice, memory, replicas."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from support.advice_curves import curve_of_paper, runs_of_paper

from nsightlens.advisor.answers import Slo
from nsightlens.advisor.batch import choose_batch

if TYPE_CHECKING:
    from pathlib import Path

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
