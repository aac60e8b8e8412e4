"""Kernels that a compiler wrote and named: Inductor, XLA, nvFuser, NNC, TVM, Myelin.

Inductor's list of operators says where a kernel came from, not what it does: a pointwise kernel
fused behind a matrix product carries ``addmm`` in its name. Only ``tem`` (template) kernels do the
product that they name.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_NORM_PARTS = "mean|var|pow|square|layer|rms|norm|layernorm|rmsnorm|batchnorm|groupnorm|l2norm"
_ARITHMETIC = (
    "add|sub|mul|div|clamp|bitwise|ge|gt|lt|le|eq|ne|exp|log|neg|where|sigmoid|tanh|rsub|pow|sqrt|rsqrt|reciprocal"
    "|minimum|maximum|logical|abs|cos|sin|masked|floor|remainder|square"
)
_REDUCTIONS = "sum|mean|amax|amin|max|min|argmax|argmin|var|any|all|prod|cumsum|norm"
_INDUCTOR = "triton fused"

INDUCTOR: tuple[Rule, ...] = (
    Rule("inductor.flex_attention_backward", f"flex attention backward|bwd {_INDUCTOR}", "attention", "bwd", phase="train_bwd"),
    Rule("inductor.flex_attention", f"flex attention|decoding {_INDUCTOR}", "attention", "flash"),
    Rule("inductor.template_convolution", f"tem convolution {_INDUCTOR}", "ssm_conv", "conv2d"),
    Rule("inductor.template_gemm", f"tem mm|bmm|addmm|baddbmm|matmul|scaled|int {_INDUCTOR}", "gemm", "dense"),
    Rule("inductor.template", f"tem {_INDUCTOR}", "other", "inductor_unnamed", note="a template kernel whose operators the name does not list"),
    Rule("inductor.embedding", f"embedding {_INDUCTOR} -backward|layernorm|rmsnorm|rsqrt", "embedding", "generic"),
    Rule("inductor.softmax", f"softmax|logsoftmax {_INDUCTOR}", "softmax_sampling", "softmax", note="softmax of attention, router or sampling"),
    Rule("inductor.loss", f"loss|nll|crossentropy {_INDUCTOR}", "other", "loss"),
    Rule("inductor.add_norm", f"rmsnorm|layernorm add fused {_INDUCTOR} -mul|mean|view", "norm", "fused_add_norm"),
    Rule("inductor.layernorm", f"layernorm {_INDUCTOR}", "norm", "layernorm"),
    Rule("inductor.rmsnorm", f"rmsnorm {_INDUCTOR}", "norm", "rmsnorm"),
    Rule("inductor.groupnorm", f"groupnorm|batchnorm {_INDUCTOR}", "norm", "generic"),
    Rule("inductor.norm", f"rsqrt {_NORM_PARTS} {_INDUCTOR}", "norm", "inductor"),
    Rule("inductor.activation", f"silu|gelu|relu|swiglu|glu|mish|hardswish|elu|softplus {_INDUCTOR}", "activation", "inductor"),
    Rule("inductor.topk", f"sort|topk {_INDUCTOR}", "sort_topk", "generic"),
    Rule("inductor.quantise", f"quant|quantize|float8 {_INDUCTOR}", "quantise", "quantise"),
    Rule("inductor.reduction", f"red|per {_REDUCTIONS} {_INDUCTOR}", "reduction", "generic"),
    Rule("inductor.sigmoid", f"sigmoid|tanh {_INDUCTOR}", "elementwise", "inductor", also=("activation",)),
    Rule("inductor.pointwise", f"{_ARITHMETIC} {_INDUCTOR}", "elementwise", "inductor"),
    Rule("inductor.copy", f"copy|clone|cat|zeros|ones|full|fill|slice|transpose|permute|view|arange|index|expand|stack|constant|constantpad|select|repeat|split|gather|scatter {_INDUCTOR}",
         "copy", "inductor", also=("elementwise",)),
    Rule("inductor.unnamed_pointwise", f"poi|for {_INDUCTOR}", "elementwise", "inductor_generic", note="the name lists no operators"),
    Rule("inductor.unnamed_reduction", f"red|per {_INDUCTOR}", "reduction", "inductor_generic", also=("norm",), note="the name lists no operators"),
    Rule("inductor.unnamed", "triton", "other", "inductor_unnamed", shape=r"triton_*(?:\d.*)?$", note="compiled without unique kernel names: ask for the source or the unique name"),
)

OTHERS: tuple[Rule, ...] = (
    Rule("nvfuser.reduction", "nvfuser reduction|persistent|norm", "reduction", "nvfuser", library="nvfuser", also=("norm",), note="nvFuser names the schedule, not the operators"),
    Rule("nvfuser.transpose", "nvfuser transpose|resize", "copy", "nvfuser", library="nvfuser"),
    Rule("nvfuser.matmul", "nvfuser matmul", "gemm", "dense", library="nvfuser"),
    Rule("nvfuser.pointwise", "nvfuser", "elementwise", "nvfuser", library="nvfuser", note="nvFuser names the schedule, not the operators"),
    Rule("nnc.fused", "fused", "elementwise", "torchscript_nnc", shape=r"fused_\w+_\d{12,}$", library="torchscript"),
    Rule("xla.gemm", "fusion gemm|dot|cublas|matmul", "gemm", "dense", library="xla"),
    Rule("xla.softmax", "fusion softmax", "softmax_sampling", "softmax", library="xla"),
    Rule("xla.convolution", "fusion conv|convolution", "ssm_conv", "conv2d", library="xla"),
    Rule("xla.reduction", "fusion reduce|reduction|argmax", "reduction", "fusion", library="xla"),
    Rule("xla.copy", "fusion transpose|copy|concatenate|pad|gather|scatter|slice|broadcast|convert|bitcast|iota -multiply|add|subtract|divide|select|compare|exponential", "copy", "fusion", library="xla"),
    Rule("xla.elementwise", "fusion loop|input|wrapped|multiply|add|select|compare|exponential|divide|subtract|tanh|rsqrt", "elementwise", "fusion", library="xla"),
    Rule("xla.unnamed", "fusion", "other", "unknown", shape=r"fusion(?:_\d+)?$", library="xla", note="XLA's fusion without operators in its name"),
    Rule("xla.wrapped_copy", "wrapped transpose|copy|concatenate|pad|gather|scatter|slice|broadcast|convert|iota", "copy", "fusion", library="xla"),
    Rule("xla.wrapped_reduce", "wrapped reduce|scan", "reduction", "fusion", library="xla"),
    Rule("xla.wrapped", "wrapped", "elementwise", "fusion", shape=r"wrapped_", library="xla"),
    Rule("myelin.gemm", "myl fc|gemm|matmul|mm|dot", "gemm", "dense", library="tensorrt"),
    Rule("myelin.attention", "myl mha|fmha", "attention", "flash", library="tensorrt"),
    Rule("myelin.softmax", "myl softmax|soft", "softmax_sampling", "softmax", library="tensorrt"),
    Rule("myelin.norm", "myl sqrt|rsqrt mean|mea|sum", "norm", "generic", library="tensorrt"),
    Rule("myelin.reduction", "myl sum|mean|mea|max|red|argmax -mul|add|exp|sub", "reduction", "fusion", library="tensorrt"),
    Rule("myelin.activation", "myl silu|gelu|relu|swish|sigmoid", "activation", "generic", library="tensorrt"),
    Rule("myelin.copy", "myl move|mov|cast|tran|transpose|res|slice|con|copy|cpy|gath|gather|scat -mul|add|sub|div|exp|neg", "copy", "layout_cast", library="tensorrt"),
    Rule("myelin.elementwise", "myl", "elementwise", "fusion", library="tensorrt"),
)

RULES: tuple[Rule, ...] = INDUCTOR + OTHERS
