"""Attention by a small kernel of our own in Triton: decode, from one piece or from blocks.

One program per sequence and head of keys walks along the keys with a running softmax
(FlashAttention, arXiv 2205.14135). It does not split long contexts over several programs, so that
a small batch leaves most of a GPU idle: it shows what such a kernel looks like to a profiler, and
is no rival of tuned ones. Its results were compared with the eager ones in Triton's interpreter;
it has not run on a GPU here.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kernels_under_test.refusals import NotAvailableError, import_or_refuse

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kernels_under_test.backends.call import AttentionCall, Setting
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import Ranges
    from nsightlens.models import ModelConfig

__all__ = ["TritonDecode"]

_KEYS_AT_ONCE = 64
_LEAST_ROWS = 16
"""Rows of a product of tensor cores: fewer queries are padded to so many."""


class TritonDecode:
    """Decode attention in Triton."""

    name = "triton"
    is_eager = False
    reads_blocks = True

    def check(self, setting: Setting) -> None:
        """Find the package, and refuse what the kernel does not do."""
        triton = import_or_refuse("triton", "triton", self.name)
        is_interpreted = bool(triton.knobs.runtime.interpret) if hasattr(triton, "knobs") else False
        problems = (
            (setting.device.type != "cuda" and not is_interpreted, "needs a GPU: --device cuda"),
            (setting.model.latent is not None, "is not written for latent attention: take eager"),
            (bool(setting.prompt_token_count), "is not written for a prefill: take sdpa"),
        )
        for is_so, problem in problems:
            if is_so:
                raise NotAvailableError(f"attention triton {problem}")

    def chosen(self) -> AbstractContextManager[None]:
        """Return nothing: there is nothing to choose."""
        return nullcontext()

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Make nothing."""

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output; see `kernels_under_test.work.attention`."""
        from kernels_under_test.backends.triton_kernel import decode_kernel  # noqa: PLC0415 - Triton

        sequences, _, heads, width = call.query.shape
        context = call.inputs.shape.context_length
        if call.table is None:
            # One block per sequence; what lies before the window is cut off already.
            kv_heads, context = call.keys.shape[1], call.keys.shape[2]
            table, block_token_count = call.inputs.key_counts, context
            strides = [(one.stride(0), one.stride(2), one.stride(1))
                       for one in (call.keys, call.values)]  # fmt: skip
            first = 0
        else:
            kv_heads, block_token_count, table = call.keys.shape[2], call.keys.shape[1], call.table
            strides = [one.stride()[:3] for one in (call.keys, call.values)]
            first = 0 if call.window is None else max(0, context - call.window)
        group = heads // kv_heads
        out = call.query.new_empty((sequences, heads, width))
        with op("attention"):
            decode_kernel[sequences, kv_heads](
                call.query, call.keys, call.values, out, table,
                first, context, call.scale,
                call.query.stride(0), call.query.stride(2),
                *strides[0], *strides[1],
                0 if call.table is None else call.table.stride(0),
                GROUP=group,
                ROWS=max(_LEAST_ROWS, _power_of_two(group)),
                WIDTH=width,
                COLUMNS=_power_of_two(width),
                KEYS=_KEYS_AT_ONCE,
                BLOCK=block_token_count,
                IS_PAGED=call.table is not None,
            )  # fmt: skip
        return out.view(sequences, heads * width)


def _power_of_two(number: int) -> int:
    """Return the least power of two that is no less.

    Examples
    --------
    >>> _power_of_two(80)
    128
    """
    return 1 << (number - 1).bit_length()
