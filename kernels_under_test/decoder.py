"""`Decoder`: one step of a model, decode or prefill, in plain PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from kernels_under_test.attention import Attention, Place
from kernels_under_test.cache import PagedCache
from kernels_under_test.experts import Routing, expert_mlp
from kernels_under_test.inputs import first_key
from kernels_under_test.layers import dense_mlp, norm
from kernels_under_test.models import facts_of
from kernels_under_test.operations import Variant, step_operations
from kernels_under_test.ranges import NO_RANGES, StepRanges, step_ranges

if TYPE_CHECKING:
    from kernels_under_test.backends.call import Backend
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.operations import StepOperations
    from kernels_under_test.ranges import Ranges
    from kernels_under_test.weights import Weights
    from kernels_under_test.work import Sizes
    from nsightlens.models import ModelConfig

__all__ = ["Decoder", "Predicted"]


@dataclass(frozen=True)
class Predicted:
    """What a step predicts.

    Parameters
    ----------
    logits
        Shape (rows, vocabulary): one row per sequence.
    tokens
        The most likely ones, shape (rows,).
    """

    logits: Any
    tokens: Any


@dataclass(frozen=True)
class Decoder:
    """A model with its weights and the way it is computed.

    Parameters
    ----------
    model
        Its sizes.
    weights
        Its weights.
    backend
        How attention is computed.
    sizes
        Bytes per element, for the annotations.
    expands_latent, groups_experts
        As in `kernels_under_test.operations.Variant`.
    """

    model: ModelConfig
    weights: Weights
    backend: Backend
    sizes: Sizes
    expands_latent: bool = False
    groups_experts: bool = False

    def operations(
        self, inputs: StepInputs, cache: Cache, counts: tuple[tuple[int, ...], ...] = ()
    ) -> StepOperations:
        """Return the operations of a step with what each needs.

        Parameters
        ----------
        inputs
            What it starts from.
        cache
            Whether it has blocks.
        counts
            How many tokens go to each expert, in every layer that has some.
        """
        variant = Variant(
            sizes=self.sizes,
            is_eager=self.backend.is_eager,
            is_paged=cache.is_paged,
            reads_blocks=self.backend.reads_blocks,
            expands_latent=self.expands_latent,
            groups_experts=self.groups_experts,
        )
        return step_operations(self.model, inputs.shape, variant, counts)

    def ranges(
        self, inputs: StepInputs, cache: Cache, counts: tuple[tuple[int, ...], ...] = ()
    ) -> StepRanges:
        """Return the ranges of a step; as `operations`."""
        return step_ranges(self.operations(inputs, cache, counts))

    def prepare(self, inputs: StepInputs, cache: Cache) -> None:
        """Make what a step needs of the host, so that it waits for nothing."""
        if isinstance(cache, PagedCache):
            for window in inputs.masks:
                cache.prepare(first_key(inputs.shape, window), inputs.shape.context_length)
            cache.prepare(inputs.first, inputs.shape.context_length)
        self.backend.prepare(self.model, cache, inputs)

    def step(
        self,
        inputs: StepInputs,
        cache: Cache,
        routing: Routing | None = None,
        ranges: StepRanges | None = None,
    ) -> Predicted:
        """Run one step. New keys and values replace what the cache holds in their place.

        Parameters
        ----------
        inputs
            What it starts from.
        cache
            Holds what lies before, and gets what is new.
        routing
            How many tokens go to each expert; None to count them, for which the host waits.
        ranges
            Ranges of its operations; None for none.
        """
        if ranges is None:
            ranges = StepRanges(NO_RANGES, (NO_RANGES,) * self.model.layer_count, NO_RANGES)
        routing = Routing(is_grouped=self.groups_experts) if routing is None else routing
        routing.begin()
        facts = facts_of(self.model)
        attention = Attention(self.model, facts, self.backend, self.expands_latent)
        epsilon = facts.norm_epsilon
        rows = self._embedded(ranges.entrance, inputs)
        for index, (layer, op) in enumerate(zip(self.weights.layers, ranges.layers, strict=True)):
            normed = norm(op, "attention_norm", rows, layer.norm["attention_norm"], epsilon)
            mixed = attention.layer(Place(op, layer, index, cache, inputs), normed)
            with op("attention_residual"):
                rows = rows + mixed
            normed = norm(op, "mlp_norm", rows, layer.norm["mlp_norm"], epsilon)
            if layer.kind.has_experts:
                inner = expert_mlp(op, layer, normed, self.model, routing)
            else:
                inner = dense_mlp(op, layer, normed)
            with op("mlp_residual"):
                rows = rows + inner
        return self._predicted(ranges.exit, rows, inputs, epsilon)

    def _embedded(self, op: Ranges, inputs: StepInputs) -> Any:
        with op("embedding"):
            rows = functional.embedding(inputs.tokens, self.weights.embedding)
        if inputs.positions is None:
            return rows
        with op("position_embedding"):
            places = functional.embedding(inputs.positions, self.weights.positions)
        with op("position_add"):
            return rows + places

    def _predicted(self, op: Ranges, rows: Any, inputs: StepInputs, epsilon: float) -> Predicted:
        shape = inputs.shape
        if shape.phase == "prefill":
            with op("last_token"):
                rows = rows.view(shape.batch_size, shape.query_length, -1)[:, -1].contiguous()
        rows = norm(op, "final_norm", rows, self.weights.final_norm, epsilon)
        with op("lm_head"):
            logits = functional.linear(rows, self.weights.head)
        with op("sampling"):
            tokens = torch.argmax(logits, -1)
        return Predicted(logits, tokens)
