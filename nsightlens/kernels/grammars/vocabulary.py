"""Ordinary words of kernel authors, for names that no library's grammar settles.

The order is the precedence: bookkeeping and communication name what they serve (``mla metadata``,
``rmsnorm`` inside an all-reduce), so they come before it; fused kernels are filed under the part
that moves most data or does most work, and name the others in ``also``.
"""

from __future__ import annotations

from nsightlens.kernels.rule import Rule

GEMM = (
    "gemm|sgemm|dgemm|hgemm|cgemm|zgemm|igemm|bgemm|qgemm|wgemm|fgemm|matmul|mm|bmm|addmm|baddbmm"
    "|gemv|gemvx|gemvnsp|matvec|mulmat|mmq|mmvq|gemmk|gemmex|gemms|matmuls|hgemv|sgemv|qgemv|gemlite"
)
QUANTISED = (
    "int8|int4|fp8|fp4|nvfp4|mxfp4|mxfp8|e4m3|w4|w8|a8|a16|w2|w3|gptq|awq|marlin|q4|q8|q5|q6|q2|q3|dequantize"
    "|dequant|dequantise|quantized|quant|scaled|blockwise|exllama|squeezellm|aqlm|int|8bit|4bit|lut"
)
ATTENTION = (
    "attention|attn|mha|fmha|mmha|sdpa|xqa|fwdattn|flashattention|flashattn|pagedattention|mqa"
    "|attnfwd|multiheadattention|flashmla|flashdecode|flashdecoding"
)
ROUTED = "moe|expert|experts|router|routing|gating|routed|route|ep"
NORM = "rmsnorm|layernorm|norm|groupnorm|batchnorm|qknorm|instancenorm|l2norm|addnorm|normalization"
ROPE = "rope|rotary|mrope|ropes|rotate"
CONVOLUTION = (
    "conv|conv1|conv2|conv3|conv1d|conv2d|conv3d|convolution|convolve|winograd|wgrad|dgrad|fprop|im2col|col2|fft2d|fft1d"
    "|scudnn|depthwise|implicit|dgrad2d|convs|vol2"
)
ACTIVATION = (
    "silu|gelu|relu|swiglu|geglu|swish|mish|glu|elu|hardswish|leakyrelu|softplus|reglu|activation|quickgelu"
    "|prelu|selu|celu|hardsigmoid"
)
QUANTISE = "quantize|quantise|quant|quantization|quantisation|quantized|requant|requantize"
DEQUANTISE = "dequantize|dequantise|dequant|dequantization|reconstruct|kdequantize|unquantize"
WRITE = "write|append|store|save|set|update|insert|copy|put|reshape|concat|swap|scatter|migrate"

RULES: tuple[Rule, ...] = (
    # Bookkeeping that names what it serves.
    Rule(
        "words.attention_metadata",
        "metadata|metadatas -moe|expert|dispatch",
        "other",
        "attention_metadata",
    ),
    Rule(
        "words.varlen_blocks",
        "prepare|preprocess varlen|blocks|num|seqlens|scheduler",
        "other",
        "attention_metadata",
    ),
    Rule(
        "words.kv_indices",
        "indices|index|slot|pool|table|offsets|lens|indptr kv|page|paged|req|flashinfer|block|slot|prefix|token|attn"
        " -router|routing|expert|moe|gather|topk|embedding|select|rope|write",
        "other",
        "attention_metadata",
        also=("kv_cache",),
    ),
    Rule(
        "words.request_pool",
        "req|request pool|token",
        "other",
        "attention_metadata",
        also=("kv_cache",),
    ),
    Rule("words.advance_step", "advance step", "other", "attention_metadata", also=("kv_cache",)),
    Rule(
        "words.grouped_gemm_setup",
        f"group|grouped|problem|expert|blockscale args|arguments|strides|offsets|sizes|ptrs|pointers|starts {GEMM}|problem|expert|cutlass",
        "moe_routing",
        "metadata",
    ),
    Rule(
        "words.gemm_pointers",
        f"pointers|ptrs|args|workspace|arrays {GEMM}",
        "other",
        "gemm_pointer_setup",
    ),
    # Training.
    Rule(
        "words.optimizer",
        "adam|adamw|lamb|sgd|lion|optimizer|adagrad|muon|rmsprop",
        "other",
        "optimizer",
    ),
    Rule(
        "words.loss",
        "loss|crossentropy|nll|entropy|ce|classifier|kldiv -sampling|spec",
        "other",
        "loss",
    ),
    Rule(
        "words.bias_gradient",
        "bias backward|bwd|grad|dbias -attention|attn|norm|layernorm|softmax|gelu",
        "reduction",
        "bias_grad",
    ),
    # Convolution and state-space models, whose names borrow from gemm and attention.
    Rule(
        "words.linear_attention",
        "delta|gdn|gdr|gla|kda|rwkv|wkv|retention|lightning|mamba2|deltanet|hgrn|rebased|linearattn|ttt -norm|rmsnorm|rope",
        "ssm_conv",
        "linear_attention",
    ),
    Rule("words.linear_attention_spelled", "linear attn|attention", "ssm_conv", "linear_attention"),
    Rule("words.mamba", "mamba|ssm|ssd|selective|statespace|s6 -norm|rmsnorm", "ssm_conv", "mamba"),
    Rule(
        "words.chunk_scan",
        "chunk|chunked|seqchunk cumsum|scan|state|bmm|recurrent|fwd -prefill|mla|attention|attn|moe",
        "ssm_conv",
        "mamba",
    ),
    Rule("words.recurrent", "recurrent|recurrence|wy|tril", "ssm_conv", "linear_attention"),
    Rule("words.qkvzba", "qkvzba|qkvz|zba", "ssm_conv", "linear_attention_helper", also=("copy",)),
    Rule("words.conv1d", "conv1d|conv1", "ssm_conv", "conv1d"),
    Rule("words.convolution", f"{CONVOLUTION} -converter", "ssm_conv", "conv2d"),
    # Movement of keys and values.
    Rule(
        "words.rope_kv",
        f"{ROPE} kv|cache|kvcache|store|write|append|k|assign|concat -cos|sin -qk|q -norm",
        "rope",
        "rope_kv_write",
        also=("kv_cache",),
    ),
    Rule(
        "words.qknorm_rope_kv",
        f"{ROPE} kv|kvcache|store|write|append norm|qknorm|rmsnorm",
        "rope",
        "rope_kv_write",
        also=("norm", "kv_cache"),
    ),
    Rule("words.qknorm_rope", f"{ROPE} {NORM}", "rope", "qknorm_rope", also=("norm",)),
    Rule("words.mla_rope", f"{ROPE} mla", "rope", "rope_mla_assign", also=("kv_cache",)),
    Rule(
        "words.rope_write",
        f"{ROPE} store|write|append|assign|kvcache|concat|set",
        "rope",
        "rope_kv_write",
        also=("kv_cache",),
    ),
    Rule("words.rope", ROPE, "rope", "rope"),
    Rule(
        "words.kv_gather",
        "gather|load|read cache|kvcache -attention|attn",
        "copy",
        "gather",
        also=("kv_cache",),
    ),
    Rule(
        "words.kv_blocks",
        "copy|swap|move blocks|block|pages -scale|scaled|array",
        "kv_cache",
        "block_copy",
        also=("copy",),
    ),
    Rule(
        "words.kv_write",
        f"cache|kvcache|kv {WRITE}|quantize -sin|cos|attention|attn|decode|prefill|only",
        "kv_cache",
        "write",
    ),
    Rule(
        "words.kv_write_attention",
        "cache|kvcache|kv reshape|append|concat|store",
        "kv_cache",
        "write",
    ),
    Rule("words.set_rows", "set rows|row", "kv_cache", "write"),
    # Experts.
    Rule(
        "words.moe_combine",
        f"{ROUTED}|topk sum|combine|finalize|unpermute|reduce -attn|attention|softmax|gate -{GEMM}",
        "moe_routing",
        "combine",
    ),
    Rule(
        "words.moe_align",
        f"{ROUTED} align|count|counts|histogram|sort|sorted -{GEMM}",
        "moe_routing",
        "align",
    ),
    Rule(
        "words.moe_permute",
        f"{ROUTED} permute|scatter|gather|expand|shuffle|reorder|unpack|copy -{GEMM}",
        "moe_routing",
        "permute",
    ),
    Rule(
        "words.moe_gate",
        f"{ROUTED}|gate topk|gate|gating|softmax|router|sigmoid|select|group|grouped|hash|score -{GEMM}|up|silu|gelu|fwd",
        "moe_routing",
        "gate_topk",
    ),
    Rule("words.topk_gating", "gating|topkgating", "moe_routing", "gate_topk"),
    Rule(
        "words.routes",
        f"routes|routing|router|dispatch|expert|experts|moe prefix|indices|map|pack|init|layout|offsets|data|prepare|prologue|get|compute|cluster|block|scan|metadata|clear|build|set|cumsum"
        f" -{GEMM}",
        "moe_routing",
        "metadata",
    ),
    Rule("words.router", f"router|routing -{GEMM}", "moe_routing", "gate_topk"),
    Rule(
        "words.finalize",
        "finalize -attn|attention|softmax|norm",
        "moe_routing",
        "combine",
        weak=True,
    ),
    Rule("words.permute_tokens", "permute|unpermute tokens|token", "moe_routing", "permute"),
    # Weights prepared for a GEMM, and quantisation on its own.
    Rule(
        "words.repack",
        f"repack|prepack|interleave|shuffle|preprocess|swizzle|relayout weights|weight|b|{GEMM}|marlin|{QUANTISED}|2bit|3bit|bit2|bit3|bit8|bit4|bit|scale|scales -norm",
        "copy",
        "weight_repack",
    ),
    Rule("words.repack_alone", "repack|prepack", "copy", "weight_repack"),
    Rule(
        "words.quantise_for_gemm", "quantize|quantise mmq|mmvq|q8|q4|mxfp4", "quantise", "quantise"
    ),
    # Matrix products.
    Rule("words.lora", "bgmv|sgmv|lora", "gemm", "lora"),
    Rule(
        "words.splitk_reduce",
        f"splitk|streamk|split reduce|fixup|reduction -attn|attention|flash|kv|mla",
        "gemm",
        "splitk_reduce",
    ),
    Rule("words.matmul_bias", f"{GEMM} bias backward|bwd", "reduction", "bias_grad"),
    Rule(
        "words.grouped_quantised",
        f"grouped|group|moe|expert|experts|masked|contiguous {GEMM} {QUANTISED}",
        "gemm",
        "grouped_quantised",
    ),
    Rule(
        "words.grouped",
        f"grouped|group|moe|expert|experts|ragged {GEMM} -router",
        "gemm",
        "grouped",
    ),
    Rule(
        "words.quantised_gemv",
        f"gemv|matvec|hgemv|qgemv|mulmatvec {QUANTISED}",
        "gemm",
        "quantised_gemv",
    ),
    Rule("words.gemv", "gemv|matvec|gemvx|gemvnsp", "gemm", "gemv"),
    Rule("words.quantised_gemm", f"{GEMM} {QUANTISED}", "gemm", "quantised"),
    Rule("words.fused_gemm", f"{GEMM} {ACTIVATION}", "gemm", "dense_fused", also=("activation",)),
    Rule("words.gemm", GEMM, "gemm", "dense"),
    Rule("words.marlin", "marlin -repack|permute", "gemm", "quantised"),
    Rule("words.weight_activation_bits", "w4|w8|w2 a16|a8|a4 -quant", "gemm", "quantised"),
    Rule(
        "words.moe_kernel",
        "moe kernel|mlp|ffn|gptq|awq|forward|persistent|gateup -act|activation|silu|init",
        "gemm",
        "grouped",
    ),
    # Norms.
    Rule(
        "words.norm_quantised",
        f"{NORM} {QUANTISE}|fp8|fp4|nvfp4",
        "norm",
        "rmsnorm_quant",
        also=("quantise",),
    ),
    Rule(
        "words.global_norm",
        "norm global|grad|gradient|clip|two|squared|sumsq|l2",
        "reduction",
        "norm2",
    ),
    Rule("words.qk_norm", "qknorm|qkv|qk|q norm|rmsnorm|qknorm|layernorm", "norm", "qk_norm"),
    Rule("words.qk_norm_joined", "qknorm", "norm", "qk_norm"),
    Rule(
        "words.add_norm",
        "add|addrms|residual|addnorm rmsnorm|layernorm|norm|addnorm",
        "norm",
        "fused_add_norm",
    ),
    Rule("words.rmsnorm", "rmsnorm|rms norm|rmsnorm|kernel|fwd|bwd", "norm", "rmsnorm"),
    Rule("words.layernorm", "layernorm", "norm", "layernorm"),
    Rule("words.groupnorm", "groupnorm|instancenorm", "norm", "groupnorm"),
    Rule("words.batchnorm", "batchnorm|bn -bN", "norm", "batchnorm"),
    Rule("words.norm", NORM, "norm", "generic"),
    Rule("words.residual", "residual forward|fwd|norm|rms", "norm", "fused_add_norm"),
    # Attention: everything that borrows its words stands above.
    Rule(
        "words.attention_softmax",
        f"softmax {ATTENTION} -flash|merge",
        "softmax_sampling",
        "softmax",
    ),
    Rule(
        "words.attention_copy",
        f"concat|cat|copy|split|pad|unpad|permute|transpose|gather|slice mla|{ATTENTION}|qkv|heads|mqa",
        "copy",
        "layout_cast",
    ),
    Rule(
        "words.merge_states",
        "merge state|states|attn|attention|lse|softmax",
        "attention",
        "splitkv_combine",
    ),
    Rule(
        "words.attention_sum",
        "attentionsum|attention|attn sum|merge",
        "attention",
        "splitkv_combine",
    ),
    Rule(
        "words.attention_combine",
        f"combine|reduce|reduction|stage2|fixup|reducer|merge|segments {ATTENTION}|flash|fmha|mla|splitkv|segments|fwd|decode|paged|unified",
        "attention",
        "splitkv_combine",
    ),
    Rule(
        "words.attention_backward",
        f"bwd|backward {ATTENTION}|flash|fmha",
        "attention",
        "bwd",
        phase="train_bwd",
    ),
    Rule(
        "words.sparse_mla", "mla sparse|nsa|indexer -norm|rmsnorm|quant", "attention", "mla_sparse"
    ),
    Rule("words.mla", "mla|flashmla|mlapage -copy", "attention", "mla"),
    Rule("words.sage", "sage|sageattn", "attention", "sage"),
    Rule("words.qk_sv", "qk sv|pv", "attention", "sage"),
    Rule(
        "words.masked_multihead",
        "mmha|masked multihead|mha|attention attention|mmha",
        "attention",
        "mmha",
        phase="decode",
    ),
    Rule("words.xqa", "xqa", "attention", "xqa", phase="decode"),
    Rule("words.pod", "pod", "attention", "pod", phase="mixed"),
    Rule("words.ragged_attention", "ragged prefill|attention|attn|kv", "attention", "ragged"),
    Rule(
        "words.paged_attention",
        f"paged|page|pagedattention {ATTENTION}|decode|prefill|kv|kvcache|pagedattention -dequant|gather|append|quant",
        "attention",
        "paged",
    ),
    Rule(
        "words.attention",
        f"{ATTENTION} -mask|bias|quant|quantize|index|indexer|topk",
        "attention",
        "flash",
    ),
    Rule(
        "words.flash_forward",
        "flash fwd|forward|decode|decoding|prefill|ext|attn|tile|vec",
        "attention",
        "flash",
    ),
    Rule("words.prefill_kv", "prefill|decode|extend kv|kvcache|gqa", "attention", "flash"),
    Rule(
        "words.decode_stage",
        "stage1|stage fwd|decode|grouped",
        "attention",
        "paged",
        phase="decode",
    ),
    # Vocabulary end.
    Rule(
        "words.embedding",
        "embedding|embeddings|embed|wte|vocab -rotary|rope",
        "embedding",
        "generic",
    ),
    Rule("words.act_and_mul", "act|silu|gelu|gelutanh mul|gate", "activation", "gated"),
    Rule("words.gated_activation", "swiglu|geglu|glu|silu2|reglu|swigluoai", "activation", "gated"),
    Rule("words.activation", ACTIVATION, "activation", "generic"),
    Rule(
        "words.sampling",
        "sampling|sample|multinomial|topp|minp|temperature|penalty|penalties|renorm|gumbel|logits|rejection|rejected|nucleus|spec|speculative|draft|logit -scale|upsample|soft|capping",
        "softmax_sampling",
        "sampling",
    ),
    Rule("words.softmax", "softmax|logsoftmax|softmaxes", "softmax_sampling", "softmax"),
    Rule("words.dequantise", DEQUANTISE, "quantise", "dequantise"),
    Rule("words.dequantise_run_on", "dequant", "quantise", "dequantise"),
    Rule("words.quantise", QUANTISE, "quantise", "quantise"),
    Rule(
        "words.sort",
        "sort|topk|radix|argsort|kthvalue|radixsort|bitonic|mergesort|kth|selector",
        "sort_topk",
        "generic",
    ),
    Rule(
        "words.random",
        "distribution|random|rand|philox|curand|dropout|bernoulli|uniform|rng",
        "elementwise",
        "random",
        also=("softmax_sampling",),
    ),
    Rule(
        "words.pooling",
        "pool|pooling|maxpool|avgpool|upsample|interpolate|resize",
        "other",
        "pooling",
    ),
    Rule(
        "words.compaction",
        "compact|unique|nonzero|partition|runlength",
        "other",
        "stream_compaction",
    ),
    # Ordinary words, tried when nothing above fits.
    Rule(
        "words.scale_quantise",
        "fp8|fp4|nvfp4|int8|8bit|qparam|qparams scale|scales|scaled|convert|cast|per|qparam|qparams -copy|cpy",
        "quantise",
        "quantise",
        weak=True,
    ),
    Rule("words.tile_scale", "scale 128|1x128|128x128|x128", "quantise", "quantise", weak=True),
    Rule("words.memcpy", "memcpy", "copy", "memcpy", weak=True),
    Rule("words.memset", "memset", "copy", "memset", weak=True),
    Rule(
        "words.transpose",
        "transpose|permute|nchw|nhwc|reformat|layout|nchwto|unpermute|transposed",
        "copy",
        "layout_cast",
        weak=True,
    ),
    Rule("words.concat", "cat|concat|stack|catarray", "copy", "cat", weak=True),
    Rule(
        "words.fill",
        "fill|zeros|ones|memzero|init|clear|zero|reset|arange",
        "copy",
        "fill",
        weak=True,
    ),
    Rule("words.gather", "gather|take|select", "copy", "gather", weak=True),
    Rule("words.scatter", "scatter|put", "copy", "scatter", weak=True),
    Rule(
        "words.cast",
        "cast|convert|float2half|half2float|float2|half2|fp82|to2|bf162",
        "copy",
        "cast_copy",
        weak=True,
    ),
    Rule(
        "words.copy",
        "copy|cpy|memcpy|slice|pad|repeat|flip|roll|expand|split|unpack|pack|shift|assign",
        "copy",
        "layout_cast",
        weak=True,
    ),
    Rule("words.argmax", "argmax|argmin", "reduction", "argmax", weak=True),
    Rule("words.dot", "dot", "reduction", "toy_dot", weak=True),
    Rule(
        "words.reduction",
        "reduce|reduction|sum|mean|max|min|scan|cumsum|prefix|amax|aggregate|accumulate|histogram|variance|std|count|prod|any|all",
        "reduction",
        "generic",
        weak=True,
    ),
    Rule(
        "words.elementwise",
        "elementwise|pointwise|add|addition|mul|multiply|div|sub|saxpy|axpy|scale|scal|clamp|pow|exp|log|sqrt|rsqrt|neg|abs|tanh|sigmoid|sin|cos|square|where|mask|masked|triu|tril|bias|unary|binary|math|fma|vecadd|lerp|compare|eq|ge|lt|lerp|floor|ceil|round|ternary",
        "elementwise",
        "generic",
        weak=True,
    ),
)
