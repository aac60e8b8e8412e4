"""`memory_advice`: what the chosen batch size needs of the KV pool, and what can be given back."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import MemoryAdvice
from nsightlens.advisor.constraints import plausible
from nsightlens.advisor.kv_pool import KvPool, kv_pool_of
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.advisor.answers import BatchChoice, Curve
    from nsightlens.models import ModelConfig

__all__ = ["checked_margin", "memory_advice"]

_STEPS = 1000
"""gpu_memory_utilization is given in thousandths."""


def memory_advice(
    runs: pa.Table,
    curve: Curve,
    choice: BatchChoice,
    *,
    margin: float = 0.1,
    model: ModelConfig | None = None,
) -> MemoryAdvice:
    """Say how much of the KV pool the choice needs, and the setting that gives back the rest.

    As arXiv 2503.08311 has it, freed is the pool less its largest use at the choice::

        freed = pool (1 - peak / 100)

    With rule ``largest`` this pool is the largest of the sweep, as in the paper's figure; what is
    needed, and the setting, are always of the pool at the choice. ``needed`` is left by ::

        gpu_memory_utilization - (pool - needed) / total

    rounded up to thousandths; never above what it was.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``, those of the curve among them.
    curve
        The runs, by batch size.
    choice
        From `choose_batch`; something is chosen.
    margin
        Part of the largest use that is kept beside it.
    model
        Sizes of the model: gives the blocks where no file does.

    Raises
    ------
    AdviceError
        Nothing was chosen, or the margin is no number of 0 or more.

    Examples
    --------
    >>> from nsightlens.advisor.answers import Curve
    >>> from nsightlens.advisor.batch import choose_batch
    >>> from nsightlens.tables import ADVICE_CURVE, SERVING_RUNS, schema_of, table_of
    >>> data = {"run": ["a"], "kv_pool_gib": [50.0], "kv_peak_pct": [20.0]}
    >>> row = {**data, "batch_size": [96], "throughput_tok_s": [9000.0]}
    >>> curve = Curve(table_of(schema_of(ADVICE_CURVE), row, 1), "total", None)
    >>> setting = {"total_memory_gib": [80.0], "gpu_memory_utilization": [0.9]}
    >>> runs = table_of(schema_of(SERVING_RUNS), data | setting, 1)
    >>> advice = memory_advice(runs, curve, choose_batch(curve), margin=0.1)
    >>> advice.kv_freed_gib, advice.kv_needed_gib, advice.gpu_memory_utilization
    (40.0, 11.0, 0.413)
    """
    checked_margin(margin)
    pool = kv_pool_of(runs, choice, model)
    shown = _shown_pool(curve, choice, pool)
    used = None if shown is None or pool.peak_pct is None else shown * pool.peak_pct / 100
    freed = None if shown is None or used is None else max(shown - used, 0.0)
    needed = pool.needed_gib(margin)
    back = None
    if pool.pool_gib is not None and needed is not None:
        back = max(pool.pool_gib - needed, 0.0)
    setting = _setting(pool, back)
    was, total = pool.gpu_memory_utilization, pool.total_gib
    advice = MemoryAdvice(
        kv_pool_gib=shown,
        kv_peak_pct=pool.peak_pct,
        kv_used_gib=used,
        kv_freed_gib=freed,
        freed_pct=100 * freed / total if freed is not None and total else None,
        margin=margin,
        kv_needed_gib=needed,
        kv_blocks_needed=pool.blocks_needed(margin),
        kv_given_back_gib=back,
        gpu_memory_utilization=setting,
        gpu_memory_utilization_was=was,
        missing=_missing(pool),
        text="",
    )
    return replace(advice, text=_text(advice, choice, pool.pool_gib))


def checked_margin(margin: float) -> float:
    """Return the margin.

    Raises
    ------
    AdviceError
        It is no number of 0 or more.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise AdviceError(f"The margin is {margin}; it must be a number of 0 or more, such as 0.1.")
    return margin


def _shown_pool(curve: Curve, choice: BatchChoice, pool: KvPool) -> float | None:
    pools = plausible(curve.rows, "kv_pool_gib")
    if choice.rule == "largest" and not np.isnan(pools).all():
        return float(np.nanmax(pools))
    return pool.pool_gib


def _setting(pool: KvPool, back_gib: float | None) -> float | None:
    was, total = pool.gpu_memory_utilization, pool.total_gib
    if was is None or total is None or back_gib is None:
        return None
    # The binary fractions of 0.9 - 46.8 / 80 may be a little above 0.315: that is not 0.316.
    return min(was, math.ceil((was - back_gib / total) * _STEPS - 1e-9) / _STEPS)


def _missing(pool: KvPool) -> tuple[str, ...]:
    wanted = {
        "the size of the KV pool": pool.pool_gib,
        "the largest use of the KV pool": pool.peak_pct,
        "the memory of the GPU": pool.total_gib,
        "gpu_memory_utilization of the runs": pool.gpu_memory_utilization,
    }
    return tuple(what for what, value in wanted.items() if value is None)


def _text(advice: MemoryAdvice, choice: BatchChoice, own_gib: float | None) -> str:
    pool, peak, used = advice.kv_pool_gib, advice.kv_peak_pct, advice.kv_used_gib
    was, new = advice.gpu_memory_utilization_was, advice.gpu_memory_utilization
    back = advice.kv_given_back_gib
    if pool is None or peak is None or used is None or back is None:
        missing = _and(advice.missing)
        return f"What of the KV pool could be given back is not known without {missing}."
    own = (
        ""
        if own_gib is None or abs(own_gib - pool) < 0.005
        else (f" (the largest of the sweep; here {own_gib:.2f} GiB)")
    )
    begin = (
        f"At batch size {choice.batch_size:g} the KV pool of {pool:.2f} GiB{own} is used to "
        f"{peak:.2f} % at its peak ({used:.2f} GiB), so {pool - used:.2f} GiB are never used"
    )
    blocks = advice.kv_blocks_needed
    counted = f", {blocks:,} blocks" if blocks is not None else ""
    kept = f"with a margin of {100 * advice.margin:g} % ({advice.kv_needed_gib:.2f} GiB{counted})"
    if back == 0 or (new is not None and new == was):
        return f"{begin}; {kept} nothing can be given back."
    if new is None:
        which = _and(advice.missing)
        return f"{begin}; {kept} {back:.2f} GiB can be given back. The setting needs {which}."
    return (
        f"{begin}; {kept} {back:.2f} GiB can be given back by gpu_memory_utilization "
        f"{new:g} instead of {was:g}."
    )


def _and(words: tuple[str, ...]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
