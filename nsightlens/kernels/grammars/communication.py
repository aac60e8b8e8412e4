"""Collectives and point-to-point kernels: NCCL, NVSHMEM, custom all-reduce, DeepEP.

They come first among the hand-written kernels, because a fused all-reduce names the norm that runs
inside it.
"""

# fmt: off
from __future__ import annotations

from nsightlens.kernels.rule import Rule

_FUSED = "fusion|fused|norm|rmsnorm|layernorm|rms|quant|residual|add|lamportnorm|prenorm|gemm"
_REDUCE = "allreduce|oneshot|twoshot|lamport"

RULES: tuple[Rule, ...] = (
    # NCCL: ncclDevKernel_AllReduce_Sum_f16_RING_LL, ncclKernel_AllReduce_RING_LL_Sum_float
    Rule("nccl.allreduce", "nccl allreduce", "communication", "allreduce", library="nccl"),
    Rule("nccl.allgather", "nccl allgather", "communication", "allgather", library="nccl"),
    Rule("nccl.reducescatter", "nccl reducescatter", "communication", "reduce_scatter", library="nccl"),
    Rule("nccl.broadcast", "nccl broadcast|bcast", "communication", "broadcast", library="nccl"),
    Rule("nccl.sendrecv", "nccl sendrecv|send|recv", "communication", "sendrecv", library="nccl"),
    Rule("nccl.alltoall", "nccl alltoall|all2all|a2a", "communication", "all_to_all", library="nccl"),
    Rule("nccl.reduce", "nccl reduce", "communication", "reduce", library="nccl"),
    Rule("nccl.other", "nccl|rccl", "communication", "generic", library="nccl"),
    # DeepEP and other expert-parallel exchanges.
    Rule("deepep.layout", "dispatch layout", "moe_routing", "metadata", also=("communication",)),
    Rule("deepep.notify", "notify|cached dispatch|combine", "communication", "moe_a2a_meta", also=("moe_routing",)),
    Rule("deepep.notify_within", "notify", "communication", "moe_a2a_meta", within="deep|ep|internode|intranode|hybrid", also=("moe_routing",)),
    Rule("deepep.exchange", "dispatch|combine", "communication", "moe_a2a", within="deep|ep|deepep|internode|intranode|ll|hybrid|pplx", also=("moe_routing",)),
    Rule("deepep.bare", "dispatch|combine", "communication", "moe_a2a", shape=r"(?:cached_notify_|notify_)?(?:dispatch|combine)$", weak=True, library="deepep", also=("moe_routing",), note="a bare name: most often DeepEP's exchange of tokens between experts"),
    Rule("deepep.setup", "barrier|clean|memset|init", "communication", "moe_a2a_meta", within="intranode|internode|ll", also=("moe_routing",)),
    Rule("exchange.alltoall", "alltoall|all2all|a2a|alltoallv -quantize", "communication", "all_to_all"),
    # Fused and plain all-reduce.
    Rule("allreduce.gemm", "gemm|matmul|mm allreduce|reducescatter|allgather", "gemm", "dense_fused", also=("communication",)),
    Rule("allreduce.finalise", "allreduce moe|moefinalize|moereduction|finalize", "communication", "allreduce_fused", also=("norm", "moe_routing")),
    Rule("allreduce.reducescatter", "allreduce reducescatter", "communication", "allreduce_fused"),
    Rule("allreduce.fused", f"{_REDUCE} {_FUSED}", "communication", "allreduce_fused", also=("norm",)),
    Rule("allreduce.userbuffers_norm", "userbuffers norm|rmsnorm", "communication", "allreduce_fused", also=("norm",)),
    Rule("allreduce.reducescatter_norm", "reducescatter|allgather norm|rmsnorm", "communication", "allreduce_fused", also=("norm",)),
    Rule("allreduce.plain", _REDUCE, "communication", "allreduce"),
    Rule("allreduce.cross_device", "cross device reduce", "communication", "allreduce"),
    Rule("allreduce.multimem_gather", "multimem gather|allgather", "communication", "allgather"),
    Rule("allreduce.multimem", "multimem", "communication", "allreduce"),
    Rule("collective.allgather", "allgather", "communication", "allgather"),
    Rule("collective.reducescatter", "reducescatter", "communication", "reduce_scatter"),
    Rule("collective.userbuffers", "userbuffers|kuserbuffers", "communication", "generic"),
    Rule("collective.nvshmem", "nvshmem|nvshmemx|nvshmemi|ibgda|nvls", "communication", "generic"),
    Rule("collective.sendrecv", "sendrecv", "communication", "sendrecv"),
    Rule("collective.send", "send|recv pp|tp|activation|activations|hidden|p2p|peer|kernel|nvlink|signal", "communication", "sendrecv"),
    Rule("collective.signal", "signal|signals put|get|wait|send|notify|set", "communication", "sendrecv"),
    Rule("collective.barrier", "barrier kernel|all|block|device|signal|system|multi", "communication", "barrier"),
    Rule("collective.exchange", "exchange ring|halo|peer|peers|rank|ranks|neighbour|neighbor|nvlink|pcie", "communication", "sendrecv"),
    Rule("collective.broadcast", "broadcast|bcast comm|rank|ranks|peer|multicast|p2p|oneshot|twoshot", "communication", "broadcast"),
)
