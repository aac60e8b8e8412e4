"""Tensor parallelism: the part of a model that one of several GPUs holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.errors import FilterError
from nsightlens.models.checks import check_counts

if TYPE_CHECKING:
    from nsightlens.models.config import Experts, ModelConfig

__all__ = ["part_of_model"]


def part_of_model(model: ModelConfig, gpu_count: int) -> ModelConfig:
    """Return the part of a model that each GPU holds with tensor parallelism.

    Heads, widths of MLPs and of experts, and rows of the vocabulary are divided; norms and the
    residual stream are not. With fewer heads of keys and values than GPUs, each GPU keeps one of
    them, and several keep the same: the cache of a token then takes more memory in all. A latent
    vector, which all heads share, is kept by every GPU. Communication is not part of a model.

    Parameters
    ----------
    model
        Its sizes.
    gpu_count
        GPUs; 1 for the model itself.

    Raises
    ------
    FilterError
        The heads or widths cannot be divided by it.
    ValueError
        It is no whole number above zero.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> part = part_of_model(read_model("llama-3-70b"), 16)
    >>> part.head_count, part.kv_head_count
    (4, 1)
    """
    check_counts(gpu_count=gpu_count)
    if gpu_count == 1:
        return model
    _check(model, gpu_count)
    experts = model.experts
    return replace(
        model,
        head_count=model.head_count // gpu_count,
        kv_head_count=max(1, model.kv_head_count // gpu_count),
        intermediate_size=model.intermediate_size // gpu_count,
        vocab_size=-(-model.vocab_size // gpu_count),
        experts=None if experts is None else _part_of_experts(experts, gpu_count),
    )


def _part_of_experts(experts: Experts, gpu_count: int) -> Experts:
    return experts._replace(
        intermediate_size=experts.intermediate_size // gpu_count,
        shared_intermediate_size=experts.shared_intermediate_size // gpu_count,
    )


def _check(model: ModelConfig, gpu_count: int) -> None:
    sizes = {
        "query heads": model.head_count,
        "elements of the MLP": model.intermediate_size if model.dense_layer_count else 0,
    }
    if model.experts is not None:
        sizes["elements of an expert"] = model.experts.intermediate_size
        sizes["elements of the shared experts"] = model.experts.shared_intermediate_size
    kv_heads = model.kv_head_count
    if model.latent is None and kv_heads % gpu_count and gpu_count % kv_heads:
        sizes["key-value heads"] = kv_heads
    for what, size in sizes.items():
        if size % gpu_count:
            raise FilterError(
                f"{model.name} cannot be divided among {gpu_count} GPUs: it has {size} {what}. "
                "Choose a divisor."
            )
