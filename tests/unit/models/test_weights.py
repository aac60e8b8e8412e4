"""How a checkpoint stores its weights."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.models import builtin_models, read_model, weights_bytes
from nsightlens.models.weights import stored_weights


@pytest.mark.parametrize(
    ("config", "dtype", "size"),
    [
        ({"torch_dtype": "bfloat16"}, "bf16", 2.0),
        ({"dtype": "float32"}, "fp32", 4.0),
        ({"torch_dtype": "torch.float16"}, "fp16", 2.0),
        ({"dtype": "bfloat16", "torch_dtype": "float32"}, "bf16", 2.0),
        ({"dtype": None, "torch_dtype": "float32"}, "fp32", 4.0),
        ({"dtype": "float8_e4m3fn"}, "fp8", 1.0),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8", 1.0),
        (
            {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
            "fp8",
            1.0 + 4 / 16384,
        ),
        (
            {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}},
            "int4",
            0.5 + 2.5 / 128,
        ),
        (
            {"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": -1}},
            "int8",
            1.0,
        ),
        (
            {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True}},
            "int4",
            0.5625,
        ),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4", 0.53125),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
            "nvfp4",
            0.5625,
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
                }
            },
            "fp8",
            1.0,
        ),
    ],
)
def test_the_configuration_says_type_and_size(
    config: dict[str, Any], dtype: str, size: float
) -> None:
    stored = stored_weights({"torch_dtype": "float16", **config})
    if "dtype" in config:
        stored = stored_weights(config)
    assert stored.weights is not None
    assert (stored.weights.dtype, stored.problem) == (dtype, "")
    assert stored.weights.bytes_per_element == pytest.approx(size)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"torch_dtype": "posit16"}, "torch_dtype is 'posit16', which is not known"),
        ({"dtype": "auto"}, "dtype is 'auto', which is not known"),
        ({"dtype": 16}, "dtype is '16', which is not known"),
    ],
)
def test_a_type_that_is_not_known_is_said_and_not_taken_for_16_bit(
    config: dict[str, Any], problem: str
) -> None:
    assert stored_weights(config) == (None, problem)


@pytest.mark.parametrize(
    "quantised",
    [
        {},
        "fp8",
        [],
        ["fp8"],
        False,
        {"quant_method": "higgs"},
        {"quant_method": "awq", "bits": 3},
        {"quant_method": "bitsandbytes"},
        {"quant_method": "modelopt", "quant_algo": "W4A8"},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {}}}},
    ],
)
def test_a_way_that_is_not_known_is_said_and_not_guessed(quantised: dict[str, Any]) -> None:
    stored = stored_weights({"torch_dtype": "float16", "quantization_config": quantised})
    assert stored.weights is None
    assert stored.problem.startswith("quantization_config ")


def test_a_configuration_that_is_silent_says_nothing() -> None:
    assert stored_weights({}) == (None, "")
    assert stored_weights({"quantization_config": None, "torch_dtype": None}) == (None, "")


def test_of_mxfp4_checkpoints_only_the_experts_are_small() -> None:
    stored = stored_weights({"quantization_config": {"quant_method": "mxfp4"}})
    assert stored.weights is not None
    assert stored.weights.only_experts


@pytest.mark.parametrize(
    ("name", "dtype", "size", "only_experts"),
    [
        ("opt-1.3b", "fp16", 2.0, False),
        ("llama-2-7b", "fp16", 2.0, False),
        ("llama-3-8b", "bf16", 2.0, False),
        ("deepseek-v3", "fp8", 1.0 + 4 / 16384, False),
        ("gpt-oss-120b", "mxfp4", 0.53125, True),
    ],
)
def test_a_built_in_model_has_the_weights_that_were_published(
    name: str, dtype: str, size: float, only_experts: bool
) -> None:
    stored = read_model(name).stored_weights
    assert stored is not None
    assert (stored.dtype, stored.only_experts) == (dtype, only_experts)
    assert stored.bytes_per_element == pytest.approx(size)


def test_every_built_in_model_says_its_weights_and_positions() -> None:
    for one in builtin_models():
        model = read_model(one.name)
        assert model.stored_weights is not None, one.name
        assert model.longest_context is not None, one.name


def test_published_sizes_follow_from_the_published_types() -> None:
    """Of DeepSeek-V3 and GPT-OSS the files on Hugging Face have 689, 13.8 and 65.2 GB.

    The first holds a further layer, which predicts a second token, of 12 GB.
    """
    for name, size in (("deepseek-v3", 676e9), ("gpt-oss-20b", 13.8e9), ("gpt-oss-120b", 65.2e9)):
        model = read_model(name)
        stored = model.stored_weights
        assert stored is not None
        found = weights_bytes(model, weight_bytes=stored.bytes_per_element)
        assert found == pytest.approx(size, rel=0.02), name
