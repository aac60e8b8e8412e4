"""Ordinary words: matrix products, norms, attention."""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.grammars.vocabulary import (
    ACTIVATION,
    ATTENTION,
    GEMM,
    NORM,
    QUANTISE,
    QUANTISED,
)
from nsightlens.kernels.rule import Rule

MATRIX_PRODUCTS: tuple[Rule, ...] = (
    Rule("words.splitk_reduce", f"splitk|streamk|split reduce|fixup|reduction -{ATTENTION}|flash|kv|mla|conv|wgrad", "gemm", "splitk_reduce"),
    Rule("words.matmul_bias", f"{GEMM} bias backward|bwd", "reduction", "bias_grad"),
    Rule("words.grouped_quantised", f"{GEMM} grouped|group|moe|expert|experts|masked|contiguous {QUANTISED}", "gemm", "grouped_quantised"),
    Rule("words.grouped", f"{GEMM} grouped|group|moe|expert|experts|ragged|segment|segmented -router", "gemm", "grouped"),
    Rule("words.quantised_gemv", f"gemv|matvec|mv|mulmatvec {QUANTISED}", "gemm", "quantised_gemv"),
    Rule("words.gemv", "gemv|matvec|mv|gemvx|gemvnsp", "gemm", "gemv"),
    Rule("words.quantised_gemm", f"{GEMM} {QUANTISED} -cuda|hc", "gemm", "quantised"),
    Rule("words.dense_activation", f"dense|linear {ACTIVATION} fused|bias|forward|backward|layer -{ATTENTION}", "gemm", "dense_fused", also=("activation",)),
    Rule("words.fused_gemm", f"{GEMM} {ACTIVATION}", "gemm", "dense_fused", also=("activation",)),
    Rule("words.gemm", GEMM, "gemm", "dense"),
    Rule("words.splitk", f"splitk|streamk|wvsplitk -{ATTENTION}|flash|fwd|decode|conv|reduce|scan", "gemm", "dense"),
    Rule("words.marlin", "marlin|machete", "gemm", "quantised"),
    Rule("words.weight_only", "weight only -quantize|preprocess|norm", "gemm", "quantised"),
    Rule("words.weight_activation_bits_moe", f"w4|w8|w2 a16|a8|a4 moe|expert -{QUANTISE}", "gemm", "grouped_quantised"),
    Rule("words.weight_activation_bits", f"w4|w8|w2 a16|a8|a4 -{QUANTISE}|convert|scale", "gemm", "quantised"),
    Rule("words.moe_quantised", f"moe|experts {QUANTISED}|q gptq|awq|vec|q|k|s|xs|xxs|kernel|fused -act|activation|silu|init", "gemm", "grouped_quantised"),
    Rule("words.moe_kernel", "moe|experts|expert kernel|fused|mlp|ffn|forward|persistent|gateup|up|gate -act|activation|init", "gemm", "grouped"),
    Rule("words.linear", f"linear -{ATTENTION}|interpolate|upsample|index|cross|loss|scale|clamp|warp", "gemm", "dense", weak=True),
    Rule("words.layers_of_experts", "fc1|fc2|fc12", "gemm", "grouped", weak=True),
    Rule("words.outer_product", "outer product", "gemm", "dense", weak=True),
    Rule("words.fully_connected", "fully|fc|dense connected|layer|forward|backward", "gemm", "dense", weak=True),
    Rule("words.tiled_product", "warptiling|blocktiling|threadtiling", "gemm", "dense", weak=True),
)

NORMS: tuple[Rule, ...] = (
    Rule("words.embedding_norm", f"embed|embedding|embeddings {NORM}", "embedding", "generic", also=("norm",)),
    Rule("words.norm_quantised", f"{NORM} {QUANTISE}|fp8|fp4|nvfp4", "norm", "rmsnorm_quant", also=("quantise",)),
    Rule("words.l2norm", "l2norm", "norm", "l2norm"),
    Rule("words.global_norm", "norm global|grad|gradient|clip|two|squared|sumsq|aggregate", "reduction", "norm2"),
    Rule("words.qk_norm", "qknorm|qkv|qk|q norm|rmsnorm|qknorm|layernorm", "norm", "qk_norm"),
    Rule("words.add_norm", "add|addrms|residual|addnorm|skip rmsnorm|layernorm|norm|addnorm", "norm", "fused_add_norm"),
    Rule("words.rmsnorm", "rmsnorm", "norm", "rmsnorm"),
    Rule("words.layernorm", "layernorm", "norm", "layernorm"),
    Rule("words.groupnorm", "groupnorm|instancenorm|gn -gemm", "norm", "groupnorm"),
    Rule("words.batchnorm", "batchnorm|bn", "norm", "batchnorm"),
    Rule("words.norm", NORM, "norm", "generic"),
    Rule("words.layernorm_cut", "ln fwd|bwd|forward|backward|tuned|fused|residual|affine|modulate|qk|q|k", "norm", "layernorm"),
    Rule("words.fused_residual", "residual fused forward|backward", "norm", "fused_add_norm"),
)

ATTENTION_RULES: tuple[Rule, ...] = (
    Rule("words.attention_softmax", f"softmax {ATTENTION} -flash|merge", "softmax_sampling", "softmax"),
    Rule("words.attention_copy", f"concat|cat|pad|unpad|permute|transpose|slice|interleave mla|{ATTENTION}|qkv|heads -fwd|bwd|prefill", "copy", "layout_cast"),
    Rule("words.attention_split", f"split mla|{ATTENTION}|qkv|heads -fwd|bwd|prefill|decode|decoding|kv|reduce|combine", "copy", "layout_cast"),
    Rule("words.attention_mask", f"mask {ATTENTION} build|create|make|prepare|to", "other", "attention_metadata"),
    Rule("words.combine_lse", "lse merge|combine|correct|reduce|correction", "attention", "splitkv_combine"),
    Rule("words.slash", "slash vertical", "attention", "sparse"),
    Rule("words.merge_states", f"merge state|states|{ATTENTION}|lse|softmax", "attention", "splitkv_combine"),
    Rule("words.attention_combine", f"combine|reduce|reduction|stage2|fixup|reducer|merge|segments {ATTENTION}|flash|mla|splitkv|fwd|decode|paged|unified", "attention", "splitkv_combine"),
    Rule("words.attention_backward", f"bwd|backward|bprop {ATTENTION}|flash", "attention", "bwd", phase="train_bwd"),
    Rule("words.sparse_mla", f"mla sparse -{NORM}|{QUANTISE}", "attention", "mla_sparse"),
    Rule("words.mla", "mla|flashmla -copy", "attention", "mla"),
    Rule("words.sage", "sage|sageattn", "attention", "sage"),
    Rule("words.query_key_value", "qk sv|pv", "attention", "sage"),
    Rule("words.masked_multihead", "mmha", "attention", "mmha", phase="decode"),
    Rule("words.xqa", "xqa", "attention", "xqa", phase="decode"),
    Rule("words.pod", "pod kv|attention|kernel", "attention", "pod", phase="mixed"),
    Rule("words.ragged_attention", f"ragged prefill|{ATTENTION}|kv", "attention", "ragged"),
    Rule("words.sparse_attention", f"sparse|nsa {ATTENTION}|prefill|decode -topk|{QUANTISE}|index", "attention", "sparse"),
    Rule("words.paged_attention", f"paged|page|pa {ATTENTION}|decode|prefill|kv|kvcache|fwd -dequant|gather|append|quant", "attention", "paged"),
    Rule("words.attention", f"{ATTENTION} -bias|{QUANTISE}|index|indexer|topk", "attention", "flash"),
    Rule("words.flash_forward", "flash fwd|forward|decode|decoding|prefill|ext|tile|vec", "attention", "flash"),
    Rule("words.prefill_kv", "prefill|decode|extend kv|kvcache|gqa", "attention", "flash"),
    Rule("words.prefix_prefill", "prefill prefix|kernel -norm|topk|per", "attention", "flash", phase="prefill"),
    Rule("words.decode_splitk", "splitk fwd|decode|decoding", "attention", "flash_splitkv"),
    Rule("words.decode_stage", "stage1|stage fwd|decode|grouped", "attention", "flash_splitkv", phase="decode"),
)

RULES: tuple[Rule, ...] = MATRIX_PRODUCTS + NORMS + ATTENTION_RULES
