"""llama.cpp: sequences in lock-step, whose time between tokens is exact, or one sequence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import LLAMA_BENCH, LLAMA_JSONL, keys_of_notes, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

_TABLE = """\
# Some results

## model-20b MXFP4

main: n_kv_max = 4096, n_batch = 2048, is_pp_shared = 0, n_gpu_layers = -1

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   512 |     32 |    1 |    544 |    0.400 |  1280.00 |    0.320 |   100.00 |    0.720 |   755.56 |
ggml_cuda: a line of a log between the rows
|   512 |     32 |    2 |   1088 |    0.200 |  5120.00 |    0.480 |   133.33 |    0.680 |  1600.00 |
|   512 |     32 |    4 |   21

## other 7B Q8_0

main: n_kv_max = 4096, n_batch = 2048, is_pp_shared = 1, n_gpu_layers = -1

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   512 |     32 |    8 |    768 |    0.200 |  2560.00 |    0.640 |   400.00 |    0.840 |   914.29 |
"""


def _bench(**changes: Any) -> dict[str, Any]:
    return {
        "build_commit": "abc", "build_number": 10273, "gpu_info": "NVIDIA GB10",
        "model_filename": "/models/llama-7b-q4.gguf", "model_type": "llama 7B Q4_0",
        "n_batch": 2048, "n_ubatch": 512, "type_k": "f16", "n_prompt": 0, "n_gen": 128,
        "n_depth": 0, "avg_ns": 1024000000, "avg_ts": 125.0,
    } | changes  # fmt: skip


def test_lines_of_json_among_a_log_are_a_run_each(tmp_path: Path) -> None:
    """The time between tokens is that of generation over the tokens of one sequence."""
    parts = read(tmp_path, "a.jsonl", LLAMA_JSONL, "llama-batched-bench")
    assert [part.values["static_batch_size"] for part in parts] == [1, 4]
    assert [part.values["mean_itl_ms"] for part in parts] == pytest.approx([10.0, 12.5])
    assert [part.where for part in parts] == ["line 3", "line 4"]
    expected = {
        "decode_tok_per_s": 320.0, "total_tok_per_s": 768.0, "duration_s": 1.0,
        "output_tok_per_s": 256.0, "requests_per_s": 4.0, "workload": "in128_out64",
        "model": "Llama 7B", "engine": "llama.cpp",
    }  # fmt: skip
    assert expected.items() <= parts[1].values.items()
    assert "mean_itl_ms" in parts[1].derived


def test_one_object_alone_is_a_run(tmp_path: Path) -> None:
    """A file of one line is JSON as a whole."""
    line = LLAMA_JSONL.splitlines()[-1]
    (part,) = read(tmp_path, "a.json", line, "llama-batched-bench")
    assert part.values["static_batch_size"] == 4


def test_tables_of_several_models_are_told_apart_by_their_headings(tmp_path: Path) -> None:
    """Lines of a log between rows are passed over, a row that was cut is none."""
    parts = read(tmp_path, "a.md", _TABLE, "llama-batched-bench")
    found = [
        (part.values["model"], part.values["quantization"], part.values["static_batch_size"])
        for part in parts
    ]
    assert found == [("model-20b", "MXFP4", 1), ("model-20b", "MXFP4", 2), ("other 7B", "Q8_0", 8)]
    assert [part.values["mean_itl_ms"] for part in parts] == pytest.approx([10.0, 15.0, 20.0])


def test_a_prompt_that_is_shared_is_another_workload(tmp_path: Path) -> None:
    """It is processed once for all sequences."""
    parts = read(tmp_path, "a.md", _TABLE, "llama-batched-bench")
    assert [part.values["workload"] for part in parts] == [
        "in512_out32",
        "in512_out32",
        "in512_out32_shared",
    ]


def test_the_first_row_of_a_model_may_hold_the_warm_up(tmp_path: Path) -> None:
    """Its prompt took 1280 tokens per second, the next one's 5120."""
    parts = read(tmp_path, "a.md", _TABLE, "llama-batched-bench")
    assert [keys_of_notes(part) for part in parts] == [["warm_up_in_run"], [], []]
    assert not keys_of_notes(read(tmp_path, "a.jsonl", LLAMA_JSONL, "llama-batched-bench")[0])


def test_rows_without_generation_are_refused(tmp_path: Path) -> None:
    """A prompt alone has no time between tokens."""
    line = json.dumps({**json.loads(LLAMA_JSONL.splitlines()[-1]), "tg": 0, "t_tg": 0.0})
    with pytest.raises(ServingFileError, match="nothing of the generation"):
        read(tmp_path, "a.jsonl", line, "llama-batched-bench")


def test_one_sequence_of_llama_bench_is_a_batch_of_one(tmp_path: Path) -> None:
    """Its n_batch is how the prompt is cut."""
    (part,) = read(tmp_path, "a.json", [_bench()], "llama-bench")
    expected = {
        "static_batch_size": 1, "mean_itl_ms": 8.0, "decode_tok_per_s": 125.0,
        "model": "llama-7b-q4", "quantization": "Q4_0", "device_name": "NVIDIA GB10",
        "kv_cache_dtype": "f16", "engine_version": "b10273", "workload": "in0_out128",
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert not {"max_num_seqs", "max_num_batched_tokens"} & set(part.values)


def test_tests_with_a_prompt_are_left_out(tmp_path: Path) -> None:
    """And refused where there is nothing else."""
    tests = [_bench(n_prompt=512, n_gen=0), _bench(n_prompt=512), _bench(n_depth=4096)]
    lines = "\n".join(json.dumps(one) for one in tests)
    (part,) = read(tmp_path, "a.jsonl", lines, "llama-bench")
    assert part.values["workload"] == "in4096_out128"
    assert keys_of_notes(part) == ["run_left_out"]
    with pytest.raises(ServingFileError, match="a test with a prompt"):
        read(tmp_path, "b.json", tests[:2], "llama-bench")


def test_the_table_and_the_csv_of_llama_bench_say_the_same(tmp_path: Path) -> None:
    """Rows at a depth are another workload."""
    parts = read(tmp_path, "a.md", LLAMA_BENCH, "llama-bench")
    found = [(part.values["mean_itl_ms"], part.values["workload"]) for part in parts]
    assert found == [(8.0, "in0_out128"), (20.0, "in32768_out128")]
    assert parts[0].values["model"] == "llama 7B"
    names = list(_bench())
    cells = ",".join(f'"{value}"' for value in _bench().values())
    (part,) = read(tmp_path, "a.csv", f"{','.join(names)}\n{cells}\n", "llama-bench")
    assert (part.values["mean_itl_ms"], part.values["quantization"]) == (8.0, "Q4_0")
