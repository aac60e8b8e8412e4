"""Attention by the package ``flash-attn``: the kernel for a cache, in one piece or in blocks.

Written by the documented interface (``flash_attn_with_kvcache``); it has not run on a GPU here.
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

__all__ = ["FlashAttention"]

_BLOCK_MULTIPLE = 256
"""[token] Blocks of FlashAttention 2 have a multiple of so many."""
_DTYPES = ("torch.float16", "torch.bfloat16")


class FlashAttention:
    """FlashAttention 2, for decode and for prefill."""

    name = "flash-attn"
    is_eager = False
    reads_blocks = True

    def __init__(self) -> None:
        self._flash_attn: Any = None

    def check(self, setting: Setting) -> None:
        """Find the package, and refuse what it has no kernel for."""
        self._flash_attn = import_or_refuse("flash_attn", "flash-attn", self.name)
        if setting.device.type != "cuda":
            raise NotAvailableError("attention flash-attn needs a GPU: --device cuda")
        if setting.model.latent is not None:
            raise NotAvailableError("attention flash-attn has no latent attention: take eager")
        if str(setting.dtype) not in _DTYPES:
            raise NotAvailableError("attention flash-attn needs float16 or bfloat16")
        if setting.is_paged and setting.block_token_count % _BLOCK_MULTIPLE:
            raise NotAvailableError(
                f"attention flash-attn takes blocks of a multiple of {_BLOCK_MULTIPLE} tokens, "
                f"not of {setting.block_token_count}: --block-size {_BLOCK_MULTIPLE}"
            )

    def chosen(self) -> AbstractContextManager[None]:
        """Return nothing: there is nothing to choose."""
        return nullcontext()

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Make nothing."""

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output; see `kernels_under_test.work.attention`."""
        sequences, queries, heads, _ = call.query.shape
        if call.table is None:
            # Heads behind tokens; strides are free but for the last.
            keys, values = call.keys.transpose(1, 2), call.values.transpose(1, 2)
            # What lies before the window of all queries is cut off.
            counts = call.inputs.seen_counts[call.window]
        else:
            keys, values, counts = call.keys, call.values, call.inputs.key_counts
        with op("attention"):
            out = self._flash_attn.flash_attn_with_kvcache(
                call.query,
                keys,
                values,
                cache_seqlens=counts,
                block_table=call.table,
                softmax_scale=call.scale,
                causal=True,
                window_size=(-1, -1) if call.window is None else (call.window - 1, 0),
            )
            return out.reshape(sequences * queries, heads * out.shape[3])
