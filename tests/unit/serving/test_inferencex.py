"""InferenceX: seconds without a suffix, and throughput per GPU."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import inferencex, inferencex_aggregated, keys_of_notes, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

_NAME = "minimax_m25_vllm_{}8_isl1024_osl128_conc48.json"


def _read(folder: Path, top: dict[str, Any], name: str = _NAME.format("tep")) -> Part:
    (part,) = read(folder, name, top, "inferencex")
    return part


def _aggregated(folder: Path, **changes: Any) -> Part:
    (part,) = read(folder, "agg.json", {**inferencex_aggregated(), **changes}, "inferencex-agg")
    return part


def test_latencies_without_a_suffix_are_seconds(tmp_path: Path) -> None:
    """26 ms per token, and no time between tokens."""
    values = _read(tmp_path, inferencex()).values
    assert (values["median_tpot_ms"], values["p99_tpot_ms"]) == (26.0, 37.0)
    assert values["median_ttft_ms"] == 1650.0
    assert values["p99_e2e_ms"] == pytest.approx(6090.0)
    assert not any("itl" in name for name in values)


def test_counts_and_rates_are_read(tmp_path: Path) -> None:
    """What was sent and not completed failed; total throughput is the sum."""
    part = _read(tmp_path, inferencex())
    expected = {
        "prompt_count": 480, "completed_count": 470, "failed_count": 10, "duration_s": 50.0,
        "input_token_count": 481280, "output_token_count": 60160, "requests_per_s": 9.4,
        "output_tok_per_s": 1203.2, "max_concurrency": 48, "model": "MiniMax-M2.5",
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert part.values["total_tok_per_s"] == pytest.approx(10828.8)
    assert math.isinf(part.values["request_rate_per_s"])


@pytest.mark.parametrize(
    ("way", "parallel", "is_moe"), [("tep", 8, True), ("dep", 1, True), ("tp", 8, None)]
)
def test_what_only_the_name_says_is_a_hint(
    tmp_path: Path, way: str, parallel: int, is_moe: bool | None
) -> None:
    """With data parallel attention each GPU runs sequences of its own."""
    part = _read(tmp_path, inferencex(), _NAME.format(way))
    hints = {name: value for name, value in part.values.items() if name.startswith("?")}
    expected = {
        "?engine": "vllm", "?gpu_count": 8, "?tensor_parallel_size": parallel,
        "?workload": "in1024_out128",
    }  # fmt: skip
    assert hints == expected | ({"?mixture_of_experts": True} if is_moe else {})
    assert part.wheres["?gpu_count"].startswith("name ")


def test_another_name_gives_no_hints(tmp_path: Path) -> None:
    """Nothing is made of it."""
    part = _read(tmp_path, inferencex(), "result.json")
    assert not [name for name in part.values if name.startswith("?")]


def test_a_result_of_vllm_in_milliseconds_is_not_claimed(tmp_path: Path) -> None:
    """One key with the suffix says that all have it."""
    top = {key.replace("_tpot", "_tpot_ms"): value for key, value in inferencex().items()}
    with pytest.raises(AssertionError):
        read(tmp_path, "a.json", top, "inferencex")


def test_a_result_of_failures_is_refused(tmp_path: Path) -> None:
    """Nothing completed."""
    with pytest.raises(ServingFileError, match="all 480 requests failed"):
        _read(tmp_path, {**inferencex(), "completed": 0})


def test_a_rate_is_a_number_and_a_result_that_was_cut_none(tmp_path: Path) -> None:
    """Infinity has two spellings."""
    assert (
        _read(tmp_path, {**inferencex(), "request_rate": 2.5}).values["request_rate_per_s"] == 2.5
    )
    text = json.dumps(inferencex(), indent=1)[:-100]
    with pytest.raises(ServingFileError, match="ends early"):
        read(tmp_path, "a.json", text, "inferencex")


def test_throughput_per_gpu_is_multiplied(tmp_path: Path) -> None:
    """By the GPUs that share each layer."""
    part = _aggregated(tmp_path)
    expected = {
        "total_tok_per_s": 2400.0, "output_tok_per_s": 2120.0, "gpu_count": 4,
        "tensor_parallel_size": 4, "max_concurrency": 64, "engine": "tensorrt-llm",
        "quantization": "fp8", "workload": "in1024_out8192", "device_name": "h200",
        "speculative": False, "mean_tpot_ms": 33.6, "mean_itl_ms": 34.0,
    }  # fmt: skip
    assert {name: part.values[name] for name in expected} == expected
    assert part.derived["total_tok_per_s"] == "tput_per_gpu times 4 GPUs"


def test_gpus_of_prefill_and_of_decoding_are_not_added_up(tmp_path: Path) -> None:
    """Throughput per GPU is of either."""
    part = _aggregated(tmp_path, disagg="true")
    assert not {"total_tok_per_s", "output_tok_per_s", "gpu_count"} & set(part.values)
    assert keys_of_notes(part) == ["disaggregated"]


def test_drafts_and_experts_are_told(tmp_path: Path) -> None:
    """The law of batching fails for both."""
    values = _aggregated(tmp_path, spec_decoding="mtp", ep=4, dp_attention="true").values
    assert (values["speculative"], values["mixture_of_experts"]) == (True, True)
    assert (values["gpu_count"], values["tensor_parallel_size"]) == (4, 1)


def test_a_list_of_aggregated_results_is_a_run_each(tmp_path: Path) -> None:
    """Their places are their indexes."""
    top = [{**inferencex_aggregated(), "conc": conc} for conc in (4, 8)]
    parts = read(tmp_path, "agg_bmk.json", top, "inferencex-agg")
    assert [(part.run_key, part.values["max_concurrency"]) for part in parts] == [
        ("[0]", 4),
        ("[1]", 8),
    ]
