"""What a prediction was made from, and what holds at every batch size: as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import indented
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.render.style import Style
    from nsightlens.sweeps.predict import Prediction
    from nsightlens.sweeps.predict_facts import PredictedFacts

__all__ = ["prediction_data", "prediction_facts", "prediction_lines", "prediction_schema"]

_INDENT = 12


def prediction_facts(prediction: Prediction) -> list[tuple[str, str]]:
    """Return what holds for every batch size, each as a word and what is said of it.

    Parameters
    ----------
    prediction
        A result of `nsightlens.sweeps.predict.prediction`.
    """
    facts = prediction.facts
    return [
        ("model", _model(prediction)),
        ("KV cache", _cache(prediction)),
        ("attention", _attention(prediction)),
        ("crossover", _crossover(prediction)),
        ("knee", _knee(facts)),
        ("memory", _memory(prediction)),
        ("peaks", _peaks(prediction)),
    ]


def prediction_lines(prediction: Prediction, style: Style) -> Iterator[str]:
    """Yield the facts as lines.

    Parameters
    ----------
    prediction
        As above.
    style
        What the output can show.
    """
    for word, text in prediction_facts(prediction):
        yield from indented(text, style, _INDENT, word)


def _model(prediction: Prediction) -> str:
    facts, weights = prediction.facts, prediction.types.weights
    active = ""
    if facts.active_parameter_count != facts.parameter_count:
        active = f" ({_count(facts.active_parameter_count)} of them for a token)"
    gpus = prediction.gpu_count
    place = f" on each of {gpus} GPUs" if gpus > 1 else ""
    only = ", of the experts" if weights.only_experts else ""
    return (
        f"{_count(facts.parameter_count)} parameters{active}, {weights.dtype}{only}: "
        f"{format_quantity(facts.weights_bytes, 'B')}{place}"
    )


def _cache(prediction: Prediction) -> str:
    facts = prediction.facts
    text = (
        f"{facts.kv_bytes_per_token_16bit:,.0f} B a token in 16 bit, a block of 16 tokens "
        f"{facts.kv_block_bytes_16bit:,.0f} B"
    )
    if facts.kv_bytes_per_token == facts.kv_bytes_per_token_16bit:
        return text
    place = " on each GPU" if prediction.gpu_count > 1 else ""
    return f"{facts.kv_bytes_per_token:,.0f} B a token in {prediction.types.kv}{place}; {text}"


def _attention(prediction: Prediction) -> str:
    facts = prediction.facts
    place = f", on each of {prediction.gpu_count} GPUs" if prediction.gpu_count > 1 else ""
    tokens = ""
    if prediction.phase == "decode" and prediction.query_length > 1:
        tokens = f" with {prediction.query_length} query tokens"
    return (
        f"{facts.attention_intensity_16bit_flop_per_byte:.4g} FLOP/B with a 16-bit cache, "
        f"{facts.attention_intensity_8bit_flop_per_byte:.4g} with 8 bit{place}, in decode{tokens} "
        "at any batch size"
    )


def _knee(facts: PredictedFacts) -> str:
    return (
        f"the cache outweighs the weights from batch {facts.knee_batch_size:.1f} on; with 500 "
        f"tokens in 16 bit from {facts.knee_batch_size_at_500:.1f}"
    )


def _crossover(prediction: Prediction) -> str:
    facts = prediction.facts
    others = ", ".join(
        f"{one.device} {_tokens(one.context_length)}" for one in facts.reference_crossovers
    )
    return f"{_crossover_here(prediction)}; in 16 bit by data sheets: {others}"


def _tokens(context_length: float | None) -> str:
    return "none" if context_length is None else f"{context_length:.0f}"


def _crossover_here(prediction: Prediction) -> str:
    """Say from which context on the cache counts, or why there is no such context."""
    facts = prediction.facts
    if facts.crossover_context_length is not None:
        return (
            f"from {facts.crossover_context_length:.0f} tokens of context on, a large batch waits "
            "longer for the cache than for products"
        )
    intensity = facts.attention_intensity_flop_per_byte
    ridge = facts.attention_ridge_point_flop_per_byte
    if intensity >= ridge:
        return (
            f"none: attention has {intensity:.4g} FLOP/B, more than the ridge point at "
            f"{ridge:.4g}, so that a large batch does not wait for the cache"
        )
    return (
        f"none: layers see no more than {prediction.model.window_token_count} tokens, so that a "
        "large batch waits longer for products in any context"
    )


def _memory(prediction: Prediction) -> str:
    facts = prediction.facts
    if facts.memory_bytes is None or facts.largest_batch_size is None:
        return "of unknown size"
    room = f"{facts.memory_bytes / 2**30:g} GiB"
    weights = f"the weights, {format_quantity(facts.weights_bytes, 'B')},"
    if facts.weights_bytes > facts.memory_bytes:
        return f"{weights} do not fit in {room}: no batch does"
    tokens = numbers.counted(prediction.context_length, "token")
    if not facts.largest_batch_size:
        return f"{weights} fit in {room}, but no sequence of {tokens} beside them"
    sequences = numbers.counted(facts.largest_batch_size, "sequence")
    verb = "fits" if facts.largest_batch_size == 1 else "fit"
    return f"{sequences} of {tokens} {verb} beside the weights in {room}, if nothing else is there"


def _peaks(prediction: Prediction) -> str:
    peaks, types = prediction.peaks, prediction.types
    units = dict.fromkeys((types.gemm_resource, types.other_resource))
    rates = ", ".join(f"{name} {format_quantity(peaks.flop_per_s[name], 'FLOP/s')}"
                      for name in units)  # fmt: skip
    return f"DRAM {format_quantity(peaks.bytes_per_s, 'B/s')}, {rates}: {peaks.clock}"


def _count(count: float) -> str:
    """Return a number of parameters in words."""
    return f"{count / 1e9:.3g} billion" if count >= 1e9 else f"{count / 1e6:.3g} million"


def prediction_data(prediction: Prediction) -> dict[str, Any]:
    """Return what `prediction_schema` describes.

    Parameters
    ----------
    prediction
        As above.
    """
    model, types, peaks = prediction.model, prediction.types, prediction.peaks
    facts = prediction.facts._asdict()
    facts["reference_crossovers"] = [one._asdict() for one in facts["reference_crossovers"]]
    return {
        "model": model.name,
        "model_source": model.source,
        "device_name": peaks.device_name,
        "phase": prediction.phase,
        "context_length": prediction.context_length,
        "query_length": prediction.query_length,
        "gpu_count": prediction.gpu_count,
        "weight_dtype": types.weights.dtype,
        "weight_bytes_per_element": types.weights.bytes_per_element,
        "kv_dtype": types.kv,
        "clock": peaks.clock,
        "peak_source": peaks.source,
        "peak_bytes_per_s": peaks.bytes_per_s,
        "peak_flop_per_s": dict(peaks.flop_per_s),
        **facts,
    }


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_FACTS: dict[str, tuple[dict[str, Any], str]] = {
    "model": (_TEXT, "name of the model"),
    "model_source": (_TEXT, "where its sizes are from"),
    "device_name": (_TEXT, "name of the GPU, without the maker's"),
    "phase": ({"enum": ["decode", "prefill"]}, "what the steps are"),
    "context_length": (_COUNT, "keys that the last token of a sequence sees [token]"),
    "query_length": (_COUNT, "query tokens of a sequence [token]"),
    "gpu_count": (_COUNT, "GPUs that share the model; the rows are of one of them"),
    "weight_dtype": (_TEXT, "type of the weights of linear layers"),
    "weight_bytes_per_element": (_NUMBER, "its size with scales [B]"),
    "kv_dtype": (_TEXT, "type of the KV cache"),
    "clock": (_TEXT, "SM clock of the peaks, in words"),
    "peak_source": (_TEXT, "where the peaks are from"),
    "peak_bytes_per_s": (_NUMBER, "DRAM bandwidth [B/s]"),
    "peak_flop_per_s": (
        {"type": "object", "additionalProperties": _NUMBER},
        "peak of each unit [FLOP/s or op/s]",
    ),
    "parameter_count": (_COUNT, "parameters of the whole model"),
    "active_parameter_count": (_COUNT, "parameters that a token passes"),
    "kv_bytes_per_token": (_NUMBER, "cache of a token on one GPU, in kv_dtype [B]"),
    "kv_bytes_per_token_16bit": (_NUMBER, "cache of a token of the whole model, in 16 bit [B]"),
    "kv_block_bytes_16bit": (_NUMBER, "the same of a block of 16 tokens [B]"),
    "attention_intensity_flop_per_byte": (
        _NUMBER,
        "arithmetic intensity of decode attention with a long context on one GPU [FLOP/B]",
    ),
    "attention_intensity_16bit_flop_per_byte": (_NUMBER, "the same with a 16-bit cache [FLOP/B]"),
    "attention_intensity_8bit_flop_per_byte": (_NUMBER, "the same with an 8-bit cache [FLOP/B]"),
    "attention_ridge_point_flop_per_byte": (_NUMBER, "ridge point of attention's unit [FLOP/B]"),
    "crossover_context_length": (
        _NUMBER_OR_NULL,
        (
            "context from which on a large batch waits longer for the cache than for products; "
            "null if attention lies right of the ridge point, or windows keep the cache small "
            "[token]"
        ),
    ),
    "reference_crossovers": (
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["device", "flop_per_s", "bytes_per_s", "context_length"],
                "properties": {
                    "device": _TEXT,
                    "flop_per_s": _NUMBER,
                    "bytes_per_s": _NUMBER,
                    "context_length": _NUMBER_OR_NULL,
                },
            },
        },
        "the same of the whole model on well-known GPUs by their data sheets, in 16 bit",
    ),
    "knee_batch_size": (_NUMBER, "batch size at which a step reads as much cache as weights"),
    "knee_batch_size_at_500": (_NUMBER, "the same with 500 tokens, in 16 bit, of the whole model"),
    "weights_bytes": (_NUMBER, "weights on one GPU [B]"),
    "kv_bytes_per_sequence": (_NUMBER, "cache of a sequence of the context on one GPU [B]"),
    "memory_bytes": (_NUMBER_OR_NULL, "memory of the GPU [B]"),
    "largest_batch_size": (
        {"type": ["integer", "null"], "minimum": 0},
        "sequences that fit beside the weights",
    ),
}


def prediction_schema() -> dict[str, Any]:
    """Return the JSON Schema of what a prediction was made from."""
    return {
        "description": "of predict alone: what the rows were computed from, and what holds at "
        "every batch size",
        "type": "object",
        "required": list(_FACTS),
        "properties": {
            name: {**kind, "description": about} for name, (kind, about) in _FACTS.items()
        },
    }
