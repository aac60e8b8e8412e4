"""The kernels of one transformer layer in decode, with the work that each one does.

Names are those that vLLM, FlashAttention-2 and cuBLASLt give their kernels; work is counted by the
analytic model of the paper ("Mind the Memory Gap", arXiv 2503.08311), with B sequences in the
batch, S tokens of context, h heads of d elements, K inputs and N outputs of a linear layer.
Durations come from `nsightlens.example.model`. `nsightlens.example.gated_layer` builds layers with
rotary embedding and a gated feed-forward network from these kernels and some of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypedDict

from nsightlens.example.model import FP16_BYTES, FP32_BYTES, H100_SXM, Family, Gpu, Kernel

__all__ = ["OPT_1_3B", "Layer", "attention", "decode_layer", "gemm", "kv_cache_write", "streaming"]


@dataclass(frozen=True, slots=True)
class Layer:
    """Sizes of a transformer layer; several query heads may share a head of keys and values."""

    model_dim: int
    head_count: int
    kv_head_count: int
    feed_forward_dim: int

    @property
    def head_dim(self) -> int:
        """Elements of one head."""
        return self.model_dim // self.head_count

    @property
    def kv_dim(self) -> int:
        """Elements of the keys of one token, and of its values."""
        return self.kv_head_count * self.head_dim


OPT_1_3B = Layer(model_dim=2048, head_count=32, kv_head_count=32, feed_forward_dim=8192)


def decode_layer(
    batch_size: int, context: int, layer: Layer = OPT_1_3B, gpu: Gpu = H100_SXM
) -> list[Kernel]:
    """Return the kernels of one decode step of one layer (pre-norm, as OPT), in their order.

    Parameters
    ----------
    batch_size
        Sequences, each with one new token.
    context
        Tokens in the KV cache of each sequence.
    """
    d, ffn, batch = layer.model_dim, layer.feed_forward_dim, batch_size
    return [
        layer_norm("attention_norm", batch, d),
        gemm("qkv_proj", batch, d, 3 * d, gpu),
        kv_cache_write("kv_cache_write", batch, layer.kv_dim),
        *attention(batch, context, layer, gpu),
        gemm("out_proj", batch, d, d, gpu),
        residual_add("attention_residual", batch, d),
        layer_norm("feed_forward_norm", batch, d),
        gemm("fc1", batch, d, ffn, gpu),
        relu("relu", batch, ffn),
        gemm("fc2", batch, ffn, d, gpu),
        residual_add("feed_forward_residual", batch, d),
    ]


# --- GEMM ------------------------------------------------------------------------------------


_SHARED_FOR_STAGES = 212 * 1024


def gemm(
    operation: str, batch: int, k: int, n: int, gpu: Gpu = H100_SXM, *, has_bias: bool = True
) -> Kernel:
    """Return a linear layer from ``k`` to ``n`` features, as a wgmma kernel of cuBLASLt.

    FLOPs = 2 B K N and bytes = b (K N + B (K + N)) with b = 2 B per element, so that the
    intensity grows with the batch: about 2 B / b as long as B is small against K and N. Executed
    operations count B padded to the tile. Where the tiles do not fill the GPU, K is split; the
    parts of a split are summed inside a cluster of blocks, which costs no L2 traffic.
    """
    tile_n = min(256, max(8, 1 << (batch - 1).bit_length()))
    tile_m = 128 if batch >= 128 else 64
    tiles = (n // tile_m) * math.ceil(batch / tile_n)
    splits = max(1, min(gpu.sm_count // tiles, k // 256))
    blocks = tiles * splits
    padded = tile_n * math.ceil(batch / tile_n)
    stage_bytes = FP16_BYTES * 64 * (tile_m + tile_n)
    stages = min(16, _SHARED_FOR_STAGES // stage_bytes)
    consumer_warps = tile_m // 16
    macs = padded * k * n
    # Two blocks of a cluster share the activations by multicast.
    activations_read = FP16_BYTES * padded * k * (n // tile_m) / 2
    weights_read = FP16_BYTES * k * n * math.ceil(batch / tile_n)
    # For each k-slice of 16, every group of four warps reads its rows and all columns of the tile.
    shared = macs / (tile_m * tile_n * 16) * FP16_BYTES * 16 * (tile_m + tile_m // 64 * tile_n)
    suffix = "_splitK" if splits > 1 else ""
    epilogue = "_bias" if has_bias else ""
    name = f"nvjet_hsh_{tile_m}x{tile_n}_64x{stages}_2x1_v_bz{suffix}{epilogue}_TNT"
    return Kernel(
        operation=operation,
        family="gemm",
        name=name,
        demangled_name=name,
        grid=(blocks, 1, 1),
        block_threads=128 + 32 * consumer_warps,
        registers=168,
        shared_bytes_per_block=stages * stage_bytes,
        useful_flop=2.0 * batch * k * n,
        read_bytes=float(FP16_BYTES * (k * n + batch * k + (n if has_bias else 0))),
        written_bytes=float(FP16_BYTES * batch * n),
        tensor_op=2.0 * macs,
        fadd=float(padded * n) if has_bias else 0.0,
        l2_bytes=weights_read + activations_read,
        shared_bytes=shared,
        l1_bytes=float(FP16_BYTES * batch * n),
        warp_instructions=blocks * math.ceil(k / 64 / splits) * (8 * consumer_warps + 12)
        + padded * n / 32 * 2.5,
        floor_s=2.4e-6,
        bytes_in_flight=float(stages * stage_bytes),
        wave_efficiency=_wave_efficiency(blocks, gpu.sm_count),
    )


def _wave_efficiency(blocks: int, at_once: int) -> float:
    return blocks / (math.ceil(blocks / at_once) * at_once)


# --- Attention -------------------------------------------------------------------------------

_QUERY_TILE = 64


def _kv_tile(head_dim: int) -> int:
    """Return the keys of one tile, as FlashAttention-2 chooses them by the size of a head."""
    return 256 if head_dim <= 64 else 128


def _traits(head_dim: int) -> str:
    sizes = f"(int){head_dim}, (int){_QUERY_TILE}, (int){_kv_tile(head_dim)}, (int)4"
    return (
        f"Flash_fwd_kernel_traits<{sizes}, (bool)0, (bool)0, cutlass::half_t,"
        f" Flash_kernel_traits<{sizes}, cutlass::half_t>>"
    )


def attention(
    batch: int, context: int, layer: Layer = OPT_1_3B, gpu: Gpu = H100_SXM
) -> list[Kernel]:
    """Return decode attention as FlashAttention-2 runs it: split over KV where the batch is small.

    With h query heads on g heads of keys and values, FLOPs = 4 B h S d and bytes = 2 B g S d b, so
    that the useful intensity is 2 h / (g b) at every batch and context: 1 FLOP/B where g = h. The
    query heads of a group are rows of one tile: the tensor cores execute 64 rows where h / g are
    useful, and S rounded up to whole tiles. With fewer blocks than 0.8 of what fits at once, the
    context is split in parts, and a second kernel merges them.
    """
    h, d, kv_heads = layer.head_count, layer.head_dim, layer.kv_head_count
    tile = _kv_tile(d)
    kv_tiles = math.ceil(context / tile)
    splits = kv_tiles if batch * kv_heads < 0.8 * 2 * gpu.sm_count else 1
    scores = _QUERY_TILE * kv_tiles * tile * batch * kv_heads
    kv_bytes = 2.0 * FP16_BYTES * batch * kv_heads * context * d
    partial_bytes = float(FP32_BYTES * batch * h * (d + 1) * splits)
    output_bytes = float(FP16_BYTES * batch * h * d)
    main = Kernel(
        operation="attention",
        family="attention",
        name="flash_fwd_splitkv_kernel",
        demangled_name=(
            f"void flash::flash_fwd_splitkv_kernel<{_traits(d)}, (bool)0, (bool)0, (bool)0,"
            f" (bool)0, (bool)1, (bool)0, (bool){int(splits > 1)}, (bool)0>"
            "(flash::Flash_fwd_params)"
        ),
        grid=(1, splits, batch * kv_heads) if splits > 1 else (1, batch, kv_heads),
        block_threads=128,
        registers=250,
        shared_bytes_per_block=FP16_BYTES * d * (_QUERY_TILE + 2 * tile),
        useful_flop=4.0 * batch * h * context * d,
        read_bytes=kv_bytes + output_bytes,
        written_bytes=partial_bytes if splits > 1 else output_bytes,
        tensor_op=4.0 * scores * d,
        tensor_instruction="hmma",
        fadd=float(scores),
        ffma=float(scores),
        special=float(scores),
        l2_bytes=kv_bytes + output_bytes,
        # Each of the four warps reads the whole tile of keys and of values.
        shared_bytes=4 * 2.0 * FP16_BYTES * batch * kv_heads * kv_tiles * tile * d,
        l1_bytes=kv_bytes + 2 * output_bytes,
        warp_instructions=scores / 32 * 9,
        floor_s=4.5e-6,
        bytes_in_flight=float(FP16_BYTES * min(tile, context) * d),
    )
    if splits == 1:
        return [main]
    return [main, _merge(batch, layer, splits, partial_bytes, output_bytes)]


def _merge(
    batch: int, layer: Layer, splits: int, partial_bytes: float, output_bytes: float
) -> Kernel:
    elements = batch * layer.model_dim * splits
    return Kernel(
        operation="attention_merge",
        family="attention_merge",
        name="flash_fwd_splitkv_combine_kernel",
        demangled_name=(
            f"void flash::flash_fwd_splitkv_combine_kernel<{_traits(layer.head_dim)}, (int)8,"
            f" (int){max(1, math.ceil(math.log2(splits)))}, (bool)1>(flash::Flash_fwd_params)"
        ),
        grid=(math.ceil(batch * layer.head_count / 8), 1, 1),
        block_threads=128,
        registers=48,
        useful_flop=2.0 * elements,
        read_bytes=partial_bytes,
        written_bytes=output_bytes,
        ffma=float(elements),
        special=float(batch * layer.head_count * splits),
        l2_bytes=partial_bytes,
        l1_bytes=partial_bytes + output_bytes,
        warp_instructions=elements / 32 * 12,
        floor_s=2.6e-6,
        bytes_in_flight=4096.0,
    )


# --- Small kernels ---------------------------------------------------------------------------


def layer_norm(operation: str, rows: int, width: int) -> Kernel:
    """Return a layer norm: every element once in and once out, and about 7 FLOP on each."""
    elements = rows * width
    return Kernel(
        operation=operation,
        family="norm",
        name="vectorized_layer_norm_kernel",
        demangled_name=(
            "void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::Half, float, (bool)0>"
            "(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)"
        ),
        grid=(rows, 1, 1),
        block_threads=128,
        registers=40,
        shared_bytes_per_block=48,
        useful_flop=7.0 * elements,
        fadd=2.0 * elements,
        fmul=1.0 * elements,
        ffma=2.0 * elements,
        warp_instructions=elements / 32 * 8,
        floor_s=2.6e-6,
        # A block loads its row, the weights and the biases at once.
        **streaming(
            read=FP16_BYTES * (elements + 2 * width),
            written=FP16_BYTES * elements,
            in_flight=FP16_BYTES * 3 * width,
        ),
    )


def residual_add(operation: str, rows: int, width: int) -> Kernel:
    """Return an addition of two tensors: two in, one out, one FLOP per element."""
    elements = rows * width
    return _elementwise(
        operation,
        "add",
        "at::native::CUDAFunctor_add<c10::Half>, std::array<char *, (unsigned long)3>",
        elements,
        inputs=2,
        useful_flop=1.0 * elements,
        fadd=1.0 * elements,
    )


def relu(operation: str, rows: int, width: int) -> Kernel:
    """Return a rectifier: one in, one out, a comparison and no FLOP."""
    functor = (
        "at::native::<unnamed>::launch_clamp_scalar(at::TensorIteratorBase &, c10::Scalar,"
        " c10::Scalar, at::native::detail::ClampLimits)::[lambda() (instance 1)]::operator ()()"
        " const::[lambda() (instance 7)]::operator ()() const::[lambda(c10::Half) (instance 1)],"
        " std::array<char *, (unsigned long)2>"
    )
    return _elementwise(operation, "activation", functor, rows * width, inputs=1)


def _elementwise(
    operation: str,
    family: Family,
    functor: str,
    elements: int,
    *,
    inputs: int,
    useful_flop: float = 0.0,
    fadd: float = 0.0,
) -> Kernel:
    return Kernel(
        operation=operation,
        family=family,
        name="vectorized_elementwise_kernel",
        demangled_name=(
            f"void at::native::vectorized_elementwise_kernel<(int)4, {functor}>(int, T2, T3)"
        ),
        grid=(math.ceil(elements / 512), 1, 1),
        block_threads=128,
        registers=28,
        useful_flop=useful_flop,
        fadd=fadd,
        warp_instructions=elements / 4 / 32 * 40,
        floor_s=2.1e-6,
        **streaming(read=FP16_BYTES * elements * inputs, written=FP16_BYTES * elements),
    )


def kv_cache_write(operation: str, rows: int, width: int) -> Kernel:
    """Return the copy of the new keys and values into the paged cache: no FLOP."""
    elements = 2 * rows * width
    return Kernel(
        operation=operation,
        family="kv_cache",
        name="reshape_and_cache_flash_kernel",
        demangled_name=(
            "void vllm::reshape_and_cache_flash_kernel<unsigned short, unsigned short,"
            " (vllm::Fp8KVCacheDataType)0>(const T1 *, const T1 *, T2 *, T2 *, const long *, int,"
            " int, int, int, int, int, const float *, const float *)"
        ),
        grid=(rows, 1, 1),
        block_threads=512,
        registers=32,
        useful_flop=0.0,
        warp_instructions=elements / 32 * 6,
        floor_s=2.3e-6,
        **streaming(
            read=FP16_BYTES * elements,
            written=FP16_BYTES * elements,
            in_flight=FP16_BYTES * 4 * width,
        ),
    )


class MemorySide(TypedDict):
    read_bytes: float
    written_bytes: float
    l2_bytes: float
    l1_bytes: float
    bytes_in_flight: float


def streaming(*, read: float, written: float, in_flight: float = 4096) -> MemorySide:
    """Return the memory side of a kernel that touches every byte once."""
    return {
        "read_bytes": float(read),
        "written_bytes": float(written),
        "l2_bytes": float(read),
        "l1_bytes": float(read + written),
        "bytes_in_flight": float(in_flight),
    }
