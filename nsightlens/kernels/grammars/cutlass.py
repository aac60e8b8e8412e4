"""CUTLASS used directly: the vehicle (`Kernel`, `device_kernel`) says nothing, its arguments do.

``cutlass::device_kernel<flash::...FlashAttnFwdSm90<...>>`` is attention and
``cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<...>>`` a matrix product, so these
names are unwrapped first.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_SHORT = "cutlass {subject} {tile} {dtypes}"
# The dispatch policy holds the cluster as a tuple; the tuple after it is the tile.
_COLLECTIVE = (
    r"CollectiveMma<(?:[\w:]+::)?Mainloop\w+<\d+(?:, \d+)*, (?:cute::)?tuple<[^<>]*(?:<\d+>[^<>]*)*>(?:, [\w:]+)?\s*>, "
    r"(?:cute::)?tuple<(?:cute::)?C<(?P<tile_m>\d+)>, (?:cute::)?C<(?P<tile_n>\d+)>, (?:cute::)?C<(?P<tile_k>\d+)>"
)
_SHAPE = r"GemmShape<(?P<tile_m>\d+), (?P<tile_n>\d+), (?P<tile_k>\d+)>"

RULES: tuple[Rule, ...] = (
    Rule("cutlass.vehicle", "kernel|kernel2 -a|of", "other", "unknown", shape=r"(?:device_kernel|Kernel2?)$", unwraps=True, note="this name is the vehicle only: the demangled name says what it carries"),
    Rule("cutlass.kernel", "kernel", "other", "unknown", shape=r"(?:_?kernel|kernel_agent|_kernel_agent|globalKernel)$", unwraps=True, note="this name is too short to say: the demangled name with its arguments is needed"),
    Rule("cutlass.convolution", "implicit|direct convolution|conv|gemmconvolution", "ssm_conv", "conv2d", library="cutlass"),
    Rule("cutlass.grouped", "gemm grouped|ptr|group", "gemm", "grouped", shape=r"Gemm(?:Grouped|UniversalPtrArray)|MoeGemm|GemmGroup", library="cutlass"),
    Rule("cutlass.problem_groups", "gemm universal", "gemm", "grouped_quantised", shape=r"GemmUniversal$", carries=r"GroupProblemShape.*BlockScaled|Array\w{0,60}BlockScaled", library="cutlass", reads=(_COLLECTIVE,), short=_SHORT),
    Rule("cutlass.groups", "gemm universal", "gemm", "grouped", shape=r"GemmUniversal$", carries=r"GroupProblemShape", library="cutlass", reads=(_COLLECTIVE,), short=_SHORT),
    Rule("cutlass.block_scaled", "gemm universal", "gemm", "quantised", shape=r"GemmUniversal$", carries=r"BlockScaled|Blockwise|float_e[45]m|float_e2m1|nv_float4|FP8|Fp8|int4b|uint4b|signed char|int8_t", library="cutlass", reads=(_COLLECTIVE,), short=_SHORT),
    Rule("cutlass.mixed_input", "gemm universal|fp|base", "gemm", "quantised", shape=r"(?:GemmUniversal|GemmFpA_?IntB|GemmFpAIntB)", carries=r"int4b|uint4b|MixedInput|signed char, cutlass::layout|IntB", library="cutlass"),
    Rule("cutlass.gemm", "gemm", "gemm", "dense", shape=r"(?:B2b)?Gemm(?:Universal(?:Base|Adapter)?|Splitk?|SplitKParallel|Array|Batched|WithKReduction|)?$", reads=(_SHAPE, _COLLECTIVE), library="cutlass", short=_SHORT),
    Rule("cutlass.block_scaled_persistent", "scaled persistent|dense|block -norm", "gemm", "quantised", shape=r"Sm\d+\w*BlockScaled", library="cutedsl"),
    Rule("cutlass.splitk_reduction", "reduce split", "gemm", "splitk_reduce", shape=r"ReduceSplitK", library="cutlass"),
)
