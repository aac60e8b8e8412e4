"""Ordinary words of kernel authors, for names that no library's grammar settles.

The order is the precedence. Bookkeeping and communication name what they serve (``mla metadata``,
``rmsnorm`` inside an all-reduce), so they come before it; a fused kernel is filed under the part
that does most work and names the others in ``also``. Rules marked weak use words so common that
they only count when no other rule knows the name.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

# Words ending in gemm, gemv, matmul, attention ... carry that word too (see `words`).
GEMM = "gemm|spmm|gemv|matmul|mm|bmm|addmm|baddbmm|matvec|mulmat|mmq|mmvq|mmf|mmvf|gemvx|gemvnsp|gemmk|gemmex|gemms|gemlite"
QUANTISED = (
    "int8|int4|fp8|fp4|nvfp4|mxfp4|mxfp8|e4m3|w4|w8|w2|w3|a16|a8|a4|gptq|awq|marlin|q2|q3|q4|q5|q6|q8|quantized|quant"
    "|dequantize|dequant|dequantise|scaled|blockwise|exllama|squeezellm|aqlm|8bit|4bit|lut|s8|i8|int8weight|mixedinput"
)
ATTENTION = "attention|attn|att|mha|fmha|mmha|sdpa|xqa|flashmla|mqa|flashdecode|flashdecoding|nsa"
ROUTED = "moe|expert|experts|router|routing|gating|routed|route|ep|expt|deepep|bitmatrix"
NORM = "rmsnorm|layernorm|norm|groupnorm|batchnorm|qknorm|instancenorm|l2norm|addnorm|normalization"
ROPE = "rope|rotary|mrope"
ACTIVATION = "silu|gelu|relu|swiglu|geglu|swish|mish|glu|elu|hardswish|softplus|reglu|activation|quickgelu|prelu|selu|celu|relu2|xielu|swigluoai"
QUANTISE = "quantize|quantise|quant|quantization|quantisation|requant|requantize"
DEQUANTISE = "dequantize|dequantise|dequant|dequantization|reconstruct|unquantize"
WRITE = "write|append|store|save|set|update|insert|copy|put|reshape|concat|scatter|quantize|quant|fill"
CONVOLUTION = "conv|convolution|convolve|wgrad|dgrad|fprop|conv1d|conv2d|conv3d|depthwise|winograd|im2|vol2|deconv"

BOOKKEEPING: tuple[Rule, ...] = (
    Rule("words.attention_metadata", "metadata -moe|expert|dispatch|tensor", "other", "attention_metadata"),
    Rule("words.attention_schedule", "prepare|preprocess|compute|get|plan|generate varlen|blocks|seqlens|scheduler|splits|schedule -moe|expert|softmax", "other", "attention_metadata", also=("attention",)),
    Rule("words.kv_indices", "indices|index|slot|pool|table|lens|indptr|position|positions|loc kv|page|paged|req|flashinfer|block|slot|prefix|compute"
         f" -{ROUTED}|gather|topk|embedding|select|rope|write|append|quantize|reshape|cache|copy|attention|attn|seg", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.kv_indices_of", "indices|index kv cache|kvcache create|chunked|generate|convert|compute", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.request_pool", "req|request pool|token|index|indices", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.page_allocation", "alloc extend|decode|page|pages", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.advance_step", "advance|prepare step|eagle|inputs -gemm", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.grouped_gemm_setup", f"args|arguments|strides|offsets|sizes|ptrs|pointers|starts|problem group|grouped|problem|expert|experts|blockscale|sizes|tma {GEMM}|problem|expert|experts|cutlass|compute -fprop|dgrad|wgrad",
         "moe_routing", "metadata"),
    Rule("words.gemm_pointers", f"pointers|ptrs|args|arrays {GEMM}", "other", "gemm_pointer_setup"),
    Rule("words.embedding_training", "embedding backward|codegen|bag|nobag|grad|dense", "embedding", "generic"),
    Rule("words.optimizer", "adam|adamw|lamb|sgd|lion|optimizer|adagrad|muon|rmsprop", "other", "optimizer"),
    Rule("words.loss", "loss|crossentropy|nll|entropy|ce|classifier|kldiv -sampling|spec", "other", "loss"),
    Rule("words.bias_gradient", f"bias backward|bwd|grad|dbias -{ATTENTION}|{NORM}|softmax|gelu", "reduction", "bias_grad"),
    Rule("words.hyper_connection", "mhc|hyperconnection|hc -gemm|prenorm", "other", "hyper_connection"),
)

CONVOLUTION_AND_STATE: tuple[Rule, ...] = (
    Rule("words.linear_attention", f"delta|gdn|gdr|gla|kda|rwkv|wkv|retention|lightning|deltanet|hgrn|rwkv6|rwkv7|ttt -{NORM}|{ROPE}|conv1d", "ssm_conv", "linear_attention"),
    Rule("words.linear_attention_spelled", f"linear {ATTENTION}", "ssm_conv", "linear_attention"),
    Rule("words.conv1d", "conv1d|conv1", "ssm_conv", "conv1d"),
    Rule("words.mamba", f"mamba|mamba2|ssm|ssd|ssu|selective|statespace -{NORM}|conv", "ssm_conv", "mamba"),
    Rule("words.state_passing", "state passing", "ssm_conv", "mamba"),
    Rule("words.chunk_scan", f"chunk|seqchunk|chunked cumsum|scan|state|bmm|states -prefill|mla|{ATTENTION}|moe|kv|local|gated|delta", "ssm_conv", "mamba"),
    Rule("words.chunked_linear_attention", f"chunk fwd|bwd|recurrent|local|intra|inter|dot -prefill|mla|{ATTENTION}|moe|kv|loss|softmax", "ssm_conv", "linear_attention"),
    Rule("words.recurrent", "recurrent|recurrence|wy", "ssm_conv", "linear_attention"),
    Rule("words.triangular_solve", "tril|inverse solve|merge", "ssm_conv", "linear_attention"),
    Rule("words.recompute", "recompute w|u|wu", "ssm_conv", "linear_attention"),
    Rule("words.qkvzba", "qkvzba|qkvz|zba", "ssm_conv", "linear_attention_helper", also=("copy",)),
    Rule("words.convolution", CONVOLUTION, "ssm_conv", "conv2d"),
)

KEYS_AND_VALUES: tuple[Rule, ...] = (
    Rule("words.qknorm_rope_kv", f"{ROPE} kv|kvcache|store|write|append {NORM}", "rope", "rope_kv_write", also=("norm", "kv_cache")),
    Rule("words.qknorm_rope", f"{ROPE} qknorm|qk|q|rmsnorm {NORM}", "rope", "qknorm_rope", also=("norm",)),
    Rule("words.mla_rope", f"{ROPE} mla assign|qkv -cache", "rope", "rope_mla_assign", also=("kv_cache",)),
    Rule("words.rope_kv", f"{ROPE} kv|kvcache|store|write|append|assign|update|set", "rope", "rope_kv_write", also=("kv_cache",)),
    Rule("words.rope_cache", f"{ROPE} cache and|cat|concat|reshape", "rope", "rope_kv_write", also=("kv_cache",)),
    Rule("words.rope_quantised", f"{ROPE} {QUANTISE}", "rope", "rope_quant", also=("quantise",)),
    Rule("words.rope", ROPE, "rope", "rope"),
    Rule("words.kv_gather", f"gather|load cache|kvcache -{ATTENTION}", "copy", "gather", also=("quantise", "kv_cache")),
    Rule("words.kv_blocks", "copy|swap|move blocks|block|pages -scale|scaled|array", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_transfer", "transfer|swap|offload|migrate|fetch kv|kvcache|cache", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_write_quantised", f"kv|kvcache|cache {WRITE} {QUANTISE}|nvfp4 -{ATTENTION}|decode|prefill|{NORM}|{ACTIVATION}", "kv_cache", "write", also=("quantise",)),
    Rule("words.kv_write", f"cache|kvcache|kv {WRITE} -sin|cos|{ATTENTION}|decode|prefill|only|{NORM}", "kv_cache", "write"),
    Rule("words.kv_append", "cache|kvcache|kv append|reshape|store", "kv_cache", "write"),
)

EXPERTS: tuple[Rule, ...] = (
    Rule("words.lora", "bgmv|sgmv|lora", "gemm", "lora"),
    Rule("words.fp4_experts", f"{QUANTISE}|cvt|fp4|scaled experts|expert -{GEMM}", "quantise", "quantise", also=("moe_routing",)),
    Rule("words.moe_prefix_sum", f"{ROUTED} prefix|cumsum|histogram|offsets|scan -{GEMM}", "moe_routing", "metadata"),
    Rule("words.moe_combine", f"{ROUTED}|topk sum|combine|finalize|unpermute|reduce|reduction|weighted -{ATTENTION}|softmax|gate|{GEMM}", "moe_routing", "combine"),
    Rule("words.moe_align", f"{ROUTED} align|count|counts|sort|sorted|sorting|num -{GEMM}", "moe_routing", "align"),
    Rule("words.moe_permute", f"{ROUTED} permute|scatter|gather|expand|shuffle|reorder|unpack|copy|reordering -{GEMM}", "moe_routing", "permute"),
    Rule("words.moe_gate", f"{ROUTED}|gate topk|gate|gating|softmax|router|sigmoid|select|group|grouped|hash|score|hashing -{GEMM}|up|silu|gelu|fwd", "moe_routing", "gate_topk"),
    Rule("words.grouped_topk", "topk grouped|group|biased|gating", "moe_routing", "gate_topk"),
    Rule("words.topk_gating", "gating|topkgating", "moe_routing", "gate_topk"),
    Rule("words.routes", f"routes|dispatch|{ROUTED} prefix|indices|map|maps|pack|init|layout|offsets|data|prepare|prologue|get|compute|cluster|block|metadata|clear|build|set|main|memset|coop"
         f" -{GEMM}|mlp|ffn", "moe_routing", "metadata"),
    Rule("words.router", f"router|routing -{GEMM}", "moe_routing", "gate_topk"),
    Rule("words.reorder_tokens", "reorder pre|post|tokens|token|rows", "moe_routing", "permute"),
    Rule("words.permute_tokens", "permute|unpermute|shuffle|expand tokens|token|rows input|token|tokens|rows -embedding", "moe_routing", "permute"),
    Rule("words.segments", "seg|src2 indptr|dst", "moe_routing", "metadata"),
    Rule("words.weighted_sum", "shuffle|weighted sum mul|topk|expert", "moe_routing", "combine"),
    Rule("words.finalize", "finalize -attn|attention|softmax|norm", "moe_routing", "combine", weak=True),
)

WEIGHTS: tuple[Rule, ...] = (
    Rule("words.repack", f"repack|prepack|interleave|shuffle|preprocess|swizzle|relayout weights|weight|b|{GEMM}|marlin|{QUANTISED}|bit|scale|scales|{QUANTISE} -{NORM}|{ATTENTION}", "copy", "weight_repack"),
    Rule("words.repack_alone", "repack|prepack", "copy", "weight_repack"),
    Rule("words.sequential_bits", "make sequential bit", "copy", "weight_repack"),
    Rule("words.weight_layout", "interleave|permute|transform|convert weights|weight -norm", "copy", "weight_repack"),
    Rule("words.quantise_for_gemm", "quantize|quantise mmq|mmvq|q8|q4|mxfp4", "quantise", "quantise"),
    Rule("words.quantised_activation", f"{ACTIVATION} mul|and {QUANTISE}", "activation", "gated_quant", also=("quantise",)),
)

MATRIX_PRODUCTS: tuple[Rule, ...] = (
    Rule("words.splitk_reduce", f"splitk|streamk|split reduce|fixup|reduction -{ATTENTION}|flash|kv|mla|conv|wgrad", "gemm", "splitk_reduce"),
    Rule("words.matmul_bias", f"{GEMM} bias backward|bwd", "reduction", "bias_grad"),
    Rule("words.grouped_quantised", f"{GEMM} grouped|group|moe|expert|experts|masked|contiguous {QUANTISED}", "gemm", "grouped_quantised"),
    Rule("words.grouped", f"{GEMM} grouped|group|moe|expert|experts|ragged|segment|segmented -router", "gemm", "grouped"),
    Rule("words.quantised_gemv", f"gemv|matvec|mulmatvec {QUANTISED}", "gemm", "quantised_gemv"),
    Rule("words.gemv", "gemv|matvec|gemvx|gemvnsp", "gemm", "gemv"),
    Rule("words.quantised_gemm", f"{GEMM} {QUANTISED} -cuda|hc", "gemm", "quantised"),
    Rule("words.fused_gemm", f"{GEMM} {ACTIVATION}", "gemm", "dense_fused", also=("activation",)),
    Rule("words.gemm", GEMM, "gemm", "dense"),
    Rule("words.marlin", "marlin|machete", "gemm", "quantised"),
    Rule("words.weight_only", "weight only -quantize|preprocess|norm", "gemm", "quantised"),
    Rule("words.weight_activation_bits_moe", f"w4|w8|w2 a16|a8|a4 moe|expert -{QUANTISE}", "gemm", "grouped_quantised"),
    Rule("words.weight_activation_bits", f"w4|w8|w2 a16|a8|a4 -{QUANTISE}|convert|scale", "gemm", "quantised"),
    Rule("words.moe_quantised", f"moe|experts {QUANTISED}|q gptq|awq|vec|q|kernel|fused -act|activation|silu|init", "gemm", "grouped_quantised"),
    Rule("words.moe_kernel", "moe|experts kernel|mlp|ffn|forward|persistent|gateup|up|gate -act|activation|init", "gemm", "grouped"),
    Rule("words.linear", f"linear -{ATTENTION}|interpolate|upsample|index|cross|loss|scale|clamp|warp", "gemm", "dense", weak=True),
    Rule("words.tiled_product", "warptiling|blocktiling|threadtiling", "gemm", "dense", weak=True),
)

NORMS: tuple[Rule, ...] = (
    Rule("words.norm_quantised", f"{NORM} {QUANTISE}|fp8|fp4|nvfp4", "norm", "rmsnorm_quant", also=("quantise",)),
    Rule("words.l2norm", "l2norm", "norm", "l2norm"),
    Rule("words.global_norm", "norm global|grad|gradient|clip|two|squared|sumsq|aggregate", "reduction", "norm2"),
    Rule("words.qk_norm", "qknorm|qkv|qk|q norm|rmsnorm|qknorm|layernorm", "norm", "qk_norm"),
    Rule("words.add_norm", "add|addrms|residual|addnorm|skip rmsnorm|layernorm|norm|addnorm", "norm", "fused_add_norm"),
    Rule("words.rmsnorm", "rmsnorm", "norm", "rmsnorm"),
    Rule("words.layernorm", "layernorm", "norm", "layernorm"),
    Rule("words.groupnorm", "groupnorm|instancenorm", "norm", "groupnorm"),
    Rule("words.batchnorm", "batchnorm|bn", "norm", "batchnorm"),
    Rule("words.norm", NORM, "norm", "generic"),
    Rule("words.layernorm_cut", "ln fwd|bwd|forward|backward|tuned", "norm", "layernorm"),
    Rule("words.fused_residual", "residual fused forward|backward", "norm", "fused_add_norm"),
)

ATTENTION_RULES: tuple[Rule, ...] = (
    Rule("words.attention_softmax", f"softmax {ATTENTION} -flash|merge", "softmax_sampling", "softmax"),
    Rule("words.attention_copy", f"concat|cat|split|pad|unpad|permute|transpose|slice mla|{ATTENTION}|qkv|heads", "copy", "layout_cast"),
    Rule("words.attention_mask", f"mask {ATTENTION} build|create|make|prepare|to", "other", "attention_metadata"),
    Rule("words.merge_states", f"merge state|states|{ATTENTION}|lse|softmax", "attention", "splitkv_combine"),
    Rule("words.attention_combine", f"combine|reduce|reduction|stage2|fixup|reducer|merge|segments {ATTENTION}|flash|mla|splitkv|fwd|decode|paged|unified", "attention", "splitkv_combine"),
    Rule("words.attention_backward", f"bwd|backward|bprop {ATTENTION}|flash", "attention", "bwd", phase="train_bwd"),
    Rule("words.sparse_mla", f"mla sparse -{NORM}|{QUANTISE}", "attention", "mla_sparse"),
    Rule("words.mla", "mla|flashmla -copy", "attention", "mla"),
    Rule("words.sage", "sage|sageattn", "attention", "sage"),
    Rule("words.query_key_value", "qk sv|pv", "attention", "sage"),
    Rule("words.masked_multihead", "mmha", "attention", "mmha", phase="decode"),
    Rule("words.xqa", "xqa", "attention", "xqa", phase="decode"),
    Rule("words.pod", "pod kv|attention|kernel", "attention", "pod", phase="mixed"),
    Rule("words.ragged_attention", f"ragged prefill|{ATTENTION}|kv", "attention", "ragged"),
    Rule("words.sparse_attention", f"sparse|nsa {ATTENTION}|prefill|decode -topk|{QUANTISE}|index", "attention", "sparse"),
    Rule("words.paged_attention", f"paged|page|pa {ATTENTION}|decode|prefill|kv|kvcache|fwd -dequant|gather|append|quant", "attention", "paged"),
    Rule("words.attention", f"{ATTENTION} -bias|{QUANTISE}|index|indexer|topk", "attention", "flash"),
    Rule("words.flash_forward", "flash fwd|forward|decode|decoding|prefill|ext|tile|vec", "attention", "flash"),
    Rule("words.prefill_kv", "prefill|decode|extend kv|kvcache|gqa", "attention", "flash"),
    Rule("words.prefix_prefill", "prefill prefix|kernel -norm|topk|per", "attention", "flash", phase="prefill"),
    Rule("words.decode_stage", "stage1|stage fwd|decode|grouped", "attention", "flash_splitkv", phase="decode"),
)

VECTOR_WORK: tuple[Rule, ...] = (
    Rule("words.embedding_quantised", "take dequantize|dequant", "embedding", "quantised_embedding", also=("quantise",)),
    Rule("words.embedding", "embedding|embeddings|embed|wte|vocab", "embedding", "generic"),
    Rule("words.encoder", "encoder forward|backward kernel", "embedding", "generic"),
    Rule("words.act_and_mul", "act|silu|gelu|gelutanh|relu mul|gate", "activation", "gated", reads=(r"(?P<what>gelu_tanh|gelu_quick|gelu|silu|relu)",)),
    Rule("words.gated_activation", "swiglu|geglu|glu|silu2|reglu|swigluoai|gated -delta", "activation", "gated", shape=r"(?i)\w*(?:glu|silu|gated_?act|gated_op)"),
    Rule("words.activation", ACTIVATION, "activation", "generic"),
    Rule("words.penalties", "penalty|penalties|bin|bitmask|counts output|token|repetition|kernel|apply|inplace", "softmax_sampling", "penalties"),
    Rule("words.sampling", "sampling|sample|multinomial|topp|minp|temperature|renorm|gumbel|logits|rejection|rejected|nucleus|speculative|logprob|logprobs -scale|upsample|mqa|gather", "softmax_sampling", "sampling"),
    Rule("words.softmax", "softmax|logsoftmax", "softmax_sampling", "softmax"),
    Rule("words.dequantise", f"{DEQUANTISE} -scale", "quantise", "dequantise"),
    Rule("words.quantise", f"{QUANTISE}|dequant", "quantise", "quantise"),
    Rule("words.to_narrow", "fp4|mxfp4|nvfp4|mxfp|mxfp8 to|cvt|downcast|pack|upcast", "quantise", "quantise"),
    Rule("words.sort", "sort|topk|radix|argsort|kthvalue|bitonic|mergesort|kth|selector", "sort_topk", "generic"),
    Rule("words.select_k", "select k", "sort_topk", "generic"),
    Rule("words.pooling", "pool|pooling|maxpool|avgpool -token|req|memory", "other", "pooling"),
    Rule("words.resize", "upsample|interpolate|resize|bilinear|bicubic", "other", "pooling_resize"),
    Rule("words.compaction", "compact|unique|nonzero|partition|runlength -stage|k", "other", "stream_compaction"),
)

ORDINARY: tuple[Rule, ...] = (
    Rule("words.scale_quantise", "fp8|fp4|nvfp4|int8|8bit|qparam|qparams|absmax scale|scales|scaled|convert|cast|per|qparam|qparams|absmax -copy|cpy", "quantise", "quantise", weak=True),
    Rule("words.tile_scale", "scale 128|x128|1", "quantise", "quantise", weak=True, shape=r"\w*scale_(?:1|128)x128"),
    Rule("words.random", "distribution|random|rand|philox|dropout|bernoulli|uniform|rng", "elementwise", "random", also=("softmax_sampling",), weak=True),
    Rule("words.lookup", "lookup", "embedding", "generic", weak=True),
    Rule("words.memcpy", "memcpy", "copy", "memcpy", weak=True),
    Rule("words.memset", "memset", "copy", "memset", weak=True),
    Rule("words.transpose", "transpose|permute|permutation|nchw|nhwc|reformat|layout|unpermute|transposed", "copy", "layout_cast", weak=True),
    Rule("words.concat", "cat|concat|stack", "copy", "cat", weak=True),
    Rule("words.fill", "fill|zeros|ones|memzero|clear|zero|reset", "copy", "fill", weak=True),
    Rule("words.gather", "gather|take|select", "copy", "gather", weak=True),
    Rule("words.scatter", "scatter|put", "copy", "scatter", weak=True),
    Rule("words.to_master", "master|copy dweight|dbias|from", "copy", "cast_copy", weak=True),
    Rule("words.device_copy", "d2|h2|dcpy|cpy", "copy", "layout_cast", weak=True),
    Rule("words.cast", "cast|upcast|convert|float2|half2|fp82|bf162|to|f32|f16|bf16", "copy", "cast_copy", weak=True, shape=r"(?i)\w*(?:cast|convert|(?:float|half|fp?\d+|bf\w*\d+)_?(?:to_?|2)(?:float|half|fp?\d+|bf))"),
    Rule("words.copy", "copy|cpy|slice|pad|repeat|flip|roll|expand|split|unpack|pack|shift|assign", "copy", "layout_cast", weak=True),
    Rule("words.argmax", "argmax|argmin", "reduction", "argmax", weak=True),
    Rule("words.dot", "dot", "reduction", "toy_dot", weak=True),
    Rule("words.reduction", "reduce|reduction|sum|mean|max|min|scan|cumsum|prefix|amax|aggregate|accumulate|histogram|variance|std|prod", "reduction", "generic", weak=True),
    Rule("words.elementwise", "elementwise|pointwise|add|addition|mul|multiply|div|sub|saxpy|axpy|scale|scal|clamp|pow|exp|log|sqrt|rsqrt|neg|abs|tanh|sigmoid|square|where|mask"
         "|masked|triu|tril|bias|unary|binary|math|fma|lerp|compare|eq|ge|lt|floor|ceil|round|ternary|softcap|softcapping|residual", "elementwise", "generic", weak=True),
)

RULES: tuple[Rule, ...] = (
    *BOOKKEEPING, *CONVOLUTION_AND_STATE, *KEYS_AND_VALUES, *EXPERTS, *WEIGHTS, *MATRIX_PRODUCTS,
    *NORMS, *ATTENTION_RULES, *VECTOR_WORK, *ORDINARY,
)
