"""What an architecture is, beyond the numbers of its configuration.

A configuration file says the sizes; whether products have biases, how many norms a layer has and
what a key means that is not written stands in the code of the model. Here it is as data, one entry
per ``model_type``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ALIASES", "ARCHITECTURES", "Architecture"]


class Architecture(NamedTuple):
    """One architecture.

    Parameters
    ----------
    has_gated_mlp
        The MLP is gated.
    has_qkv_bias, has_output_bias, has_mlp_bias
        Biases, where the configuration has no key for them.
    bias_keys
        Keys that say so for all of attention, and for the MLP; empty where there are none.
    has_norm_bias
        LayerNorm, not RMSNorm.
    norms_per_layer
        Two or four.
    has_qk_norm
        Heads of queries and keys are normalised.
    is_tied
        The embedding serves as the last matrix, where the configuration does not say.
    is_multi_head_by_default
        Without ``num_key_value_heads`` there are as many heads of keys as of queries. Elsewhere
        the key is needed: the code has a number of its own for it.
    experts_key, expert_size_key
        Keys of the number of experts, and of their width; empty for a dense model.
    has_router_bias, has_expert_bias
        As in `nsightlens.models.config.Experts`.
    windows
        Layers with the sliding window that the configuration gives: ``all``, ``alternate``,
        ``pattern`` (all but every n-th) or ``if_used`` (where ``use_sliding_window`` says so);
        empty where the architecture has none.
    has_sinks
        Attention has a learned sink per head.
    has_latent
        Attention is multi-head latent attention.
    stated
        Keys that must be there, although null in them means none. The code has numbers of one
        model for them, which are as much a guess for another as its hidden size would be.
    defaults
        What a key stands for that the configuration leaves out, by its class in transformers;
        ``docs/models.md`` lists them. A null that is written stays.
    """

    has_gated_mlp: bool = True
    has_qkv_bias: bool = False
    has_output_bias: bool = False
    has_mlp_bias: bool = False
    bias_keys: tuple[str, str] = ("", "")
    has_norm_bias: bool = False
    norms_per_layer: int = 2
    has_qk_norm: bool = False
    is_tied: bool = False
    is_multi_head_by_default: bool = False
    experts_key: str = ""
    expert_size_key: str = "moe_intermediate_size"
    has_router_bias: bool = False
    has_expert_bias: bool = False
    windows: str = ""
    has_sinks: bool = False
    has_latent: bool = False
    stated: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}  # noqa: RUF012 - never changed


_LLAMA = Architecture(bias_keys=("attention_bias", "mlp_bias"), is_multi_head_by_default=True)
_QWEN2 = Architecture(has_qkv_bias=True, windows="if_used", defaults={"sliding_window": 4096})
_QWEN3 = Architecture(
    bias_keys=("attention_bias", ""),
    has_qk_norm=True,
    windows="if_used",
    defaults={"sliding_window": 4096},
)
_GEMMA = Architecture(is_tied=True, defaults={"head_dim": 256})
_DEEPSEEK = Architecture(
    experts_key="n_routed_experts",
    is_multi_head_by_default=True,
    has_latent=True,
    stated=("q_lora_rank", "n_shared_experts", "first_k_dense_replace"),
)

ARCHITECTURES: dict[str, Architecture] = {
    "opt": Architecture(
        has_gated_mlp=False,
        has_qkv_bias=True,
        has_output_bias=True,
        has_mlp_bias=True,
        has_norm_bias=True,
        is_tied=True,
        is_multi_head_by_default=True,
    ),
    "llama": _LLAMA,
    "mistral": Architecture(windows="all", defaults={"sliding_window": 4096}),
    "mixtral": Architecture(
        experts_key="num_local_experts", expert_size_key="intermediate_size", windows="all"
    ),
    "phi3": Architecture(is_multi_head_by_default=True, windows="all"),
    "qwen2": _QWEN2,
    "qwen2_moe": _QWEN2._replace(
        experts_key="num_experts", stated=("shared_expert_intermediate_size",)
    ),
    "qwen3": _QWEN3._replace(defaults={"head_dim": 128, "sliding_window": 4096}),
    "qwen3_moe": _QWEN3._replace(experts_key="num_experts"),
    "gemma": _GEMMA,
    "gemma2": _GEMMA._replace(
        norms_per_layer=4, windows="alternate", defaults={"head_dim": 256, "sliding_window": 4096}
    ),
    # The published configurations of Gemma 3 with images leave out what is as in the 4B model.
    "gemma3_text": _GEMMA._replace(
        norms_per_layer=4,
        has_qk_norm=True,
        windows="pattern",
        defaults={
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "vocab_size": 262_208,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
        },
    ),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK._replace(has_router_bias=True),
    "gpt_oss": Architecture(
        has_qkv_bias=True,
        has_output_bias=True,
        experts_key="num_local_experts",
        expert_size_key="intermediate_size",
        has_router_bias=True,
        has_expert_bias=True,
        windows="alternate",
        has_sinks=True,
        defaults={"head_dim": 64, "sliding_window": 128},
    ),
}
"""By ``model_type``."""

ALIASES = {
    "gemma3": "gemma3_text",
    "kimi_k2": "deepseek_v3",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
}
"""Other values of ``model_type`` whose text model is one of `ARCHITECTURES`."""
