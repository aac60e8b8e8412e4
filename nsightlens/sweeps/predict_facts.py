"""What a model and a GPU say before any batch size is chosen: cache, intensity, crossovers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.devices.overrides import named_product
from nsightlens.models import (
    active_parameter_count,
    attention_intensity_flop_per_byte,
    knee_batch_size,
    kv_block_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    largest_batch_size,
    parameter_count,
    weights_bytes,
)
from nsightlens.sweeps.predict_context import context_crossover

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig
    from nsightlens.sweeps.predict_dtypes import Types
    from nsightlens.sweeps.predict_peaks import PredictedPeaks

__all__ = ["KNEE_CONTEXT", "Crossover", "PredictedFacts", "facts_of", "reference_crossovers"]

KNEE_CONTEXT = 500
"""[token] Context for which the knee is given beside that which was asked for."""

_SHEETS = (("H100 SXM", "H100 SXM5 80GB"), ("H200", "H200 SXM 141GB"))
# The GPU of "Mind the Memory Gap" (arXiv 2503.08311): an H100 with 64 GB of HBM2e, 1593 MHz x 4096
# bit. Its tensor cores are those of the H100 SXM.
_PAPER = ("H100 64 GB", 1.631e12)


class Crossover(NamedTuple):
    """The context from which on a large batch waits for the cache, on a GPU.

    Parameters
    ----------
    device
        The GPU.
    flop_per_s, bytes_per_s
        [FLOP/s] and [B/s] Its peaks.
    context_length
        [token] See `nsightlens.sweeps.predict_context.context_crossover`.
    """

    device: str
    flop_per_s: float
    bytes_per_s: float
    context_length: float | None


class PredictedFacts(NamedTuple):
    """Closed forms for a model on a GPU; see `nsightlens.models.bounds`.

    Parameters
    ----------
    parameter_count, active_parameter_count
        Of the whole model, and those that a token passes.
    kv_bytes_per_token
        [B] Cache of a token, with the type that was asked for, on one GPU.
    kv_bytes_per_token_16bit, kv_block_bytes_16bit
        [B] The same in 16 bit, of the whole model, and of a block of 16 tokens.
    attention_intensity_flop_per_byte
        [FLOP/B] Of decode attention with a long context on one GPU, with the type of the cache that
        was asked for.
    attention_intensity_16bit_flop_per_byte, attention_intensity_8bit_flop_per_byte
        [FLOP/B] The same by the type of the cache.
    attention_ridge_point_flop_per_byte
        [FLOP/B] Of the unit that does attention.
    crossover_context_length
        [token] On this GPU with these types; see `Crossover`. ``None`` where there is none.
    reference_crossovers
        The same of the whole model on GPUs that are well known, by their data sheets, in 16 bit.
    knee_batch_size
        Batch size at which a step reads as much cache as weights, at the context.
    knee_batch_size_at_500
        The same at a context of 500 tokens in 16 bit, of the whole model.
    weights_bytes
        [B] Weights on one GPU.
    kv_bytes_per_sequence
        [B] Cache of a sequence of the context.
    memory_bytes
        [B] Memory of the GPU; ``None`` where it is not known.
    largest_batch_size
        Sequences that fit beside the weights; ``None`` where the memory is not known.
    """

    parameter_count: int
    active_parameter_count: int
    kv_bytes_per_token: float
    kv_bytes_per_token_16bit: float
    kv_block_bytes_16bit: float
    attention_intensity_flop_per_byte: float
    attention_intensity_16bit_flop_per_byte: float
    attention_intensity_8bit_flop_per_byte: float
    attention_ridge_point_flop_per_byte: float
    crossover_context_length: float | None
    reference_crossovers: tuple[Crossover, ...]
    knee_batch_size: float
    knee_batch_size_at_500: float
    weights_bytes: float
    kv_bytes_per_sequence: float
    memory_bytes: float | None
    largest_batch_size: int | None


def facts_of(
    model: ModelConfig,
    part: ModelConfig,
    types: Types,
    peaks: PredictedPeaks,
    context_length: int,
    *,
    query_length: int = 1,
) -> PredictedFacts:
    """Work out the closed forms.

    Parameters
    ----------
    model
        The whole model.
    part
        What one GPU holds of it.
    types
        Of weights and cache.
    peaks
        Of the GPU.
    context_length
        [token] Tokens of a sequence.
    query_length
        [token] Query tokens of a sequence in decode.
    """
    weight_bytes, kv_bytes = types.weights.bytes_per_element, types.kv_bytes
    attention_flop_per_s = peaks.flop_per_s[types.other_resource]

    def intensity(of_kv: float) -> float:
        return attention_intensity_flop_per_byte(part, kv_bytes=of_kv, query_length=query_length)

    largest = None
    if peaks.memory_bytes is not None:
        largest = largest_batch_size(
            part,
            context_length,
            memory_bytes=peaks.memory_bytes,
            weight_bytes=weight_bytes,
            kv_bytes=kv_bytes,
        )
    return PredictedFacts(
        parameter_count=parameter_count(model),
        active_parameter_count=active_parameter_count(model),
        kv_bytes_per_token=kv_bytes_per_token(part, kv_bytes=kv_bytes),
        kv_bytes_per_token_16bit=kv_bytes_per_token(model),
        kv_block_bytes_16bit=kv_block_bytes(model),
        attention_intensity_flop_per_byte=intensity(kv_bytes),
        attention_intensity_16bit_flop_per_byte=intensity(2.0),
        attention_intensity_8bit_flop_per_byte=intensity(1.0),
        attention_ridge_point_flop_per_byte=attention_flop_per_s / peaks.bytes_per_s,
        crossover_context_length=context_crossover(
            part,
            flop_per_s=peaks.flop_per_s[types.gemm_resource],
            attention_flop_per_s=attention_flop_per_s,
            bytes_per_s=peaks.bytes_per_s,
            kv_bytes=kv_bytes,
            query_length=query_length,
        ),
        reference_crossovers=reference_crossovers(model, query_length),
        knee_batch_size=knee_batch_size(
            part, context_length, weight_bytes=weight_bytes, kv_bytes=kv_bytes
        ),
        knee_batch_size_at_500=knee_batch_size(model, KNEE_CONTEXT),
        weights_bytes=weights_bytes(part, weight_bytes=weight_bytes),
        kv_bytes_per_sequence=kv_bytes_of_sequence(part, context_length, kv_bytes=kv_bytes),
        memory_bytes=peaks.memory_bytes,
        largest_batch_size=largest,
    )


def reference_crossovers(model: ModelConfig, query_length: int = 1) -> tuple[Crossover, ...]:
    """Return the crossover context on GPUs that are well known, in 16 bit.

    Parameters
    ----------
    model
        The whole model.
    query_length
        [token] Query tokens of a sequence in decode.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> found = reference_crossovers(read_model("llama-2-7b"))
    >>> [(one.device, round(one.context_length)) for one in found]
    [('H100 SXM', 87), ('H200', 125), ('H100 64 GB', 42)]
    """
    gpus = []
    for device, name in _SHEETS:
        product = named_product(name)
        bandwidth = product.sheet_gb_per_s or product.bandwidth_gb_per_s or 0.0
        gpus.append((device, product.sheet_tera_per_s["tensor_fp16"] * 1e12, bandwidth * 1e9))
    device, bandwidth = _PAPER
    gpus.append((device, gpus[0][1], bandwidth))
    return tuple(
        Crossover(
            *gpu,
            context_crossover(
                model,
                flop_per_s=gpu[1],
                attention_flop_per_s=gpu[1],
                bytes_per_s=gpu[2],
                query_length=query_length,
            ),
        )
        for gpu in gpus
    )
