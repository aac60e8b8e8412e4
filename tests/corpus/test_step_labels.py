"""The real list of step labels: what is expected of each, and what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

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
