"""`server_command`: command lines by engine, quoted and checked."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.advisor.settings import memory_flag, server_command, share_of_each
from nsightlens.errors import AdviceError

ALL: dict[str, Any] = {
    "batch_size": 96,
    "gpu_memory_utilization": 0.195,
    "max_num_batched_tokens": 2048,
    "tensor_parallel_size": 2,
    "max_model_len": 4096,
    "port": 8001,
}


COMMANDS = {
    "vllm": """\
vllm serve m --max-num-seqs 96 --gpu-memory-utilization 0.195 --max-num-batched-tokens 2048 \
--tensor-parallel-size 2 --max-model-len 4096 --port 8001""",
    "sglang": """\
python -m sglang.launch_server --model-path m --max-running-requests 96 \
--mem-fraction-static 0.195 --chunked-prefill-size 2048 --tp-size 2 --context-length 4096 \
--port 8001""",
    "tensorrt-llm": """\
trtllm-serve m --max_batch_size 96 --max_num_tokens 2048 --tp_size 2 --max_seq_len 4096 \
--port 8001""",
    "llama.cpp": "llama-server -m m -np 96 -b 2048 --port 8001",
}


@pytest.mark.parametrize(("engine", "command"), COMMANDS.items())
def test_each_engine_has_its_own_names_of_settings(engine: str, command: str) -> None:
    """A share of memory is given only where it means what was measured."""
    assert server_command(engine, "m", **ALL) == command
    assert server_command(engine.upper(), "m", **ALL) == command


def test_without_an_engine_it_is_vllm_and_without_a_model_a_placeholder() -> None:
    """What is not known is left to the reader, visibly."""
    assert server_command(None, None, batch_size=8) == "vllm serve MODEL --max-num-seqs 8"


def test_other_spellings_of_an_engine_are_known() -> None:
    """Names are as files spell them."""
    assert server_command("trtllm", "m", batch_size=8) == "trtllm-serve m --max_batch_size 8"


def test_an_engine_that_is_not_known_gets_a_comment_and_no_invented_command() -> None:
    """A shell that is given it does nothing, even where the name has several lines."""
    line = server_command("new\nrm -rf x", "m", batch_size=8)
    assert line == "# new rm -rf x: serve with at most 8 sequences at once"


@settings(max_examples=40)
@given(model=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20))
def test_any_name_of_a_model_is_one_word_for_the_shell(model: str) -> None:
    """Blanks, quotes and dollars mean nothing in it."""
    words = shlex.split(server_command("vllm", model, batch_size=8))
    assert words == ["vllm", "serve", model, "--max-num-seqs", "8"]


def test_several_servers_have_their_own_ports_and_equal_shares_rounded_down() -> None:
    """Their shares together are no more than that of one."""
    lines = server_command(
        "vllm", "m", batch_size=8, gpu_memory_utilization=0.9, replicas=7, port=9000
    ).splitlines()
    assert len(lines) == 7
    assert lines[6] == (
        "vllm serve m --max-num-seqs 8 --gpu-memory-utilization 0.1285 --port 9006 &"
    )
    assert share_of_each(0.9, 3) == 0.3
    assert share_of_each(0.9, 1) == 0.9
    assert share_of_each(None, 3) is None


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"max_num_batched_tokens": -1}, "max_num_batched_tokens is -1"),
        ({"replicas": 0}, "replicas is 0"),
        ({"port": 65535, "replicas": 2}, "no ports for 2 servers"),
        ({"gpu_memory_utilization": 90.0}, "at most 1"),
        ({"gpu_memory_utilization": 0.0}, "above 0"),
        ({"gpu_memory_utilization": float("nan")}, "above 0"),
    ],
)
def test_numbers_that_no_server_takes_are_refused(changes: dict[str, Any], problem: str) -> None:
    """In a sentence that names them."""
    with pytest.raises(AdviceError, match=problem):
        server_command("vllm", "m", **{**ALL, **changes})


def test_the_flag_for_memory_is_known_by_engine() -> None:
    """Empty where an engine has none with that meaning."""
    assert memory_flag(None) == "--gpu-memory-utilization"
    assert memory_flag("llama.cpp") == memory_flag("other") == ""
