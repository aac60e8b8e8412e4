"""How a checkpoint stores its weights: data type, and bytes per element with scales."""

from __future__ import annotations

from typing import Any, NamedTuple

from nsightlens.models.config import StoredWeights
from nsightlens.patterns import quoted

__all__ = ["WEIGHT_BYTES", "Stored", "stored_weights"]

WEIGHT_BYTES: dict[str, float] = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    # With one scale for a group: 16 bit and a zero point per 128, 8 bit per 16 and per 32.
    "int4": 0.5 + 2.5 / 128,
    "nvfp4": 0.5 + 1 / 16,
    "mxfp4": 0.5 + 1 / 32,
}
"""[B] Bytes per element of a linear layer, by data type, with the scales that are usual."""

_FLOATS = {
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
}


_QUANTISED = "quantization_config"


class Stored(NamedTuple):
    """What a configuration says of its weights: them, or why they are not known.

    The problem is one clause that begins with the key in question.
    """

    weights: StoredWeights | None
    problem: str = ""


def stored_weights(config: dict[str, Any]) -> Stored:
    """Read how linear layers are stored: ``quantization_config``, else the type of the model.

    The type is ``dtype``, which was called ``torch_dtype`` before transformers 4.56; where both are
    there, ``dtype`` counts, as it does for transformers.

    Parameters
    ----------
    config
        A configuration as Hugging Face writes it.

    Returns
    -------
    Stored
        Without weights and without a problem where the configuration is silent.

    Examples
    --------
    >>> stored_weights({"torch_dtype": "bfloat16"}).weights.bytes_per_element
    2.0
    >>> quantised = {"quant_method": "awq", "bits": 4, "group_size": 128}
    >>> stored_weights({"quantization_config": quantised}).weights.dtype
    'int4'
    """
    quantised = config.get(_QUANTISED)
    if quantised is not None:
        found = _quantised(quantised)
        return found._replace(problem=found.problem and f"{_QUANTISED} {found.problem}")
    key = "dtype" if config.get("dtype") is not None else "torch_dtype"
    name = config.get(key)
    if name is None:
        return Stored(None)
    dtype = _FLOATS.get(str(name).removeprefix("torch."))
    if dtype is None:
        return Stored(None, f"{key} is {quoted(str(name))}, which is not known")
    return Stored(StoredWeights(dtype, WEIGHT_BYTES[dtype]))


def _quantised(quantised: Any) -> Stored:
    if not isinstance(quantised, dict):
        return Stored(None, f"is {quoted(str(quantised))}, and not an object with a quant_method")
    method = str(quantised.get("quant_method") or "").lower()
    if method not in _METHODS:
        return Stored(None, f"has the quant_method {quoted(method)}, which is not known")
    return _METHODS[method](quantised)


def _fp8(quantised: dict[str, Any]) -> Stored:
    return Stored(StoredWeights("fp8", 1.0 + _scale_of_blocks(quantised)))


def _mxfp4(quantised: dict[str, Any]) -> Stored:  # noqa: ARG001 - as the others
    return Stored(StoredWeights("mxfp4", WEIGHT_BYTES["mxfp4"], only_experts=True))


def _scale_of_blocks(quantised: dict[str, Any]) -> float:
    """Return the bytes per element [B] of one FP32 scale for a block of weights."""
    block = quantised.get("weight_block_size")
    if isinstance(block, list) and all(isinstance(n, int) and n > 0 for n in block) and block:
        size = 1
        for n in block:
            size *= n
        return 4.0 / size
    return 0.0


def _grouped_integers(quantised: dict[str, Any]) -> Stored:
    return _integers(quantised.get("bits"), quantised.get("group_size"))


def _integers(bits: Any, group: Any) -> Stored:
    if bits not in (4, 8):
        return Stored(None, f"has integer weights of {bits!r} bits, which is not known")
    size = bits / 8
    # One scale of 16 bit and one zero point for a group.
    if isinstance(group, int) and group > 0:
        size += (2.0 + bits / 8) / group
    return Stored(StoredWeights(f"int{bits}", size))


def _bitsandbytes(quantised: dict[str, Any]) -> Stored:
    if quantised.get("load_in_4bit") or quantised.get("_load_in_4bit"):
        # A scale of FP32 for 64 elements; quantised twice, of 8 bit and another for 256 of them.
        twice = quantised.get("bnb_4bit_use_double_quant")
        scale = (1.0 + 4.0 / 256) / 64 if twice else 4.0 / 64
        return Stored(StoredWeights("int4", 0.5 + scale))
    if quantised.get("load_in_8bit") or quantised.get("_load_in_8bit"):
        return Stored(StoredWeights("int8", 1.0))
    return Stored(None, "has bitsandbytes without load_in_4bit or load_in_8bit")


def _model_optimizer(quantised: dict[str, Any]) -> Stored:
    algorithm = str(quantised.get("quant_algo") or "").lower()
    if algorithm in ("fp8", "nvfp4"):
        return Stored(StoredWeights(algorithm, WEIGHT_BYTES[algorithm]))
    return Stored(None, f"has the quant_algo {algorithm!r}, which is not known")


def _compressed_tensors(quantised: dict[str, Any]) -> Stored:
    groups = quantised.get("config_groups")
    first: Any = next(iter(groups.values()), {}) if isinstance(groups, dict) else {}
    weights = first.get("weights") if isinstance(first, dict) else None
    if not isinstance(weights, dict):
        return Stored(None, "has compressed-tensors without config_groups that name weights")
    bits, kind, group = (weights.get(name) for name in ("num_bits", "type", "group_size"))
    if kind == "float" and bits == 8:
        return Stored(StoredWeights("fp8", 1.0))
    if kind == "float" and bits == 4:
        return Stored(StoredWeights("nvfp4", WEIGHT_BYTES["nvfp4"]))
    if kind == "int":
        return _integers(bits, group)
    return Stored(None, f"has weights of type {kind!r} and {bits!r} bits, which is not known")


_METHODS = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "awq": _grouped_integers,
    "gptq": _grouped_integers,
    "bitsandbytes": _bitsandbytes,
    "mxfp4": _mxfp4,
    "modelopt": _model_optimizer,
    "compressed-tensors": _compressed_tensors,
}
