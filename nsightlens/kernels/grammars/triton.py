"""Triton kernels of serving engines whose names lack the word attention.

``_fwd_kernel`` is the extend kernel of SGLang and LightLLM and a common Triton name besides;
``_fwd_kernel_stage1`` and ``stage2`` split a decode step's KV and merge the parts.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule("triton.stage2", "stage2|stage3|reduce fwd|decode", "attention", "splitkv_combine", phase="decode", shape=r"_?(?:fwd|decode)\w*(?:stage[23]|reduce)"),
    Rule("triton.stage1", "stage1 fwd|decode", "attention", "flash_splitkv", phase="decode", shape=r"_?(?:fwd|decode)\w*stage1"),
    Rule("triton.expert_exchange", "fwd ep scatter|gather", "moe_routing", "permute", shape=r"_fwd_kernel_ep_"),
    Rule("triton.lightning", "fwd diag|none|parallel|kv", "ssm_conv", "linear_attention", shape=r"_fwd_(?:none_)?(?:diag|kv)"),
    Rule("triton.split", "fwd kernel splitk", "attention", "flash_splitkv", phase="decode", shape=r"_fwd_kernel_split"),
    Rule("triton.forward_bare", "fwd kernel", "attention", "flash", phase="prefill", shape=r"_fwd_kernel$", note="a common name: the attention kernel of several Triton libraries"),
    Rule("triton.forward", "fwd kernel -ep|gather|scatter|fill|expand|indices|pad|pack|dequant|quantize|norm|layer|rms|loss|copy|destindex", "attention", "flash", phase="prefill", shape=r"_fwd_kernel"),
    Rule("triton.attention_forward", "attn fwd", "attention", "flash", phase="unknown", shape=r"_?attn_fwd"),
    Rule("triton.attention_backward", "attn bwd", "attention", "bwd", phase="train_bwd", shape=r"_?attn_bwd"),
    Rule("triton.backward", "bwd kernel|preprocess -norm|loss|layer|rms", "attention", "bwd", phase="train_bwd", shape=r"_bwd_(?:kernel|preprocess)"),
    Rule("triton.unified_reduce", "reduce segments", "attention", "splitkv_combine", phase="decode"),
    Rule("triton.unified_split", "unified attention 3|3d", "attention", "paged", phase="decode", shape=r"kernel_unified_attention_3d"),
    Rule("triton.unified", "unified attention", "attention", "paged", phase="unknown"),
    Rule("triton.paged_attention", "paged attention kernel|v1|v2|2|3", "attention", "paged", phase="decode", shape=r"(?:kernel_)?paged_attention"),
    Rule("triton.merge_attention", "merge attn|attention states", "attention", "splitkv_combine", phase="unknown"),
)
