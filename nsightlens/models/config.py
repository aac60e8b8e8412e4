"""`ModelConfig`: the sizes of a decoder language model, and how many parameters they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Experts", "LatentAttention", "ModelConfig", "StoredWeights"]


class Experts(NamedTuple):
    """A mixture of experts in place of the MLP.

    Parameters
    ----------
    expert_count
        Routed experts of a layer.
    experts_per_token
        Of these, how many a token is sent to.
    intermediate_size
        Width of each of them.
    shared_intermediate_size
        Width of the experts that every token passes, together; 0 without any.
    layer_count
        Layers with experts; the others have a dense MLP.
    has_shared_gate
        The shared experts are weighted by a gate of their own.
    has_router_bias
        The router adds a bias per expert.
    has_bias
        Every expert's products add a bias.
    """

    expert_count: int
    experts_per_token: int
    intermediate_size: int
    shared_intermediate_size: int
    layer_count: int
    has_shared_gate: bool = False
    has_router_bias: bool = False
    has_bias: bool = False


class LatentAttention(NamedTuple):
    """Multi-head latent attention: keys and values are cached as one latent vector per token.

    Parameters
    ----------
    kv_rank
        Size of the latent vector, from which keys and values of all heads are made.
    rope_dim
        Size of the part of the key that carries the position; all heads share it.
    nope_dim
        Size of the part of a head's key that carries none.
    value_dim
        Size of a head's value.
    query_rank
        Size of the latent vector of the query; ``None`` where the query is made at once.
    """

    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    query_rank: int | None


class StoredWeights(NamedTuple):
    """How a checkpoint stores the weights of its linear layers.

    Parameters
    ----------
    dtype
        ``bf16``, ``fp16``, ``fp32``, ``fp8``, ``int8``, ``int4``, ``fp4``, ...
    bytes_per_element
        [B] With scales and zero points, spread over the elements of a group.
    only_experts
        Of the linear layers, only those of experts are stored so; the others have 16 bit.
    """

    dtype: str
    bytes_per_element: float
    only_experts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The sizes of a model: what work and bytes of a step follow from.

    Parameters
    ----------
    name
        Its name, or that of the file it was read from.
    source
        Where the sizes are from.
    architecture
        ``model_type`` of the configuration, such as ``llama``.
    layer_count
        Decoder layers.
    hidden_size
        Width of the residual stream.
    head_count, kv_head_count
        Query heads, and heads of keys and values: fewer with grouped queries.
    head_dim
        Size of a head of keys; of values too, unless ``latent`` is given.
    intermediate_size
        Width of the dense MLP; 0 where every layer has experts.
    vocab_size
        Rows of the embedding.
    has_gated_mlp
        The MLP has a gate beside its first product: three matrices, not two.
    has_tied_embeddings
        The last product reads the embedding, and has no weights of its own.
    experts
        Mixture of experts; ``None`` for a dense model.
    latent
        Multi-head latent attention; ``None`` for any other.
    window_token_count
        [token] What a layer with a sliding window sees, the token itself included.
    windowed_layer_count
        Layers with a sliding window.
    embedding_size
        Width of the embedding, where it is not ``hidden_size``.
    position_count
        Rows of a learned table of positions; 0 with rotary positions.
    longest_context
        [token] Positions that the configuration speaks of; ``None`` where it does not.
    has_qkv_bias, has_output_bias, has_mlp_bias
        Products of attention's inputs, of its output and of the MLP add a bias.
    has_norm_bias
        Norms have a bias beside their weight (LayerNorm, not RMSNorm).
    norms_per_layer
        Two, or four where the outputs of attention and MLP are normalised too.
    has_qk_norm
        Every head of queries and keys is normalised.
    has_final_norm
        A norm stands before the last product.
    has_sinks
        Attention has a learned sink per head.
    stored_weights
        How the checkpoint stores linear layers; ``None`` where the configuration does not say.
    weights_problem
        Why ``stored_weights`` is ``None`` although the configuration speaks of it: a clause that
        begins with the key. Else empty.
    """

    name: str
    source: str
    architecture: str
    layer_count: int
    hidden_size: int
    head_count: int
    kv_head_count: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    has_gated_mlp: bool = True
    has_tied_embeddings: bool = False
    experts: Experts | None = None
    latent: LatentAttention | None = None
    window_token_count: int | None = None
    windowed_layer_count: int = 0
    embedding_size: int | None = None
    position_count: int = 0
    longest_context: int | None = None
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_mlp_bias: bool = False
    has_norm_bias: bool = False
    norms_per_layer: int = 2
    has_qk_norm: bool = False
    has_final_norm: bool = True
    has_sinks: bool = False
    stored_weights: StoredWeights | None = None
    weights_problem: str = ""

    @property
    def dense_layer_count(self) -> int:
        """Layers with a dense MLP."""
        return self.layer_count - (self.experts.layer_count if self.experts else 0)

    @property
    def kv_elements_per_token(self) -> int:
        """Elements that the KV cache keeps of a token, over all layers."""
        if self.latent is not None:
            return self.layer_count * (self.latent.kv_rank + self.latent.rope_dim)
        return 2 * self.layer_count * self.kv_head_count * self.head_dim
