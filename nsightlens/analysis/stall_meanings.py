"""What each warp state usually means, in general and for the kind of kernel at hand.

One table in our own words. ``GENERAL`` has an entry for every name of
`nsightlens.tables.STALL_REASONS`; ``BY_KIND`` has those that mean something more exact in one kind
of kernel. Kinds are coarser than families: what waits for the same thing for the same reason.
"""

from __future__ import annotations

__all__ = ["BY_KIND", "GENERAL", "KINDS", "is_merge", "kind_of", "stall_meaning"]

GENERAL = {
    "barrier": "waits at a barrier until the other warps of the block arrive: work is uneven "
    "between warps, or barriers are too frequent",
    "branch_resolving": "waits for the target of a branch: short loops and much control flow",
    "dispatch_stall": "the dispatcher held the instruction back, as a rule over register files or "
    "units that collide",
    "drain": "has finished and waits until its last stores have left for memory: many small "
    "blocks that end by writing",
    "gmma": "waits for a warp-group matrix instruction (wgmma) to take its operands or finish",
    "imc_miss": "waits for the immediate constant cache: kernel parameters, which are not in it "
    "when a launch begins, or many constants",
    "lg_throttle": "the queue for global and local memory instructions is full: many narrow or "
    "scattered accesses, or spilled registers; wider loads need fewer",
    "long_scoreboard": "waits for global or local memory (L1, L2 or DRAM): too few loads in "
    "flight for its latency",
    "math_pipe_throttle": "the arithmetic pipe it needs is taken: good if that pipe is the limiter",
    "membar": "waits at a memory fence until earlier stores are visible",
    "mio_throttle": "the queue for shared memory, special functions and shuffles is full: too many "
    "such instructions in a row",
    "misc": "waits for something that has no state of its own",
    "no_instruction": "waits for instructions: code larger than the instruction cache, jumps, or "
    "a kernel that has just begun",
    "not_selected": "was ready, and another warp was issued: there are warps enough",
    "selected": "issued an instruction: not a stall",
    "short_scoreboard": "waits for shared memory, a shuffle or a special function to answer: bank "
    "conflicts, or too little work between request and use",
    "sleeping": "sleeps because the code says so (nanosleep): it polls something",
    "tex_throttle": "the queue of the texture unit is full",
    "wait": "fixed latency of the instruction before: more independent instructions hide it",
}
"""For every warp state, what it usually means."""

KINDS = {
    "attention": "attention",
    "gemm": "gemm",
    "norm": "norm",
    "softmax_sampling": "reduction",
    "reduction": "reduction",
    "sort_topk": "reduction",
    "elementwise": "elementwise",
    "activation": "elementwise",
    "rope": "elementwise",
    "quantise": "elementwise",
    "copy": "elementwise",
    "kv_cache": "elementwise",
    "embedding": "elementwise",
    "communication": "communication",
}
"""Family of a kernel to the kind whose stalls are read alike."""

_QUEUE = "waits for operands on their way from DRAM or L2: loads are not issued early enough"

BY_KIND = {
    "decode": {
        "long_scoreboard": "waits for keys and values from DRAM or L2, each of which is used for "
        "one query: normal when DRAM is busy, else too few loads in flight (few splits, short "
        "context)",
        "barrier": "warps of a block wait for each other between tiles of keys, or to merge their "
        "partial softmax",
        "short_scoreboard": "waits for shared memory or for exp of the softmax",
        "math_pipe_throttle": "the pipe for the dot products is taken: unusual at one query, look "
        "for dot products on CUDA cores or for dequantisation",
        "membar": "waits at a fence before partial results of a split are merged",
    },
    "attention": {
        "long_scoreboard": "waits for tiles of keys and values from DRAM or L2: the next tile is "
        "not loaded early enough",
        "math_pipe_throttle": "the tensor pipe or the units of the softmax are taken: what a long "
        "prefill should look like",
        "barrier": "warps wait for each other between tiles of keys: producer and consumer are "
        "out of step",
        "short_scoreboard": "waits for shared memory or for exp of the softmax",
        "gmma": "waits for the matrix instructions of Q K^T or P V: softmax and matrix work do "
        "not overlap",
        "wait": "fixed latency between dependent instructions, here mostly rescaling and softmax",
    },
    "gemm": {
        "long_scoreboard": _QUEUE + " (pipeline too shallow, or K loop not overlapped)",
        "math_pipe_throttle": "the tensor or FMA pipe is taken: what a large GEMM should look like",
        "barrier": "warps wait until a tile has arrived in shared memory: the pipeline has too few "
        "stages, or the K loop is short",
        "short_scoreboard": "waits for operands from shared memory: fragments are not loaded ahead "
        "or the layout has bank conflicts",
        "mio_throttle": "reading operands from shared memory fills its queue: larger register "
        "tiles read less for each multiply-add",
        "lg_throttle": "operand loads are narrow or scattered: load 16 bytes a thread, or copy "
        "asynchronously",
        "gmma": "waits for wgmma to finish: what a GEMM on Hopper should look like while its "
        "tensor cores are busy, else operands reach them late",
        "not_selected": "warps enough were ready: more of them will not help",
        "wait": "fixed latency between dependent multiply-adds: more independent accumulators a "
        "thread hide it",
    },
    "gemv": {
        "long_scoreboard": "waits for the weights from DRAM, each of which is used for one row or "
        "a few: normal when DRAM is busy, else too few loads in flight",
        "barrier": "warps wait to add up their parts of a dot product",
        "short_scoreboard": "waits for shared memory or a shuffle that adds up a dot product",
        "lg_throttle": "weights are loaded in narrow pieces: load 16 bytes a thread",
    },
    "norm": {
        "long_scoreboard": "waits for the row to be loaded: one row a block leaves little to "
        "overlap with",
        "barrier": "warps wait for each other to add up a row: use fewer warps a row, or shuffles",
        "short_scoreboard": "waits for the shuffles or shared memory that add up a row",
    },
    "reduction": {
        "long_scoreboard": "waits for input to be loaded: more elements a thread before the first "
        "addition put more loads in flight",
        "barrier": "warps wait for each other at each step of the tree: add up within a warp first",
        "short_scoreboard": "waits for shuffles or shared memory between steps of the tree",
        "membar": "waits at a fence before the last block adds up partial results",
        "lg_throttle": "many narrow loads or atomics at once",
    },
    "elementwise": {
        "long_scoreboard": "waits for its input: normal for such a kernel; vector loads and "
        "several elements a thread put more in flight",
        "lg_throttle": "too many narrow loads and stores: 16 bytes a thread need a quarter as many",
        "short_scoreboard": "waits for a special function, a type conversion or shared memory to "
        "answer: more elements a thread overlap them",
        "drain": "threads end on their stores: more elements a thread make fewer such ends",
        "math_pipe_throttle": "arithmetic is not small here: transcendental functions or integer "
        "index arithmetic take the pipe",
        "wait": "fixed latency of index arithmetic and conversions",
    },
    "communication": {
        "long_scoreboard": "waits for data or flags of another GPU",
        "sleeping": "polls for another GPU: time lost to a rank that comes late",
        "membar": "makes its data visible to other GPUs before it raises a flag",
        "barrier": "the block waits for the warp that speaks with the other GPU",
    },
}
"""For some kinds of kernel, the states that mean something more exact there."""


def is_merge(subtype: str | None) -> bool:
    """Say whether a kernel only adds up what the splits of another one left.

    It counts as attention and reads no key: what helps attention does not help it.
    """
    return subtype == "splitkv_combine"


def kind_of(family: str | None, subtype: str | None, phase: str | None) -> str | None:
    """Return the kind of a kernel whose stalls are read alike, ``None`` for no special one.

    Examples
    --------
    >>> kind_of("attention", "flash", "decode"), kind_of("gemm", "quantised_gemv", None)
    ('decode', 'gemv')
    """
    if is_merge(subtype):
        return "reduction"
    if family == "attention" and (phase == "decode" or "split" in (subtype or "")):
        return "decode"
    if family == "gemm" and "gemv" in (subtype or ""):
        return "gemv"
    return KINDS.get(family or "")


def stall_meaning(reason: str, kind: str | None) -> str:
    """Return what a warp state usually means in a kind of kernel.

    Parameters
    ----------
    reason
        One of `nsightlens.tables.STALL_REASONS`.
    kind
        From `kind_of`.

    Examples
    --------
    >>> stall_meaning("selected", "gemm")
    'issued an instruction: not a stall'
    >>> stall_meaning("gmma", "gemm").split(":")[0]
    'waits for wgmma to finish'
    """
    return BY_KIND.get(kind or "", {}).get(reason) or GENERAL[reason]
