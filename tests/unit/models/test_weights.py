"""How a checkpoint stores its weights."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.models.weights import stored_weights


@pytest.mark.parametrize(
    ("config", "dtype", "size"),
    [
        ({"torch_dtype": "bfloat16"}, "bf16", 2.0),
        ({"dtype": "float32"}, "fp32", 4.0),
        ({"torch_dtype": "torch.float16"}, "fp16", 2.0),
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
    "quantised",
    [
        {},
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
    assert stored.problem


def test_a_configuration_that_is_silent_says_nothing() -> None:
    assert stored_weights({}) == (None, "")


def test_of_mxfp4_checkpoints_only_the_experts_are_small() -> None:
    stored = stored_weights({"quantization_config": {"quant_method": "mxfp4"}})
    assert stored.weights is not None
    assert stored.weights.only_experts
