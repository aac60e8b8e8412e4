"""PyTorch's own kernels (ATen), CUB and Thrust.

``elementwise_kernel``, ``reduce_kernel`` and CUB's agents are vehicles: the functor among their
template arguments says what is computed.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

FUNCTORS: tuple[Rule, ...] = (
    Rule("aten.check", "check|assert size|async|finite|bounds|inf|nan -mul|where", "other", "generic"),
    Rule("aten.masked", "masked fill|scatter|select", "elementwise", "generic"),
    Rule("aten.fill", "fill functor|cuda", "copy", "fill"),
    Rule("aten.index_copy", "index copy|put|add|fill kernel|impl", "copy", "scatter"),
    Rule("aten.copy", "copy kernel|device direct|cuda|to|float16|bfloat16|float8|conj|neg", "copy", "cast_copy"),
    Rule("aten.sigmoid_tanh", "sigmoid|tanh kernel|backward -log", "elementwise", "sigmoid_tanh", shape=r"(?:sigmoid|tanh)_(?:backward_)?kernel", also=("activation",)),
    Rule("aten.sincos", "sin|cos kernel cuda", "elementwise", "sincos", shape=r"(?:sin|cos)_kernel", also=("rope",)),
    Rule("aten.activation", "silu|gelu|gelucuda|elu|relu|softplus|mish|hardswish|hardsigmoid|threshold|glu|prelu|leaky|hardtanh|softshrink|hardshrink|logsigmoid|log kernel|backward|cuda|sigmoid",
         "activation", "aten", shape=r"(?i)(?:silu|gelu|elu|relu|softplus|mish|hardswish|hardsigmoid|threshold|glu|prelu|leaky_relu|hardtanh|softshrink|hardshrink|log_?sigmoid|clamp_min_relu)"),
    Rule("aten.to_fp8", "hfp8|fp8|msfp|fp8rowwise float|to", "quantise", "quantise", shape=r"_?float\w*_to_"),
    Rule("aten.from_fp8", "hfp8|fp8|msfp to", "quantise", "dequantise", shape=r"_?\w*_to_float"),
    Rule("aten.argmax", "arg|argmax|argmin max|min|ops|argmax|argmin", "reduction", "argmax", shape=r"Arg(?:Max|Min)Ops|argm", also=("softmax_sampling",)),
    Rule("aten.norm_ops", "norm|l2norm ops|functor", "reduction", "norm2", shape=r"(?:\w*Norm(?:[A-Z][a-z]*)?Ops|(?:L2|Lp|LInf|Max)Norm\w*Functor)"),
    Rule("aten.group_norm_affine", "groupnorm kernel", "norm", "groupnorm_affine", shape=r"GroupNorm\w*Impl", also=("elementwise",)),
    Rule("apex.welford", "welford -reduce|ops", "norm", "layernorm"),
    Rule("aten.batch_norm", "batchnorm|batch norm elementwise|collect|stat|transform|backward|reduce|update", "norm", "batchnorm"),
    Rule("aten.layer_norm_parts", "gamma beta", "norm", "layernorm"),
    Rule("aten.layer_norm_moments", "rowwise moments", "norm", "layernorm"),
    Rule("aten.layer_norm_gradients", "layernorm|internal|gradient grad|gradients|input", "norm", "layernorm", shape=r"(?:Compute(?:Internal|Gradient)|layer_norm_grad)"),
    Rule("apex.layer_norm_gradients", "grad input|gamma|beta|gammabeta", "norm", "layernorm", shape=r"cuCompute"),
    Rule("aten.group_norm_parameters", "fused params compute", "norm", "groupnorm_helper"),
    Rule("aten.adam", "adam|adamw|lamb|sgd", "other", "optimizer"),
)

VEHICLES: tuple[Rule, ...] = (
    Rule("aten.scatter_gather", "scatter gather", "copy", "scatter_gather", shape=r"_?scatter_gather"),
    Rule("aten.index_elementwise", "index elementwise", "copy", "gather", shape=r"index_elementwise", unwraps=True, also=("embedding",)),
    Rule("aten.distribution", "distribution elementwise|nullary", "elementwise", "random", also=("softmax_sampling",)),
    Rule("aten.elementwise", "elementwise kernel|vectorized|unrolled|unary|binary|ternary|simple", "elementwise", "generic", unwraps=True),
    Rule("aten.multi_tensor", "multi tensor apply", "elementwise", "generic", unwraps=True),
    Rule("aten.reduce", "reduce kernel", "reduction", "generic", shape=r"reduce_kernel$", unwraps=True),
    Rule("thrust.agent", "agent kernel", "other", "unknown", unwraps=True),
)

KERNELS: tuple[Rule, ...] = (
    Rule("aten.cat", "cat array batched|copy", "copy", "cat"),
    Rule("aten.index_select", "index select", "embedding", "index_select", shape=r"indexSelect", also=("copy",)),
    Rule("aten.gather", "vectorized gather", "embedding", "index_select", also=("copy",)),
    Rule("aten.index_func", "index func", "copy", "scatter"),
    Rule("aten.topk", "mbtopk|sbtopk|median", "sort_topk", "generic"),
    Rule("aten.sort_indices", "reverse indices", "sort_topk", "generic"),
    Rule("aten.sort", "bitonic|segmented sort|keys|kvinplace", "sort_topk", "generic"),
    Rule("aten.softmax", "softmax warp|forward|backward|cunn|persistent|spatial -entropy|xentropy|loss", "softmax_sampling", "softmax"),
    Rule("aten.spin", "spin", "other", "generic", shape=r"spin_kernel"),
    Rule("aten.scan", "tensor scan|innermost|outer", "reduction", "generic", shape=r"tensor_kernel_scan"),
    Rule("aten.sampling", "multinomial", "softmax_sampling", "sampling"),
    Rule("aten.pooling", "pool max|avg|average|adaptive", "other", "pooling"),
    Rule("aten.upsample", "upsample|interpolate", "other", "pooling_resize"),
    Rule("aten.triangle", "triu tril", "elementwise", "generic"),
)

CUB: tuple[Rule, ...] = (
    Rule("cub.sort", "radix|merge|segmented sort|radixsort", "sort_topk", "generic", library="cub"),
    Rule("cub.compact", "device select|compact|partition|unique|runlength|run|three", "other", "stream_compaction", shape=r"Device(?:Select|Compact|Partition|Unique|RunLength|ThreeWay)", library="cub"),
    Rule("cub.scan", "device scan", "reduction", "generic", library="cub", shape=r"Device\w*Scan"),
    Rule("cub.reduce", "device reduce", "reduction", "generic", library="cub", shape=r"Device\w*Reduce"),
    Rule("cub.histogram", "device histogram", "reduction", "generic", library="cub", shape=r"DeviceHistogram"),
    Rule("thrust.reduce", "reduce agent", "reduction", "generic", library="cub"),
    Rule("thrust.scan", "scan agent", "reduction", "generic", library="cub"),
    Rule("thrust.sort", "sort|radix agent", "sort_topk", "generic", library="cub"),
    Rule("thrust.fill", "uninitialized fill", "copy", "fill", library="cub"),
)

RULES: tuple[Rule, ...] = VEHICLES + FUNCTORS + KERNELS + CUB
