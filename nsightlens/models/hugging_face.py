"""A Hugging Face configuration becomes a `ModelConfig`, or a diagnosis of what is missing.

Nothing is guessed: a number that is not written and that the architecture does not fix is an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nsightlens.errors import ModelConfigError
from nsightlens.models.architectures import ALIASES, ARCHITECTURES, Architecture
from nsightlens.models.config import Experts, LatentAttention, ModelConfig
from nsightlens.models.weights import stored_weights
from nsightlens.patterns import nearest, quoted

__all__ = ["model_of"]

_OF_TEXT = ("text_config", "language_config", "llm_config")
_INHERITED = ("quantization_config", "torch_dtype", "dtype", "tie_word_embeddings")
_LARGEST = 10**9
_MOST_LAYERS = 10**4


def model_of(config: dict[str, Any], *, name: str, place: str, source: str) -> ModelConfig:
    """Build a model from its configuration.

    Parameters
    ----------
    config
        What ``config.json`` holds.
    name
        Name of the model.
    place
        The file, for messages.
    source
        Where the numbers are from.

    Raises
    ------
    ModelConfigError
        The architecture is not known, a key is missing, or a number makes no sense.
    """
    text = _text_config(config)
    model_type = text.get("model_type")
    known = ARCHITECTURES.get(ALIASES.get(str(model_type), str(model_type)))
    if known is None:
        raise _unknown_architecture(place, model_type)
    keys = _Keys({**known.defaults, **text}, place)
    heads = keys.count("num_attention_heads")
    for key in known.stated:
        keys.must_state(key)
    latent = _latent(keys) if known.has_latent else None
    layers = keys.count("num_hidden_layers", most=_MOST_LAYERS)
    kv_heads = _kv_heads(keys, known, heads)
    hidden = keys.count("hidden_size")
    experts = _experts(keys, known, layers) if known.experts_key else None
    window, windowed = _windows(keys, known, layers)
    stored = stored_weights(text)
    attention_bias, mlp_bias = (keys.flag(key) if key else False for key in known.bias_keys)
    return ModelConfig(
        name=name,
        source=source,
        architecture=str(model_type),
        layer_count=layers,
        hidden_size=hidden,
        head_count=heads,
        kv_head_count=kv_heads,
        head_dim=_head_dim(keys, latent, hidden, heads),
        intermediate_size=_intermediate_size(keys, experts, layers),
        vocab_size=keys.count("vocab_size"),
        has_gated_mlp=known.has_gated_mlp,
        has_tied_embeddings=keys.flag("tie_word_embeddings", absent=known.is_tied),
        experts=experts,
        latent=latent,
        window_token_count=window,
        windowed_layer_count=windowed,
        embedding_size=_narrow(keys, hidden),
        position_count=_positions(keys, str(model_type)),
        longest_context=keys.optional_count("max_position_embeddings") or None,
        has_qkv_bias=_has_biases(keys, known.has_qkv_bias) or attention_bias,
        has_output_bias=_has_biases(keys, known.has_output_bias) or attention_bias,
        has_mlp_bias=_has_biases(keys, known.has_mlp_bias) or mlp_bias,
        has_norm_bias=known.has_norm_bias,
        norms_per_layer=known.norms_per_layer,
        has_qk_norm=known.has_qk_norm,
        # OPT-350M alone normalises after each part of a layer, and not at the end.
        has_final_norm=keys.flag("do_layer_norm_before", absent=True),
        has_sinks=known.has_sinks,
        stored_weights=stored.weights,
        weights_problem=stored.problem,
    )


def _text_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the part about text of a model that takes images too."""
    nested = next((config[key] for key in _OF_TEXT if isinstance(config.get(key), dict)), None)
    if nested is None:
        return config
    outer = {key: config[key] for key in _INHERITED if config.get(key) is not None}
    return {"model_type": config.get("model_type"), **outer, **nested}


def _unknown_architecture(place: str, model_type: Any) -> ModelConfigError:
    if model_type is None:
        return ModelConfigError(
            place, "has no model_type", "It is no configuration of a model; name its config.json."
        )
    near = nearest(str(model_type), ARCHITECTURES, 3)
    beside = f"Near it are {', '.join(near)}. " if near else ""
    return ModelConfigError(
        place,
        f"has the model_type {quoted(str(model_type))}, which is not known",
        f"{beside}Known are {', '.join(ARCHITECTURES)}.",
        key="model_type",
    )


class _Keys(NamedTuple):
    """The keys of a configuration, checked as they are read."""

    config: dict[str, Any]
    place: str

    def error(self, key: str, problem: str, advice: str) -> ModelConfigError:
        return ModelConfigError(self.place, problem, advice, key=key)

    def count(self, key: str, most: int = _LARGEST) -> int:
        """Return a number above zero that must be there."""
        if self.config.get(key) is None:
            raise self.error(
                key,
                f"has no {key}",
                f"A model of the type {self.config['model_type']} needs it: add it to the file.",
            )
        return self._whole(key, 1, most)

    def must_state(self, key: str) -> None:
        """Refuse a configuration without a key, whatever stands in it."""
        if key not in self.config:
            raise self.error(
                key,
                f"has no {key}",
                f"A model of the type {self.config['model_type']} needs it: add it to the file, "
                "with null where there is none.",
            )

    def optional_count(self, key: str, absent: int = 0) -> int:
        """Return a number that may be missing or null."""
        return absent if self.config.get(key) is None else self._whole(key, 0, _LARGEST)

    def flag(self, key: str, *, absent: bool = False) -> bool:
        """Return a statement that holds or not."""
        value = self.config.get(key, absent)
        if value is None:
            return absent
        if not isinstance(value, bool):
            raise self.error(key, f"{key} is {value!r}", "It must be true or false.")
        return value

    def _whole(self, key: str, least: int, most: int) -> int:
        value = self.config[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            # Python refuses to write a number of thousands of digits.
            is_long = isinstance(value, int) and abs(value) > _LARGEST
            said = "too large" if is_long else quoted(str(value))
            advice = f"It must be a whole number from {least} to {most}."
            raise self.error(key, f"{key} is {said}", advice)
        return value


def _has_biases(keys: _Keys, by_default: bool) -> bool:
    return by_default and keys.flag("enable_bias", absent=True)


def _kv_heads(keys: _Keys, known: Architecture, heads: int) -> int:
    if known.is_multi_head_by_default:
        kv_heads = keys.optional_count("num_key_value_heads", heads)
    else:
        kv_heads = keys.count("num_key_value_heads")
    if kv_heads < 1 or heads % kv_heads:
        raise keys.error(
            "num_key_value_heads",
            f"has {heads} query heads for {kv_heads} key-value heads",
            "num_attention_heads must be a multiple of num_key_value_heads.",
        )
    return kv_heads


def _head_dim(keys: _Keys, latent: LatentAttention | None, hidden: int, heads: int) -> int:
    if latent is not None:
        return latent.nope_dim + latent.rope_dim
    given = keys.optional_count("head_dim")
    if given:
        return given
    if hidden % heads:
        raise keys.error(
            "head_dim",
            f"has no head_dim, and hidden_size {hidden} is no multiple of {heads} heads",
            "Add head_dim to the file.",
        )
    return hidden // heads


def _intermediate_size(keys: _Keys, experts: Experts | None, layers: int) -> int:
    if experts is not None and experts.layer_count == layers:
        return keys.optional_count("intermediate_size")
    # OPT calls it ffn_dim.
    return keys.count("ffn_dim" if "ffn_dim" in keys.config else "intermediate_size")


def _narrow(keys: _Keys, hidden: int) -> int | None:
    width = keys.optional_count("word_embed_proj_dim")
    return width if width and width != hidden else None


def _positions(keys: _Keys, model_type: str) -> int:
    # Two rows more than positions: OPT counts from 2.
    return keys.count("max_position_embeddings") + 2 if model_type == "opt" else 0


def _latent(keys: _Keys) -> LatentAttention:
    return LatentAttention(
        kv_rank=keys.count("kv_lora_rank"),
        rope_dim=keys.count("qk_rope_head_dim"),
        nope_dim=keys.count("qk_nope_head_dim"),
        value_dim=keys.count("v_head_dim"),
        query_rank=keys.optional_count("q_lora_rank") or None,
    )


def _experts(keys: _Keys, known: Architecture, layers: int) -> Experts | None:
    count = keys.count(known.experts_key)
    width = keys.count(known.expert_size_key)
    used = keys.count("num_experts_per_tok")
    if used > count:
        raise keys.error(
            "num_experts_per_tok",
            f"sends a token to {used} of {count} experts",
            "num_experts_per_tok cannot be more than there are.",
        )
    shared = keys.optional_count("shared_expert_intermediate_size")
    return Experts(
        expert_count=count,
        experts_per_token=used,
        intermediate_size=width,
        shared_intermediate_size=shared or keys.optional_count("n_shared_experts") * width,
        layer_count=_expert_layers(keys, layers),
        has_shared_gate=bool(shared),
        has_router_bias=known.has_router_bias,
        has_bias=known.has_expert_bias,
    )


def _expert_layers(keys: _Keys, layers: int) -> int:
    """Count the layers with experts: those after the first dense ones, every n-th."""
    dense_first = keys.optional_count("first_k_dense_replace")
    if dense_first > layers:
        raise keys.error(
            "first_k_dense_replace",
            f"has {dense_first} dense layers before those with experts, and {layers} layers",
            "first_k_dense_replace cannot be more than num_hidden_layers.",
        )
    every = max(1, keys.optional_count("moe_layer_freq", 1))
    step = max(1, keys.optional_count("decoder_sparse_step", 1))
    dense = keys.config.get("mlp_only_layers") or []
    if not isinstance(dense, list):
        advice = "It must be a list of the layers without experts."
        problem = f"mlp_only_layers is {quoted(str(dense))}"
        raise keys.error("mlp_only_layers", problem, advice)
    return sum(
        i >= dense_first and i % every == 0 and (i + 1) % step == 0 and i not in dense
        for i in range(layers)
    )


def _windows(keys: _Keys, known: Architecture, layers: int) -> tuple[int | None, int]:
    """Return what a layer with a sliding window sees [token], and how many have one."""
    window = keys.optional_count("sliding_window")
    if not known.windows or not window:
        return None, 0
    count = _windowed_layers(keys, known.windows, layers)
    return (window, count) if count else (None, 0)


def _windowed_layers(keys: _Keys, kind: str, layers: int) -> int:
    types = keys.config.get("layer_types")
    if types is not None and not isinstance(types, list):
        problem = f"layer_types is {quoted(str(types))}"
        raise keys.error("layer_types", problem, "It must be a list, one kind per layer.")
    if types is not None:
        strange = set(map(str, types)) - {"full_attention", "sliding_attention"}
        if strange or len(types) != layers:
            what = f"{min(strange)!r}" if strange else f"{len(types)} entries for {layers} layers"
            raise keys.error(
                "layer_types",
                f"layer_types has {what}",
                "Known are full_attention and sliding_attention, one per layer.",
            )
        return types.count("sliding_attention")
    if kind == "alternate":
        return (layers + 1) // 2
    if kind == "pattern":
        every = keys.optional_count("sliding_window_pattern")
        every = keys.optional_count("_sliding_window_pattern", every) or layers + 1
        return layers - layers // every
    if kind == "if_used":
        if not keys.flag("use_sliding_window"):
            return 0
        return max(0, layers - keys.count("max_window_layers"))
    return layers
