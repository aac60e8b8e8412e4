"""A mixture of experts: every token passes those that the router chooses for it.

A host that waited for the choice of every layer would dominate a decode step, and could not be
recorded as a CUDA graph. So a step is run once beforehand to count how many tokens go to each
expert; it repeats the same inputs, hence the same choices, and `Routing.check` says where it did
not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.nn import functional

from kernels_under_test.layers import dense_mlp, gated, linear
from kernels_under_test.models import facts_of
from kernels_under_test.refusals import NotAvailableError, RoutingChangedError

if TYPE_CHECKING:
    from kernels_under_test.ranges import Ranges
    from kernels_under_test.weights import LayerWeights
    from nsightlens.models import ModelConfig

__all__ = ["Routing", "check_grouped", "expert_mlp"]


@dataclass
class Routing:
    """Which experts the tokens of a step go to.

    Parameters
    ----------
    counts
        Of every layer with experts, how many tokens go to each; None to count them, for which the
        host waits in every layer.
    is_grouped
        One launch for the products of all experts.
    """

    counts: tuple[tuple[int, ...], ...] | None = None
    is_grouped: bool = False
    chosen: list[Any] = field(default_factory=list)

    def begin(self) -> None:
        """Forget what the step before chose."""
        self.chosen = []

    def counts_of(self, experts: Any, expert_count: int) -> tuple[int, ...]:
        """Return how many tokens go to each expert, in the layer that is next.

        Parameters
        ----------
        experts
            What was chosen, shape (tokens, experts of a token).
        expert_count
            Experts of the layer.
        """
        index = len(self.chosen)
        self.chosen.append(experts)
        if self.counts is not None:
            return self.counts[index]
        return _counted(experts, expert_count)

    def counted(self, expert_count: int) -> tuple[tuple[int, ...], ...]:
        """Return how many tokens went to each expert in the last step, layer by layer."""
        return tuple(_counted(experts, expert_count) for experts in self.chosen)

    def check(self, expert_count: int) -> None:
        """Compare the choices of the last step with the counts that it was computed with.

        Raises
        ------
        RoutingChangedError
            They differ: the results are wrong.
        """
        if self.counts is not None and self.counted(expert_count) != self.counts:
            raise RoutingChangedError(
                "a step sent its tokens to other experts than the step before it with the same "
                "inputs: the kernels of this device do not repeat themselves. Take --experts "
                "grouped, or another --dtype"
            )


def _counted(experts: Any, expert_count: int) -> tuple[int, ...]:
    counts: list[int] = torch.bincount(experts.flatten(), minlength=expert_count).tolist()
    return tuple(counts)


def check_grouped() -> None:
    """Refuse grouped products where this PyTorch has none.

    Raises
    ------
    NotAvailableError
        It has none.
    """
    if not hasattr(functional, "grouped_mm"):
        raise NotAvailableError(
            f"experts grouped: PyTorch {torch.__version__} has no grouped_mm: "
            "pip install --upgrade torch, or take --experts loop"
        )


def expert_mlp(
    op: Ranges, layer: LayerWeights, rows: Any, model: ModelConfig, routing: Routing
) -> Any:
    """Return a mixture of experts of rows, without the addition of the residual.

    Parameters
    ----------
    op
        The ranges.
    layer
        Its weights.
    rows
        Shape (tokens, hidden).
    model
        Its sizes.
    routing
        How many tokens go to each expert, and where the choice is kept.
    """
    sizes = model.experts
    assert sizes is not None
    tokens, hidden = rows.shape
    used = sizes.experts_per_token
    scores = linear(op, "router", rows, layer.linear["router"])
    with op("routing"):
        shares, chosen = torch.softmax(scores, -1).topk(used, -1)
        if facts_of(model).renormalises_experts:
            shares = shares / shares.sum(-1, keepdim=True)
    counts = routing.counts_of(chosen, sizes.expert_count)
    with op("dispatch"):
        ordered, order = chosen.flatten().sort(stable=True)
        sorted_rows = rows.index_select(0, order // used)
        ends = _ends(ordered, sizes.expert_count) if routing.is_grouped else None
    place = _Ordered(op, layer, counts, ends)
    inner = gated(op, "experts_", _products(place, "experts_gate_up", sorted_rows))
    outputs = _products(place, "experts_down", inner)
    with op("combine"):
        # Where the output of a token's i-th expert lies: the order, inverted.
        places = torch.empty_like(order).scatter_(
            0, order, torch.arange(len(order), device=order.device)
        )
        of_token = outputs.index_select(0, places).view(tokens, used, hidden)
        mixed = (of_token * shares.unsqueeze(-1)).sum(1)
    return _with_shared(op, layer, rows, mixed)


def _ends(ordered: Any, expert_count: int) -> Any:
    """Return the row at which the tokens of each expert end."""
    numbers = torch.arange(expert_count, device=ordered.device)
    return torch.searchsorted(ordered, numbers, right=True, out_int32=True)


class _Ordered(NamedTuple):
    """Tokens in the order of their experts: how many each has, and where its rows end."""

    op: Ranges
    layer: LayerWeights
    counts: tuple[int, ...]
    ends: Any


def _products(place: _Ordered, name: str, rows: Any) -> Any:
    """Return the product of every row with the matrix of its expert."""
    weights = place.layer.experts[name]
    if place.ends is not None:
        with place.op(name):
            return functional.grouped_mm(rows, weights.transpose(1, 2), offs=place.ends)
    out = rows.new_empty((rows.shape[0], weights.shape[1]))
    first = 0
    for number, count in enumerate(place.counts):
        if count:
            last = first + count
            with place.op(f"{name}_{number}"):
                torch.mm(rows[first:last], weights[number].t(), out=out[first:last])
            first = last
    return out


def _with_shared(op: Ranges, layer: LayerWeights, rows: Any, mixed: Any) -> Any:
    """Add the experts that every token passes, weighted where they have a gate."""
    if "shared_gate_up_proj" not in layer.linear:
        return mixed
    shared = dense_mlp(op, layer, rows, "shared_")
    if "shared_gate" in layer.linear:
        gate = linear(op, "shared_gate", rows, layer.linear["shared_gate"])
        with op("shared_scale"):
            shared = shared * torch.sigmoid(gate)
    with op("shared_add"):
        return mixed + shared
