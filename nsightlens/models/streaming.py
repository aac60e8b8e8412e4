"""Operations that touch every element once: norms, activations, rotary positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.models.operation import OperationWork

if TYPE_CHECKING:
    from nsightlens.models.config import ModelConfig
    from nsightlens.models.operation import Step

__all__ = ["norm_work", "streaming"]

# Per element: squares and their sum, scaling and weight; with a mean and a bias some more. How a
# kernel rounds, and what a square root costs, is left out: bytes decide.
_RMS_NORM_FLOP = 4.0
_LAYER_NORM_FLOP = 7.0


def streaming(
    operation: str,
    family: str,
    subtype: str,
    step: Step,
    width: int,
    *,
    layer_count: int,
    inputs: float = 1.0,
    outputs: float = 1.0,
    flop_per_element: float = 0.0,
    is_per_layer: bool = True,
) -> OperationWork:
    """Return the work of an operation on the elements of every token.

    Parameters
    ----------
    operation, family, subtype
        As in `OperationWork`.
    step
        The step.
    width
        Elements of a token.
    layer_count
        Layers that have it.
    inputs, outputs
        Elements read and written, per element.
    flop_per_element
        [FLOP] Operations on each.
    is_per_layer
        As in `OperationWork`.
    """
    elements = float(layer_count * step.token_count * width)
    return OperationWork(
        operation,
        family,
        subtype,
        layer_count,
        flop_per_element * elements,
        inputs * elements * step.activation_bytes,
        outputs * elements * step.activation_bytes,
        is_per_layer=is_per_layer,
    )


def norm_work(
    operation: str,
    model: ModelConfig,
    step: Step,
    width: int,
    *,
    layer_count: int,
    weight_count: int | None = None,
    adds_residual: bool = False,
    is_per_layer: bool = True,
    subtype: str = "",
) -> OperationWork:
    """Return the work of a norm; one that adds the residual reads and writes that too.

    Parameters
    ----------
    operation
        Its name.
    model, step, width, layer_count
        As in `streaming`.
    weight_count
        Weights of a layer; ``None`` for one per element of a token.
    adds_residual
        It is fused with the addition before it, as inference engines do.
    is_per_layer, subtype
        As in `OperationWork`; without a subtype, that of the norm.
    """
    streams = 2.0 if adds_residual else 1.0
    flop = _LAYER_NORM_FLOP if model.has_norm_bias else _RMS_NORM_FLOP
    kind = "layernorm" if model.has_norm_bias else "rmsnorm"
    work = streaming(
        operation,
        "norm",
        subtype or ("fused_add_norm" if adds_residual else kind),
        step,
        width,
        layer_count=layer_count,
        inputs=streams,
        outputs=streams,
        flop_per_element=flop + (1.0 if adds_residual else 0.0),
        is_per_layer=is_per_layer,
    )
    weights = layer_count * (width if weight_count is None else weight_count)
    weight_bytes = weights * step.unquantised_bytes * (2.0 if model.has_norm_bias else 1.0)
    return work._replace(read_bytes=work.read_bytes + weight_bytes, weight_bytes=weight_bytes)
