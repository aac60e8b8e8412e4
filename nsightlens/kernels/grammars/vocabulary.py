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
GEMM = "gemm|spmm|gmm|qmm|llmm|mmk|fmoe|spmv|sddmm|spgemm|csrmv|csrmm|gemv|matmul|mm|bmm|addmm|baddbmm|matvec|mulmat|mmq|mmvq|mmf|mmvf|gemvx|gemvnsp|gemmk|gemmex|gemms|gemlite"
QUANTISED = (
    "int8|int4|fp8|fp4|nvfp4|mxfp4|mxfp8|e4m3|w4|w8|w2|w3|a16|a8|a4|gptq|awq|marlin|q2|q3|q4|q5|q6|q8|quantized|quant"
    "|dequantize|dequant|dequantise|scaled|blockwise|exllama|squeezellm|aqlm|8bit|4bit|lut|s8|i8|wna16|int8weight|mixedinput"
)
ATTENTION = "attention|attn|att|mha|fmha|fna|natten|hstu|gqa|mmha|sdpa|xqa|flashmla|mqa|flashdecode|flashdecoding|nsa"
ROUTED = "moe|expert|experts|router|routing|gating|routed|route|ep|expt|deepep|bitmatrix"
NORM = "rmsnorm|layernorm|norm|groupnorm|batchnorm|qknorm|instancenorm|l2norm|addnorm|normalization"
ROPE = "rope|rotary|mrope"
ACTIVATION = "silu|gelu|relu|swiglu|geglu|swish|mish|glu|elu|hardswish|softplus|reglu|activation|quickgelu|prelu|selu|celu|relu2|xielu|swigluoai"
QUANTISE = "quantize|quantise|kquantize|quant|quantization|quantisation|requant|requantize"
DEQUANTISE = "dequantize|dequantise|kdequantize|kdequant|dequant|dequantization|reconstruct|unquantize"
WRITE = "write|append|store|save|set|update|insert|copy|put|reshape|concat|scatter|quantize|quant|fill"
CONVOLUTION = "conv|convolution|convolve|wgrad|dgrad|fprop|conv1d|conv2d|conv3d|depthwise|winograd|im2|col2|vol2|deconv"

BOOKKEEPING: tuple[Rule, ...] = (
    Rule("words.attention_metadata", "metadata -moe|expert|dispatch|tensor", "other", "attention_metadata"),
    Rule("words.block_table", "table|tables block|page|slot|req -embedding|rope", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.draft_tree", "tree mask|indices|build|draft -attention|attn|reduce", "other", "attention_metadata"),
    Rule("words.draft_inputs", "eagle|draft|mtp|medusa|speculative inputs|input|step|metadata|tree -attention|attn|sampling|sample|logits|gemm|state", "other", "attention_metadata"),
    Rule("words.index_mapping", "mapping|mappings idx|index|slot|slots|req|token|block -expert|append|write|quantize|reshape", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.vertical_slash", "slash vertical indexes|indices|convert|index", "other", "attention_metadata", also=("attention",)),
    Rule("words.attention_schedule", "prepare|preprocess|compute|get|plan|generate varlen|blocks|seqlens|scheduler|splits|schedule -moe|expert|softmax", "other", "attention_metadata", also=("attention",)),
    Rule("words.kv_indices", "indices|index|slot|slots|pool|table|loc|locs|lens|indptr|position|positions kv|page|paged|req|draft|flashinfer|block|slot|prefix|compute"
         f" -{ROUTED}|gather|topk|embedding|select|rope|write|append|quantize|reshape|cache|copy|attention|attn|seg", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.kv_indices_of", "indices|index kv cache|kvcache create|chunked|generate|convert|compute", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.request_pool", "req|request pool|token|index|indices", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.page_allocation", "alloc extend|decode|page|pages", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.advance_step", "advance|prepare step|eagle|inputs -gemm", "other", "attention_metadata", also=("kv_cache",)),
    Rule("words.expert_product_data", f"data {ROUTED}|pplx|grouped|group get|mm|prepare|{GEMM}", "moe_routing", "metadata"),
    Rule("words.expert_ids", f"ids helper|compact|map {GEMM}|{ROUTED}", "moe_routing", "metadata"),
    Rule("words.row_indices", "indices m -kv|page|attention|attn|mla", "moe_routing", "metadata"),
    Rule("words.grouped_gemm_setup", f"args|arguments|strides|offsets|sizes|ptrs|pointers|starts|problem group|grouped|problem|expert|experts|blockscale|sizes|tma {GEMM}|problem|expert|experts|cutlass|compute -fprop|dgrad|wgrad",
         "moe_routing", "metadata"),
    Rule("words.gemm_pointers", f"pointers|ptrs|args|arrays {GEMM}", "other", "gemm_pointer_setup"),
    Rule("words.embedding_training", "embedding backward|codegen|bag|nobag|grad|dense", "embedding", "generic"),
    Rule("words.optimizer", "adam|adamw|lamb|sgd|lion|optimizer|adagrad|muon|rmsprop", "other", "optimizer"),
    Rule("words.loss", "loss|crossentropy|nll|entropy|classifier|kldiv|jsd -sampling|spec", "other", "loss"),
    Rule("words.loss_cut", "ce|kl fwd|bwd|forward|backward|loss|div|divergence", "other", "loss"),
    Rule("words.bias_gradient", f"bias backward|bwd|grad|dbias -{ATTENTION}|{NORM}|softmax|gelu", "reduction", "bias_grad"),
    Rule("words.hyper_connection", "mhc|hyperconnection|hc -gemm|prenorm", "other", "hyper_connection"),
)

CONVOLUTION_AND_STATE: tuple[Rule, ...] = (
    Rule("words.linear_attention", f"delta|gdn|gdr|gla|kda|rwkv|wkv|retention|lightning|deltanet|flashkda|hgrn|rwkv6|rwkv7|ttt|lru|rglru -cache|{NORM}|{ROPE}|conv1d", "ssm_conv", "linear_attention"),
    Rule("words.linear_attention_spelled", f"linear {ATTENTION}", "ssm_conv", "linear_attention"),
    Rule("words.conv1d", "conv1d|conv1", "ssm_conv", "conv1d"),
    Rule("words.mamba", f"mamba|mamba2|ssm|ssd|ssu|selective|statespace -{NORM}|conv", "ssm_conv", "mamba"),
    Rule("words.state_passing", "state passing", "ssm_conv", "mamba"),
    Rule("words.chunk_scan", f"chunk|seqchunk|chunked cumsum|scan|state|bmm|states -prefill|mla|{ATTENTION}|moe|kv|local|gated|delta", "ssm_conv", "mamba"),
    Rule("words.chunked_linear_attention", f"chunk|chunkwise fwd|bwd|recurrent|local|intra|inter|dot -prefill|mla|{ATTENTION}|moe|kv|loss|softmax", "ssm_conv", "linear_attention"),
    Rule("words.recurrent", "recurrent|recurrence|wy", "ssm_conv", "linear_attention"),
    Rule("words.triangular_solve", "tril|inverse solve|merge", "ssm_conv", "linear_attention"),
    Rule("words.recompute", "recompute|wu w|u|wu", "ssm_conv", "linear_attention"),
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
    Rule("words.kv_blocks", "copy|swap|move blocks|block|pages|page -scale|scaled|array", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_transfer", "transfer|swap|offload|migrate|fetch kv|kvcache|cache", "kv_cache", "block_copy", also=("copy",)),
    Rule("words.kv_write_quantised", f"kv|kvcache|cache {WRITE} {QUANTISE}|nvfp4 -{ATTENTION}|decode|prefill|{NORM}|{ACTIVATION}", "kv_cache", "write", also=("quantise",)),
    Rule("words.kv_write", f"cache|kvcache|kv {WRITE} -sin|cos|{ATTENTION}|decode|prefill|only|{NORM}", "kv_cache", "write"),
    Rule("words.kv_append", "cache|kvcache|kv append|reshape|store", "kv_cache", "write"),
)

EXPERTS: tuple[Rule, ...] = (
    Rule("words.lora", "bgmv|sgmv|lora -align|count|sort|indices|metadata", "gemm", "lora"),
    Rule("words.fp4_experts", f"{QUANTISE}|cvt|fp4|scaled experts|expert -{GEMM}", "quantise", "quantise", also=("moe_routing",)),
    Rule("words.moe_prefix_sum", f"{ROUTED} prefix|cumsum|histogram|offsets|scan -{GEMM}", "moe_routing", "metadata"),
    Rule("words.moe_combine", f"{ROUTED}|topk sum|combine|finalize|unpermute|reduce|reduction|weighted -{ATTENTION}|softmax|gate|{GEMM}", "moe_routing", "combine"),
    Rule("words.moe_align", f"{ROUTED} align|count|counts|sort|sorted|sorting|num -{GEMM}", "moe_routing", "align"),
    Rule("words.moe_permute", f"{ROUTED} permute|scatter|gather|expand|shuffle|reorder|unpack|copy|reordering -{GEMM}", "moe_routing", "permute"),
    Rule("words.dispatch_tokens", "dispatch|combine token|tokens", "moe_routing", "permute", also=("communication",)),
    Rule("words.moe_exchange", "comm|communicate moe|expert|ep", "communication", "all_to_all", also=("moe_routing",)),
    Rule("words.expert_choice", f"topk id|ids|deepseek|softmax|sigmoid|weights|score|scores -log|logsoftmax|token|sampling|logits|logprobs|gather|{GEMM}", "moe_routing", "gate_topk"),
    Rule("words.expert_choice_within", "topk -sampling|mask", "moe_routing", "gate_topk", within="moe|router|routing|expert"),
    Rule("words.moe_gate", f"{ROUTED} topk|gate|gating|softmax|router|sigmoid|select|group|grouped|hash|score|hashing -{GEMM}|{NORM}|up|silu|gelu|fwd", "moe_routing", "gate_topk"),
    Rule("words.gate", f"gate topk|softmax|select|group|grouped|hash|score|scores -{GEMM}|{NORM}|{ATTENTION}|up|silu|gelu|fwd|mul", "moe_routing", "gate_topk"),
    Rule("words.grouped_topk", "topk grouped|group|biased|gating", "moe_routing", "gate_topk"),
    Rule("words.topk_gating", "gating|topkgating", "moe_routing", "gate_topk"),
    Rule("words.routes", f"routes|dispatch|{ROUTED} prefix|indices|map|maps|pack|init|layout|offsets|data|prepare|prologue|get|compute|cluster|block|metadata|clear|build|set|main|memset|coop|append|remap|preprocess|info|assign|order|stats|plan|shared"
         f" -{GEMM}|mlp|ffn", "moe_routing", "metadata"),
    Rule("words.router", f"router|routing -{GEMM}", "moe_routing", "gate_topk"),
    Rule("words.reorder_tokens", "reorder pre|post|tokens|token|rows", "moe_routing", "permute"),
    Rule("words.permute_tokens", "permute|unpermute|shuffle|expand tokens|token|rows input|token|tokens|rows -embedding", "moe_routing", "permute"),
    Rule("words.segments", "seg|src2 indptr|dst", "moe_routing", "metadata"),
    Rule("words.weighted_sum", "shuffle|weighted sum mul|topk|expert", "moe_routing", "combine"),
    Rule("words.finalize", "finalize -attn|attention|softmax|norm", "moe_routing", "combine", weak=True),
)

WEIGHTS: tuple[Rule, ...] = (
    Rule("words.repack", f"repack|prepack|interleave|shuffle|preprocess|swizzle|relayout|rearrange|reorder weights|weight|b|scaling|sf|factor|factors|{GEMM}|marlin|{QUANTISED}|bit|scale|scales|{QUANTISE} -{NORM}|{ATTENTION}", "copy", "weight_repack"),
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
    Rule("words.splitk", f"splitk|streamk|wvsplitk -{ATTENTION}|flash|conv|reduce|scan", "gemm", "dense"),
    Rule("words.marlin", "marlin|machete", "gemm", "quantised"),
    Rule("words.weight_only", "weight only -quantize|preprocess|norm", "gemm", "quantised"),
    Rule("words.weight_activation_bits_moe", f"w4|w8|w2 a16|a8|a4 moe|expert -{QUANTISE}", "gemm", "grouped_quantised"),
    Rule("words.weight_activation_bits", f"w4|w8|w2 a16|a8|a4 -{QUANTISE}|convert|scale", "gemm", "quantised"),
    Rule("words.moe_quantised", f"moe|experts {QUANTISED}|q gptq|awq|vec|q|k|s|xs|xxs|kernel|fused -act|activation|silu|init", "gemm", "grouped_quantised"),
    Rule("words.moe_kernel", "moe|experts|expert kernel|fused|mlp|ffn|forward|persistent|gateup|up|gate -act|activation|init", "gemm", "grouped"),
    Rule("words.linear", f"linear -{ATTENTION}|interpolate|upsample|index|cross|loss|scale|clamp|warp", "gemm", "dense", weak=True),
    Rule("words.layers_of_experts", "fc1|fc2|fc12", "gemm", "grouped", weak=True),
    Rule("words.fully_connected", "fully|fc|dense connected|layer|forward|backward", "gemm", "dense", weak=True),
    Rule("words.tiled_product", "warptiling|blocktiling|threadtiling", "gemm", "dense", weak=True),
)

NORMS: tuple[Rule, ...] = (
    Rule("words.embedding_norm", f"embed|embedding|embeddings {NORM}", "embedding", "generic", also=("norm",)),
    Rule("words.norm_quantised", f"{NORM} {QUANTISE}|fp8|fp4|nvfp4", "norm", "rmsnorm_quant", also=("quantise",)),
    Rule("words.l2norm", "l2norm", "norm", "l2norm"),
    Rule("words.global_norm", "norm global|grad|gradient|clip|two|squared|sumsq|aggregate", "reduction", "norm2"),
    Rule("words.qk_norm", "qknorm|qkv|qk|q norm|rmsnorm|qknorm|layernorm", "norm", "qk_norm"),
    Rule("words.add_norm", "add|addrms|residual|addnorm|skip rmsnorm|layernorm|norm|addnorm", "norm", "fused_add_norm"),
    Rule("words.rmsnorm", "rmsnorm", "norm", "rmsnorm"),
    Rule("words.layernorm", "layernorm", "norm", "layernorm"),
    Rule("words.groupnorm", "groupnorm|instancenorm|gn -gemm", "norm", "groupnorm"),
    Rule("words.batchnorm", "batchnorm|bn", "norm", "batchnorm"),
    Rule("words.norm", NORM, "norm", "generic"),
    Rule("words.layernorm_cut", "ln fwd|bwd|forward|backward|tuned|fused|residual|affine|modulate", "norm", "layernorm"),
    Rule("words.fused_residual", "residual fused forward|backward", "norm", "fused_add_norm"),
)

ATTENTION_RULES: tuple[Rule, ...] = (
    Rule("words.attention_softmax", f"softmax {ATTENTION} -flash|merge", "softmax_sampling", "softmax"),
    Rule("words.attention_copy", f"concat|cat|split|pad|unpad|permute|transpose|slice mla|{ATTENTION}|qkv|heads", "copy", "layout_cast"),
    Rule("words.attention_mask", f"mask {ATTENTION} build|create|make|prepare|to", "other", "attention_metadata"),
    Rule("words.combine_lse", "lse merge|combine|correct|reduce|correction", "attention", "splitkv_combine"),
    Rule("words.slash", "slash vertical", "attention", "sparse"),
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
    Rule("words.embedding", "embedding|embeddings|embed|wte|wpe|vocab", "embedding", "generic"),
    Rule("words.encoder", "encoder forward|backward kernel", "embedding", "generic"),
    Rule("words.act_and_mul", "act|silu|gelu|gelutanh|relu mul|gate", "activation", "gated", reads=(r"(?P<what>gelu_tanh|gelu_quick|gelu|silu|relu)",)),
    Rule("words.gated_activation", "swiglu|geglu|glu|silu2|reglu|swigluoai|gated -delta", "activation", "gated", shape=r"(?i)\w*(?:glu|silu|gated_?act|gated_op)"),
    Rule("words.activation", ACTIVATION, "activation", "generic"),
    Rule("words.penalties", "penalty|penalties|bin|bitmask|counts output|token|repetition|kernel|apply|inplace", "softmax_sampling", "penalties"),
    Rule("words.verify", "verify|accept|accepted|greedy tree|draft|drafts|greedy|spec|speculative|sample|tokens|target|ids", "softmax_sampling", "sampling"),
    Rule("words.logit", "logit bias|mask|processor|temperature|penalty|cap", "softmax_sampling", "penalties"),
    Rule("words.log_sum_exp", "lse|logsumexp -merge|combine", "softmax_sampling", "softmax"),
    Rule("words.sampling", "sampling|sample|multinomial|topp|minp|temperature|renorm|gumbel|logits|rejection|rejected|nucleus|speculative|logprob|logprobs -scale|upsample|mqa|gather", "softmax_sampling", "sampling"),
    Rule("words.softmax", "softmax|logsoftmax", "softmax_sampling", "softmax"),
    Rule("words.dequantise", f"{DEQUANTISE} -scale|tree|indices", "quantise", "dequantise"),
    Rule("words.quantise", f"{QUANTISE}|dequant", "quantise", "quantise"),
    Rule("words.scaled_cast", "cast block|blockwise|scaled|rowwise|columnwise|fp8|mxfp8|nvfp4|mxfp4", "quantise", "quantise"),
    Rule("words.from_narrow", "e2m1|e4m3|e5m2|fp8|fp4|mxfp4|nvfp4|ufp8sf|nf4 to float|half|bf16|bfloat16|fp16|f16|f32|fp32", "quantise", "dequantise"),
    Rule("words.to_narrow", "fp4|mxfp4|nvfp4|mxfp|mxfp8 to|cvt|downcast|pack|upcast", "quantise", "quantise"),
    Rule("words.sort", "sort|sorts|topk|median|radix|argsort|kthvalue|bitonic|mergesort|kth|selector", "sort_topk", "generic"),
    Rule("words.select_k", "select k", "sort_topk", "generic"),
    Rule("words.pooling", "pool|pooling|maxpool|avgpool -token|req|memory", "other", "pooling"),
    Rule("words.resize", "upsample|interpolate|resize|bilinear|bicubic", "other", "pooling_resize"),
    Rule("words.compaction", "compact|unique|nonzero|partition|runlength -stage|k", "other", "stream_compaction"),
)

ORDINARY: tuple[Rule, ...] = (
    # Where the identifier begins with the verb, that is what it does, whatever library it stands in.
    Rule("words.transposes", "transpose|transpose4|transform4|transform3|permute", "copy", "layout_cast", shape=r"_*(?:[kK](?=[A-Z]))?(?:[tT]ranspose|transform\dd?_|[pP]ermute)"),
    Rule("words.copies", "copy|memcpy|cat|concat|fill|memset|slice|pad|unpad", "copy", "layout_cast", shape=r"_*(?:[cC]opy|[cC]oncat|[fF]ill|[sS]lice|(?:[uU]n)?[pP]ad)(?:_|[A-Z]|$)"),
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
    Rule("words.copy", "copy|cpy|slice|pad|shuffle|repeat|flip|roll|expand|split|unpack|pack", "copy", "layout_cast", weak=True),
    Rule("words.quantised", "quantized|quantised kernel", "quantise", "quantise", weak=True),
    Rule("words.argmax", "argmax|argmin", "reduction", "argmax", weak=True),
    Rule("words.dot", "dot", "reduction", "toy_dot", weak=True),
    Rule("words.reduction", "reduce|reduction|sum|mean|max|min|scan|cumsum|prefix|amax|aggregate|accumulate|histogram|bincount|logcumsumexp|variance|std|prod", "reduction", "generic", weak=True),
    Rule("words.elementwise", "elementwise|eltwise|pointwise|add|subtract|divide|multiply|minimum|maximum|addition|mul|div|sub|saxpy|axpy|scale|scal|shift|modulate|addcmul|addcdiv|clamp|clip|hadamard|pow|exp|log|sqrt|rsqrt|neg|abs|tanh|sigmoid|square|where|mask"
         "|masked|triu|tril|bias|unary|binary|math|fma|lerp|compare|eq|ge|lt|floor|ceil|round|ternary|softcap|softcapping|residual", "elementwise", "generic", weak=True),
)

RULES: tuple[Rule, ...] = (
    *BOOKKEEPING, *CONVOLUTION_AND_STATE, *KEYS_AND_VALUES, *EXPERTS, *WEIGHTS, *MATRIX_PRODUCTS,
    *NORMS, *ATTENTION_RULES, *VECTOR_WORK, *ORDINARY,
)
