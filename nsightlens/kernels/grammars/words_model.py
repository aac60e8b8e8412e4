"""Ordinary words: states and convolutions, keys and values, experts, weights.

Parts of a model that a name can say in passing: a kernel that writes rotated keys into the cache, or
sorts tokens by expert, also names the norm or the product beside it.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.grammars.vocabulary import (
    ACTIVATION,
    ATTENTION,
    CONVOLUTION,
    GEMM,
    NORM,
    QUANTISE,
    QUANTISED,
    ROPE,
    ROUTED,
    WRITE,
)
from nsightlens.kernels.rule import Rule

CONVOLUTION_AND_STATE: tuple[Rule, ...] = (
    Rule("words.delta_rule", f"delta rule|net|gated|recurrent|chunk|wy|product -{NORM}|{ROPE}|conv1d", "ssm_conv", "linear_attention"),
    Rule("words.linear_attention", f"gdn|gdr|gla|kda|rwkv|wkv|retention|lightning|deltanet|flashkda|hgrn|rwkv6|rwkv7|ttt|lru|rglru -cache|{NORM}|{ROPE}|conv1d", "ssm_conv", "linear_attention"),
    Rule("words.linear_attention_spelled", f"linear {ATTENTION}", "ssm_conv", "linear_attention"),
    Rule("words.conv1d", "conv1d|conv1", "ssm_conv", "conv1d"),
    Rule("words.mamba", f"mamba|mamba2|ssm|ssd|ssu|selective|statespace -{NORM}|conv", "ssm_conv", "mamba"),
    Rule("words.state_passing", "state passing", "ssm_conv", "mamba"),
    Rule("words.chunk_scan", f"chunk|seqchunk|chunked cumsum|scan|state|bmm|states -prefill|mla|{ATTENTION}|moe|kv|local|gated|delta", "ssm_conv", "mamba"),
    Rule("words.chunked_linear_attention", f"chunk|chunkwise fwd|bwd|recurrent|local|intra|inter|dot -prefill|mla|{ATTENTION}|moe|kv|loss|softmax", "ssm_conv", "linear_attention"),
    Rule("words.recurrent", "recurrent|recurrence|wy", "ssm_conv", "linear_attention"),
    Rule("words.triangular_solve", "tril|inverse solve|merge", "ssm_conv", "linear_attention"),
    Rule("words.recompute", "recompute|wu w|u|wu", "ssm_conv", "linear_attention"),
    Rule("words.qkvzba", "qkvzba|qkvz|zba", "ssm_conv", "linear_attention_helper", also=("copy",)),
    Rule("words.convolution", CONVOLUTION, "ssm_conv", "conv2d"),
)

KEYS_AND_VALUES: tuple[Rule, ...] = (
    Rule("words.qknorm_rope_kv", f"{ROPE} kv|kvcache|store|write|append {NORM}", "rope", "rope_kv_write", also=("norm", "kv_cache")),
    Rule("words.qknorm_rope", f"{ROPE} qknorm|qk|q|rmsnorm {NORM}", "rope", "qknorm_rope", also=("norm",)),
    Rule("words.mla_rope", f"{ROPE} mla assign|qkv -cache", "rope", "rope_mla_assign", also=("kv_cache",)),
    Rule("words.rope_kv", f"{ROPE} kv|kvcache|store|write|append|assign|update|set", "rope", "rope_kv_write", also=("kv_cache",)),
    Rule("words.rope_cache", f"{ROPE} cache and|cat|concat|reshape", "rope", "rope_kv_write", also=("kv_cache",)),
    Rule("words.rope_quantised", f"{ROPE} {QUANTISE}", "rope", "rope_quant", also=("quantise",)),
    Rule("words.rope", ROPE, "rope", "rope"),
    Rule("words.kv_gather", f"gather|load cache|kvcache -{ATTENTION}", "copy", "gather", also=("quantise", "kv_cache")),
    Rule("words.kv_blocks", "copy|swap|move blocks|block|pages|page -scale|scaled|array", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_transfer", "transfer|swap|offload|migrate|fetch kv|kvcache|cache", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_write_quantised", f"kv|kvcache|cache {WRITE} {QUANTISE}|nvfp4 -{ATTENTION}|decode|prefill|{NORM}|{ACTIVATION}", "kv_cache", "write", also=("quantise",)),
    Rule("words.kv_write", f"cache|kvcache|kv {WRITE} -sin|cos|{ATTENTION}|decode|prefill|only|{NORM}", "kv_cache", "write"),
    Rule("words.caches", "cache kv|k|v|keys|values", "kv_cache", "write", shape=r"_*[cC]ache_?(?:kv|KV|k_|v_|K|V|keys|values)"),
    Rule("words.kv_append", "cache|kvcache|kv append|reshape|store", "kv_cache", "write"),
)

EXPERTS: tuple[Rule, ...] = (
    Rule("words.lora", "bgmv|sgmv|lora -align|count|sort|indices|metadata", "gemm", "lora"),
    Rule("words.fp4_experts", f"{QUANTISE}|cvt|fp4|scaled experts|expert -{GEMM}", "quantise", "quantise", also=("moe_routing",)),
    Rule("words.moe_prefix_sum", f"{ROUTED} prefix|cumsum|histogram|offsets|scan -{GEMM}", "moe_routing", "metadata"),
    Rule("words.moe_combine", f"{ROUTED}|topk sum|combine|finalize|unpermute|reduce|reduction|accumulate|accum|aggregate|weighted -{ATTENTION}|softmax|gate|{GEMM}", "moe_routing", "combine"),
    Rule("words.moe_align", f"{ROUTED} align|count|counts|sort|sorted|sorting|num -{GEMM}", "moe_routing", "align"),
    Rule("words.moe_permute", f"{ROUTED} permute|scatter|gather|expand|shuffle|reorder|unpack|copy|reordering -{GEMM}", "moe_routing", "permute"),
    Rule("words.dispatch_tokens", "dispatch|combine token|tokens", "moe_routing", "permute", also=("communication",)),
    Rule("words.moe_exchange", "comm|communicate moe|expert|ep", "communication", "all_to_all", also=("moe_routing",)),
    Rule("words.expert_choice", f"topk id|ids|deepseek|softmax|sigmoid|weights|score|scores -log|logsoftmax|token|sampling|logits|logprobs|gather|{GEMM}", "moe_routing", "gate_topk"),
    Rule("words.expert_choice_within", "topk -sampling|mask", "moe_routing", "gate_topk", within="moe|router|routing|expert"),
    Rule("words.moe_gate", f"{ROUTED} topk|gate|gating|softmax|router|sigmoid|select|group|grouped|hash|score|hashing -{GEMM}|{NORM}|up|silu|gelu|fwd", "moe_routing", "gate_topk"),
    Rule("words.gate", f"gate topk|softmax|select|group|grouped|hash|score|scores -{GEMM}|{NORM}|{ATTENTION}|up|silu|gelu|fwd|mul", "moe_routing", "gate_topk"),
    Rule("words.grouped_topk", "topk grouped|group|biased|gating", "moe_routing", "gate_topk"),
    Rule("words.topk_gating", "gating|topkgating", "moe_routing", "gate_topk"),
    Rule("words.routes", f"routes|dispatch|{ROUTED} prefix|indices|map|maps|pack|init|layout|offsets|data|prepare|prologue|get|compute|cluster|block|metadata|clear|build|set|main|memset|coop|append|remap|preprocess|info|assign|order|stats|statistic|statistics|balance|load|record|status|plan|shared"
         f" -{GEMM}|mlp|ffn", "moe_routing", "metadata"),
    Rule("words.router", f"router|routing -{GEMM}", "moe_routing", "gate_topk"),
    Rule("words.reorder_tokens", "reorder pre|post|tokens|token|rows", "moe_routing", "permute"),
    Rule("words.permute_tokens", "permute|unpermute|shuffle|expand tokens|token|rows input|token|tokens|rows -embedding", "moe_routing", "permute"),
    Rule("words.segments", "seg|src2 indptr|dst", "moe_routing", "metadata"),
    Rule("words.weighted_sum", "shuffle|weighted sum mul|topk|expert", "moe_routing", "combine"),
    Rule("words.finalize", "finalize -attn|attention|softmax|norm", "moe_routing", "combine", weak=True),
)

WEIGHTS: tuple[Rule, ...] = (
    Rule("words.repack", f"repack|prepack|interleave|shuffle|preprocess|swizzle|relayout|rearrange|reorder weights|weight|b|scaling|sf|factor|factors|{GEMM}|marlin|{QUANTISED}|bit|scale|scales|{QUANTISE} -{NORM}|{ATTENTION}", "copy", "weight_repack"),
    Rule("words.repack_alone", "repack|prepack", "copy", "weight_repack"),
    Rule("words.sequential_bits", "make sequential bit", "copy", "weight_repack"),
    Rule("words.weight_layout", "interleave|permute|transform|convert weights|weight -norm", "copy", "weight_repack"),
    Rule("words.quantise_for_gemm", "quantize|quantise mmq|mmvq|q8|q4|mxfp4", "quantise", "quantise"),
    Rule("words.quantised_activation", f"{ACTIVATION} mul|and {QUANTISE}", "activation", "gated_quant", also=("quantise",)),
)

RULES: tuple[Rule, ...] = CONVOLUTION_AND_STATE + KEYS_AND_VALUES + EXPERTS + WEIGHTS
