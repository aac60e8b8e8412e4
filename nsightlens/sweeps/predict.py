"""`predict`: the tables of a sweep from the sizes of a model and the peaks of a GPU, no report."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import PeaksWarning
from nsightlens.models import part_of_model, read_model, step_work
from nsightlens.models.read import namesake
from nsightlens.sweeps.model import Sweep
from nsightlens.sweeps.predict_crossover import crossovers_of
from nsightlens.sweeps.predict_dtypes import types_of
from nsightlens.sweeps.predict_facts import facts_of
from nsightlens.sweeps.predict_inputs import steps_to_predict
from nsightlens.sweeps.predict_notes import notes_of
from nsightlens.sweeps.predict_peaks import predicted_peaks
from nsightlens.sweeps.predict_tables import (
    PredictedStep,
    predicted_rows,
    predicted_steps,
    timed,
)
from nsightlens.sweeps.trends import trends_of
from nsightlens.sweeps.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nsightlens.models import ModelConfig
    from nsightlens.models.work import Phase
    from nsightlens.sweeps.predict_dtypes import Types
    from nsightlens.sweeps.predict_facts import PredictedFacts
    from nsightlens.sweeps.predict_peaks import PredictedPeaks

__all__ = ["Prediction", "predict", "prediction"]

_BY = ("family", "operation")


class Prediction(NamedTuple):
    """A predicted sweep and what it was made from.

    Parameters
    ----------
    sweep
        The tables.
    model
        The whole model.
    types
        Of weights and cache.
    peaks
        Of the GPU.
    facts
        What holds for every batch size.
    context_length, query_length
        [token] Of each sequence.
    phase
        ``decode`` or ``prefill``.
    gpu_count
        GPUs that share the model; the tables are of one of them.
    namesake
        Built-in model that the file of this one hides; see `nsightlens.models.read.namesake`.
    """

    sweep: Sweep
    model: ModelConfig
    types: Types
    peaks: PredictedPeaks
    facts: PredictedFacts
    context_length: int
    query_length: int
    phase: Phase
    gpu_count: int
    namesake: str | None = None


def predict(
    model: str | Path | ModelConfig,
    device: str,
    batch_sizes: Iterable[int],
    context_length: int,
    **options: Any,
) -> Sweep:
    """Return the tables of a sweep without a GPU, named analytic.

    Parameters
    ----------
    model
        A built-in name, a ``config.json`` or the folder of one; see
        `nsightlens.models.read_model`.
    device
        Name of a GPU; see `nsightlens.devices.overrides.named_product`.
    batch_sizes
        Sequences in a step; each gives a row per family.
    context_length
        [token] Keys that the last token of each sequence sees.
    **options
        As for `prediction`.

    Returns
    -------
    Sweep
        Durations are roofline times: every operation at the peak of its unit or of DRAM, whichever
        takes longer. Real ones are longer. What shapes do not tell, such as occupancy, stalls or
        operations executed on padding, is null.

    Raises
    ------
    UnknownModelError, ModelConfigError
        The model cannot be read.
    UnknownDeviceError, SettingsFileError
        The GPU, or the file of its peaks.
    FilterError
        The model cannot be divided among so many GPUs.
    ValueError
        A number is no whole one above zero or too large, or a word is not known.

    Warns
    -----
    PeaksWarning
        The file of measured ceilings has none of this GPU.

    Examples
    --------
    >>> sweep = predict("llama-3-8b", "H100 SXM5 80GB", [1, 8, 64, 512], 2048)
    >>> rows = sweep.rows.select(["family", "batch_size", "bound"]).to_pylist()
    >>> [row["bound"] for row in rows if row["family"] == "gemm"]
    ['memory', 'memory', 'memory', 'compute']
    """
    found = prediction(model, device, batch_sizes, context_length, **options)
    for text in found.sweep.warnings:
        warnings.warn(text, PeaksWarning, stacklevel=2)
    return found.sweep


def prediction(
    model: str | Path | ModelConfig,
    device: str,
    batch_sizes: Iterable[int],
    context_length: int,
    *,
    query_length: int | None = None,
    phase: Phase | None = None,
    weight_dtype: str | None = None,
    kv_dtype: str | None = None,
    gpu_count: int = 1,
    clock: str = "sheet",
    peaks: str | Path | None = None,
    by: str = "family",
) -> Prediction:
    """Return a predicted sweep with what it was made from; what `predict` warns of is in it.

    Parameters
    ----------
    model, device, batch_sizes, context_length
        As for `predict`.
    query_length
        [token] Query tokens of each sequence; ``None`` for one, in a prefill for the whole context.
    phase
        ``decode`` or ``prefill``; ``None`` for a decode, unless the queries are the whole context.
    weight_dtype
        Of linear layers, one of `nsightlens.models.WEIGHT_BYTES`; ``None`` for what the
        configuration says, of a built-in model the published type, else 16 bit.
    kv_dtype
        Of the cache, one of `nsightlens.sweeps.predict_dtypes.KV_BYTES`; ``None`` for 16 bit.
        Attention computes in 16 bit.
    gpu_count
        GPUs that share the model by tensor parallelism; see `nsightlens.models.part_of_model`. The
        tables are of one of them, and communication is left out.
    clock
        ``sheet``, ``boost`` or ``base``; see `nsightlens.sweeps.predict_peaks.predicted_peaks`.
    peaks
        File of measured ceilings.
    by
        ``family``, or ``operation`` for a row per operation of the model, named in ``kernel``.
    """
    if by not in _BY:
        raise ValueError(f"by must be one of {', '.join(_BY)}, not {by!r}")
    asked = steps_to_predict(batch_sizes, context_length, query_length, phase)
    whole = read_model(model)
    part = part_of_model(whole, gpu_count)
    gpu = predicted_peaks(device, clock=clock, peaks=peaks)
    types = types_of(whole, weight_dtype, kv_dtype, gpu)
    query_length = asked.query_length if asked.phase == "decode" else 1
    facts = facts_of(whole, part, types, gpu, asked.context_length, query_length=query_length)
    row_of = "kernel" if by == "operation" else by

    def step_of(batch_size: int) -> PredictedStep:
        works = step_work(
            part,
            batch_size=batch_size,
            context_length=asked.context_length,
            query_length=asked.query_length,
            phase=asked.phase,
            weight_bytes=types.weights.bytes_per_element,
            kv_bytes=types.kv_bytes,
        )
        most = facts.largest_batch_size
        fits = None if most is None else batch_size <= most
        return PredictedStep(batch_size, fits, [timed(work, types, gpu) for work in works])

    steps = [step_of(batch) for batch in asked.batch_sizes]
    place = {"device_name": gpu.device_name, "phase": asked.phase}
    of_row = {**place, "context_length": asked.context_length}
    rows, components = (
        predicted_rows(steps, of_row, gpu, by=what) for what in (row_of, "component")
    )
    of_steps = predicted_steps(steps, place)
    trends = trends_of(rows, crossovers_of(step_of, row_of))
    sweep = Sweep(
        rows=rows,
        trends=trends,
        steps=of_steps,
        verdict=verdict_of(
            rows,
            trends,
            of_steps,
            components=components,
            crossovers=crossovers_of(step_of, "component"),
        ),
        by=row_of,
        warnings=gpu.warnings,
    )
    found = Prediction(sweep, whole, types, gpu, facts, *asked[1:], gpu_count, namesake(model))
    return found._replace(sweep=replace(sweep, notes=tuple(notes_of(found, steps))))
