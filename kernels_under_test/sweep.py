"""A batch sweep in one process: weights are made once, the memory of a batch is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from kernels_under_test.backends import backend_of
from kernels_under_test.backends.call import Setting
from kernels_under_test.decoder import Decoder
from kernels_under_test.dtypes import activation_dtype, check_fp8, sizes_of
from kernels_under_test.experts import check_grouped
from kernels_under_test.measure import forget, is_out_of_memory, run_batch
from kernels_under_test.refusals import NotAvailableError
from kernels_under_test.weights import random_weights
from nsightlens.models import kv_bytes_per_token, weights_bytes
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernels_under_test.backends.call import Backend
    from kernels_under_test.measure import BatchTimes, Plan
    from nsightlens.models import ModelConfig

__all__ = ["BatchResult", "Request", "WeightsTooLargeError", "sweep"]


class Request(NamedTuple):
    """What is to be run.

    Parameters
    ----------
    model
        Its sizes.
    batch_sizes
        One after the other.
    plan
        What is run at each of them.
    dtype
        One of `kernels_under_test.dtypes.DTYPES`.
    attention
        One of `kernels_under_test.backends.ATTENTION`.
    device
        ``cuda``, ``cuda:1`` or ``cpu``.
    expands_latent, groups_experts
        As in `kernels_under_test.operations.Variant`.
    """

    model: ModelConfig
    batch_sizes: Sequence[int]
    plan: Plan
    dtype: str = "float16"
    attention: str = "sdpa"
    device: str = "cuda"
    expands_latent: bool = False
    groups_experts: bool = False


class BatchResult(NamedTuple):
    """What came of one batch size.

    Parameters
    ----------
    batch_size
        Sequences.
    times
        What was measured; None where memory ran out.
    problem
        Why there is none: one sentence. Empty where there is.
    device_name
        The GPU, or ``cpu``.
    weights_bytes
        [B] Of all weights.
    """

    batch_size: int
    times: BatchTimes | None
    problem: str
    device_name: str
    weights_bytes: int


class WeightsTooLargeError(MemoryError):
    """Memory ran out before any batch: one sentence."""


def sweep(request: Request) -> Iterator[BatchResult]:
    """Run every batch size, and give what came of each as soon as it is there.

    Parameters
    ----------
    request
        What is to be run.

    Raises
    ------
    NotAvailableError
        The device, the type or the backend is not available here; nothing was run.
    WeightsTooLargeError
        The weights do not fit into memory.
    """
    device = _device(request)
    dtype = activation_dtype(torch, request.dtype)
    decoder = _decoder(request, _checked(request, device, dtype), device, dtype)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    for batch_size in request.batch_sizes:
        forget(device)
        times, problem = None, ""
        try:
            times = run_batch(decoder, request.plan, batch_size, device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            # Only its text is kept: its traceback holds every tensor of the batch.
            problem = _problem(request, batch_size, decoder.weights.bytes, str(error))
        yield BatchResult(batch_size, times, problem, name, decoder.weights.bytes)


def _device(request: Request) -> Any:
    try:
        device = torch.device(request.device)
    except RuntimeError as error:
        raise NotAvailableError(f"device {request.device} is none: take cuda or cpu") from error
    if device.type not in ("cuda", "cpu"):
        raise NotAvailableError(f"device {request.device} is not written here: take cuda or cpu")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            why = "this PyTorch is built without CUDA" if torch.version.cuda is None else (
                "PyTorch finds no GPU")  # fmt: skip
            raise NotAvailableError(f"device {request.device}: {why}. For a CPU: --device cpu")
        count, index = torch.cuda.device_count(), device.index or 0
        if index >= count:
            raise NotAvailableError(f"device {request.device}: PyTorch finds {count} GPUs")
        torch.cuda.set_device(index)
        return torch.device("cuda", index)
    return device


def _checked(request: Request, device: Any, dtype: Any) -> Backend:
    """Refuse what cannot be run, before anything is made; return the backend."""
    model, plan = request.model, request.plan
    if device.type == "cpu":
        for is_wanted, option in (
            (plan.has_cuda_graphs, "--cuda-graphs"),
            (plan.has_window, "--profiler-window"),
        ):
            if is_wanted:
                raise NotAvailableError(f"{option} needs a GPU: --device cuda")
    if request.dtype == "fp8":
        if model.latent is not None or model.experts is not None:
            raise NotAvailableError(
                f"dtype fp8 is not written for latent attention and experts, as {model.name} has: "
                "take bfloat16"
            )
        check_fp8(torch, device)
    if request.groups_experts:
        check_grouped()
    backend = backend_of(request.attention)
    backend.check(
        Setting(
            model,
            device,
            dtype,
            is_paged=plan.block_token_count is not None,
            block_token_count=plan.block_token_count or 0,
            prompt_token_count=plan.context_length - 1 if plan.has_prefill else 0,
            has_cuda_graphs=plan.has_cuda_graphs,
            expands_latent=request.expands_latent,
        )
    )
    return backend


def _decoder(request: Request, backend: Backend, device: Any, dtype: Any) -> Decoder:
    """Make the weights, and what decodes with them."""
    model = request.model
    try:
        weights = random_weights(
            model,
            device=device,
            dtype=dtype,
            seed=request.plan.seed,
            is_fp8=request.dtype == "fp8",
        )
        return Decoder(
            model,
            weights,
            backend,
            sizes_of(request.dtype),
            expands_latent=request.expands_latent,
            groups_experts=request.groups_experts,
        )
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        sizes = sizes_of(request.dtype)
        needed = weights_bytes(model, weight_bytes=sizes.weight, other_bytes=sizes.activation)
        raise WeightsTooLargeError(
            f"the weights of {model.name} take {format_quantity(needed, 'B')}, for which memory is "
            f"too small: {str(error).splitlines()[0]} Take fewer layers (--layers)"
        ) from error


def _problem(request: Request, batch_size: int, kept_bytes: int, said: str) -> str:
    """Say that memory ran out: at which batch, what it needs, and what the allocator said."""
    sizes = sizes_of(request.dtype)
    cache = kv_bytes_per_token(request.model, kv_bytes=sizes.cache)
    needed = batch_size * request.plan.context_length * cache
    return (
        f"batch {batch_size}: out of memory: weights of {format_quantity(kept_bytes, 'B')} and "
        f"a KV cache of {format_quantity(needed, 'B')}, beside activations. "
        f"{said.splitlines()[0]}"
    )
