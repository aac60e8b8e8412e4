"""Why a sweep has no knee: where the law ITL = t0 + a B does not hold.

It holds where a step reads all weights and the KV cache of every sequence. It does not where
the weights that are read depend on the batch, where prompts rule the time, or where less ran than
the batch says. A number from such a fit would look like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Warned
from nsightlens.advisor.fitting import relative_errors_pct
from nsightlens.advisor.run_columns import numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Curve, Fit

__all__ = ["LARGEST_ERROR_PCT", "is_concave", "reason_to_refuse"]

LARGEST_ERROR_PCT = 15.0
"""[%] A line that misses a run by more is no law. Dense models stay within 9, mixtures of experts
are at 12 to 39 (95 public sweeps)."""

CONCAVE_ERROR_PCT = 10.0
"""[%] The same, where errors have the sign of a curve that bends down at both ends."""

BEND_PCT = 2.0
"""[%] Mean errors of the first and the last fifth of a sweep below this are noise between runs."""

TRUSTED = 0.5
"""A row of less weight does not speak against the law."""

PREFILL_BATCH = 16.0
"""Prompts of thousands of tokens use a server up at such a batch, where decoding is far from it."""


def reason_to_refuse(
    curve: Curve,
    batch: NDArray[np.float64],
    found: Fit | None,
    *,
    best_batch: float | None,
    over: str,
) -> Warned | None:
    """Return why the law does not hold, or None where it does.

    Parameters
    ----------
    curve
        The sweep.
    batch
        What the law is over. Shape (n,).
    found
        The law, fitted; None where it could not be.
    best_batch
        Batch size with the best throughput.
    over
        ``running`` or ``nominal``.
    """
    sweep = _Sweep.of(curve, batch)
    if found is None or len(np.unique(batch[sweep.usable])) < 3:
        return _too_few(sweep, batch)
    errors = _errors(sweep, batch, found)
    tests: tuple[Callable[[], Warned | None], ...] = (
        lambda: _of_model(sweep, found),
        lambda: _thrash(sweep) if errors.are_bad and sweep.flagged["thrash"].any() else None,
        lambda: _prefill(sweep, found, errors, best_batch),
        lambda: _beyond(sweep, errors) if errors.are_bad and over == "nominal" else None,
        lambda: _not_linear(found, errors),
    )
    return next((reason for test in tests if (reason := test()) is not None), None)


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Columns of a curve. Shape (n,) each."""

    size: NDArray[np.float64]
    running: NDArray[np.float64]
    itl: NDArray[np.float64]
    weight: NDArray[np.float64]
    is_static: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    flagged: dict[str, NDArray[np.bool_]]

    @staticmethod
    def of(curve: Curve, batch: NDArray[np.float64]) -> _Sweep:
        names = ("batch_size", "running_batch", "itl_ms", "fit_weight")
        size, running, itl, weight = (numbers(curve.rows, name) for name in names)
        sets = [set((one or "").split(",")) for one in curve.rows["flags"].to_pylist()]
        usable = (weight > 0) & ~np.isnan(itl) & ~np.isnan(batch)
        flagged = {key: np.array([key in one for one in sets], bool) for key in _LOOKED_AT}
        is_static = np.array(
            [one == "static" for one in curve.rows["batch_source"].to_pylist()], bool
        )
        return _Sweep(size, running, itl, weight, is_static, usable, flagged)


_LOOKED_AT = (
    "preempted", "thrash", "moe", "speculative", "long_input", "nominal_beyond_running",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Errors:
    """How far the law is from rows that are trusted [%]."""

    mean: float
    largest: float
    is_bent: bool

    @property
    def are_bad(self) -> bool:
        most = CONCAVE_ERROR_PCT if self.is_bent else LARGEST_ERROR_PCT
        return self.largest > most


def _errors(sweep: _Sweep, batch: NDArray[np.float64], found: Fit) -> _Errors:
    rows = sweep.usable & (sweep.weight >= TRUSTED)
    if len(np.unique(batch[rows])) < 3:
        rows = sweep.usable
    order = np.argsort(batch[rows], kind="stable")
    error = relative_errors_pct(found, batch[rows][order], sweep.itl[rows][order])
    sizes = np.abs(error)
    return _Errors(float(sizes.mean()), float(sizes.max()), is_concave(error))


def is_concave(error_pct: NDArray[np.float64]) -> bool:
    """Return whether a line is above what was measured at both ends, and below it in the middle.

    Parameters
    ----------
    error_pct
        [%] The line against what was measured, by rising batch. Shape (n,).

    Examples
    --------
    >>> is_concave(np.array([12.0, -6.0, -8.0, -2.0, 11.0]))
    True
    >>> is_concave(np.array([1.0, 0.1, 2.1, -2.2, 1.4, -4.2]))
    False
    """
    if len(error_pct) < 3:
        return False
    end = max(1, len(error_pct) // 5)
    parts = np.split(error_pct, [end, len(error_pct) - end])
    first, middle, last = (float(one.mean()) for one in parts)
    return first > BEND_PCT and middle < -BEND_PCT and last > BEND_PCT


def _too_few(sweep: _Sweep, batch: NDArray[np.float64]) -> Warned:
    if sweep.flagged["thrash"].any():
        return _thrash(sweep)
    count = len(np.unique(batch[sweep.usable]))
    preempted = int(sweep.flagged["preempted"].sum())
    unknown = int(np.isnan(sweep.itl).sum())
    why = []
    if preempted:
        why.append(f"{preempted} of {len(batch)} were preempted")
    if unknown:
        why.append(f"{unknown} of {len(batch)} have no time between tokens")
    detail = f" ({'; '.join(why)})" if why else ""
    batches = "batch has" if count == 1 else "different batches have"
    text = (
        f"No knee is given: {count or 'no'} {batches} a time between tokens{detail}, and a line "
        "with an error needs three."
    )
    return Warned("too_few_batches", text)


def _of_model(sweep: _Sweep, found: Fit) -> Warned | None:
    missed = f"(a line misses by up to {found.max_error_pct:.1f} %)"
    if (sweep.flagged["moe"] & sweep.usable).any():
        text = (
            "No knee is given: in a mixture of experts, a step reads more weights the more "
            f"sequences it has, so that the time between tokens bends {missed}."
        )
        return Warned("moe", text)
    if (sweep.flagged["speculative"] & sweep.usable).any():
        text = (
            "No knee is given: with speculative decoding a step gives several tokens, and how many "
            f"changes with the batch {missed}."
        )
        return Warned("speculative", text)
    return None


def _thrash(sweep: _Sweep) -> Warned:
    row = int(np.flatnonzero(sweep.flagged["thrash"])[0])
    before = float(np.nanmax(sweep.itl[:row]))
    text = (
        f"No knee is given: the KV pool was too small. The time between tokens fell from "
        f"{before:.3g} ms to {sweep.itl[row]:.3g} ms at batch size {sweep.size[row]:g}, because "
        "requests were kept out."
    )
    return Warned("kv_thrash", text)


def _prefill(sweep: _Sweep, found: Fit, errors: _Errors, best_batch: float | None) -> Warned | None:
    is_long = bool((sweep.flagged["long_input"] & sweep.usable).any())
    largest = float(sweep.size[sweep.usable].max())
    is_early = best_batch is not None and best_batch <= PREFILL_BATCH and best_batch < largest
    if (sweep.is_static & sweep.usable).any():
        return None  # decoding alone was timed
    if found.t0_ms <= 0:
        detail = f"the line begins at {found.t0_ms:.3g} ms for no sequence at all"
    elif is_long and is_early:
        detail = f"throughput is best at batch size {best_batch:g} of {largest:g} already"
    elif is_long and errors.are_bad:
        detail = f"a line misses by up to {errors.largest:.1f} %"
    else:
        return None
    long = ", which have thousands of tokens," if is_long else ""
    text = f"No knee is given: prompts{long} and not decoding rule the time: {detail}."
    return Warned("prefill_bound", text)


def _beyond(sweep: _Sweep, errors: _Errors) -> Warned | None:
    rows = np.flatnonzero(sweep.flagged["nominal_beyond_running"] & sweep.usable)
    if not len(rows):
        return None
    text = (
        f"No knee is given over the batch that was asked for: of {sweep.size[rows[-1]]:g}, "
        f"{sweep.running[rows[-1]]:.3g} ran, and a line misses by up to {errors.largest:.1f} %. "
        "Fit over what ran."
    )
    return Warned("nominal_beyond_running", text)


def _not_linear(found: Fit, errors: _Errors) -> Warned | None:
    if found.a_ms <= 0:
        text = (
            "No knee is given: the time between tokens does not rise with the batch "
            f"({1e3 * found.a_ms:.3g} us for each sequence)."
        )
    elif found.t0_ms <= 0:
        text = (
            f"No knee is given: the line begins at {found.t0_ms:.3g} ms for no sequence at all, "
            f"and misses by up to {errors.largest:.1f} %."
        )
    elif errors.are_bad:
        bent = ", too long at both ends and too short between" if errors.is_bent else ""
        text = (
            "No knee is given: the time between tokens is not linear in the batch. A line misses "
            f"by up to {errors.largest:.1f} % ({errors.mean:.1f} % on average){bent}."
        )
    else:
        return None
    return Warned("not_linear", text)
