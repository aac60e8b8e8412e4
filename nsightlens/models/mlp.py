"""The MLP of a step, dense or a mixture of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.models.operation import OperationWork, linear
from nsightlens.models.streaming import streaming

if TYPE_CHECKING:
    from nsightlens.models.config import Experts, ModelConfig
    from nsightlens.models.operation import Step

__all__ = ["expected_expert_count", "mlp_operations"]

# Per element of the output: a sigmoid, and two products where there is a gate.
_GATED_FLOP = 5.0
_PLAIN_FLOP = 1.0


def mlp_operations(model: ModelConfig, step: Step) -> list[OperationWork]:
    """Return the operations of the MLPs, dense ones first.

    Parameters
    ----------
    model
        Its sizes.
    step
        The step.
    """
    found = []
    if model.dense_layer_count:
        found += _dense(model, step, "", model.intermediate_size, model.dense_layer_count)
    if model.experts is not None and model.experts.layer_count:
        found += _expert_operations(model, model.experts, step)
    return found


def _first_width(model: ModelConfig, width: int) -> int:
    return 2 * width if model.has_gated_mlp else width


def _activation(
    name: str, model: ModelConfig, step: Step, width: int, layers: int
) -> OperationWork:
    return streaming(
        name,
        "activation",
        "gated" if model.has_gated_mlp else "generic",
        step,
        width,
        layer_count=layers,
        inputs=2.0 if model.has_gated_mlp else 1.0,
        flop_per_element=_GATED_FLOP if model.has_gated_mlp else _PLAIN_FLOP,
    )


def _dense(
    model: ModelConfig, step: Step, prefix: str, width: int, layers: int
) -> list[OperationWork]:
    hidden, first = model.hidden_size, _first_width(model, width)
    up, down = ("gate_up_proj", "down_proj") if model.has_gated_mlp else ("fc1", "fc2")
    has_bias = model.has_mlp_bias and not prefix
    stored = model.stored_weights
    is_quantised = stored is None or not stored.only_experts
    return [
        linear(
            prefix + up,
            step,
            (hidden, first),
            layer_count=layers,
            has_bias=has_bias,
            is_quantised=is_quantised,
        ),
        _activation(f"{prefix}activation", model, step, width, layers),
        linear(
            prefix + down,
            step,
            (width, hidden),
            layer_count=layers,
            has_bias=has_bias,
            is_quantised=is_quantised,
        ),
    ]


def expected_expert_count(expert_count: int, experts_per_token: int, token_count: int) -> float:
    """Return how many different experts the tokens of a step are expected to touch, in a layer.

    E (1 - (1 - k / E)^T): every token goes to k of the E experts, any k as likely as any other, and
    tokens are independent. Routers are trained towards that, but tokens of one text resemble each
    other, so that a real step touches fewer.

    Parameters
    ----------
    expert_count
        E.
    experts_per_token
        k.
    token_count
        T.

    Examples
    --------
    >>> expected_expert_count(8, 2, 1), round(expected_expert_count(8, 2, 4), 2)
    (2.0, 5.47)
    """
    missed = (1.0 - experts_per_token / expert_count) ** token_count
    return expert_count * (1.0 - missed)


def _expert_operations(model: ModelConfig, experts: Experts, step: Step) -> list[OperationWork]:
    layers, hidden, width = experts.layer_count, model.hidden_size, experts.intermediate_size
    first = _first_width(model, width)
    pairs = step.token_count * experts.experts_per_token
    scattered = step._replace(batch_size=pairs, query_length=1)
    up, down = ("gate_up", "down") if model.has_gated_mlp else ("fc1", "fc2")
    router = linear(
        "router",
        step,
        (hidden, experts.expert_count),
        layer_count=layers,
        has_bias=experts.has_router_bias,
        is_quantised=False,
    )
    found = [
        router,
        _routing(step, experts, layers),
        _grouped(f"experts_{up}", experts, step, (hidden, first)),
        _activation("experts_activation", model, scattered, width, layers),
        _grouped(f"experts_{down}", experts, step, (width, hidden)),
        _combination(step, experts, hidden, layers),
    ]
    if experts.shared_intermediate_size:
        if experts.has_shared_gate:
            gate = linear("shared_gate", step, (hidden, 1), layer_count=layers, is_quantised=False)
            found.append(gate)
        found += _dense(model, step, "shared_", experts.shared_intermediate_size, layers)
    return found


def _grouped(name: str, experts: Experts, step: Step, sizes: tuple[int, int]) -> OperationWork:
    """Return the product of every token with the matrices of its experts.

    FLOPs = 2 T k K N; bytes are the matrices of the experts that any token goes to (see
    `expected_expert_count`), each once, and T k (K + N) elements.
    """
    used = expected_expert_count(experts.expert_count, experts.experts_per_token, step.token_count)
    inputs, outputs = sizes
    rows = step.token_count * experts.experts_per_token
    weights = used * inputs * outputs * step.weight_bytes
    weights += used * outputs * step.unquantised_bytes if experts.has_bias else 0.0
    layers = experts.layer_count
    return OperationWork(
        name,
        "gemm",
        "grouped",
        layers,
        layers * 2.0 * rows * inputs * outputs,
        layers * (weights + rows * inputs * step.activation_bytes),
        layers * rows * outputs * step.activation_bytes,
        weight_bytes=layers * weights,
        is_quantised=True,
    )


def _routing(step: Step, experts: Experts, layers: int) -> OperationWork:
    """Return the choice of experts: scores in, a weight and a number per chosen expert out."""
    tokens = float(layers * step.token_count)
    return OperationWork(
        "routing",
        "moe_routing",
        "gate_topk",
        layers,
        tokens * experts.expert_count * 5.0,
        tokens * experts.expert_count * step.activation_bytes,
        tokens * experts.experts_per_token * 8.0,
    )


def _combination(step: Step, experts: Experts, hidden: int, layers: int) -> OperationWork:
    """Return the weighted sum of the outputs of a token's experts."""
    return streaming(
        "combine",
        "moe_routing",
        "combine",
        step,
        hidden,
        layer_count=layers,
        inputs=float(experts.experts_per_token),
        flop_per_element=2.0 * experts.experts_per_token,
    )
