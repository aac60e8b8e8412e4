"""Settings that a server prints are scanned, never evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.server_logs import NAMESPACE, SERVER_ARGS, parts_of, sgl_start, v0_start, v1_start

from nsightlens.serving.logs.log_settings import scan_arguments

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(a='x, y=2)', b=3)tail=4", {"a": "x, y=2)", "b": 3}),
        ("(a=f(g=1, h=[2, 3]), b={'c': (4,)})", {"a": "f(g=1, h=[2, 3])", "b": "{'c': (4,)}"}),
        (r"(a='it\'s', b=None)", {"a": "it's", "b": None}),
        ("(a=<E.X: 'x'>, b=1<2, c=3)", {"a": "<E.X: 'x'>", "b": "1<2", "c": 3}),
        ("{'a': {'b': 1}, \"c\": -0.5, 'd': 1e-3}", {"a": "{'b': 1}", "c": -0.5, "d": 0.001}),
        ("a=1, b=True c=x", {"a": 1, "b": True, "c": "x"}),
        ("(a=1, max_num_seqs=25", {"a": 1}),
        ("{'a': 1, 'b", {"a": 1}),
        ("()", {}),
        ("", {}),
        ("(((", {}),
        ("(a=" + "9" * 5000 + ")", {"a": "9" * 5000}),
    ],
)
def test_python_that_was_printed_is_scanned_without_being_run(
    text: str, found: dict[str, object]
) -> None:
    """Commas in quotes and brackets part nothing, and what was cut is left out."""
    assert scan_arguments(text, 0) == found


@settings(max_examples=50)
@given(st.text(alphabet="ab=,'\"(){}[]<>\\ 1.", max_size=60))
def test_no_text_breaks_the_scanner(text: str) -> None:
    """Whatever a damaged line holds, names are words and nothing is raised."""
    for begin in ("(", "{", ""):
        assert all(isinstance(name, str) for name in scan_arguments(begin + text, 0))


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True),
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("a,b=(", max_size=5),
        max_size=6,
    )
)
def test_what_python_prints_comes_back(values: dict[str, object]) -> None:
    """A namespace and a dict that Python prints are read to the values they had."""
    printed = ", ".join(f"{name}={value!r}" for name, value in values.items())
    assert scan_arguments(f"({printed})", 0) == values
    assert scan_arguments(repr(values), 0) == values


def test_the_configuration_of_vllm_is_surer_than_its_arguments(tmp_path: Path) -> None:
    """Arguments that are None or auto are filled from what the engine made of them."""
    values = parts_of(tmp_path, v0_start()).values
    assert values["model"] == "small-1b"
    assert values["dtype"] == "bfloat16"
    assert values["max_model_len"] == 2048
    assert (values["max_num_seqs"], values["max_num_batched_tokens"]) == (48, 4096)
    assert (values["block_size"], values["gpu_memory_utilization"]) == (16, 0.85)
    assert (values["tensor_parallel_size"], values["gpu_count"]) == (2, 2)
    assert values["chunked_prefill"] is values["prefix_caching"] is values["speculative"] is False
    assert not {"quantization", "kv_cache_dtype"} & set(values)


def test_settings_name_their_lines(tmp_path: Path) -> None:
    """Each setting says which line of the log it stands in."""
    wheres = parts_of(tmp_path, v0_start()).wheres
    assert wheres["max_num_seqs"] == "line 2"
    assert wheres["dtype"] == "line 3"


def test_arguments_that_differ_from_the_defaults_are_read_as_a_dict(tmp_path: Path) -> None:
    """The newer vLLM prints a dict, and flags of its scheduler on lines of their own."""
    values = parts_of(tmp_path, v1_start()).values
    assert (values["max_num_seqs"], values["gpu_memory_utilization"]) == (64, 0.8)
    assert (values["chunked_prefill"], values["prefix_caching"]) == (True, True)
    assert values["max_num_batched_tokens"] == 8192
    assert (values["quantization"], values["kv_cache_dtype"]) == ("fp8", "fp8")


def test_a_default_that_is_not_stated_is_absent(tmp_path: Path) -> None:
    """The number of sequences that vLLM assumes depends on its version and GPU."""
    text = v1_start().replace("'max_num_seqs': 64, ", "")
    assert "max_num_seqs" not in parts_of(tmp_path, text).values


def test_sglang_states_its_settings_otherwise(tmp_path: Path) -> None:
    """Its names are mapped, and what it computed itself comes before what was asked for."""
    values = parts_of(tmp_path, sgl_start()).values
    assert (values["max_num_seqs"], values["max_model_len"]) == (256, 4096)
    assert values["gpu_memory_utilization"] == 0.88
    assert values["prefix_caching"] is False
    assert values["chunked_prefill"] is True
    assert values["speculative"] is False
    assert values["kv_cache_dtype"] == "fp8_e5m2"
    assert values["gpu_count"] == 2


def test_data_parallel_attention_shares_the_gpus(tmp_path: Path) -> None:
    """Ranks of data parallelism need GPUs of their own, unless attention alone is split."""
    several = SERVER_ARGS.replace("dp_size=1", "dp_size=2")
    shared = several.replace("enable_dp_attention=False", "enable_dp_attention=True")
    count = [
        parts_of(tmp_path, f"[2025-05-21 10:36:00] {text}\n").values["gpu_count"]
        for text in (several, shared)
    ]
    assert count == [4, 2]


def test_speculative_decoding_is_seen(tmp_path: Path) -> None:
    """A draft model or a configuration of drafting says that a step yields several tokens."""
    text = v1_start().replace(
        "speculative_config=None", "speculative_config=SpeculativeConfig(method='ngram', n=4)"
    )
    assert parts_of(tmp_path, text).values["speculative"] is True


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("INFO 06-17 10:00:00 [model.py:547] Resolved architecture: Qwen3MoeForCausalLM\n",
         "mixture_of_experts"),
        ("INFO 06-17 10:01:00 [metrics.py:86] SpecDecoding metrics: Mean acceptance length: 2.1\n",
         "speculative"),
    ],
)  # fmt: skip
def test_lines_beside_the_settings_tell_of_the_model(
    tmp_path: Path, line: str, column: str
) -> None:
    """A class with experts and a rate of drafting are seen; other classes say nothing."""
    text = v1_start().replace("speculative_config=None, ", "")
    assert column not in parts_of(tmp_path, text).values
    dense = "INFO 06-17 10:00:00 [model.py:547] Resolved architecture: Qwen3ForCausalLM\n"
    assert column not in parts_of(tmp_path, text + dense).values
    assert parts_of(tmp_path, text + line).values[column] is True


def test_a_model_in_a_cache_has_its_own_name(tmp_path: Path) -> None:
    """The last folder of a snapshot is a hash, and no name."""
    path = "/root/.cache/models--acme--small-1b/snapshots/0123abcd"
    text = v0_start(arguments=NAMESPACE.replace("/models/acme/small-1b", path))
    text = text.replace("'/models/acme/small-1b'", f"'{path}'")
    assert parts_of(tmp_path, text).values["model"] == "small-1b"
