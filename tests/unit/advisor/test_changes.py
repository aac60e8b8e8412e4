"""What would change the answer is true: with that alone relaxed, the rule chooses as it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.advisor.answers import Curve, Plateau, Slo
from nsightlens.advisor.batch import choose_batch
from nsightlens.advisor.changes import would_change
from nsightlens.advisor.memory import memory_advice
from nsightlens.tables import ADVICE_CURVE, SERVING_RUNS, schema_of, table_of

if TYPE_CHECKING:
    from nsightlens.advisor.answers import BatchChoice

UNKNOWN = Plateau(None, None, None, None, None, None, None, None)


def _curve(**columns: list[Any]) -> Curve:
    count = len(columns["batch_size"])
    data = {"run": [f"r{i}" for i in range(count)], "preemption_count": [0.0] * count, **columns}
    return Curve(table_of(schema_of(ADVICE_CURVE), data, count), "total", None)


def _words(curve: Curve, choice: BatchChoice) -> list[str]:
    return list(would_change(curve, choice, UNKNOWN, None))


HUMP = {
    "batch_size": [16.0, 32.0, 64.0, 128.0],
    "throughput_tok_s": [1000.0, 2000.0, 1900.0, 3000.0],
    "mean_itl_ms": [10.0, 20.0, 25.0, 40.0],
}


def test_the_limit_named_is_that_of_the_batch_that_would_be_chosen() -> None:
    """64 is nearer and slower: to allow it changes nothing."""
    choice = choose_batch(_curve(**HUMP), [Slo(limit_ms=20.0)])
    assert choice.batch_size == 32
    (sentence,) = _words(_curve(**HUMP), choice)
    assert sentence == "A limit of 40.00 ms or more for the mean ITL would make it 128."


def test_of_two_limits_each_is_relaxed_alone() -> None:
    """128 breaks both limits, so that neither alone changes the answer."""
    curve = _curve(**HUMP, mean_ttft_ms=[1.0, 1.0, 1.0, 9.0])
    choice = choose_batch(curve, [Slo(limit_ms=20.0), Slo("ttft", limit_ms=5.0)])
    assert choice.batch_size == 32
    assert _words(curve, choice) == []


def test_more_memory_is_named_only_where_nothing_else_forbids() -> None:
    lost = {"preemption_count": [0.0, 0.0, 0.0, 5.0]}
    curve = _curve(**HUMP, **lost)
    assert any("128 run without" in one for one in _words(curve, choose_batch(curve)))
    limited = choose_batch(curve, [Slo(limit_ms=30.0)])
    assert not any("preemptions" in one for one in _words(curve, limited))


def test_an_epsilon_is_named_only_where_it_changes_the_choice() -> None:
    falling = {"throughput_tok_s": [1000.0, 900.0, 800.0, 700.0]}
    curve = _curve(**{**HUMP, **falling}, efficiency=[1.0, 0.09, 0.08, 0.05])
    assert not any("epsilon" in one for one in _words(curve, choose_batch(curve)))
    rising = _curve(**HUMP, efficiency=[1.0, 0.5, 0.3, 0.08])
    assert "An epsilon below 0.08 would make it 128." in _words(rising, choose_batch(rising))


def test_nothing_feasible_names_the_least_limit() -> None:
    choice = choose_batch(_curve(**HUMP), [Slo(limit_ms=5.0)])
    assert choice.batch_size is None
    assert _words(_curve(**HUMP), choice) == [
        "A limit of 10.00 ms or more for the mean ITL would make it 16."
    ]


@given(st.data())
@settings(max_examples=60)
def test_a_limit_that_is_relaxed_as_said_gives_the_batch_that_was_said(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 7))
    numbers = st.floats(1.0, 1000.0)
    curve = _curve(
        batch_size=[float(2**i) for i in range(count)],
        throughput_tok_s=data.draw(st.lists(numbers, min_size=count, max_size=count)),
        mean_itl_ms=data.draw(st.lists(numbers, min_size=count, max_size=count)),
        efficiency=data.draw(st.lists(st.floats(0.01, 1.0), min_size=count, max_size=count)),
    )
    choice = choose_batch(curve, [Slo(limit_ms=data.draw(numbers))])
    for sentence in _words(curve, choice):
        match = re.match(r"A limit of ([\d.]+) ms or more .* would make it (\d+)", sentence)
        if match:
            then = choose_batch(curve, [Slo(limit_ms=float(match[1]))])
            rows = curve.rows.to_pylist()
            rates = {row["batch_size"]: row["throughput_tok_s"] for row in rows}
            # The limit was rounded up, so that a still better one may just fit as well.
            assert then.batch_size is not None
            assert rates[then.batch_size] >= rates[float(match[2])]
            assert then.batch_size != choice.batch_size


def test_contexts_are_against_the_pool_that_the_new_setting_leaves() -> None:
    curve = _curve(
        batch_size=[96.0], throughput_tok_s=[9000.0], kv_peak_pct=[16.0], kv_pool_gib=[54.27]
    )
    choice = choose_batch(curve)
    data = {
        "run": ["r0"], "kv_peak_pct": [16.0], "kv_pool_gib": [54.27],
        "total_memory_gib": [63.43], "gpu_memory_utilization": [0.9],
    }  # fmt: skip
    runs = table_of(schema_of(SERVING_RUNS), data, 1)
    memory = memory_advice(runs, curve, choice, margin=0.1)
    text = " ".join(would_change(curve, choice, UNKNOWN, memory))
    assert "1.1 times as long" in text
    assert "6.25 times, the one measured with" in text
    kept = memory_advice(runs, curve, choice, margin=9.0)
    text = " ".join(would_change(curve, choice, UNKNOWN, kept))
    assert "Contexts 6.25 times as long would fill the KV pool" in text


@pytest.mark.parametrize("peak", [99.9, 100.0])
def test_a_full_pool_allows_no_longer_context(peak: float) -> None:
    curve = _curve(batch_size=[96.0], throughput_tok_s=[9000.0], kv_peak_pct=[peak])
    assert any("Any longer context" in one for one in _words(curve, choose_batch(curve)))
