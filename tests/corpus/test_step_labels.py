"""The real list of step labels: what is expected of each, and what is read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nsightlens.steps import read_label
from nsightlens.steps.agreement import read_expectations, step_measures

LABELS = Path(__file__).resolve().parents[3] / "shared" / "facts" / "step_labels.tsv"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not LABELS.exists(), reason="needs the list of step labels"),
]


def test_98_of_100_labels_are_right_in_every_field_and_no_number_is_wrong() -> None:
    """A number that is not expected is wrong, too."""
    lines = LABELS.read_text(encoding="utf-8").split("\n")
    measures = step_measures(list(read_expectations(str(LABELS), lines)))
    assert [one for one in measures if one.measure == "wrong_number"] == []
    share = next(one for one in measures if one.measure == "labels")
    assert share.total_count == 240
    assert share.right_pct is not None
    assert share.right_pct >= 98.0


TRACES = sorted((LABELS.parents[1] / "corpus" / "nsys").rglob("*.sqlite"))


@pytest.mark.skipif(not TRACES, reason="needs the real traces")
def test_no_range_of_the_real_traces_is_taken_for_a_step() -> None:
    """They are of training, HPC and libraries: tens of thousands of names, none of an engine."""
    names: set[str] = set()
    for trace in TRACES:
        with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro&immutable=1", uri=True)) as rows:
            tables = {name for (name,) in rows.execute("SELECT name FROM sqlite_master")}
            if "NVTX_EVENTS" in tables:
                texts = rows.execute("SELECT DISTINCT text FROM NVTX_EVENTS").fetchall()
                if "StringIds" in tables:
                    texts += rows.execute(
                        "SELECT value FROM StringIds WHERE id IN (SELECT textId FROM NVTX_EVENTS)"
                    ).fetchall()
                names.update(text for (text,) in texts if text)
    assert len(names) > 10_000
    assert {name for name in names if read_label(name).is_step} == set()
