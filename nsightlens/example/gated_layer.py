"""The kernels of one decoder layer with grouped-query attention and a gated feed-forward network.

As vLLM runs Llama 3: RMS norms fused with the residual additions, rotary embedding, no biases, and
gate and up projections in one GEMM. GEMMs and attention are those of `nsightlens.example.layer`.
"""

from __future__ import annotations

import math

from nsightlens.example.layer import Layer, attention, gemm, kv_cache_write, streaming
from nsightlens.example.model import FP16_BYTES, H100_SXM, Gpu, Kernel

__all__ = ["LLAMA_3_8B", "gated_decode_layer", "rms_norm", "rotary_embedding", "silu_and_mul"]

LLAMA_3_8B = Layer(model_dim=4096, head_count=32, kv_head_count=8, feed_forward_dim=14336)


def gated_decode_layer(
    batch_size: int, context: int, layer: Layer = LLAMA_3_8B, gpu: Gpu = H100_SXM
) -> list[Kernel]:
    """Return the kernels of one decode step of one layer, in their order.

    Parameters
    ----------
    batch_size
        Sequences, each with one new token.
    context
        Tokens in the KV cache of each sequence.
    """
    d, ffn, batch = layer.model_dim, layer.feed_forward_dim, batch_size
    return [
        rms_norm("attention_norm", batch, d),
        gemm("qkv_proj", batch, d, d + 2 * layer.kv_dim, gpu, has_bias=False),
        rotary_embedding("rotary_embedding", batch, d + layer.kv_dim),
        kv_cache_write("kv_cache_write", batch, layer.kv_dim),
        *attention(batch, context, layer, gpu),
        gemm("out_proj", batch, d, d, gpu, has_bias=False),
        rms_norm("feed_forward_norm", batch, d),
        gemm("gate_up_proj", batch, d, 2 * ffn, gpu, has_bias=False),
        silu_and_mul("silu_and_mul", batch, ffn),
        gemm("down_proj", batch, ffn, d, gpu, has_bias=False),
    ]


def rms_norm(operation: str, rows: int, width: int) -> Kernel:
    """Return an RMS norm fused with the residual addition before it: 5 FLOP per element.

    The sum of input and residual is written for the next layer, beside what was normed.
    """
    elements = rows * width
    return Kernel(
        operation=operation,
        family="norm",
        name="fused_add_rms_norm_kernel",
        demangled_name=(
            "void vllm::fused_add_rms_norm_kernel<c10::Half, (int)8>(T1 *, T1 *, const T1 *, float,"
            " int, int)"
        ),
        grid=(rows, 1, 1),
        block_threads=512,
        registers=32,
        shared_bytes_per_block=128,
        useful_flop=5.0 * elements,
        fadd=1.0 * elements,
        fmul=2.0 * elements,
        ffma=1.0 * elements,
        warp_instructions=elements / 32 * 7,
        floor_s=2.6e-6,
        **streaming(
            read=FP16_BYTES * (2 * elements + width),
            written=FP16_BYTES * 2 * elements,
            in_flight=FP16_BYTES * 2 * width,
        ),
    )


def rotary_embedding(operation: str, rows: int, width: int) -> Kernel:
    """Return the rotation of queries and keys in place: 6 FLOP on each pair of elements."""
    elements = rows * width
    return Kernel(
        operation=operation,
        family="rope",
        name="rotary_embedding_kernel",
        demangled_name=(
            "void vllm::rotary_embedding_kernel<c10::Half, (bool)1>(const long *, T1 *, T1 *,"
            " const T1 *, int, long, long, int, int, int)"
        ),
        grid=(rows, 1, 1),
        block_threads=512,
        registers=32,
        useful_flop=3.0 * elements,
        fmul=1.0 * elements,
        ffma=1.0 * elements,
        warp_instructions=elements / 2 / 32 * 30,
        floor_s=2.3e-6,
        **streaming(
            read=FP16_BYTES * elements,
            written=FP16_BYTES * elements,
            in_flight=FP16_BYTES * width,
        ),
    )


def silu_and_mul(operation: str, rows: int, width: int) -> Kernel:
    """Return silu(gate) times up: two in, one out, 4 FLOP and two special functions per element."""
    elements = rows * width
    return Kernel(
        operation=operation,
        family="activation",
        name="act_and_mul_kernel",
        demangled_name=(
            "void vllm::act_and_mul_kernel<c10::Half, &vllm::silu_kernel<c10::Half>, (bool)1>"
            "(T1 *, const T1 *, int)"
        ),
        grid=(rows, 1, 1),
        block_threads=1024,
        registers=32,
        useful_flop=4.0 * elements,
        fadd=1.0 * elements,
        fmul=3.0 * elements,
        special=2.0 * elements,
        warp_instructions=math.ceil(elements / 32) * 16,
        floor_s=2.4e-6,
        **streaming(
            read=FP16_BYTES * 2 * elements,
            written=FP16_BYTES * elements,
            in_flight=FP16_BYTES * 4096,
        ),
    )
