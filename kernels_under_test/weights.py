"""Random weights of a model, made on the device from a seed; nothing is downloaded."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from kernels_under_test.operations import LayerKind, layer_kinds

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig

__all__ = ["INPUT_SCALE", "LayerWeights", "Linear", "Norm", "Weights", "random_weights"]

INPUT_SCALE = 2.0**-4
"""Scale of the input of a product in FP8: E4M3 ends at 448, so that inputs reach 28."""
_NORM_SPREAD = 0.1
_BIAS_SPREAD = 0.1


@dataclass(frozen=True)
class Linear:
    """A linear layer.

    Parameters
    ----------
    weight
        Shape (outputs, inputs).
    bias
        Shape (outputs,); None without.
    scales
        Of the input and of the weight, where they are in FP8; else None.
    """

    weight: Any
    bias: Any = None
    scales: tuple[Any, Any] | None = None


@dataclass(frozen=True)
class Norm:
    """A norm: an RMS norm without a bias, LayerNorm with one. Shape (width,) each."""

    weight: Any
    bias: Any = None


@dataclass(frozen=True)
class LayerWeights:
    """Weights of a layer, each by the name of its operation.

    Parameters
    ----------
    kind
        What distinguishes it.
    linear, norm
        Linear layers and norms.
    experts
        Matrices of all experts, shape (experts, outputs, inputs).
    """

    kind: LayerKind
    linear: dict[str, Linear] = field(default_factory=dict)
    norm: dict[str, Norm] = field(default_factory=dict)
    experts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Weights:
    """All weights of a model.

    Parameters
    ----------
    embedding
        Shape (vocabulary, hidden).
    positions
        Learned positions; None with rotary ones.
    layers
        In order.
    final_norm
        Before the last product.
    head
        The last product, shape (vocabulary, hidden): the embedding itself where they are tied.
    """

    embedding: Any
    positions: Any
    layers: tuple[LayerWeights, ...]
    final_norm: Norm
    head: Any

    @property
    def tensors(self) -> list[Any]:
        """Every tensor once."""
        found = [self.embedding, self.head, self.final_norm.weight, self.final_norm.bias]
        found.append(self.positions)
        for layer in self.layers:
            for one in layer.linear.values():
                found += [one.weight, one.bias, *(one.scales or ())]
            for norm in layer.norm.values():
                found += [norm.weight, norm.bias]
            found += layer.experts.values()
        return list({id(one): one for one in found if one is not None}.values())

    @property
    def parameter_count(self) -> int:
        """Elements, those of tied matrices once and without scales."""
        return sum(one.numel() for one in self.tensors if one.dim())

    @property
    def bytes(self) -> int:
        """[B] Of all tensors."""
        return sum(one.numel() * one.element_size() for one in self.tensors)


class _Maker:
    """Makes tensors of random numbers, one after the other from one generator."""

    def __init__(self, device: Any, dtype: Any, seed: int, *, is_fp8: bool) -> None:
        self._device = device
        self._dtype = dtype
        self._is_fp8 = is_fp8
        # Tensors without data ("meta") need no numbers.
        self._generator = None
        if device.type != "meta":
            self._generator = torch.Generator(device)
            self._generator.manual_seed(seed)

    def normal(self, *shape: int, spread: float = 1.0, middle: float = 0.0) -> Any:
        tensor = torch.empty(shape, dtype=self._dtype, device=self._device)
        return tensor.normal_(middle, spread, generator=self._generator)

    def matrix(self, outputs: int, inputs: int, *more: int) -> Any:
        """Return a matrix, or several, that keeps the size of what it multiplies."""
        return self.normal(*more, outputs, inputs, spread=1 / math.sqrt(inputs))

    def linear(self, outputs: int, inputs: int, *, has_bias: bool = False) -> Linear:
        bias = self.normal(outputs, spread=_BIAS_SPREAD) if has_bias else None
        if not self._is_fp8:
            return Linear(self.matrix(outputs, inputs), bias)
        # FP8 has few numbers near zero: the spread of the weights is left to their scale.
        weight = self.normal(outputs, inputs).to(torch.float8_e4m3fn)
        return Linear(weight, bias, (self._scale(INPUT_SCALE), self._scale(1 / math.sqrt(inputs))))

    def _scale(self, value: float) -> Any:
        return torch.full((), value, dtype=torch.float32, device=self._device)

    def plain(self, outputs: int, inputs: int) -> Linear:
        """Return a linear layer that is never multiplied in FP8."""
        return Linear(self.matrix(outputs, inputs))

    def norm(self, width: int, *, has_bias: bool = False) -> Norm:
        bias = self.normal(width, spread=_BIAS_SPREAD) if has_bias else None
        return Norm(self.normal(width, spread=_NORM_SPREAD, middle=1.0), bias)


def random_weights(
    model: ModelConfig, *, device: Any, dtype: Any, seed: int = 0, is_fp8: bool = False
) -> Weights:
    """Make the weights of a model.

    Parameters
    ----------
    model
        Its sizes.
    device
        Where they are made; ``meta`` makes none.
    dtype
        Of all of them, but for those in FP8.
    seed
        The same gives the same on devices of one kind.
    is_fp8
        Linear layers are in FP8 (E4M3), with one scale for a matrix.

    Examples
    --------
    >>> from kernels_under_test.models import model_to_run
    >>> cpu = torch.device("cpu")
    >>> weights = random_weights(model_to_run("tiny-llama"), device=cpu, dtype=torch.float32)
    >>> weights.layers[0].linear["qkv_proj"].weight.shape
    torch.Size([128, 64])
    """
    make = _Maker(device, dtype, seed, is_fp8=is_fp8)
    hidden, vocabulary = model.hidden_size, model.vocab_size
    embedding = make.matrix(vocabulary, hidden)
    positions = make.matrix(model.position_count, hidden) if model.position_count else None
    layers = tuple(_layer(model, kind, make) for kind in layer_kinds(model))
    final_norm = make.norm(hidden, has_bias=model.has_norm_bias)
    head = embedding if model.has_tied_embeddings else make.matrix(vocabulary, hidden)
    return Weights(embedding, positions, layers, final_norm, head)


def _layer(model: ModelConfig, kind: LayerKind, make: _Maker) -> LayerWeights:
    layer = LayerWeights(kind)
    for name in ("attention_norm", "mlp_norm"):
        layer.norm[name] = make.norm(model.hidden_size, has_bias=model.has_norm_bias)
    if model.latent is None:
        _add_heads(model, layer, make)
    else:
        _add_latent(model, layer, make)
    if kind.has_experts:
        _add_experts(model, layer, make)
    else:
        _add_mlp(model, layer, make, model.intermediate_size)
    return layer


def _add_heads(model: ModelConfig, layer: LayerWeights, make: _Maker) -> None:
    hidden, dim = model.hidden_size, model.head_dim
    of_all = (model.head_count + 2 * model.kv_head_count) * dim
    layer.linear["qkv_proj"] = make.linear(of_all, hidden, has_bias=model.has_qkv_bias)
    layer.linear["o_proj"] = make.linear(
        hidden, model.head_count * dim, has_bias=model.has_output_bias
    )
    if model.has_qk_norm:
        layer.norm["query_norm"], layer.norm["key_norm"] = make.norm(dim), make.norm(dim)


def _add_latent(model: ModelConfig, layer: LayerWeights, make: _Maker) -> None:
    latent = model.latent
    assert latent is not None
    hidden, heads = model.hidden_size, model.head_count
    of_query = heads * (latent.nope_dim + latent.rope_dim)
    if latent.query_rank is None:
        layer.linear["q_proj"] = make.linear(of_query, hidden)
    else:
        layer.linear["q_a_proj"] = make.linear(latent.query_rank, hidden)
        layer.norm["q_a_norm"] = make.norm(latent.query_rank)
        layer.linear["q_b_proj"] = make.linear(of_query, latent.query_rank)
    layer.linear["kv_a_proj"] = make.linear(latent.kv_rank + latent.rope_dim, hidden)
    layer.norm["kv_a_norm"] = make.norm(latent.kv_rank)
    layer.linear["kv_b_proj"] = make.linear(
        heads * (latent.nope_dim + latent.value_dim), latent.kv_rank
    )
    layer.linear["o_proj"] = make.linear(hidden, heads * latent.value_dim)


def _add_mlp(
    model: ModelConfig, layer: LayerWeights, make: _Maker, width: int, prefix: str = ""
) -> None:
    hidden = model.hidden_size
    has_bias = model.has_mlp_bias and not prefix
    up, down = ("gate_up_proj", "down_proj") if model.has_gated_mlp else ("fc1", "fc2")
    first = 2 * width if model.has_gated_mlp else width
    layer.linear[prefix + up] = make.linear(first, hidden, has_bias=has_bias)
    layer.linear[prefix + down] = make.linear(hidden, width, has_bias=has_bias)


def _add_experts(model: ModelConfig, layer: LayerWeights, make: _Maker) -> None:
    experts = model.experts
    assert experts is not None
    hidden, width, count = model.hidden_size, experts.intermediate_size, experts.expert_count
    layer.linear["router"] = make.plain(count, hidden)
    layer.experts["experts_gate_up"] = make.matrix(2 * width, hidden, count)
    layer.experts["experts_down"] = make.matrix(hidden, width, count)
    if experts.shared_intermediate_size:
        _add_mlp(model, layer, make, experts.shared_intermediate_size, "shared_")
        if experts.has_shared_gate:
            layer.linear["shared_gate"] = make.plain(1, hidden)
