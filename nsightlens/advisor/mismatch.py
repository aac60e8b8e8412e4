"""Profiles and sizes of a model that may be of something else than the serving results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Warned
from nsightlens.advisor.run_columns import positives
from nsightlens.models import kv_block_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from nsightlens.advisor.setups import Setup
    from nsightlens.models import ModelConfig
    from nsightlens.sweeps import Sweep
    from nsightlens.timelines.timeline import Timeline

__all__ = ["mismatches"]

TOLERANCE = 0.03
"""Part by which the bytes of a KV block may differ: pools are printed with two digits."""


def mismatches(
    setup: Setup,
    *,
    sweeps: Sequence[Sweep] = (),
    timelines: Sequence[Timeline] = (),
    model: ModelConfig | None = None,
) -> tuple[Warned, ...]:
    """Return what speaks against joining profiles and a model with the runs of a setup.

    Parameters
    ----------
    setup
        The runs.
    sweeps, timelines
        Profiles that were given.
    model
        Sizes that were given.
    """
    found = [*_devices(setup, sweeps), *_without_steps(timelines)]
    return (*found, *(_model(setup, model) if model is not None else ()))


def _devices(setup: Setup, sweeps: Sequence[Sweep]) -> Iterator[Warned]:
    served = setup.key.get("device_name")
    profiled = {
        str(name)
        for sweep in sweeps
        for name in sweep.rows["device_name"].unique().to_pylist()
        if name
    }
    if served and profiled and not any(_alike(served, one) for one in profiled):
        names = ", ".join(sorted(profiled))
        text = f"The profile is of {names}, the runs of {served}: what it says may not hold there."
        yield Warned("profile_of_another_gpu", text)


def _without_steps(timelines: Sequence[Timeline]) -> Iterator[Warned]:
    for one in timelines:
        if not one.has_steps:
            yield Warned(
                "trace_without_steps",
                f"{one.source}: no range of the trace is a decode step, so that what a step costs "
                "is not known from it. Profile with step labels (nsightlens profile), or name the "
                "ranges to nsightlens timeline --steps-from.",
            )


def _model(setup: Setup, model: ModelConfig) -> Iterator[Warned]:
    served = setup.key.get("model")
    is_named = model.name.lower() not in {"", "config", "model"}
    if served and is_named and not _alike(served, model.name):
        text = f"The runs are of {served}, and the sizes of {model.name} were given (--model)."
        yield Warned("model_mismatch", text)
    measured = _block_bytes(setup.runs)
    if measured is None:
        return
    value, tokens = measured
    stated = [kv_block_bytes(model, kv_bytes=size, block_token_count=tokens) for size in (2.0, 1.0)]
    if all(abs(value / one - 1) > TOLERANCE for one in stated):
        yield Warned(
            "kv_block_mismatch",
            f"A KV block of the runs has {value / 2**20:.3g} MiB, one of the given model "
            f"{stated[0] / 2**20:.3g} MiB at 16 bit: is it another model, or was it shared out "
            "among GPUs?",
        )


def _block_bytes(runs: pa.Table) -> tuple[float, int] | None:
    """Return the bytes of a KV block and its tokens, where one GPU holds all of the model."""
    pool, count = positives(runs, "kv_pool_gib"), positives(runs, "kv_block_count")
    tokens = positives(runs, "block_size")
    shared = np.nan_to_num(positives(runs, "tensor_parallel_size"), nan=1.0) > 1
    sizes = np.where(shared, np.nan, pool * 2**30 / count)
    if np.isnan(sizes).all():
        return None
    known = tokens[~np.isnan(tokens)]
    return float(np.nanmedian(sizes)), int(known[0]) if known.size else 16


def _alike(one: str, other: str) -> bool:
    """Whether one name, without signs, is part of the other."""
    first, second = (re.sub(r"[^a-z0-9]", "", text.lower()) for text in (one, other))
    return first in second or second in first
