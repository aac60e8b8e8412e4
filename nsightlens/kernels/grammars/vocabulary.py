"""The vocabulary of kernel authors: the words that the modules ``words_*`` combine to rules.

They are for names that no library's grammar settles. The order of those modules is the precedence:
bookkeeping names what it serves, so it comes before it; a fused kernel is filed under the part that
does most work and names the others in ``also``.
"""

from __future__ import annotations

# fmt: off
# Words ending in gemm, gemv, matmul, attention ... carry that word too (see `words`).
GEMM = "gemm|spmm|gmm|qmm|llmm|mmk|fmoe|bitlinear|spmv|sddmm|spgemm|csrmv|csrmm|gemv|matmul|mm|bmm|addmm|baddbmm|matvec|mulmat|mmq|mmvq|mmf|mmvf|gemvx|gemvnsp|gemmk|gemmex|gemms|gemlite"
QUANTISED = (
    "int8|int4|fp8|fp4|nvfp4|mxfp4|mxfp8|e4m3|w4|w8|w2|w3|a16|a8|a4|gptq|awq|marlin|q2|q3|q4|q5|q6|q8|quantized|quant"
    "|dequantize|dequant|dequantise|scaled|blockwise|exllama|squeezellm|aqlm|8bit|4bit|lut|s8|i8|wna16|int8weight|mixedinput"
)
ATTENTION = "attention|attn|att|mha|fmha|fna|natten|hstu|gqa|mmha|sdpa|xqa|flashmla|mqa|flashdecode|flashdecoding|nsa"
ROUTED = "moe|expert|experts|router|routing|gating|routed|route|ep|expt|deepep|bitmatrix"
NORM = "rmsnorm|layernorm|norm|deepnorm|scalenorm|adaln|dyt|groupnorm|batchnorm|qknorm|instancenorm|l2norm|addnorm|normalization"
ROPE = "rope|rotary|mrope"
ACTIVATION = "silu|gelu|relu|swiglu|geglu|swish|mish|glu|elu|hardswish|softplus|reglu|activation|quickgelu|prelu|selu|celu|relu2|xielu|swigluoai"
QUANTISE = "quantize|quantise|kquantize|quant|quantization|quantisation|requant|requantize"
DEQUANTISE = "dequantize|dequantise|kdequantize|kdequant|dequant|dequantization|reconstruct|unquantize"
WRITE = "write|append|store|save|set|update|insert|copy|put|reshape|concat|scatter|shift|evict|quantize|quant|fill"
CONVOLUTION = "conv|convolution|convolve|wgrad|dgrad|fprop|conv1d|conv2d|conv3d|depthwise|winograd|im2|col2|vol2|deconv"
