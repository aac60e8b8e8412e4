"""cuBLAS and cuBLASLt: nvjet, the names by architecture, xmma, the CUTLASS kernels inside.

``nvjet_<types>_<M>x<N>_<K>x<stages>_...``: the letters are operand, compute and result type, or
A, B, C, compute, D where there are five. ``ampere_bf16_s16816gemm_bf16_128x64_...``: the digits
are the shape of the tensor-core instruction; without digits the kernel runs on CUDA cores.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_NVJET = r"nvjet_+(?:(?P<arch>sm\d+)_)?(?P<letters>{letters})(?:_(?P<tile_m>\d+)x(?P<tile_n>\d+)_(?P<tile_k>\d+)x\d+)?"
_NVJET_SHORT = "nvjet {tile_m}x{tile_n} {letters} {layout} {split}"
_NVJET_LAYOUT = r"(?:(?=.*_(?P<split>splitK)))?(?:.*_(?P<layout>[TN]{3})\b)?"

_LEGACY = (
    r"(?:trt_)?(?P<chip>maxwell|pascal|volta|turing|ampere|hopper|blackwell)_(?:(?P<result>[a-z]+\d+)_)?"
    r"(?P<instruction>{instruction})gemm(?:_(?P<dtype>(?:b?f|fp|tf|int|bf)\d+))?"
    r"(?:_[a-z]+)?_(?P<tile_m>\d+)x(?P<tile_n>\d+)(?:.*?_stages_(?P<tile_k>\d+)x\d+)?"
    r"(?:.*_(?P<layout>[tn]{{2}})\b)?"
)
_CHIPS = {"maxwell": "sm50", "pascal": "sm60", "volta": "sm70", "turing": "sm75", "ampere": "sm80", "hopper": "sm90", "blackwell": "sm100"}
_CUTLASS_TILE = r"(?:\w*?_(?P<tile_m>\d+)x(?P<tile_n>\d+)(?:_(?P<tile_k>\d+)x\d+)?(?:_(?P<layout>[tn]{2})(?=_|$))?)?"
_XMMA = (
    r"sm(?P<sm>\d+)_xmma_gemm_(?:{operands})(?:\w*?_(?P<layout>[tn]{{2}})_[tn]_)?"
    r"(?:.*?tilesize(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+))?"
)

NVJET: tuple[Rule, ...] = (
    Rule("nvjet.nvfp4", "nvjet", "gemm", "quantised", shape=_NVJET.format(letters="oo[a-z]{3}") + r"(?=.*UE4M3)" + _NVJET_LAYOUT, dtypes=("nvfp4",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.mxfp4", "nvjet", "gemm", "quantised", shape=_NVJET.format(letters="oo[a-z]{3}") + r"(?=.*UE8M0)" + _NVJET_LAYOUT, dtypes=("mxfp4",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.fp4", "nvjet", "gemm", "quantised", shape=_NVJET.format(letters="oo[a-z]{3}") + _NVJET_LAYOUT, dtypes=("fp4",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.mxfp8", "nvjet", "gemm", "quantised", shape=_NVJET.format(letters="qq[a-z]{3}") + r"(?=.*UE8M0)" + _NVJET_LAYOUT, dtypes=("mxfp8",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.fp8", "nvjet", "gemm", "quantised", shape=_NVJET.format(letters="qq[a-z]{1,3}") + _NVJET_LAYOUT, dtypes=("fp8_e4m3",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.tf32", "nvjet", "gemm", "dense", shape=_NVJET.format(letters="s[a-z]{2}") + r"(?=.*tf32)" + _NVJET_LAYOUT, dtypes=("tf32",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.bf16", "nvjet", "gemm", "dense", shape=_NVJET.format(letters="t[a-z]{2}|tt[a-z]{3}") + _NVJET_LAYOUT, dtypes=("bf16",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.fp16", "nvjet", "gemm", "dense", shape=_NVJET.format(letters="h[a-z]{2}|hh[a-z]{3}") + _NVJET_LAYOUT, dtypes=("fp16",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.fp64", "nvjet", "gemm", "dense", shape=_NVJET.format(letters="d[a-z]{2}") + _NVJET_LAYOUT, dtypes=("fp64",), library="cublaslt", short=_NVJET_SHORT),
    Rule("nvjet.any", "nvjet", "gemm", "dense", shape=_NVJET.format(letters="[a-z]{3,5}") + _NVJET_LAYOUT, library="cublaslt", short=_NVJET_SHORT, note="operand letters of nvjet that are not known"),
    Rule("nvjet.bare", "nvjet", "gemm", "dense", library="cublaslt"),
)

_LEGACY_SHORT = "{chip} {result} {instruction}gemm {tile} {layout}"
_LIBRARY_SHORT = "cutlass {instruction}gemm {dtype} {tile} {layout}"

LEGACY: tuple[Rule, ...] = (
    Rule("cublas.int8", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "quantised", shape=_LEGACY.format(instruction=r"i\d*"), dtypes=("int8",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.tensor_named", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=r"(?=\w*gemm_(?:b?f|fp|bf)\d)" + _LEGACY.format(instruction=r"[sh]\d+"), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.half", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"h\d*"), dtypes=("fp16",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.result_named", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=r"[a-z]+_(?P<dtype>fp16|bf16)_s\d+gemm_\d+x", types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.tf32", "ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"s1688|s\d+"), dtypes=("tf32",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.single", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"s"), dtypes=("fp32",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.double", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"d\d*"), dtypes=("fp64",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.complex", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"g?c\d*"), dtypes=("complex64",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
    Rule("cublas.complex_double", "maxwell|pascal|volta|turing|ampere|hopper", "gemm", "dense", shape=_LEGACY.format(instruction=r"z\d*"), dtypes=("complex128",), types=_CHIPS, library="cublas", short=_LEGACY_SHORT),
)

_XMMA_SHORT = "sm{sm}_xmma_gemm {dtypes} {tile} {layout}"

XMMA: tuple[Rule, ...] = (
    Rule("xmma.bf16", "xmma gemm -implicit", "gemm", "dense", shape=_XMMA.format(operands="bf16bf16_"), dtypes=("bf16",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.fp16", "xmma gemm -implicit", "gemm", "dense", shape=_XMMA.format(operands="f16f16_"), dtypes=("fp16",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.tf32", "xmma gemm -implicit", "gemm", "dense", shape=_XMMA.format(operands="f32f32_tf32|tf32f32_|tf32tf32_"), dtypes=("tf32",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.fp32", "xmma gemm -implicit", "gemm", "dense", shape=_XMMA.format(operands="f32f32_f32"), dtypes=("fp32",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.fp64", "xmma gemm -implicit", "gemm", "dense", shape=_XMMA.format(operands="f64f64_"), dtypes=("fp64",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.int8", "xmma gemm -implicit", "gemm", "quantised", shape=_XMMA.format(operands="i8i"), dtypes=("int8",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.fp8", "xmma gemm -implicit", "gemm", "quantised", shape=_XMMA.format(operands="e4m3|e5m2"), dtypes=("fp8_e4m3",), library="cublas", short=_XMMA_SHORT),
    Rule("xmma.any", "xmma gemm -implicit", "gemm", "dense", library="cublas"),
)

_LIBRARY_OPERATION = r"cutlass_(?P<sm>\d+)_(?:wmma_)?(?:tensorop|simt)_(?:(?P<result>[a-z]+\d+)_)?(?P<instruction>{instruction})gemm"
_DTYPED = r"(?:_relu|_bias|_gelu)*_(?P<dtype>bf16|f16|f32|tf32|s8|u8|s4|e4m3|f8)"

_V3 = r"cutlass3x_(?P<arch>sm\d+)_\w*?(?:tensorop|simt)_[a-z]*(?:(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+))?\w*?gemm"
_V3_TYPES = {"f8": "fp8", "e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", "ue4m3xf4": "nvfp4", "ue8m0xf4": "mxfp4", "ue8m0xf8": "mxfp8", "s8": "int8", "u8": "int8", "f4": "fp4"}

# Names of the CUTLASS library: cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8
CUTLASS_LIBRARY: tuple[Rule, ...] = (
    Rule("cutlass_library.int8", "cutlass gemm|igemm -fprop|dgrad|wgrad|cudnn", "gemm", "quantised", shape=_LIBRARY_OPERATION.format(instruction=r"i\d*") + _CUTLASS_TILE, dtypes=("int8",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.typed", "cutlass gemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"[sh]\d+") + _DTYPED + _CUTLASS_TILE, library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.half", "cutlass gemm|hgemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"h\d*") + _CUTLASS_TILE, dtypes=("fp16",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.tf32", "cutlass gemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"s1688") + _CUTLASS_TILE, dtypes=("tf32",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.single", "cutlass sgemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"s") + _CUTLASS_TILE, dtypes=("fp32",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.double", "cutlass gemm|dgemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"d\d*") + _CUTLASS_TILE, dtypes=("fp64",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.complex", "cutlass gemm|cgemm -fprop|dgrad|wgrad|cudnn", "gemm", "dense", shape=_LIBRARY_OPERATION.format(instruction=r"c\d*") + _CUTLASS_TILE, dtypes=("complex64",), library="cublas_cutlass", short=_LIBRARY_SHORT),
    Rule("cutlass_library.scaled", "cutlass3", "gemm", "quantised", shape=_V3 + r"(?:_block_scaled)?_(?P<dtype>ue\dm\d+xf\d|[us]e\dm\d|e\dm\d|f8|f6|f4|[us]8)", types=_V3_TYPES, library="cublas_cutlass"),
    Rule("cutlass_library.single_v3", "cutlass3 simt", "gemm", "dense", shape=r"cutlass3x_(?P<arch>sm\d+)_simt_\w*?gemm_(?P<dtype>f32|f64|f16)\w*?_(?P<tile_m>\d+)x(?P<tile_n>\d+)x(?P<tile_k>\d+)_", library="cublas_cutlass"),
    Rule("cutlass_library.v3", "cutlass3", "gemm", "dense", shape=_V3 + r"(?:_(?P<dtype>bf16|f16|tf32|f32))?", library="cublas_cutlass"),
    Rule("cutlass_library.cut", "cutlass tensorop|simt -fprop|dgrad|wgrad|cudnn|conv", "gemm", "dense", shape=r"cutlass_(?P<sm>\d+)_(?:wmma_)?(?:tensorop|simt)_(?:(?P<dtype>bf16|f16|tf32)_)?", library="cublas_cutlass"),
)

OTHERS: tuple[Rule, ...] = (
    Rule("cublas.splitk_reduce", "splitk reduce", "gemm", "splitk_reduce", library="cublaslt"),
    Rule("cublas.epilogue", "epilogue", "gemm", "epilogue", library="cublaslt", within="cublas|impl|cublasLt|epilogue"),
    Rule("cublas.epilogue_kernel", "global", "gemm", "epilogue", library="cublaslt", within="epilogue"),
    Rule("cublas.gemv_complex", "gemv2|gemvx", "gemm", "gemv", carries=r"^int, int, float2", dtypes=("complex64",), library="cublas"),
    Rule("cublas.gemv", "gemv2|gemvnsp|gemvx|gemv", "gemm", "gemv", shape=r"gemv(?:2[TN]|NSP|x)", library="cublas"),
    Rule("cublas.gemvx", "gemvx", "gemm", "gemv", library="cublas"),
    Rule("cublas.small_n", "gemm sn|k1", "gemm", "dense", library="cublas"),
    Rule("cublas.k1", "gemmk|gemmk1", "gemm", "dense", library="cublas"),
    Rule("cublas.dot", "dot|reduce", "gemm", "dot_reduce", shape=r"dot_kernel|reduce_1Block_kernel", library="cublas", carries="cublas", note="cuBLAS dot product: a GEMV's or a GEMM's only where K is all there is"),
    Rule("cublas.dot_bare", "block|1block block reduce", "gemm", "dot_reduce", shape=r"reduce_1Block_kernel", library="cublas"),
    Rule("cublas.pointers", "gemm pointers", "other", "gemm_pointer_setup", library="cublas"),
    Rule("cublas.scal", "scal", "elementwise", "generic", library="cublas", shape=r"scal_kernel"),
    Rule("rocblas.tensile", "cijk", "gemm", "dense", shape=r"Cijk_A\w+_B\w+", library="rocblas"),
    Rule("cublas.largek", "sgemm largek", "gemm", "dense", library="cublas", dtypes=("fp32",)),
)

RULES: tuple[Rule, ...] = NVJET + LEGACY + XMMA + CUTLASS_LIBRARY + OTHERS
