"""Data types of weights and cache: bytes, and the unit that computes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ModelConfigError
from nsightlens.models import WEIGHT_BYTES
from nsightlens.models.config import StoredWeights

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig
    from nsightlens.models.operation import OperationWork
    from nsightlens.sweeps.predict_peaks import PredictedPeaks

__all__ = ["KV_BYTES", "Types", "types_of"]

KV_BYTES: dict[str, float] = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "int4": 0.5,
}
"""[B] Bytes per element of the KV cache, by data type; scales are left out."""

# Where the GPU lacks these, CUDA cores do the products: 16 bit would not hold the weights.
_WIDE = "fp32"
# Weights of 4 bit integers and mxfp4 are expanded to 16 bit, in which the product is done.
_UNITS = {
    "fp32": "tensor_tf32",
    "bf16": "tensor_bf16",
    "fp8": "tensor_fp8",
    "int8": "tensor_int8",
    "nvfp4": "tensor_fp4",
}
_HALF = "tensor_fp16"
_DEFAULT = "fp16"


class Types(NamedTuple):
    """What weights and cache are made of.

    Parameters
    ----------
    weights
        Of linear layers.
    kv
        Of the cache.
    kv_bytes
        [B] Per element of the cache.
    gemm_resource, other_resource
        Unit of the products whose weights are ``weights``, and of all others and of attention.
    is_expanded
        The GPU has no unit for ``weights``: products are done in 16 bit.
    is_said
        The type of the weights was asked for, or the configuration says it.
    """

    weights: StoredWeights
    kv: str
    kv_bytes: float
    gemm_resource: str
    other_resource: str
    is_expanded: bool
    is_said: bool

    def resource_of(self, work: OperationWork) -> str:
        """Return the unit that does the operations of a step's operation."""
        if work.family not in ("gemm", "attention"):
            return "fp32"
        # Whatever is kept in more bits than 16 is multiplied so, the last product too.
        is_like_weights = work.is_quantised or self.weights.dtype == _WIDE
        is_product = work.family == "gemm"
        return self.gemm_resource if is_product and is_like_weights else self.other_resource


def types_of(
    model: ModelConfig, weight_dtype: str | None, kv_dtype: str | None, peaks: PredictedPeaks
) -> Types:
    """Return the types of a prediction.

    Parameters
    ----------
    model
        Its configuration may say how weights are stored.
    weight_dtype
        One of `nsightlens.models.WEIGHT_BYTES`; ``None`` for what the configuration says, else 16
        bit.
    kv_dtype
        One of `KV_BYTES`; ``None`` for 16 bit.
    peaks
        What the GPU has units for.

    Raises
    ------
    ValueError
        A type is not known.
    ModelConfigError
        The configuration stores weights in a way that is not known, and no type was given.
    """
    for name, known in ((weight_dtype, WEIGHT_BYTES), (kv_dtype, KV_BYTES)):
        if name is not None and name not in known:
            raise ValueError(f"the type must be one of {', '.join(known)}, not {name!r}")
    weights = _weights(model, weight_dtype)
    wanted = _UNITS.get(weights.dtype, _HALF)
    unit = wanted
    if wanted not in peaks.flop_per_s:
        unit = _WIDE if weights.dtype == _WIDE else _HALF
    half = "tensor_bf16" if weights.dtype == "bf16" and unit == "tensor_bf16" else _HALF
    kv = kv_dtype or _DEFAULT
    is_said = weight_dtype is not None or model.stored_weights is not None
    is_expanded = unit == _HALF != wanted
    return Types(weights, kv, KV_BYTES[kv], unit, half, is_expanded, is_said)


def _weights(model: ModelConfig, weight_dtype: str | None) -> StoredWeights:
    stored = model.stored_weights
    if weight_dtype is None:
        if model.weights_problem:
            raise ModelConfigError(
                model.source,
                model.weights_problem,
                "Say how weights are stored: --weight-dtype.",
                key=model.weights_problem.partition(" ")[0],
            )
        return stored or StoredWeights(_DEFAULT, WEIGHT_BYTES[_DEFAULT])
    if stored is not None and stored.dtype == weight_dtype:
        return stored
    size = WEIGHT_BYTES[weight_dtype]
    # In 16 bit or more there is nothing that experts alone have.
    only_experts = stored is not None and stored.only_experts and size < WEIGHT_BYTES[_DEFAULT]
    return StoredWeights(weight_dtype, size, only_experts)
