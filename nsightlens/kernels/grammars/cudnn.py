"""cuDNN and TensorRT: fused attention, convolutions in their many spellings, layout changes.

``*_implicit_gemm_*`` and ``scudnn`` are convolutions although they speak of GEMM. The ``f16`` of a
generated attention kernel covers bf16 as well.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_SDPA = (
    r"cudnn_\w*?sdpa_(?P<arch>sm\d+)_flash_(?:fprop|bprop)"
    r"(?:.*?_knob_\d+_(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<head_dim>\d+))?"
)
_XMMA = (
    r"sm(?P<sm>\d+)_xmma_(?:new_)?\w*?(?P<pass>fprop|dgrad|wgrad|implicit_gemm|conv)\w*?_"
    r"(?:{operands})_?(?:.*?tilesize(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+))?"
)
_XMMA_SHORT = "sm{sm}_xmma_{pass} {dtypes} {tile}"
_CHIP = r"(?:cudnn_(?:\w+?_)?)?(?P<chip>maxwell|pascal|volta|turing|ampere)_"
_CHIPS = {"maxwell": "sm50", "pascal": "sm60", "volta": "sm70", "turing": "sm75", "ampere": "sm80"}
_CONV = "fprop|dgrad|wgrad|implicit|conv|deconv"

RULES: tuple[Rule, ...] = (
    Rule("cudnn.sdpa_backward", "sdpa bprop|bwd|backward", "attention", "bwd", phase="train_bwd", shape=_SDPA, library="cudnn", typeless=True),
    Rule("cudnn.sdpa", "sdpa fprop|flash|generated", "attention", "cudnn_sdpa", shape=_SDPA, library="cudnn", typeless=True),
    Rule("cudnn.pooling", "xmma pooling", "other", "pooling_resize", shape=r"(?P<arch>sm\d+)_", library="tensorrt"),
    Rule("cudnn.xmma_bf16", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=_XMMA.format(operands=r"bf16bf16"), dtypes=("bf16",), library="cudnn", short=_XMMA_SHORT),
    Rule("cudnn.xmma_fp16", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=_XMMA.format(operands=r"f16f16"), dtypes=("fp16",), library="cudnn", short=_XMMA_SHORT),
    Rule("cudnn.xmma_tf32", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=_XMMA.format(operands=r"f32f32_tf32|tf32f32|tf32tf32"), dtypes=("tf32",), library="cudnn", short=_XMMA_SHORT),
    Rule("cudnn.xmma_fp32", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=_XMMA.format(operands=r"f32f32_f32"), dtypes=("fp32",), library="cudnn", short=_XMMA_SHORT),
    Rule("cudnn.xmma_int8", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=_XMMA.format(operands=r"i8i8"), dtypes=("int8",), library="cudnn", short=_XMMA_SHORT),
    Rule("cudnn.xmma", f"xmma {_CONV}", "ssm_conv", "conv2d", shape=r"(?P<arch>sm\d+)_", library="cudnn"),
    Rule("cudnn.half_tensor", "cudnn", "ssm_conv", "conv2d", shape=_CHIP + r"(?P<dtype>fp16|bf16|int8)_[shi]\d+cudnn", types=_CHIPS, library="cudnn"),
    Rule("cudnn.scudnn", "scudnn|hcudnn|cudnn|icudnn", "ssm_conv", "conv2d", shape=_CHIP, types=_CHIPS, library="cudnn"),
    Rule("cudnn.convolve", "convolve|winograd|winogradforward|fft2d|fft2|im2col|im2|conv2d|fft1d|dgrad2d|wgrad2d|scalepackedtensor", "ssm_conv", "conv2d", library="cudnn"),
    Rule("cudnn.offsets", "compute offsets|ptrs", "ssm_conv", "conv_helper", within="cask|cudnn", library="cudnn"),
    Rule("cudnn.cutlass", "tensorop fprop|dgrad|wgrad", "ssm_conv", "conv2d", shape=r"cutlass_(?:\d+_)?tensorop_(?:[a-z]+\d+_)?[a-z]\d+(?:fprop|dgrad|wgrad)(?:(?:_[a-z]+)*_(?P<dtype>bf16|f16|tf32|s8)(?:_(?P<tile_m>\d+)x(?P<tile_n>\d+)_(?P<tile_k>\d+)x\d+)?)?", library="cudnn"),
    Rule("cudnn.offsets_named", "wgrad|dgrad compute offsets", "ssm_conv", "conv_helper", library="cudnn"),
    Rule("cudnn.kern_precompute", "precomputed|precompute convolve|indices|filter", "ssm_conv", "conv_helper", library="cudnn"),
    Rule("cudnn.splitk_reduction", "reduce splitk|split", "ssm_conv", "conv_splitk_reduce", within="cudnn", library="cudnn"),
    Rule("cudnn.batchnorm", "bn fw|bw|fwd|bwd|finalize", "norm", "batchnorm", library="cudnn"),
    Rule("cudnn.tensor_operation", "op tensor", "elementwise", "generic", shape=r"op_(?:generic_)?tensor", library="cudnn"),
    Rule("cudnn.layout", "nchw|nhwc|nchw2|nhwc2|ncxhw", "copy", "layout_cast", shape=r"(?i)\w*n[cdhw]+\d*_?(?:to|2)_?n[cdhw]+", library="cudnn"),
    Rule("tensorrt.reformat", "reformat", "copy", "layout_cast", library="tensorrt"),
    Rule("tensorrt.reformat_copy", "copy", "copy", "layout_cast", within="reformat", library="tensorrt"),
    Rule("cudnn.pooling_kernel", "pooling", "other", "pooling", library="cudnn", within="cudnn"),
)
