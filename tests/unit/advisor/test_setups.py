"""Only runs of one setup are compared: what differs in more than the load is another curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.advisor.setups import choose_setup, named_experts, only, setups_of
from nsightlens.errors import AdviceError
from nsightlens.tables import SERVING_RUNS, schema_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa


def _runs(*rows: dict[str, Any]) -> pa.Table:
    rows = tuple(
        {"run": f"r/b{i}.json", "output_tok_per_s": 1.0, **row} for i, row in enumerate(rows)
    )
    names = {name for row in rows for name in row}
    data = {name: [row.get(name) for row in rows] for name in names}
    return table_of(schema_of(SERVING_RUNS), data, len(rows))


def _keys(runs: pa.Table) -> list[tuple[dict[str, Any], int]]:
    return [(one.key, one.runs.num_rows) for one in setups_of(runs)]


def test_runs_that_differ_in_the_load_alone_are_one_setup() -> None:
    runs = _runs({"model": "a", "max_num_seqs": 1}, {"model": "a", "max_num_seqs": 8})
    assert _keys(runs) == [({"model": "a"}, 2)]


@pytest.mark.parametrize(
    ("column", "one", "other"),
    [
        ("model", "a", "b"),
        ("engine_version", "0.8", "0.9"),
        ("tensor_parallel_size", 1, 4),
        ("quantization", "fp8", "awq"),
        ("workload", "sharegpt", "random"),
        ("device_name", "H100", "L4"),
    ],
)
def test_runs_that_differ_in_anything_else_are_two(column: str, one: Any, other: Any) -> None:
    runs = _runs({column: one, "max_num_seqs": 1}, {column: other, "max_num_seqs": 8})
    assert len(setups_of(runs)) == 2


def test_a_run_that_lacks_a_key_goes_with_the_others_if_they_agree() -> None:
    runs = _runs({"model": "a", "engine": "vllm"}, {"model": "a", "engine": None})
    assert _keys(runs) == [({"model": "a", "engine": "vllm"}, 2)]


def test_a_run_without_a_model_does_not_take_the_model_of_another_folder() -> None:
    """Two files with nothing in common must not become one sweep, nor lend each other a name."""
    runs = _runs({"run": "x/a.json", "model": "a"}, {"run": "y/b.json"})
    assert [key for key, _ in _keys(runs)] == [{"model": "a"}, {}]


def test_the_spelling_of_a_model_does_not_part_runs() -> None:
    assert len(setups_of(_runs({"model": "OPT-1.3b"}, {"model": "opt-1.3b"}))) == 1


def test_lengths_that_differ_much_are_different_work() -> None:
    lengths = [(1000, 100), (1010, 98), (1000, 1000), (990, 1010)]
    rows = [{"mean_input_tokens": float(i), "mean_output_tokens": float(o)} for i, o in lengths]
    assert [count for _, count in _keys(_runs(*rows))] == [2, 2]


def test_lengths_that_differ_a_little_are_the_same_work() -> None:
    rows = [
        {"mean_input_tokens": 110.6, "mean_output_tokens": float(o)} for o in (291, 292, 294, 320)
    ]
    assert [count for _, count in _keys(_runs(*rows))] == [4]


def test_equal_loads_under_names_of_other_words_are_two_setups() -> None:
    """dep8 and tep8 differ in how layers are shared out, which no file says."""
    names = [f"{kind}8_conc{c}.json" for kind in ("dep", "tep") for c in (4, 8)]
    rows = [{"run": name, "max_concurrency": int(name[9:-5])} for name in names]
    found = setups_of(_runs(*rows))
    assert [one.key["run"] for one in found] == ["dep8_conc*.json", "tep8_conc*.json"]
    assert only(_runs(*rows), {"run": "dep8_conc*.json"}).num_rows == 2


def test_a_setting_that_one_log_does_not_name_is_not_that_of_the_other() -> None:
    """No quantization beside fp8: with equal loads they would pass for repeats of one setup."""
    rows = [
        {"run": f"{kind}/b{n}.json", "engine_version": "0.9", "quantization": value}
        for kind, value in (("plain", None), ("small", "fp8"))
        for n in (1, 8)
    ]
    assert [one.key.get("quantization") for one in setups_of(_runs(*rows))] == [None, "fp8"]


def test_a_blank_cell_is_not_the_value_of_the_rows_beside_it() -> None:
    rows = [
        {"run": f"t.csv: row {n}", "kv_cache_dtype": value} for n, value in enumerate(("fp8", None))
    ]
    assert len(setups_of(_runs(*rows))) == 2


def test_repeats_that_differ_in_a_number_stay_together() -> None:
    rows = [{"run": f"b8/run={n}.json", "max_num_seqs": 8} for n in range(3)]
    assert [count for _, count in _keys(_runs(*rows))] == [3]


def test_shares_of_time_go_with_every_setup_of_their_model() -> None:
    shares = {"output_tok_per_s": None, "model": "a", "attention_share_pct": 40.0}
    runs = _runs({"model": "a"}, {"model": "b"}, shares)
    assert {one.key["model"]: one.runs.num_rows for one in setups_of(runs)} == {"a": 2, "b": 1}


def test_several_setups_are_listed_with_the_option_that_chooses() -> None:
    rows = [{"model": model, "max_num_seqs": n} for model in "ab" for n in (1, 8)]
    with pytest.raises(AdviceError, match=r"--only model=a.*model=b: 2 runs"):
        choose_setup(setups_of(_runs(*rows)))


def test_a_single_run_beside_a_sweep_is_left_out_aloud() -> None:
    rows = [{"model": "a", "max_num_seqs": n} for n in (1, 8)]
    setup, warnings = choose_setup(setups_of(_runs(*rows, {"model": "b"})))
    assert setup.key == {"model": "a"}
    assert [one.key for one in warnings] == ["other_setups"]
    assert "model=b" in warnings[0].text


def test_no_run_at_all_is_an_error() -> None:
    with pytest.raises(AdviceError, match="throughput"):
        choose_setup(setups_of(_runs({"output_tok_per_s": None})))


def test_a_condition_that_nothing_meets_names_what_is_there() -> None:
    with pytest.raises(AdviceError, match=r"model=c: there is a, b"):
        only(_runs({"model": "a"}, {"model": "b"}), {"model": "c"})
    with pytest.raises(AdviceError, match="modell"):
        only(_runs({"model": "a"}), {"modell": "a"})


@pytest.mark.parametrize(
    ("condition", "count"),
    [({"model": "a*"}, 2), ({"max_num_seqs": "8"}, 1), ({"mps": "true"}, 1), ({"mps": "false"}, 1)],
)
def test_conditions_are_text_numbers_and_flags(condition: dict[str, str], count: int) -> None:
    one = {"model": "a1", "max_num_seqs": 8, "mps": True}
    runs = _runs(one, {"model": "a2", "max_num_seqs": 16, "mps": False})
    assert only(runs, condition).num_rows == count


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Mixtral-8x7B-v0.1", True), ("Qwen3-30B-A3B", True), ("DeepSeek-R1-0528", True),
        ("gpt-oss-120b", True), ("MiniMax-M2.5", True), ("opt-1.3b", None), ("Llama-2-7b", None),
        ("Meta-Llama-3-8B", None), ("DeepSeek-R1-Distill-Llama-70B", None), (None, None),
    ],
)  # fmt: skip
def test_names_of_mixtures_of_experts_are_known(
    model: str | None, *, expected: bool | None
) -> None:
    assert named_experts(model) is expected
