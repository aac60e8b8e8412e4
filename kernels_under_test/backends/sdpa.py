"""Attention by ``scaled_dot_product_attention``, with the backend that is asked for alone."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from kernels_under_test.refusals import NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from kernels_under_test.backends.call import AttentionCall, Setting
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import Ranges
    from nsightlens.models import ModelConfig

__all__ = ["Sdpa"]

_BACKENDS: Mapping[str, Any] = {
    "sdpa": None,
    "sdpa-math": SDPBackend.MATH,
    "sdpa-flash": SDPBackend.FLASH_ATTENTION,
    "sdpa-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "sdpa-cudnn": SDPBackend.CUDNN_ATTENTION,
}
_TOKENS_TO_TRY = 16


class Sdpa:
    """PyTorch's own attention.

    Parameters
    ----------
    name
        ``sdpa``, where PyTorch chooses, or with the backend that it must take.
    """

    is_eager = False
    reads_blocks = False

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, setting: Setting) -> None:
        """Try it on a few tokens with the heads of the model, and say why it cannot."""
        for queries in (1, _TOKENS_TO_TRY) if setting.prompt_token_count else (1,):
            problem = self._problem(setting, queries)
            if problem:
                raise NotAvailableError(
                    f"attention {self.name} cannot do this on {setting.device.type} "
                    f"({setting.model.name}, {str(setting.dtype).removeprefix('torch.')}, "
                    f"{queries} {'query' if queries == 1 else 'queries'} a sequence): "
                    f"{problem} Take sdpa, sdpa-math or eager"
                )

    def _problem(self, setting: Setting, queries: int) -> str:
        """Return why it cannot, in PyTorch's words; empty where it can."""
        tensors = _tensors_to_try(setting, queries)
        window = setting.model.window_token_count
        mask = None
        if queries > 1 and window is not None and window < setting.prompt_token_count:
            mask = torch.zeros((queries, queries), dtype=setting.dtype, device=setting.device)
        # Why a backend was not taken is in warnings, each of them once.
        with warnings.catch_warnings(record=True) as heard, torch.no_grad(), self.chosen():
            warnings.simplefilter("always")
            try:
                _attention(*tensors, scale=1.0, mask=mask)
            except RuntimeError as error:
                said = [str(one.message) for one in heard] + [str(error)]
                return " ".join(dict.fromkeys(text.splitlines()[0].strip() for text in said))
        return ""

    def chosen(self) -> AbstractContextManager[None]:
        """Return the context in which PyTorch may take this backend only."""
        backend = _BACKENDS[self.name]
        if backend is None:
            return nullcontext()
        chosen: AbstractContextManager[None] = sdpa_kernel(backend)
        return chosen

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Make nothing."""

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output; see `kernels_under_test.work.attention`."""
        sequences, queries, heads, _ = call.query.shape
        key_count = call.keys.shape[2]
        # Some backends know no mask but the causal one, which a window as long as all keys is too.
        is_plain = queries == key_count and (call.window is None or call.window >= key_count)
        mask = None if is_plain else call.mask
        with op("attention"):
            query = call.query.transpose(1, 2)
            out = _attention(query, call.keys, call.values, scale=call.scale, mask=mask)
            return out.transpose(1, 2).reshape(sequences * queries, heads * out.shape[3])


def _attention(query: Any, keys: Any, values: Any, *, scale: float, mask: Any) -> Any:
    """Return attention of tensors with heads before tokens; several queries are the last tokens."""
    return scaled_dot_product_attention(
        query,
        keys,
        values,
        attn_mask=mask,
        is_causal=mask is None and query.shape[2] > 1,
        scale=scale,
        enable_gqa=query.shape[1] != keys.shape[1],
    )


def _tensors_to_try(setting: Setting, queries: int) -> tuple[Any, Any, Any]:
    """Return a query, keys and values with the heads of the model."""
    model, latent = setting.model, setting.model.latent
    heads, kv_heads, key_width = model.head_count, model.kv_head_count, model.head_dim
    value_width = key_width
    if latent is not None:
        value_width, kv_heads = latent.value_dim, heads
        if queries == 1 and not setting.expands_latent:
            key_width, value_width, kv_heads = latent.kv_rank + latent.rope_dim, latent.kv_rank, 1

    def zeros(count: int, tokens: int, width: int) -> Any:
        shape = (1, count, tokens, width)
        return torch.zeros(shape, dtype=setting.dtype, device=setting.device)

    keys = zeros(kv_heads, _TOKENS_TO_TRY, max(key_width, value_width))
    return (
        zeros(heads, queries, key_width),
        keys[..., :key_width],
        keys[..., :value_width],
    )
