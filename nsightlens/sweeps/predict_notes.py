"""What a reader of a prediction has to know, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.models import WEIGHT_BYTES
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.sweeps.predict import Prediction
    from nsightlens.sweeps.predict_tables import PredictedStep

__all__ = ["notes_of"]

_SHOWN = 6


def notes_of(prediction: Prediction, steps: Sequence[PredictedStep]) -> Iterator[str]:
    """Yield the notes of a prediction.

    Parameters
    ----------
    prediction
        The prediction.
    steps
        Its batch sizes.
    """
    yield (
        "Nothing was measured: durations are roofline times, every operation at the peak of DRAM "
        f"or of its unit ({prediction.peaks.clock}). Real ones are longer, those of small batches "
        "most of all."
    )
    too_large = [step.batch_size for step in steps if step.fits_memory is False]
    if too_large:
        yield _too_large(prediction, too_large)
    yield from _of_model(prediction)
    yield from _of_weights(prediction)
    yield from _of_context(prediction)
    yield from _assumptions(prediction)


def _of_model(prediction: Prediction) -> Iterator[str]:
    if prediction.namesake is not None:
        yield (
            f"The model was read from {prediction.model.source}. It is not the built-in "
            f"{prediction.namesake}, whose name reads the same."
        )


def _of_weights(prediction: Prediction) -> Iterator[str]:
    types, device = prediction.types, prediction.peaks.device_name
    dtype = types.weights.dtype
    if not types.is_said:
        yield (
            "The configuration does not say how weights are stored: they are taken as "
            f"{dtype}. --weight-dtype says another type."
        )
    if dtype == "fp32" and types.gemm_resource == "fp32":
        yield f"{device} has no tensor cores for fp32: its CUDA cores do the products."
    elif dtype == "fp32":
        yield "Products of fp32 weights are taken as done in TF32, which engines have to allow."
    elif types.is_expanded and types.weights.bytes_per_element == WEIGHT_BYTES["fp16"]:
        yield f"{device} has no unit for {dtype}: products are taken as done in fp16."
    elif types.is_expanded:
        yield (
            f"{device} has no unit for {dtype}: products are taken as done in 16 bit, with "
            "weights of their own size."
        )


def _of_context(prediction: Prediction) -> Iterator[str]:
    model, context = prediction.model, prediction.context_length
    if model.longest_context is not None and context > model.longest_context:
        yield (
            f"Context {context} is more than the {model.longest_context} positions that the "
            f"configuration of {model.name} speaks of."
        )
    if prediction.facts.knee_batch_size < 1.0:
        yield f"At context {context} the cache of one sequence outweighs the weights."


def _too_large(prediction: Prediction, batches: Sequence[int]) -> str:
    facts = prediction.facts
    room = (facts.memory_bytes or 0.0) - facts.weights_bytes
    if room <= 0.0:
        return (
            f"No batch fits: the weights take {format_quantity(facts.weights_bytes, 'B')}, and the "
            f"GPU has {(facts.memory_bytes or 0.0) / 2**30:g} GiB."
        )
    largest = facts.largest_batch_size
    sequences = "1 sequence" if largest == 1 else f"{largest or 'no'} sequences"
    return (
        f"Batch {_listed(batches)} not fit: beside the weights {format_quantity(room, 'B')} are "
        f"left for {sequences} of {format_quantity(facts.kv_bytes_per_sequence, 'B')}."
    )


def _listed(batches: Sequence[int]) -> str:
    """Return batch sizes with the verb after them."""
    shown = [str(batch) for batch in batches[:_SHOWN]]
    if len(batches) > _SHOWN:
        shown.append(f"{len(batches) - _SHOWN} more")
    *others, last = shown
    return f"{', '.join(others)} and {last} do" if others else f"{last} does"


def _assumptions(prediction: Prediction) -> Iterator[str]:
    model = prediction.model
    if model.experts is not None:
        yield (
            "Experts are taken as equally likely, and tokens as independent: a real step touches "
            "fewer of them."
        )
    if prediction.gpu_count > 1:
        shared = prediction.gpu_count > model.kv_head_count and model.latent is None
        kept = ", and several keep the same key-value head" if shared else ""
        yield (
            f"The tables are of one of {prediction.gpu_count} GPUs{kept}; communication between "
            "them is left out."
        )
