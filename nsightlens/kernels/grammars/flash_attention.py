"""FlashAttention 2, 3 and 4, FlashMLA, memory-efficient attention.

FA2: ``flash_fwd_kernel<Flash_fwd_kernel_traits<head_dim, rows, columns, warps, ...>, flags>``.
FA3: ``FlashAttnFwdSm90<CollectiveMainloopFwdSm90<stages, cluster, tuple<rows, columns, head_dim>,
head_dim_v, element, ...>>``. The names do not settle the phase: the split-KV kernel of FA2 also
runs paged prefill, and FA3 serves both.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_TRAITS = r"[Ff]lash_(?:fwd|bwd)_kernel_traits(?:_mla)?<(?P<head_dim>\d+), (?P<tile_m>\d+), (?P<tile_n>\d+)"
_MLA_TRAITS = r"traits_mla<(?P<head_dim>\d+), (?P<tile_m>\d+), (?P<tile_n>\d+), \d+, [\w:]+, (?P<head_dim_v>\d+)"
_MAINLOOP = (
    r"CollectiveMainloop(?:Fwd|Bwd)\w*<\d+, (?:cute::)?tuple<[^<>]*(?:<\d+>[^<>]*)*>, "
    r"(?:cute::)?tuple<(?:cute::)?C<(?P<tile_m>\d+)>, (?:cute::)?C<(?P<tile_n>\d+)>, (?:cute::)?C<(?P<head_dim>\d+)>\s*>(?:, (?P<head_dim_v>\d+))?"
)

RULES: tuple[Rule, ...] = (
    Rule("flash_mla.combine", "flash|mla mla combine", "attention", "splitkv_combine", phase="decode", library="flashmla"),
    Rule("flash_mla.kernel", "mla splitkv|flash fwd", "attention", "mla", phase="decode", reads=(_MLA_TRAITS, _TRAITS), library="flashmla"),
    Rule("flash_mla.sparse_decode", "sparse attn fwd|splitkv decode|splitkv", "attention", "mla_sparse", phase="decode", library="flashmla"),
    Rule("flash_mla.sparse", "sparse attn|mla fwd", "attention", "mla_sparse", library="flashmla"),
    Rule("flash_attn2.combine", "flash combine fwd|splitkv", "attention", "splitkv_combine", reads=(_TRAITS,), library="flash_attn2"),
    Rule("flash_attn2.splitkv", "flash fwd splitkv -combine|mla", "attention", "flash_splitkv", reads=(_TRAITS,), library="flash_attn2"),
    Rule("flash_attn2.backward", "flash bwd|backward", "attention", "bwd", phase="train_bwd", reads=(_TRAITS,), library="flash_attn2"),
    Rule("flash_attn2.forward", "flash fwd", "attention", "flash", shape=r"flash_fwd\w*kernel", reads=(_TRAITS,), library="flash_attn2"),
    Rule("flash_attn3.vehicle", "enable sm90|sm80|sm100|sm8|later|older", "attention", "flash", shape=r"enable_sm(?P<sm>\d+)", unwraps=True, library="flash_attn3"),
    Rule("flash_attn3.combine", "flash attn combine", "attention", "splitkv_combine", shape=r"FlashAttn", library="flash_attn3"),
    Rule("flash_attn3.backward", "flash attn bwd|backward", "attention", "bwd", phase="train_bwd", shape=r"FlashAttn", library="flash_attn3"),
    Rule("flash_attn3.forward", "flash attn fwd", "attention", "flash", shape=r"FlashAttn", reads=(_MAINLOOP,), library="flash_attn3"),
    Rule("flash_attn4.backward", "flash attention backward", "attention", "bwd", phase="train_bwd", shape=r"FlashAttention\w*Sm(?P<sm>\d+)", library="flash_attn4"),
    Rule("flash_attn4.combine", "flash attention combine", "attention", "splitkv_combine", shape=r"FlashAttention", library="flash_attn4"),
    Rule("flash_attn4.forward", "flash attention forward|fwd|mla", "attention", "flash", shape=r"FlashAttention\w*?(?:Sm(?P<sm>\d+))?", library="flash_attn4"),
    Rule("memory_efficient.backward", "fmha cutlass b", "attention", "bwd", phase="train_bwd", shape=r"fmha_cutlassB_(?P<dtype>bf16|f16|f32)_(?:aligned|notaligned)_(?P<tile_m>\d+)x(?P<tile_n>\d+)", library="pytorch_mem_efficient"),
    Rule("memory_efficient.forward", "fmha cutlass f", "attention", "mem_efficient", shape=r"fmha_cutlassF_(?P<dtype>bf16|f16|f32)_(?:aligned|notaligned)_(?P<tile_m>\d+)x(?P<tile_n>\d+)", library="pytorch_mem_efficient"),
    Rule("memory_efficient.kernel", "attention kernel", "attention", "mem_efficient", shape=r"AttentionKernel$", library="pytorch_mem_efficient"),
    Rule("memory_efficient.kernel_backward", "attention kernel backward", "attention", "bwd", phase="train_bwd", shape=r"AttentionBackwardKernel$", library="pytorch_mem_efficient"),
    Rule("cutlass_fmha.backward", "fmha bwd|backward", "attention", "bwd", phase="train_bwd", shape=r"(?:Sm(?P<sm>\d+))?Fmha", library="cutlass"),
    Rule("cutlass_fmha.mla", "fmha mla", "attention", "mla", phase="decode", shape=r"(?:Sm(?P<sm>\d+))?Fmha", library="cutlass"),
    Rule("cutlass_fmha.generation", "fmha gen", "attention", "flash", phase="decode", shape=r"(?:Sm(?P<sm>\d+))?Fmha", library="cutlass"),
    Rule("cutlass_fmha.forward", "fmha fwd", "attention", "flash", phase="prefill", shape=r"(?:Sm(?P<sm>\d+))?Fmha", library="cutlass"),
)
