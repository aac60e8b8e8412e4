"""Quantised matrix products: DeepGEMM, Marlin, ggml, Machete, exllama, AQLM, bitsandbytes.

Marlin's first template arguments are vLLM's packed scalar types; ggml's are numbers of its type
enumeration.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

# exponent | mantissa << 8 | signed << 16 | bias << 17 | finite_only << 49 | nan << 50
_SCALAR_TYPES = {
    "1125899906910725": "fp16", "1125899906909960": "bf16", "1125899906843648": "int4", "1125899907892224": "int4",
    "2814749767172868": "fp8_e4m3", "2814749767106568": "ue8m0", "1125899906909952": "int8",
}
_GGML_TYPES = {
    "0": "fp32", "1": "fp16", "2": "q4_0", "3": "q4_1", "6": "q5_0", "7": "q5_1", "8": "q8_0", "9": "q8_1", "10": "q2_K",
    "11": "q3_K", "12": "q4_K", "13": "q5_K", "14": "q6_K", "15": "q8_K", "16": "iq2_xxs", "17": "iq2_xs", "18": "iq3_xxs",
    "19": "iq1_s", "20": "iq4_nl", "21": "iq3_s", "22": "iq2_s", "23": "iq4_xs", "29": "iq1_m", "30": "bf16", "39": "mxfp4",
}
_GGML_TYPES |= {name: name for name in _GGML_TYPES.values()}
_GGML = r"ggml_type=(?P<dtype>\d+)"
_GGML_NAMED = r"^(?P<dtype>q\d_[\dK]|iq\d_\w+)"
_BLOCK = r"^(?P<n>\d+), (?P<k>\d+), (?P<tile_m>\d+), (?P<tile_n>\d+), (?P<tile_k>\d+), "
_MARLIN = r"^(?P<dtype>\d{15,16}), (?P<dtype2>\d{15,16})"

DEEP_GEMM: tuple[Rule, ...] = (
    Rule("deep_gemm.grouped", "gemm fp8|bf16", "gemm", "grouped_quantised", shape=r"fp8_gemm_kernel", carries=r"GemmType=[12]", reads=(_BLOCK,), dtypes=("fp8_e4m3",), library="deepgemm", arch="sm90", short="fp8_gemm N{n} K{k} {tile}"),
    Rule("deep_gemm.dense", "gemm fp8", "gemm", "quantised", shape=r"fp8_gemm_kernel", within="deep", reads=(_BLOCK,), dtypes=("fp8_e4m3",), library="deepgemm", arch="sm90", short="fp8_gemm N{n} K{k} {tile}"),
    Rule("deep_gemm.impl_fp4", "gemm fp8 fp4 impl", "gemm", "quantised", shape=r"(?P<arch>sm\d+)_", library="deepgemm", note="operands may be fp8 x fp8 or fp8 x fp4: the template arguments say which"),
    Rule("deep_gemm.impl", "gemm fp8 impl", "gemm", "quantised", shape=r"(?P<arch>sm\d+)_fp8_", dtypes=("fp8_e4m3",), library="deepgemm"),
    Rule("deep_gemm.impl_bf16", "gemm bf16 impl", "gemm", "dense", shape=r"(?P<arch>sm\d+)_bf16_", dtypes=("bf16",), library="deepgemm"),
    Rule("deep_gemm.logits", "logits mqa -metadata", "attention", "mla_sparse", library="deepgemm", note="scores of the sparse-attention indexer"),
)

MARLIN: tuple[Rule, ...] = (
    Rule("marlin.repack", "marlin repack|permute|interleave", "copy", "weight_repack", library="marlin"),
    Rule("marlin.permute", "permute cols", "copy", "gather", library="marlin"),
    Rule("marlin.moe", "marlin moe", "gemm", "grouped_quantised", reads=(_MARLIN,), types=_SCALAR_TYPES, library="marlin"),
    Rule("marlin.moe_namespace", "marlin", "gemm", "grouped_quantised", within="moe", reads=(_MARLIN,), types=_SCALAR_TYPES, library="marlin"),
    Rule("marlin.kernel", "marlin|machete", "gemm", "quantised", reads=(_MARLIN,), types=_SCALAR_TYPES, library="marlin"),
)

GGML: tuple[Rule, ...] = (
    Rule("ggml.quantise", "quantize mmq|mmvq|q8", "quantise", "quantise", library="ggml"),
    Rule("ggml.dequantise_matvec", "dequantize mul mat|mulmat vec", "gemm", "quantised_gemv", library="ggml", reads=(_GGML,), types=_GGML_TYPES),
    Rule("ggml.dequantise", "dequantize block", "quantise", "dequantise", library="ggml"),
    Rule("ggml.stream_k", "mulmat fixup", "gemm", "splitk_reduce", library="ggml", reads=(_GGML,), types=_GGML_TYPES),
    Rule("ggml.mmvq", "mulmat vec q", "gemm", "quantised_gemv", library="ggml", reads=(_GGML, _GGML_NAMED), types=_GGML_TYPES),
    Rule("ggml.matvec", "mulmat vec", "gemm", "gemv", library="ggml", reads=(_GGML,), types=_GGML_TYPES),
    Rule("ggml.mmq", "mulmat q|id", "gemm", "quantised", library="ggml", reads=(_GGML, _GGML_NAMED), types=_GGML_TYPES),
    Rule("ggml.mul_mat", "mulmat", "gemm", "dense", library="ggml", reads=(_GGML,), types=_GGML_TYPES),
    Rule("ggml.attention_combine", "flash attn combine|fixup|merge", "attention", "splitkv_combine", shape=r"flash_attn_", library="ggml", reads=(r"^(?P<head_dim>\d+)",)),
    Rule("ggml.attention_mask", "flash attn mask", "other", "attention_metadata", shape=r"flash_attn_", library="ggml"),
    Rule("ggml.attention_vector", "flash attn vec", "attention", "flash", phase="decode", shape=r"flash_attn_", library="ggml", reads=(r"^(?P<head_dim>\d+), \d+, ggml_type=(?P<dtype>\d+)", r"^(?P<head_dim>\d+)"), types=_GGML_TYPES),
    Rule("ggml.attention", "flash attn ext|tile|mma", "attention", "flash", shape=r"flash_attn_", library="ggml", reads=(r"^(?P<head_dim>\d+)",)),
    Rule("ggml.set_rows", "set rows", "kv_cache", "write", library="ggml"),
    Rule("ggml.get_rows", "get rows", "embedding", "generic", library="ggml", also=("copy",)),
    Rule("ggml.moe", "moe vec|q|q2|q3|q4|q5|q6|q8|iq1|iq2|iq3|iq4 -gate|norm", "gemm", "grouped_quantised", shape=r"moe_(?:vec_)?q", library="ggml"),
    Rule("ggml.gated", "gated unary|op", "activation", "gated", library="ggml"),
    Rule("ggml.unary", "unary op kernel", "elementwise", "generic", unwraps=True, library="ggml"),
    Rule("ggml.broadcast", "bcast bin|unary|k", "elementwise", "generic", library="ggml"),
    Rule("ggml.ssm_conv", "ssm conv", "ssm_conv", "conv1d", library="ggml"),
)

OTHERS: tuple[Rule, ...] = (
    Rule("aqlm.matvec", "code1|code2|code1x16|code2x8 mat|matvec vec|matvec", "gemm", "quantised", shape=r"Code\d+x\d+MatVec", library="vllm"),
    Rule("aqlm.dequantise", "code1|code2 dequant", "quantise", "dequantise", library="vllm"),
    Rule("exllama.reconstruct", "reconstruct exllama|gptq|awq|4bit|8bit", "quantise", "dequantise"),
    Rule("bitsandbytes.dequantise", "dequantize|kdequantize|dequant|kdequant blockwise|mm", "quantise", "dequantise"),
    Rule("bitsandbytes.quantise", "quantize|kquantize blockwise", "quantise", "quantise"),
    Rule("bitsandbytes.gemv", "kgemm|kgemv inference|4bit|bit", "gemm", "quantised_gemv"),
)

RULES: tuple[Rule, ...] = DEEP_GEMM + MARLIN + GGML + OTHERS
