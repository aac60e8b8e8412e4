"""From what was measured to another context or GPU: bytes of the model, peaks of the GPUs.

After the analytic model of "Mind the Memory Gap" (arXiv 2503.08311): a step reads all weights and
the KV cache of each sequence. `nsightlens.models` has the formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.advisor.run_columns import positives
from nsightlens.models import (
    knee_batch_size,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    part_of_model,
    step_time_bound_s,
)
from nsightlens.sweeps.predict_peaks import predicted_peaks

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.models import ModelConfig

__all__ = ["Sizes", "analytic_knee", "mean_context", "rates_of", "sizes_of"]


class Rates(NamedTuple):
    """Peaks of a GPU: its name, [B/s] of DRAM, [FLOP/s] of the tensor cores, [B] of memory."""

    name: str
    bytes_per_s: float
    flop_per_s: float
    memory_bytes: float | None


class Sizes(NamedTuple):
    """What one GPU holds of a model, and bytes per element of weights and cache [B]."""

    model: ModelConfig
    weight_bytes: float
    kv_bytes: float

    def bound_ms(self, batch_size: float, context_length: float, rates: Rates) -> float:
        """Return the least time of a decode step [ms]; see `step_time_bound_s`."""
        seconds = step_time_bound_s(
            self.model,
            batch_size=max(1, round(batch_size)),
            context_length=max(1, round(context_length)),
            flop_per_s=rates.flop_per_s,
            bytes_per_s=rates.bytes_per_s,
            weight_bytes=self.weight_bytes,
            kv_bytes=self.kv_bytes,
        )
        return 1e3 * seconds

    def sequence_bytes(self, context_length: float) -> float:
        """Return the cache that a step reads of one sequence [B]."""
        return kv_bytes_of_sequence(self.model, context_length, kv_bytes=self.kv_bytes)

    def token_bytes(self) -> float:
        """Return the cache of one token [B]."""
        return kv_bytes_per_token(self.model, kv_bytes=self.kv_bytes)

    def knee(self, context_length: float) -> float:
        """Return the batch size at which cache and weights weigh the same."""
        return analytic_knee(
            self.model, context_length, weight_bytes=self.weight_bytes, kv_bytes=self.kv_bytes
        )


def analytic_knee(
    model: ModelConfig, context_length: float, *, weight_bytes: float = 2.0, kv_bytes: float = 2.0
) -> float:
    """Return the batch size at which a step reads as much cache as weights, without any fit.

    P b_w / (S kappa), of arXiv 2503.08311; see `nsightlens.models.knee_batch_size`. With the
    tokens that the paper's servers held per running sequence at the peak of their KV pool, it lies
    within 15 % of the fitted knees. With the mean over time, which is a fifth less, it lies 20 to
    40 % above them: what a sequence costs beside its cache, prefills among it, is not in it.

    Parameters
    ----------
    model
        Its sizes.
    context_length
        [token] In the cache of a running sequence.
    weight_bytes, kv_bytes
        [B] Per element.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> round(analytic_knee(read_model("llama-2-7b"), 457), 1)
    56.2
    """
    return knee_batch_size(model, context_length, weight_bytes=weight_bytes, kv_bytes=kv_bytes)


def rates_of(device: str, *, weight_bytes: float = 2.0) -> Rates:
    """Return the peaks of a GPU by its name, as `nsightlens.predict` takes them.

    Parameters
    ----------
    device
        Name of a product; see `nsightlens.devices.overrides.named_product`.
    weight_bytes
        [B] Per element: with one byte or less the tensor cores work in 8 bit, where they can.

    Raises
    ------
    UnknownDeviceError
        No product has this name, or several have.
    """
    peaks = predicted_peaks(device)
    flop = peaks.flop_per_s
    half = flop.get("tensor_fp16") or flop.get("tensor_bf16") or flop.get("fp32") or 0.0
    eight = flop.get("tensor_fp8", flop.get("tensor_int8", half))
    return Rates(
        peaks.device_name,
        peaks.bytes_per_s,
        # Weights of less than a byte are expanded to 16 bit before they are multiplied.
        eight if weight_bytes == 1.0 else half,
        peaks.memory_bytes,
    )


def sizes_of(
    model: ModelConfig, runs: pa.Table | None, weight_bytes: float | None, kv_bytes: float | None
) -> Sizes:
    """Return what one GPU of the runs holds.

    Parameters
    ----------
    model
        The whole model.
    runs
        With the schema ``SERVING_RUNS``: tensor parallelism, quantization and the data type of the
        cache, where they are not given.
    weight_bytes, kv_bytes
        [B] Per element; None for what the runs say, else two bytes.

    Raises
    ------
    FilterError
        The model cannot be divided among so many GPUs.
    """
    weights, cache, count = weight_bytes, kv_bytes, 1
    if runs is not None and runs.num_rows:
        shared = positives(runs, "tensor_parallel_size")
        count = 1 if np.isnan(shared).all() else int(np.nanmax(shared))
        if weights is None:
            weights = _bytes_of(_text(runs, "quantization"))
        if cache is None:
            cache = _bytes_of(_text(runs, "kv_cache_dtype"))
    stored = model.stored_weights
    if weights is None and stored is not None:
        weights = stored.bytes_per_element
    return Sizes(part_of_model(model, count), weights or 2.0, cache or 2.0)


def mean_context(runs: pa.Table | None, token_bytes: float | None) -> float | None:
    """Return the tokens in the cache of a running sequence, mean over time [token].

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``.
    token_bytes
        [B] Cache of one token, over all layers; None where the model is not known.

    Returns
    -------
    float or None
        From the mean use of the KV pool and the running batch; else the mean prompt and half of
        the mean output, which is less than that where lengths differ, since long sequences stay
        longer.
    """
    if runs is None or not runs.num_rows:
        return None
    pool = positives(runs, "kv_pool_tokens")
    blocks = positives(runs, "kv_block_count") * positives(runs, "block_size")
    pool = np.where(np.isnan(pool), blocks, pool)
    if token_bytes:
        by_size = positives(runs, "kv_pool_gib") * 2.0**30 / token_bytes
        pool = np.where(np.isnan(pool), by_size, pool)
    held = positives(runs, "kv_mean_pct") / 100 * pool / positives(runs, "mean_running")
    output = positives(runs, "mean_output_tokens")
    for found in (held, positives(runs, "mean_input_tokens") + output / 2):
        known = found[np.isfinite(found)]
        if len(known):
            return float(np.median(known))
    return None


def _text(runs: pa.Table, name: str) -> str:
    return next((str(one).lower() for one in runs[name].to_pylist() if one), "")


def _bytes_of(text: str) -> float | None:
    """Return bytes per element by the name of a type or of a quantization; None where none is."""
    if any(word in text for word in ("awq", "gptq", "int4", "fp4", "nf4", "w4")):
        return 0.5
    if any(word in text for word in ("fp8", "float8", "int8", "w8", "e4m3", "e5m2")):
        return 1.0
    return 4.0 if "32" in text else None
