"""FlashInfer: attention over paged and ragged KV, merges, and its numbers in template arguments.

Decode: ``<PosEnc, stages, tile, vec_size, bdx, bdy, bdz, ...>``, so head_dim = vec_size x bdx.
Prefill: ``KernelTraits<MaskMode, CTA_TILE_Q, NUM_MMA_Q, NUM_MMA_KV, NUM_MMA_D_QK, NUM_MMA_D_VO,
...>``, so head_dim = 16 x NUM_MMA_D. The paged prefill kernel with a 16-row tile and no mask is
what FlashInfer launches for decode on tensor cores.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_DECODE = r"^(?:[\w:]*PosEncodingMode=\d+, )?\d+, \d+, (?P<head_dim>\d+), (?P<head_dim_times>\d+), \d+, \d+, "
_PREFILL = (
    r"KernelTraits<(?:[\w:]*MaskMode=)?\d+, (?P<tile_m>\d+), \d+, (?P<tile_n_x16>\d+), "
    r"(?P<head_dim_x16>\d+), (?P<head_dim_v_x16>\d+), \d+, (?P<tile_n_times>\d+)"
)
_HOPPER = r"AttentionKernelTraits<\w+, (?P<head_dim>\d+), (?P<head_dim_v>\d+), (?P<tile_m>\d+), (?P<tile_n>\d+)"
_MLA = r"HopperKernelTraits<\w+, \d+, (?P<head_dim_v>\d+), (?P<head_dim_plus>\d+)"

RULES: tuple[Rule, ...] = (
    Rule("flashinfer.merge_states", "merge state|states", "attention", "splitkv_combine", library="flashinfer"),
    Rule("flashinfer.attention_sum", "attention sum", "attention", "splitkv_combine", library="flashinfer"),
    Rule("flashinfer.merge_metadata", "merge indptr|plan", "other", "attention_metadata", library="flashinfer"),
    Rule("flashinfer.sparse_mla_merge", "sparse mla merge|combine|reduce", "attention", "splitkv_combine", library="flashinfer"),
    Rule("flashinfer.sparse_mla", "sparse mla", "attention", "mla_sparse", library="flashinfer"),
    Rule("flashinfer.decode_mla", "decode mla with|paged|batch -quant|norm", "attention", "mla", phase="decode", library="flashinfer"),
    Rule("flashinfer.mla_page", "mla page|paged attention", "attention", "mla", phase="unknown", reads=(_MLA,), library="flashinfer"),
    Rule("flashinfer.pod", "pod with|kv|batch", "attention", "pod", phase="mixed", library="flashinfer"),
    Rule("flashinfer.decode", "decode paged kv batch|with", "attention", "paged", phase="decode", shape=r"BatchDecode", reads=(_DECODE,), library="flashinfer"),
    Rule("flashinfer.single_decode", "decode single kv|with", "attention", "flash", phase="decode", shape=r"SingleDecode", reads=(_DECODE,), library="flashinfer"),
    Rule("flashinfer.tensor_core_decode", "prefill paged batch", "attention", "paged", phase="decode", shape=r"BatchPrefillWithPaged", carries=r"KernelTraits<(?:[\w:]*MaskMode=)?0, 16,", reads=(_PREFILL,), library="flashinfer", note="16-row tile without a mask: decode on tensor cores"),
    Rule("flashinfer.causal_prefill", "prefill paged batch", "attention", "paged", phase="prefill", shape=r"BatchPrefillWithPaged", carries=r"KernelTraits<(?:[\w:]*MaskMode=)?1, (?:64|128),", reads=(_PREFILL,), library="flashinfer"),
    Rule("flashinfer.paged_prefill", "prefill paged batch", "attention", "paged", phase="unknown", shape=r"BatchPrefillWithPaged", reads=(_PREFILL,), library="flashinfer", note="FlashInfer runs this kernel for decode on tensor cores too"),
    Rule("flashinfer.ragged_prefill", "prefill ragged", "attention", "ragged", phase="prefill", reads=(_PREFILL, _HOPPER), library="flashinfer"),
    Rule("flashinfer.hopper_ragged", "prefill with kv|kvcache -paged|batch|single", "attention", "ragged", phase="prefill", carries=r"Ragged", reads=(_HOPPER,), library="flashinfer"),
    Rule("flashinfer.hopper_paged", "prefill with kv|kvcache -ragged|batch|single", "attention", "paged", phase="unknown", carries=r"Paged", reads=(_HOPPER,), library="flashinfer"),
    Rule("flashinfer.prefill", "prefill with kv|kvcache", "attention", "flash", phase="prefill", reads=(_HOPPER, _PREFILL), library="flashinfer"),
    Rule("flashinfer.persistent", "persistent attention|paged holistic|batch|kernel|template", "attention", "paged", phase="mixed", shape=r"(?:Batch)?(?:Persistent|Holistic)\w*Attention", library="flashinfer"),
)
