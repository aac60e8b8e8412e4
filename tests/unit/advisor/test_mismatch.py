"""What is joined with serving results may be of something else, which is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.timelines import write_decode_trace

import nsightlens.example
from nsightlens import open_report, open_trace, sweep, timeline
from nsightlens.advisor.mismatch import mismatches
from nsightlens.advisor.setups import Setup
from nsightlens.models import read_model
from nsightlens.tables import SERVING_RUNS, schema_of, table_of

if TYPE_CHECKING:
    from pathlib import Path

OPT: dict[str, Any] = {"kv_pool_gib": [54.27], "kv_block_count": [18525], "block_size": [16]}


def _setup(key: dict[str, Any] | None = None, **columns: Any) -> Setup:
    runs = table_of(schema_of(SERVING_RUNS), {"run": ["r"], **columns}, 1)
    return Setup(key or {"model": "opt-1.3b"}, runs)


def test_the_model_of_the_runs_is_no_mismatch() -> None:
    assert mismatches(_setup(**OPT), model=read_model("opt-1.3b")) == ()


def test_another_model_is_told_by_its_name_and_by_its_blocks() -> None:
    found = mismatches(_setup(**OPT), model=read_model("llama-2-7b"))
    assert [one.key for one in found] == ["model_mismatch", "kv_block_mismatch"]
    assert "3 MiB" in found[1].text
    assert "8 MiB" in found[1].text


def test_an_8_bit_cache_is_no_mismatch() -> None:
    half: dict[str, Any] = {**OPT, "kv_block_count": [2 * 18525]}
    assert mismatches(_setup(**half), model=read_model("opt-1.3b")) == ()


def test_blocks_of_a_model_that_gpus_share_say_nothing() -> None:
    shared: dict[str, Any] = {
        **OPT,
        "kv_block_count": [4 * 18525],
        "tensor_parallel_size": [4],
    }
    assert mismatches(_setup(**shared), model=read_model("opt-1.3b")) == ()


@pytest.mark.parametrize(
    ("device", "keys"),
    [("H100 80GB HBM3", []), ("NVIDIA H100 80GB HBM3", []), ("L4", ["profile_of_another_gpu"])],
)
def test_a_profile_of_another_gpu_is_told(device: str, keys: list[str]) -> None:
    swept = sweep(open_report(nsightlens.example.path()))
    found = mismatches(_setup({"device_name": device}), sweeps=[swept])
    assert [one.key for one in found] == keys


def test_a_trace_without_decode_steps_is_told(tmp_path: Path) -> None:
    with_steps = timeline(open_trace(write_decode_trace(tmp_path)))
    assert mismatches(_setup(), timelines=[with_steps]) == ()
    without = type(with_steps)(
        **{
            name: getattr(with_steps, name)
            for name in ("steps", "families", "copies", "gaps", "runs", "advice", "source")
        },
        has_steps=False,
    )
    assert [one.key for one in mismatches(_setup(), timelines=[without])] == ["trace_without_steps"]
