"""`step_operations`: the operations of a step in their order, each with its FLOPs and bytes.

The model (`kernels_under_test.decoder`) asks for every range by its name, so that what is
annotated is what stands here, and a test holds it against what a profiler would hear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from kernels_under_test import work
from kernels_under_test.work import AttentionShape, Sizes, Work
from nsightlens.models.attention import visible_pair_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.models import ModelConfig

__all__ = ["LayerKind", "StepOperations", "StepShape", "Variant", "layer_kinds", "step_operations"]

Phase = Literal["decode", "prefill"]


class StepShape(NamedTuple):
    """What a step is made of.

    Parameters
    ----------
    batch_size
        Sequences.
    context_length
        [token] Keys that the last query of a sequence sees, its own included.
    query_length
        [token] Queries of a sequence: 1 for a decode, all of the context for a prefill.
    phase
        A prefill predicts one token per sequence, a decode one per query.
    """

    batch_size: int
    context_length: int
    query_length: int = 1
    phase: Phase = "decode"

    @property
    def token_count(self) -> int:
        """Queries of all sequences."""
        return self.batch_size * self.query_length

    @property
    def predicted_count(self) -> int:
        """Rows of the last product."""
        return self.batch_size if self.phase == "prefill" else self.token_count


class Variant(NamedTuple):
    """How a step is computed.

    Parameters
    ----------
    sizes
        Bytes per element.
    is_eager
        Attention is two products and a softmax, not one operation.
    is_paged
        The cache consists of blocks.
    reads_blocks
        Attention takes blocks as they are; else they are brought into one piece first.
    expands_latent
        Latent attention makes keys and values of all heads anew in a decode step too.
    groups_experts
        One launch for the products of all experts, not one for each.
    """

    sizes: Sizes
    is_eager: bool = False
    is_paged: bool = False
    reads_blocks: bool = False
    expands_latent: bool = False
    groups_experts: bool = False


class LayerKind(NamedTuple):
    """What distinguishes layers: the window [token] of attention, and experts for an MLP."""

    window: int | None
    has_experts: bool


class StepOperations(NamedTuple):
    """The operations of a step, in order: before the layers, of each of them, and behind."""

    entrance: tuple[Work, ...]
    layers: tuple[tuple[Work, ...], ...]
    exit: tuple[Work, ...]

    @property
    def all(self) -> tuple[Work, ...]:
        """Every operation, in the order of the step."""
        return (*self.entrance, *(one for layer in self.layers for one in layer), *self.exit)


def layer_kinds(model: ModelConfig) -> tuple[LayerKind, ...]:
    """Return the kind of every layer.

    Dense ones come first, as in DeepSeek-V2, and so do those that see everything, as in Qwen2:
    `nsightlens.models.ModelConfig` says how many there are, which is what a step costs.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> [kind.has_experts for kind in layer_kinds(read_model("deepseek-v2-lite"))[:3]]
    [False, True, True]
    """
    full = model.layer_count - model.windowed_layer_count
    return tuple(
        LayerKind(
            window=model.window_token_count if index >= full else None,
            has_experts=index >= model.dense_layer_count,
        )
        for index in range(model.layer_count)
    )


def step_operations(
    model: ModelConfig,
    shape: StepShape,
    variant: Variant,
    expert_counts: Sequence[Sequence[int]] = (),
) -> StepOperations:
    """Return the operations of a step with what each needs.

    Parameters
    ----------
    model
        Its sizes.
    shape
        What the step is made of.
    variant
        How it is computed.
    expert_counts
        Of every layer with experts, how many tokens go to each of its experts.

    Raises
    ------
    ValueError
        Expert counts do not fit the model.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> found = step_operations(read_model("opt-1.3b"), StepShape(8, 500), Variant(Sizes(2, 2, 2)))
    >>> [(one.name, one.flop) for one in found.layers[0][:2]]
    [('attention_norm', 114688), ('qkv_proj', 201326592)]
    """
    kinds = layer_kinds(model)
    _check_expert_counts(model, shape, expert_counts)
    counts = iter(expert_counts)
    layers = tuple(
        (
            *_attention(model, shape, variant, kind),
            *_mlp(model, shape, variant, tuple(next(counts)) if kind.has_experts else None),
        )
        for kind in kinds
    )
    sizes = variant.sizes
    return StepOperations(_entrance(model, shape, sizes), layers, _exit(model, shape, sizes))


def _check_expert_counts(
    model: ModelConfig, shape: StepShape, counts: Sequence[Sequence[int]]
) -> None:
    experts = model.experts
    layers = 0 if experts is None else experts.layer_count
    if len(counts) != layers:
        raise ValueError(f"{model.name} has {layers} layers with experts, not {len(counts)}")
    if experts is None:
        return
    pairs = shape.token_count * experts.experts_per_token
    for one in counts:
        if len(one) != experts.expert_count or sum(one) != pairs:
            raise ValueError(
                f"{sum(one)} pairs of tokens and experts over {len(one)} experts: a layer of "
                f"{model.name} has {pairs} over {experts.expert_count}"
            )


def _entrance(model: ModelConfig, shape: StepShape, sizes: Sizes) -> tuple[Work, ...]:
    rows, hidden = shape.token_count, model.hidden_size
    embedding = work.lookup("embedding", rows, hidden, sizes)
    if not model.position_count:
        return (embedding,)
    return (
        embedding,
        work.lookup("position_embedding", rows, hidden, sizes),
        work.add("position_add", rows * hidden, sizes, family="embedding"),
    )


def _exit(model: ModelConfig, shape: StepShape, sizes: Sizes) -> tuple[Work, ...]:
    rows, hidden = shape.predicted_count, model.hidden_size
    picked = (work.copy("last_token", rows * hidden, sizes),) if shape.phase == "prefill" else ()
    return (
        *picked,
        _norm(model, "final_norm", rows, hidden, sizes),
        work.linear("lm_head", rows, (hidden, model.vocab_size), sizes, is_plain=True),
        work.sampling(rows, model.vocab_size, sizes),
    )


def _norm(model: ModelConfig, name: str, rows: int, width: int, sizes: Sizes) -> Work:
    if model.has_norm_bias:
        return work.layer_norm(name, rows, width, sizes)
    return work.rms_norm(name, rows, width, sizes)


def _linear(
    name: str, rows: int, matrix: tuple[int, int], sizes: Sizes, *, has_bias: bool = False
) -> tuple[Work, ...]:
    """Return a linear layer, in FP8 with what brings its input there."""
    product = work.linear(name, rows, matrix, sizes, has_bias=has_bias)
    if not sizes.is_fp8:
        return (product,)
    return (work.quantise(f"{name}_quantise", rows * matrix[0], sizes), product)


# --- Attention ---


def _attention(
    model: ModelConfig, shape: StepShape, variant: Variant, kind: LayerKind
) -> tuple[Work, ...]:
    inner = _latent if model.latent is not None else _heads
    rows, hidden = shape.token_count, model.hidden_size
    width = model.head_count * (model.latent.value_dim if model.latent else model.head_dim)
    return (
        _norm(model, "attention_norm", rows, hidden, variant.sizes),
        *inner(model, shape, variant, kind),
        *_linear("o_proj", rows, (width, hidden), variant.sizes, has_bias=model.has_output_bias),
        work.add("attention_residual", rows * hidden, variant.sizes),
    )


def _heads(
    model: ModelConfig, shape: StepShape, variant: Variant, kind: LayerKind
) -> tuple[Work, ...]:
    """Return attention with keys and values of every head."""
    rows, sizes, dim = shape.token_count, variant.sizes, model.head_dim
    of_query, of_key = model.head_count * dim, model.kv_head_count * dim
    both = (("query", model.head_count), ("key", model.kv_head_count))
    found = [
        *_linear(
            "qkv_proj",
            rows,
            (model.hidden_size, of_query + 2 * of_key),
            sizes,
            has_bias=model.has_qkv_bias,
        )
    ]
    if model.has_qk_norm:
        found += [
            work.rms_norm(f"{name}_norm", rows, heads * dim, sizes, weights=dim)
            for name, heads in both
        ]
    if not model.position_count:
        angles = shape.query_length * dim
        found += [work.rope(f"rope_{name}", rows, heads * dim, angles, sizes)
                  for name, heads in both]  # fmt: skip
    parts = ("key", "value")
    found += [work.cache_write(f"{part}_cache_write", rows, of_key, sizes,
                               is_paged=variant.is_paged) for part in parts]  # fmt: skip
    inner = _inner_shape(model, shape, kind)
    found += _gathers(inner, variant, [(part, model.kv_head_count, dim) for part in parts])
    # They are still a part of the rows of qkv_proj, unless they are all of one row.
    is_part = not model.has_qk_norm and bool(model.position_count) and shape.token_count > 1
    return (*found, *_inner(inner, variant, is_query_part=is_part))


def _inner_shape(model: ModelConfig, shape: StepShape, kind: LayerKind) -> AttentionShape:
    context, query = shape.context_length, shape.query_length
    keys = context if kind.window is None else min(context, kind.window + query - 1)
    return AttentionShape(
        sequences=shape.batch_size,
        query_length=query,
        key_count=keys,
        pair_count=visible_pair_count(context, query, kind.window),
        heads=model.head_count,
        kv_heads=model.kv_head_count,
        key_dim=model.head_dim,
        value_dim=model.head_dim,
    )


def _gathers(
    shape: AttentionShape, variant: Variant, parts: Sequence[tuple[str, int, int]]
) -> list[Work]:
    """Return what brings blocks into one piece: name, heads and width of each part of the cache."""
    if not variant.is_paged or variant.reads_blocks:
        return []
    tokens = shape.sequences * shape.key_count
    return [work.gather(f"{name}_gather", tokens, heads, width, variant.sizes)
            for name, heads, width in parts]  # fmt: skip


def _inner(
    shape: AttentionShape, variant: Variant, *, is_query_part: bool = False
) -> tuple[Work, ...]:
    """Return attention itself; queries that are part of wider rows lie apart."""
    sizes = variant.sizes
    if not variant.is_eager:
        return (work.attention("attention", shape, sizes),)
    found = [
        work.attention_scores(shape, sizes),
        work.attention_softmax(shape, sizes),
        work.attention_values(shape, sizes),
    ]
    # Queries of the heads that share keys are rows of one product: they must lie together.
    rows = shape.sequences * shape.query_length * shape.heads
    if shape.query_length > 1 or is_query_part:
        found.insert(0, work.copy("query_split", rows * shape.key_dim, sizes))
    if shape.query_length > 1:
        found.append(work.copy("head_merge", rows * shape.value_dim, sizes))
    return tuple(found)


def _latent(
    model: ModelConfig, shape: StepShape, variant: Variant, kind: LayerKind
) -> tuple[Work, ...]:
    """Return multi-head latent attention (DeepSeek-V2, arXiv 2405.04434)."""
    latent = model.latent
    assert latent is not None
    rows, sizes, hidden, heads = (
        shape.token_count,
        variant.sizes,
        model.hidden_size,
        model.head_count,
    )
    rank, of_rope = latent.kv_rank, latent.rope_dim
    of_query = heads * (latent.nope_dim + of_rope)
    if latent.query_rank is None:
        found = [work.linear("q_proj", rows, (hidden, of_query), sizes)]
    else:
        found = [
            work.linear("q_a_proj", rows, (hidden, latent.query_rank), sizes),
            _norm(model, "q_a_norm", rows, latent.query_rank, sizes),
            work.linear("q_b_proj", rows, (latent.query_rank, of_query), sizes),
        ]
    angles = shape.query_length * of_rope
    found += [
        work.linear("kv_a_proj", rows, (hidden, rank + of_rope), sizes),
        _norm(model, "kv_a_norm", rows, rank, sizes),
        work.rope("rope_query", rows, heads * of_rope, angles, sizes),
        work.rope("rope_key", rows, of_rope, angles, sizes),
        work.cache_write("latent_cache_write", rows, rank, sizes, is_paged=variant.is_paged),
        work.cache_write("rope_cache_write", rows, of_rope, sizes, is_paged=variant.is_paged),
    ]
    inner = _inner_shape(model, shape, kind)
    found += _gathers(inner, variant, [("latent", 1, rank + of_rope)])
    is_expanded = shape.phase == "prefill" or variant.expands_latent
    return (*found, *(_expanded if is_expanded else _absorbed)(model, inner, variant))


def _absorbed(model: ModelConfig, inner: AttentionShape, variant: Variant) -> tuple[Work, ...]:
    """Return attention to the latent vectors, between the products that would expand them."""
    latent = model.latent
    assert latent is not None
    rows = inner.sequences * inner.query_length
    sizes, heads, rank = variant.sizes, model.head_count, latent.kv_rank
    width = rank + latent.rope_dim
    shape = inner._replace(kv_heads=1, key_dim=width, value_dim=rank, shares_values=True)
    return (
        work.per_head("absorb_key", rows, heads, (latent.nope_dim, rank), sizes),
        work.copy("query_concat", rows * heads * width, sizes),
        *_inner(shape, variant),
        work.per_head("absorb_value", rows, heads, (rank, latent.value_dim), sizes),
        work.copy("value_merge", rows * heads * latent.value_dim, sizes),
    )


def _expanded(model: ModelConfig, inner: AttentionShape, variant: Variant) -> tuple[Work, ...]:
    """Return attention with a key and a value per head, made anew from all latent vectors."""
    latent = model.latent
    assert latent is not None
    sizes, heads = variant.sizes, model.head_count
    tokens = inner.sequences * inner.key_count
    nope, of_rope, value = latent.nope_dim, latent.rope_dim, latent.value_dim
    rows = inner.sequences * inner.query_length
    shape = inner._replace(kv_heads=heads, key_dim=nope + of_rope, value_dim=value)
    # All heads share the part of the key that carries the position: it is read once.
    concat = work.copy("key_concat", tokens * heads * (nope + of_rope), sizes)
    shared = sizes.activation * tokens * of_rope * (heads - 1)
    return (
        work.copy("query_concat", rows * heads * (nope + of_rope), sizes),
        work.linear("kv_b_proj", tokens, (latent.kv_rank, heads * (nope + value)), sizes),
        concat._replace(read_bytes=concat.read_bytes - shared),
        work.copy("value_split", tokens * heads * value, sizes),
        *_inner(shape, variant),
    )


# --- MLP ---


def _mlp(
    model: ModelConfig, shape: StepShape, variant: Variant, counts: tuple[int, ...] | None
) -> tuple[Work, ...]:
    rows, hidden, sizes = shape.token_count, model.hidden_size, variant.sizes
    if counts is None:
        inner = _dense(model, rows, model.intermediate_size, sizes)
    else:
        inner = _experts(model, rows, variant, counts)
    return (
        _norm(model, "mlp_norm", rows, hidden, sizes),
        *inner,
        work.add("mlp_residual", rows * hidden, sizes),
    )


def _dense(
    model: ModelConfig, rows: int, width: int, sizes: Sizes, prefix: str = ""
) -> tuple[Work, ...]:
    hidden = model.hidden_size
    has_bias = model.has_mlp_bias and not prefix
    up, down = ("gate_up_proj", "down_proj") if model.has_gated_mlp else ("fc1", "fc2")
    first = 2 * width if model.has_gated_mlp else width
    return (
        *_linear(prefix + up, rows, (hidden, first), sizes, has_bias=has_bias),
        *_activations(model, prefix, rows * width, sizes),
        *_linear(prefix + down, rows, (width, hidden), sizes, has_bias=has_bias),
    )


def _activations(model: ModelConfig, prefix: str, elements: int, sizes: Sizes) -> tuple[Work, ...]:
    if not model.has_gated_mlp:
        flop = work.FLOP_OF_RELU
        return (work.elementwise(f"{prefix}relu", elements, sizes, flop_per_element=flop),)
    flop = work.FLOP_OF_SILU
    return (
        work.elementwise(f"{prefix}silu", elements, sizes, flop_per_element=flop),
        work.elementwise(f"{prefix}gate_mul", elements, sizes, inputs=2, flop_per_element=1),
    )


def _experts(
    model: ModelConfig, rows: int, variant: Variant, counts: tuple[int, ...]
) -> tuple[Work, ...]:
    experts = model.experts
    assert experts is not None
    sizes, hidden, width = variant.sizes, model.hidden_size, experts.intermediate_size
    used, expert_count = experts.experts_per_token, experts.expert_count
    ends = expert_count if variant.groups_experts else 0
    return (
        work.linear("router", rows, (hidden, expert_count), sizes, is_plain=True),
        work.routing(rows, expert_count, used, sizes),
        work.dispatch(rows, used, hidden, sizes, ends=ends),
        *_products("experts_gate_up", counts, (hidden, 2 * width), variant),
        *_activations(model, "experts_", rows * used * width, sizes),
        *_products("experts_down", counts, (width, hidden), variant),
        work.combine(rows, used, hidden, sizes),
        *_shared(model, rows, sizes),
    )


def _products(
    name: str, counts: tuple[int, ...], matrix: tuple[int, int], variant: Variant
) -> tuple[Work, ...]:
    """Return the products of all experts: one launch, or one for each that any token goes to."""
    sizes = variant.sizes
    if variant.groups_experts:
        experts = (sum(1 for count in counts if count), len(counts))
        return (work.grouped(name, sum(counts), experts, matrix, sizes),)
    return tuple(
        work.linear(f"{name}_{number}", count, matrix, sizes)
        for number, count in enumerate(counts)
        if count
    )


def _shared(model: ModelConfig, rows: int, sizes: Sizes) -> tuple[Work, ...]:
    """Return the experts that every token passes."""
    experts = model.experts
    assert experts is not None
    hidden, width = model.hidden_size, experts.shared_intermediate_size
    if not width:
        return ()
    gate = (
        work.linear("shared_gate", rows, (hidden, 1), sizes, is_plain=True),
        work.scale_rows("shared_scale", rows, hidden, sizes, family="moe_routing"),
    )
    return (
        *_dense(model, rows, width, sizes, "shared_"),
        *(gate if experts.has_shared_gate else ()),
        work.add("shared_add", rows * hidden, sizes, family="moe_routing"),
    )
