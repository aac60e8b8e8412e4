"""Linear layers, norms, rotary positions and MLPs, each operation in a range of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from kernels_under_test.weights import INPUT_SCALE

if TYPE_CHECKING:
    from kernels_under_test.ranges import Ranges
    from kernels_under_test.weights import LayerWeights, Linear, Norm

__all__ = ["dense_mlp", "gated", "linear", "norm", "rope"]

_LARGEST_E4M3 = 448.0


def linear(op: Ranges, name: str, rows: Any, layer: Linear) -> Any:
    """Return a linear layer of rows; see `kernels_under_test.work.linear`.

    Parameters
    ----------
    op
        The ranges.
    name
        Of its range.
    rows
        Shape (rows, inputs).
    layer
        Its weights. Those in FP8 multiply in FP8.
    """
    if layer.scales is None:
        with op(name):
            return functional.linear(rows, layer.weight, layer.bias)
    with op(f"{name}_quantise"):
        # A number beyond the largest would become NaN.
        scaled = (rows * (1 / INPUT_SCALE)).clamp_(-_LARGEST_E4M3, _LARGEST_E4M3)
        quantised = scaled.to(layer.weight.dtype)
    with op(name):
        return torch._scaled_mm(
            quantised,
            layer.weight.t(),
            scale_a=layer.scales[0],
            scale_b=layer.scales[1],
            bias=layer.bias,
            out_dtype=rows.dtype,
        )


def norm(op: Ranges, name: str, rows: Any, layer: Norm, epsilon: float) -> Any:
    """Return rows, each normalised; see `kernels_under_test.work.rms_norm` and ``layer_norm``.

    Parameters
    ----------
    op
        The ranges.
    name
        Of its range.
    rows
        Normalised along the last dimension.
    layer
        Its weights; LayerNorm where it has a bias.
    epsilon
        Added to the mean square.
    """
    shape = (rows.shape[-1],)
    with op(name):
        if layer.bias is not None:
            return functional.layer_norm(rows, shape, layer.weight, layer.bias, epsilon)
        return functional.rms_norm(rows, shape, layer.weight, epsilon)


def rope(op: Ranges, name: str, heads: Any, cosines: Any, sines: Any) -> Any:
    """Return heads turned by their positions; see `kernels_under_test.work.rope`.

    Parameters
    ----------
    op
        The ranges.
    name
        Of its range.
    heads
        Shape (sequences, queries, heads, width).
    cosines, sines
        As in `kernels_under_test.inputs.StepInputs`.
    """
    with op(name):
        return torch.addcmul(heads * cosines, heads.roll(heads.shape[-1] // 2, -1), sines)


def gated(op: Ranges, prefix: str, both: Any) -> Any:
    """Return SwiGLU of gates and values, which lie side by side in the last dimension."""
    gate, value = both.chunk(2, -1)
    with op(f"{prefix}silu"):
        gate = functional.silu(gate)
    with op(f"{prefix}gate_mul"):
        return gate * value


def dense_mlp(op: Ranges, layer: LayerWeights, rows: Any, prefix: str = "") -> Any:
    """Return a dense MLP of rows, without the addition of the residual."""
    if f"{prefix}gate_up_proj" in layer.linear:
        up, down = f"{prefix}gate_up_proj", f"{prefix}down_proj"
        inner = gated(op, prefix, linear(op, up, rows, layer.linear[up]))
    else:
        up, down = f"{prefix}fc1", f"{prefix}fc2"
        first = linear(op, up, rows, layer.linear[up])
        with op(f"{prefix}relu"):
            inner = functional.relu(first)
    return linear(op, down, inner, layer.linear[down])
