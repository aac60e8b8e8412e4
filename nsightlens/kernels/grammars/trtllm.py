"""TensorRT-LLM and its generated cubins: attention by traits, routed-expert GEMMs.

``fmhaSm100fKernel_Qkv<type>O<type>H<d>PagedKv<mask>P<page>VarSeqQ<rows>Kv<columns>...``: *Context*
is prefill, *ForGen* and *MultiCtasKv* are decode, ``HQk576HV512`` is MLA.
``bmm_<D>_<A><B>_..._t<M>x<N>x<K>...`` is the GEMM of routed experts, not attention's product.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_TYPE = r"MxE2m1|MxE4m3|MxInt4|E2m1|E4m3|E5m2|Bfloat16|Fp16|Fp32|Int8|Int4"
_TYPES = {"MxE2m1": "mxfp4", "MxE4m3": "mxfp8", "MxInt4": "int4", "E2m1": "nvfp4", "E4m3": "fp8_e4m3", "E5m2": "fp8_e5m2", "Bfloat16": "bf16", "Fp16": "fp16", "Fp32": "fp32", "Int8": "int8", "Int4": "int4"}
_FMHA = (
    rf"[fF]mhaSm(?P<sm>\d+)[a-z]?Kernel_Q(?:kv)?(?P<dtype>{_TYPE})(?:K?v?(?P<dtype2>{_TYPE}))?O(?:{_TYPE})"
    r"H(?:Qk(?P<head_dim>\d+)HV(?P<head_dim_v>\d+)|(?P<head>\d+))?"
    r"(?:.*?Q(?P<tile_m>\d+)Kv(?P<tile_n>\d+))?"
)
_BMM = rf"(?:bmm|gemm)_(?:{_TYPE})_(?P<dtype>{_TYPE})(?P<dtype2>{_TYPE})(?:.*?_t(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+))?"
_FMHA_SHORT = "fmhaSm{sm} {dtypes} H{head_size} {tile} {phase}"
_BMM_SHORT = "bmm {dtypes} {tile}"
_V2 = r"fmha_v2_\w*?(?P<dtype>fp16|bf16|e4m3|int8|fp32)(?:_fp32|_fp16)?_(?P<tile_m>\d+)_(?P<tile_n>\d+)_(?:ldgsts_)?S_(?:[a-z_]+?_)?(?P<head_dim>\d+)(?:x(?P<head_dim_v>\d+))?"

RULES: tuple[Rule, ...] = (
    Rule("trtllm_gen.mla_decode", "fmha kernel", "attention", "mla", phase="decode", shape=rf"(?=\w*HQk\d+HV)(?=\w*(?:ForGen|MultiCtasKv)){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.mla_prefill", "fmha kernel", "attention", "mla", phase="prefill", shape=rf"(?=\w*HQk\d+HV)(?=\w*Context){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.mla", "fmha kernel", "attention", "mla", shape=rf"(?=\w*HQk\d+HV){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.paged_decode", "fmha paged kernel", "attention", "paged", phase="decode", shape=rf"(?=\w*(?:ForGen|MultiCtasKv)){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.paged_prefill", "fmha paged kernel", "attention", "paged", phase="prefill", shape=rf"(?=\w*Context){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.prefill", "fmha kernel", "attention", "trtllm_gen", phase="prefill", shape=rf"(?=\w*Context){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.decode", "fmha kernel", "attention", "trtllm_gen", phase="decode", shape=rf"(?=\w*(?:ForGen|MultiCtasKv)){_FMHA}", types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT),
    Rule("trtllm_gen.cut", "fmha kernel", "attention", "trtllm_gen", phase="unknown", shape=_FMHA, types=_TYPES, library="trtllm_gen", short=_FMHA_SHORT, note="the name is cut before its phase"),
    Rule("trtllm_gen.reduction", "fmha reduction|reduce", "attention", "splitkv_combine", library="trtllm_gen"),
    Rule("trtllm_gen.bmm_16bit", "bmm", "gemm", "grouped", shape=r"(?=bmm_\w+?_(?:Bfloat16Bfloat16|Fp16Fp16)_)" + _BMM, types=_TYPES, library="trtllm_gen", arch="sm100", short=_BMM_SHORT),
    Rule("trtllm_gen.bmm", "bmm", "gemm", "grouped_quantised", shape=_BMM, types=_TYPES, library="trtllm_gen", arch="sm100", short=_BMM_SHORT),
    Rule("trtllm_gen.gemm", "gemm bfloat16|fp16|e4|e2", "gemm", "quantised", shape=_BMM, types=_TYPES, library="trtllm_gen"),
    Rule("fmha_v2", "fmha v2", "attention", "fmha_v2", phase="prefill", shape=_V2, library="trtllm"),
    Rule("fmha_v2.other", "fmha v2", "attention", "fmha_v2", phase="prefill", library="trtllm"),
    Rule("trtllm.xqa", "kernel mha", "attention", "xqa", phase="decode", shape=r"kernel_mha", library="trtllm"),
    Rule("trtllm.mmha", "masked multihead|multi attention", "attention", "mmha", phase="decode", library="trtllm"),
    Rule("trtllm.fused_mha", "fused multihead|multi attention|mha", "attention", "flash", phase="prefill"),
)
