"""Attention by the package ``flashinfer``: decode from a paged cache.

Written by the documented interface (``BatchDecodeWithPagedKVCacheWrapper``); it has not run on a
GPU here.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from kernels_under_test.cache import PagedCache
from kernels_under_test.refusals import NotAvailableError, import_or_refuse

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kernels_under_test.backends.call import AttentionCall, Setting
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import Ranges
    from nsightlens.models import ModelConfig

__all__ = ["FlashInfer"]

_WORKSPACE_BYTES = 128 * 1024 * 1024
"""[B] What its documentation recommends."""


class FlashInfer:
    """FlashInfer's decode, planned on the host before the steps."""

    name = "flashinfer"
    is_eager = False
    reads_blocks = True

    def __init__(self) -> None:
        self._flashinfer: Any = None
        self._wrappers: dict[int | None, Any] = {}

    def check(self, setting: Setting) -> None:
        """Find the package, and refuse what is not written here."""
        self._flashinfer = import_or_refuse("flashinfer", "flashinfer-python", self.name)
        problems = (
            (setting.device.type != "cuda", "needs a GPU: --device cuda"),
            (setting.model.latent is not None, "is not written for latent attention: take eager"),
            (not setting.is_paged, "takes blocks: --cache paged"),
            (bool(setting.prompt_token_count), "is not written for a prefill: take sdpa"),
            (setting.has_cuda_graphs, "is not written for CUDA graphs: leave out --cuda-graphs"),
        )
        for is_so, problem in problems:
            if is_so:
                raise NotAvailableError(f"attention flashinfer {problem}")

    def chosen(self) -> AbstractContextManager[None]:
        """Return nothing: there is nothing to choose."""
        return nullcontext()

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Plan the steps: which blocks belong to whom, and how the work is split."""
        assert isinstance(cache, PagedCache)
        pool, table = cache.parts[0][0], cache.table
        block = pool.shape[1]
        device = pool.device
        blocks = table.shape[1]
        self._wrappers = {}
        starts = torch.arange(0, table.numel() + 1, blocks, dtype=torch.int32, device=device)
        last = (inputs.shape.context_length - 1) % block + 1
        filled = torch.full((table.shape[0],), last, dtype=torch.int32, device=device)
        for window in inputs.masks:
            workspace = torch.empty(_WORKSPACE_BYTES, dtype=torch.uint8, device=device)
            wrapper = self._flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD")
            wrapper.plan(
                starts,
                table.flatten().to(torch.int32),
                filled,
                model.head_count,
                model.kv_head_count,
                model.head_dim,
                block,
                window_left=-1 if window is None else window - 1,
                q_data_type=pool.dtype,
                kv_data_type=pool.dtype,
                sm_scale=model.head_dim**-0.5,
            )
            self._wrappers[window] = wrapper

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output; see `kernels_under_test.work.attention`."""
        sequences, _, heads, width = call.query.shape
        query = call.query.view(sequences, heads, width)
        with op("attention"):
            out = self._wrappers[call.window].run(query, (call.keys, call.values))
            return out.reshape(sequences, heads * width)
