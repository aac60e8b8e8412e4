"""Values of a run: the first that comes is kept, what cannot be is left out, and both are said."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.serving.part import Part
from nsightlens.serving.run import SETTINGS, Run


def _part(path: str = "a.json", **values: Any) -> Part:
    return Part(
        "result", path, "test", {name.replace("hint_", "?"): v for name, v in values.items()}
    )


def test_the_first_value_is_kept_with_its_file() -> None:
    run = Run("r")
    run.take(_part("a.json", mean_itl_ms=4.0))
    run.take(_part("b.log", mean_itl_ms=5.0))
    assert run.values == {"mean_itl_ms": 4.0}
    assert run.origins["mean_itl_ms"].path == "a.json"


def test_two_files_that_contradict_each_other_on_a_setting_are_told_of() -> None:
    run = Run("r")
    run.take(_part("a.json", max_num_seqs=64))
    run.take(_part("b.log", max_num_seqs=96))
    assert run.values["max_num_seqs"] == 64
    assert [note.key for note in run.notes] == ["contradiction"]
    assert "64 in a.json and 96 in b.log" in run.notes[0].text


def test_values_that_agree_within_rounding_are_no_contradiction() -> None:
    run = Run("r")
    run.take(_part(kv_pool_gib=54.27, model="OPT-1.3b"))
    run.take(_part("b.log", kv_pool_gib=54.2749, model="opt-1.3b"))
    assert run.notes == []


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("mean_itl_ms", -1.0, "negative"),
        ("mean_itl_ms", 0.012, "shorter than any step"),
        ("mean_itl_ms", float("nan"), "no number"),
        ("mean_itl_ms", float("inf"), "infinite"),
        ("mean_itl_ms", "fast", "no number"),
        ("mean_itl_ms", [1], "no number"),
        ("kv_peak_pct", 180.0, "more than"),
        ("output_token_count", 10**40, "too large"),
        ("output_token_count", 10**400, "no number"),
    ],
)
def test_a_number_that_cannot_be_is_left_out_and_told_of(
    column: str, value: Any, problem: str
) -> None:
    run = Run("r")
    run.take(_part(**{column: value}))
    assert column not in run.values
    assert problem in run.notes[0].text
    assert "a.json" in run.notes[0].text


def test_all_requests_at_once_is_an_infinite_rate() -> None:
    run = Run("r")
    run.take(_part(request_rate_per_s=float("inf")))
    assert run.values["request_rate_per_s"] == float("inf")


def test_hints_are_taken_only_when_they_are_asked_for() -> None:
    run = Run("r")
    part = _part(hint_max_num_seqs=64)
    run.take(part)
    assert run.values == {}
    run.take(part, hints=True)
    assert run.values == {"max_num_seqs": 64}


def test_a_shared_server_gives_its_settings_alone() -> None:
    run = Run("r")
    run.take(_part(max_num_seqs=64, preemption_count=3), SETTINGS)
    assert run.values == {"max_num_seqs": 64}
