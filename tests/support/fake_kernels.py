"""The kernel that a fake GPU runs for an operation: a real name, and work by its annotation.

Kernels and counters are those of `nsightlens.example`: an analytic model of an H100 SXM, in which
FLOP and bytes are what the annotation says, and executed operations are padded as tiles are.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from nsightlens.example import gated_layer, layer
from nsightlens.example.model import FP16_BYTES, Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from support.fake_records import Launch

_QUERY_TILE = 64
# Kinds of operations by what is in their name; the first that fits counts.
_KINDS = (
    ("norm", r"norm"),
    ("rope", r"rope|rotary"),
    ("kv_cache", r"cache"),
    ("softmax", r"softmax|sampl|argmax|topk"),
    ("add", r"residual|add|bias"),
    ("other", r"mul$|merge|split|concat|gather|quantise|embedding|scale|copy"),
    ("attention", r"attn$|attention$|sdpa|flash"),
    ("gemm", r"proj|fc\d|head|gemm|gemv|linear|expert|rout|up|down|gate|matmul|absorb|attention_"),
    ("activation", r"relu|silu|gelu|act"),
)


class _Operation(NamedTuple):
    name: str
    flop: float
    bytes: float
    batch: int
    """Rows of the operation: new tokens of the step, as far as its range says."""


def kernel_of(launch: Launch) -> Kernel:
    """Return the kernel of a launch, with its shape and its work."""
    if "op" in launch.facts:
        return _of_operation(_operation(launch))
    return _explicit(launch.facts)


def _operation(launch: Launch) -> _Operation:
    words = dict(re.findall(r"(\w+)=(\S+)", launch.facts["op"]))
    around = " ".join(text for stack in launch.own.values() for text in stack)
    sizes = dict(re.findall(r"(batch_size|query)=(\d+)", around))
    rows = int(sizes.get("batch_size", 1)) * int(sizes.get("query", 1))
    work = float(words.get("flop", 0)), max(float(words.get("bytes", 0)), 32.0)
    return _Operation(unquote(words["name"]), *work, max(rows, 1))


def _kind(name: str) -> str:
    found = (kind for kind, expression in _KINDS if re.search(expression, name, re.IGNORECASE))
    return next(found, "other")


def _of_operation(op: _Operation) -> Kernel:
    kind = _kind(op.name)
    if kind == "attention":
        return _attention(op)
    if kind == "gemm" and op.flop:
        return _gemm(op)
    # Half of the bytes come in and half go out, two to an element.
    width = max(1, round(op.bytes / 2 / FP16_BYTES / op.batch))
    make = {
        "norm": layer.layer_norm,
        "rope": gated_layer.rotary_embedding,
        "kv_cache": layer.kv_cache_write,
        "activation": layer.relu,
    }.get(kind, layer.residual_add)
    kernel = _with_operations(make(op.name, op.batch, width), op.flop)
    return _with_bytes(kernel, op, written=op.bytes / 2)


def _with_operations(kernel: Kernel, flop: float) -> Kernel:
    """Return a kernel of CUDA cores that executes so many operations."""
    counted = kernel.fadd + kernel.fmul + 2 * kernel.ffma
    if not counted:
        return replace(kernel, ffma=flop / 2)
    share = flop / counted
    return replace(
        kernel,
        fadd=kernel.fadd * share,
        fmul=kernel.fmul * share,
        ffma=kernel.ffma * share,
    )


def _gemm(op: _Operation) -> Kernel:
    """Return a GEMM of the shape that FLOP = 2 B K N and bytes = 2 (K N + B (K + N)) say."""
    product = op.flop / 2 / op.batch
    total = (op.bytes / FP16_BYTES - product) / op.batch
    half = math.sqrt(max(0.0, total * total / 4 - product))
    n = max(1.0, total / 2 + half) if total > 0 else math.sqrt(product)
    k = product / n
    # Tiles are 64 to 128 wide: a smaller layer fills one of them, with as much work.
    tiled_n = max(128, round(n))
    kernel = layer.gemm(op.name, op.batch, max(256, round(k)), tiled_n, has_bias=False)
    padded = _padded(op.batch)
    kernel = replace(kernel, tensor_op=op.flop * padded / op.batch, useful_flop=op.flop)
    return _with_bytes(kernel, op, written=min(op.bytes / 2, FP16_BYTES * op.batch * n))


def _padded(batch: int) -> int:
    tile = min(256, max(8, 1 << (batch - 1).bit_length()))
    return tile * math.ceil(batch / tile)


def _attention(op: _Operation) -> Kernel:
    """Return decode attention, which fills a tile of 64 rows with the query heads of a group."""
    group = max(1.0, op.flop / op.bytes)
    scores = op.flop / 4 / 64 * _QUERY_TILE / min(_QUERY_TILE, group)
    kernel = layer.attention(op.batch, 512, layer.OPT_1_3B)[0]
    kernel = replace(
        kernel,
        grid=(1, op.batch, 32),
        tensor_op=op.flop * _QUERY_TILE / min(_QUERY_TILE, group),
        fadd=scores,
        ffma=scores,
        special=scores,
        shared_bytes=4 * op.bytes,
        warp_instructions=max(1.0, scores / 32 * 9),
    )
    return _with_bytes(kernel, op, written=op.bytes / 1000)


def _with_bytes(kernel: Kernel, op: _Operation, *, written: float) -> Kernel:
    read = op.bytes - written
    return replace(
        kernel,
        operation=op.name,
        useful_flop=op.flop,
        read_bytes=read,
        written_bytes=written,
        l2_bytes=max(read, kernel.l2_bytes if kernel.family == "gemm" else read),
        l1_bytes=op.bytes,
        warp_instructions=max(1.0, kernel.warp_instructions),
    )


def _explicit(facts: Mapping[str, Any]) -> Kernel:
    flop, moved = float(facts["flop"]), float(facts["bytes"])
    x, y, z = facts["block"]
    return Kernel(
        operation="",
        family="gemm" if facts["tensor"] else "add",
        name=re.sub(r"^void |<.*|\(.*", "", facts["name"]).rpartition("::")[2],
        demangled_name=facts["name"],
        grid=tuple(facts["grid"]),
        block_threads=x * y * z,
        registers=32,
        useful_flop=flop,
        read_bytes=moved / 2,
        written_bytes=moved / 2,
        tensor_op=flop if facts["tensor"] else 0.0,
        ffma=0.0 if facts["tensor"] else flop / 2,
        l2_bytes=moved / 2,
        l1_bytes=moved,
        warp_instructions=max(1.0, (flop + moved) / 64),
        floor_s=2e-6,
        bytes_in_flight=4096.0,
    )
