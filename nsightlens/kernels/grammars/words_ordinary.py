"""Ordinary words: work on vectors, and words so common that nothing else may know the name.

Rules marked weak use words so common that they only count when no other rule knows the name.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.grammars.vocabulary import (
    ACTIVATION,
    DEQUANTISE,
    QUANTISE,
)
from nsightlens.kernels.rule import Rule

VECTOR_WORK: tuple[Rule, ...] = (
    Rule("words.embedding_quantised", "take dequantize|dequant", "embedding", "quantised_embedding", also=("quantise",)),
    Rule("words.embedding", "embedding|embeddings|embed|wte|wpe|vocab", "embedding", "generic"),
    Rule("words.encoder", "encoder forward|backward kernel", "embedding", "generic"),
    Rule("words.act_and_mul", "act|silu|gelu|gelutanh|relu mul|gate", "activation", "gated", reads=(r"(?P<what>gelu_tanh|gelu_quick|gelu|silu|relu)",)),
    Rule("words.gated_activation", "swiglu|geglu|glu|silu2|reglu|swigluoai|gated -delta", "activation", "gated", shape=r"(?i)\w*(?:glu|silu|gated_?act|gated_op)"),
    Rule("words.activation", ACTIVATION, "activation", "generic"),
    Rule("words.penalties", "penalty|penalties|bin|bitmask|counts output|token|repetition|kernel|apply|inplace", "softmax_sampling", "penalties"),
    Rule("words.ban", "ban|banned|bad word|words|ngram|ngrams|token|tokens|repeat", "softmax_sampling", "penalties"),
    Rule("words.verify", "verify|accept|accepted|greedy tree|draft|drafts|greedy|spec|speculative|sample|tokens|target|ids", "softmax_sampling", "sampling"),
    Rule("words.logit", "logit bias|mask|processor|temperature|penalty|cap", "softmax_sampling", "penalties"),
    Rule("words.log_sum_exp", "lse|logsumexp -merge|combine", "softmax_sampling", "softmax"),
    Rule("words.sampling", "sampling|sample|multinomial|topp|minp|temperature|renorm|gumbel|logits|rejection|rejected|nucleus|speculative|logprob|logprobs -scale|upsample|mqa|gather", "softmax_sampling", "sampling"),
    Rule("words.softmax", "softmax|logsoftmax", "softmax_sampling", "softmax"),
    Rule("words.dequantise", f"{DEQUANTISE} -scale|tree|indices", "quantise", "dequantise"),
    Rule("words.quantise", f"{QUANTISE}|dequant", "quantise", "quantise"),
    Rule("words.scaled_cast", "cast block|blockwise|scaled|rowwise|columnwise|fp8|mxfp8|nvfp4|mxfp4", "quantise", "quantise"),
    Rule("words.from_narrow", "int4|e2m1|e4m3|e5m2|fp8|fp4|mxfp4|nvfp4|ufp8sf|nf4 to float|half|bf16|bfloat16|fp16|f16|f32|fp32", "quantise", "dequantise"),
    Rule("words.to_narrow", "fp4|mxfp4|nvfp4|mxfp|mxfp8 to|cvt|downcast|pack|upcast", "quantise", "quantise"),
    Rule("words.sort", "sort|sorts|topk|median|radix|argsort|kthvalue|bitonic|mergesort|kth|selector", "sort_topk", "generic"),
    Rule("words.nth", "nth element", "sort_topk", "generic"),
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
    Rule("words.random", "distribution|random|rand|philox|dropout|bernoulli|uniform|gaussian|noise|rng", "elementwise", "random", also=("softmax_sampling",), weak=True),
    Rule("words.lookup", "lookup", "embedding", "generic", weak=True),
    Rule("words.memcpy", "memcpy", "copy", "memcpy", weak=True),
    Rule("words.memset", "memset", "copy", "memset", weak=True),
    Rule("words.transpose", "transpose|permute|permutation|nchw|nhwc|reformat|layout|unpermute|transposed", "copy", "layout_cast", weak=True),
    Rule("words.row_by_column", "read row|col|column set|write", "copy", "transpose", weak=True),
    Rule("words.concat", "cat|concat|stack", "copy", "cat", weak=True),
    Rule("words.fill", "fill|zeros|ones|memzero|clear|zero|reset", "copy", "fill", weak=True),
    Rule("words.gather", "gather|take|select", "copy", "gather", weak=True),
    Rule("words.scatter", "scatter|put", "copy", "scatter", weak=True),
    Rule("words.to_master", "master|copy dweight|dbias|from", "copy", "cast_copy", weak=True),
    Rule("words.device_copy", "d2|h2|dcpy|cpy", "copy", "layout_cast", weak=True),
    Rule("words.cast", "cast|upcast|convert|float2|half2|fp82|bf162|to|f32|f16|bf16", "copy", "cast_copy", weak=True, shape=r"(?i)\w*(?:cast|convert|(?:float|half|fp?\d+|bf(?:loat)?_?\d+)_?(?:to_?|2)(?:float|half|fp?\d+|bf))"),
    Rule("words.copy", "copy|cpy|slice|pad|shuffle|patchify|unpatchify|interleave|deinterleave|repeat|flip|roll|expand|split|unpack|pack|remap", "copy", "layout_cast", weak=True),
    Rule("words.quantised", "quantized|quantised kernel", "quantise", "quantise", weak=True),
    Rule("words.sum_of_arrays", "sum arrays|matrix|matrices|vector|vectors", "elementwise", "toy", weak=True, shape=r"(?i)_*sum_?(?:arrays|matrix|matrices|vectors?)(?:_?(?:on|zero|2d)|$)"),
    Rule("words.argmax", "argmax|argmin", "reduction", "argmax", weak=True),
    Rule("words.dot", "dot", "reduction", "toy_dot", weak=True),
    Rule("words.reduction", "reduce|reduction|sum|sumsq|sqsum|mean|max|min|scan|cumsum|prefix|amax|aggregate|accumulate|histogram|bincount|logcumsumexp|variance|std|prod", "reduction", "generic", weak=True),
    Rule("words.mask_making", "mask|masks build|get|make|create|compute|invert|prepare|generate|bits", "other", "attention_metadata", weak=True),
    Rule("words.elementwise", "elementwise|eltwise|pointwise|add|subtract|divide|multiply|minimum|maximum|addition|mul|div|sub|saxpy|axpy|scale|scal|shift|modulate|addcmul|addcdiv|clamp|clip|hadamard|pow|exp|log|sqrt|rsqrt|neg|abs|tanh|sigmoid|square|acc|where|mask"
         "|masked|triu|tril|bias|unary|binary|math|fma|lerp|compare|eq|ge|lt|floor|ceil|round|ternary|softcap|softcapping|residual", "elementwise", "generic", weak=True),
)

RULES: tuple[Rule, ...] = VECTOR_WORK + ORDINARY
