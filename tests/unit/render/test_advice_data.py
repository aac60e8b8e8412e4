"""Advice as JSON: what a program asks for stands on top, and the published schema describes it."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.advice_answers import (
    BATCHES,
    CHOICE,
    LIMIT_MS,
    ROWS,
    advice,
    bare_advice,
    infeasible_advice,
)

from nsightlens import tables
from nsightlens.advisor import answers
from nsightlens.advisor.answers import Slo
from nsightlens.render.advice_data import advice_json, advice_pieces
from nsightlens.render.advice_meanings import ANSWERS, MEANINGS
from nsightlens.render.json_schema import published, schema_document

SCHEMA: dict[str, Any] = json.loads(published("advice"))
MAKERS = [advice, infeasible_advice, bare_advice]


def text_of(shown: answers.Advice) -> Any:
    return json.loads("".join(advice_pieces(shown, "1.0")), parse_constant=_refuse)


def _refuse(word: str) -> Any:
    raise AssertionError(f"{word} is no JSON")


@pytest.mark.parametrize("make", MAKERS)
def test_the_published_schema_describes_it(make: Any) -> None:
    """Feasible, infeasible, and with hardly anything known."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(text_of(make()), SCHEMA)


@pytest.mark.parametrize("make", MAKERS)
def test_the_pieces_are_the_object(make: Any) -> None:
    assert text_of(make()) == json.loads(json.dumps(advice_json(make(), "1.0"), allow_nan=False))


@pytest.mark.parametrize("make", MAKERS)
def test_every_key_is_in_the_schema_and_the_other_way_round(make: Any) -> None:
    found = text_of(make())
    assert set(found) == set(SCHEMA["properties"])
    assert set(SCHEMA["required"]) == set(SCHEMA["properties"])
    for name in ("choice", "plateau", "why"):
        assert set(found[name]) == set(SCHEMA["properties"][name]["properties"])


def test_what_is_asked_for_most_stands_on_top() -> None:
    found = text_of(advice())
    assert found["schema"] == "nsightlens.advice"
    assert found["schema_version"] == 1
    top = {name: found[name] for name in ANSWERS}
    assert top == {
        "b_opt": 96,
        "binding_constraint": "slo",
        "rule": "throughput",
        "epsilon": 0.1,
        "slo_ms": LIMIT_MS,
        "slos_ms": [LIMIT_MS],
        "nearest_feasible_slo_ms": None,
        "itl_ms": 13.8938,
        "throughput_tok_s": 9032.79,
        "efficiency": ROWS[7]["efficiency"],
        "knee": 28.2,
        "kv_peak_pct": 15.984,
        "kv_freed_gib": 45.5955,
        "gpu_memory_utilization": 0.195,
        "replicas_max": 4,
        "gain_bound": 1.5625,
    }
    assert [one["key"] for one in found["warnings"]] == ["single_run", "nominal_beyond_running"]
    assert found["command"].startswith("vllm serve opt-1.3b --max-num-seqs 96")


def test_a_batch_size_is_an_integer_where_it_is_one() -> None:
    """As one puts it into a setting."""
    assert isinstance(text_of(advice())["b_opt"], int)
    assert text_of(advice(choice=replace(CHOICE, batch_size=26.5)))["b_opt"] == 26.5


def test_nothing_feasible_is_null_with_the_limit_that_would_be() -> None:
    found = text_of(infeasible_advice())
    names = ("b_opt", "itl_ms", "throughput_tok_s", "efficiency", "kv_peak_pct", "kv_freed_gib",
             "gpu_memory_utilization", "replicas_max", "gain_bound", "memory", "replication",
             "command")  # fmt: skip
    assert [found[name] for name in names] == [None] * len(names)
    assert found["replicas"] == []
    assert found["nearest_feasible_slo_ms"] == 3.62333
    assert found["choice"]["row"] is None


def test_several_limits_are_a_list_and_no_single_one() -> None:
    slos = (Slo("itl", "mean", factor=2.0), Slo("ttft", "p99", 2000.0))
    found = text_of(advice(choice=replace(CHOICE, slos=slos, limits_ms=(LIMIT_MS, 2000.0))))
    assert found["slo_ms"] is None
    assert found["slos_ms"] == [LIMIT_MS, 2000.0]
    assert [one["column"] for one in found["choice"]["slos"]] == ["mean_itl_ms", "p99_ttft_ms"]
    assert [one["resolved_ms"] for one in found["choice"]["slos"]] == [LIMIT_MS, 2000.0]
    none = text_of(bare_advice())
    assert (none["slo_ms"], none["slos_ms"]) == (None, [])


def test_the_curve_keeps_every_row_and_digit() -> None:
    curve = text_of(advice())["curve"]
    assert [row["batch_size"] for row in curve] == list(BATCHES)
    for row, wanted in zip(curve, ROWS, strict=True):
        assert {name: row[name] for name in wanted} == wanted
    assert set(curve[0]) == {column.name for column in tables.ADVICE_CURVE}


def test_both_fits_or_the_refusal_are_in_the_plateau() -> None:
    plateau = text_of(advice())["plateau"]
    assert plateau["fit"]["method"] == "relative"
    assert plateau["other_fit"]["knee"] == 24.1
    refused = text_of(bare_advice())
    assert refused["knee"] is None
    assert refused["plateau"]["fit"] is None
    assert refused["plateau"]["refused"]["key"] == "not_linear"


def test_servers_are_rows_and_what_holds_for_all_stands_beside_them() -> None:
    found = text_of(advice())
    assert [row["replicas"] for row in found["replicas"]] == [1, 2, 5]
    assert found["replicas"][2]["fits"] is False
    assert "rows" not in found["replication"]
    assert found["replication"]["recommended"] == 1
    assert found["replication"]["commands"][0] == "nvidia-cuda-mps-control -d"


def test_shares_are_named() -> None:
    shares = text_of(advice())["why"]["shares"]
    assert shares[1] == {
        "batch_size": 32.0, "attention_pct": 24.3, "matmul_pct": 31.9, "other_pct": 15.3,
        "host_pct": 28.5,
    }  # fmt: skip


def test_the_rows_are_the_runs_of_the_setup() -> None:
    """An infinite rate of requests is null, as the schema says."""
    rows = text_of(advice())["rows"]
    assert [row["run"] for row in rows] == ["b1", "b96"]
    assert rows[0]["request_rate_per_s"] is None
    described = SCHEMA["properties"]["rows"]["items"]["properties"]["request_rate_per_s"]
    assert described["description"].endswith("null also where it is infinite")


def test_what_is_no_number_is_null() -> None:
    """At any depth; and what NumPy made is told as Python has it."""
    row = {**ROWS[7], "itl_ms": math.nan, "throughput_tok_s": math.inf, "efficiency": -math.inf}
    chosen = replace(CHOICE, row=row, limits_ms=(math.inf,), largest_feasible=np.float64(96))
    setup = {"model": np.str_("m"), "count": np.int64(3), "flag": np.bool_(True), "x": math.nan}
    found = text_of(advice(choice=chosen, setup=setup))
    assert (found["itl_ms"], found["throughput_tok_s"], found["efficiency"]) == (None, None, None)
    assert found["slo_ms"] is None
    assert found["choice"]["largest_feasible"] == 96
    assert found["setup"] == {"model": "m", "count": 3, "flag": True, "x": None}


def test_every_field_of_every_answer_has_a_meaning() -> None:
    """A new field has to be explained, and no meaning is of a field that is gone."""
    kinds = (
        answers.Warned, answers.Slo, answers.Fit, answers.Plateau, answers.Neighbour,
        answers.BatchChoice, answers.MemoryAdvice, answers.ReplicaAdvice, answers.Cost,
        answers.StepCosts, answers.Why, answers.Prediction, answers.Lacking,
    )  # fmt: skip
    fields = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    assert fields - {"rows", "slos", "shares"} == set(MEANINGS)


def test_the_origin_of_a_row_of_servers_has_its_own_words() -> None:
    """Which are not those of a sweep of profiles."""
    row = schema_document("advice")["properties"]["replicas"]["items"]["properties"]
    assert row["origin"]["enum"] == ["measured", "predicted", None]


def test_units_are_in_the_schema() -> None:
    for name in ("slo_ms", "itl_ms"):
        assert SCHEMA["properties"][name]["description"].endswith("[ms]")
    assert "[GiB]" in SCHEMA["properties"]["kv_freed_gib"]["description"]
