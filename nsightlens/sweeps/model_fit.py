"""Whether a model can be the one that ran: beside annotated shapes, and beside what was executed.

Fewer operations than a step needs cannot do it, and shapes that somebody wrote beside the launches
are those of the model that ran. A model that fits neither says nothing of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.sweeps.components import component_of
from nsightlens.sweeps.expectation import EXECUTED_BAND
from nsightlens.sweeps.needed import Needed
from nsightlens.sweeps.numbers import quotient
from nsightlens.sweeps.rows import work_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.sweeps.needed_by_model import ModelNeeds
    from nsightlens.sweeps.part import SweepPart

__all__ = ["MODEL_BAND", "fitting_needs"]

MODEL_BAND = (0.9, 1.1)
"""[1] What a model needs over what annotated shapes do: biases and partial results are left out of
one and not of the other."""

_OTHERWISE = "only a part of this one ran on each GPU (tensor parallelism)"


class _Found(NamedTuple):
    """A row in which a model does not fit, in words."""

    component: str
    batch: str
    flop: str
    bytes: str

    @property
    def place(self) -> str:
        return f"{self.component} at batch {self.batch}"


def fitting_needs(part: SweepPart, annotated: Needed, needs: ModelNeeds, name: str) -> ModelNeeds:
    """Return what a model needs without what cannot be so, and say what that is.

    Parameters
    ----------
    part
        The sums. n rows.
    annotated
        What annotated shapes need.
    needs
        What the model needs.
    name
        Of the model.
    """
    is_both = (annotated.source >= 0) & (needs.rows.source >= 0)
    ratios = (
        quotient(needs.rows.flop, annotated.flop),
        quotient(needs.rows.bytes, annotated.bytes),
    )
    low, high = MODEL_BAND
    is_other = is_both & np.any([(one < low) | (one > high) for one in ratios], axis=0)
    if is_other.any():
        found = _worst(part, is_other, *ratios)
        why = (
            f"{name} does not fit the annotated shapes and is not used: of {found.place} it would"
            f" need {found.flop} times the operations and {found.bytes} times the bytes that are"
            f" annotated. The model, its context length or its data types are others, or"
            f" {_OTHERWISE}."
        )
        return _without(part, needs, {"attention", "matmul"}, why)
    fitting = _without_refuted(part, needs, name)
    if is_both.any():
        seen = {_component(part, i) for i in np.flatnonzero(is_both).tolist()}
        agrees = f"{name} agrees with the annotated shapes of {' and '.join(sorted(seen))}."
        return fitting._replace(notes=[*fitting.notes, agrees])
    return fitting


def _without_refuted(part: SweepPart, needs: ModelNeeds, name: str) -> ModelNeeds:
    """Leave out what would need more operations than were executed.

    Too few in matrix products, whose sizes no context changes, are those of another model: then
    nothing of it counts.
    """
    work = work_of(part, part.tally.measured())
    ratios = quotient(work.flop, needs.rows.flop), quotient(work.dram_bytes, needs.rows.bytes)
    is_refuted = (needs.rows.source >= 0) & (ratios[0] < EXECUTED_BAND[0])
    components = {_component(part, i) for i in np.flatnonzero(is_refuted).tolist()}
    if not components:
        return needs
    is_model = "matmul" in components
    if is_model:
        is_refuted &= np.array([_component(part, i) == "matmul" for i in range(len(part))])
    found = _worst(part, is_refuted, *ratios)
    moved = f", and {found.bytes} of the bytes passed DRAM" if found.bytes else ""
    which = "another model ran" if is_model else "the model or the context length is another"
    left_out = {"attention", "matmul"} if is_model else components
    of_what = "" if is_model else f" for {' and '.join(sorted(components))}"
    why = (
        f"{name} does not fit what was measured and is not used{of_what}: {found.place} executed"
        f" only {found.flop} of the operations that it needs{moved}. Fewer than are needed cannot"
        f" be: {which}, or {_OTHERWISE}."
    )
    return _without(part, needs, left_out, why)


def _without(part: SweepPart, needs: ModelNeeds, components: set[str], why: str) -> ModelNeeds:
    kept = np.array([_component(part, i) not in components for i in range(len(part))], dtype=bool)
    rows = Needed(
        np.where(kept, needs.rows.flop, np.nan),
        np.where(kept, needs.rows.bytes, np.nan),
        np.where(kept, needs.rows.source, -1).astype(np.int8),
    )
    of_steps = {key: work for key, work in needs.components.items() if key[1] not in components}
    return needs._replace(rows=rows, components=of_steps, notes=[*needs.notes, why])


def _worst(
    part: SweepPart, which: NDArray[np.bool_], flop: NDArray[np.float64], moved: NDArray[np.float64]
) -> _Found:
    """Return the row in which operations, else bytes, are furthest from those of the model."""
    distance = np.fmax(np.abs(np.log(flop)), 1e-6 * np.nan_to_num(np.abs(np.log(moved))))
    at = int(np.argmax(np.where(which, np.nan_to_num(distance), -1.0)))
    batch = part.keys["batch_size"][at].as_py()
    return _Found(_component(part, at), batch, _text(flop[at]), _text(moved[at]))


def _component(part: SweepPart, row: int) -> str:
    return component_of(part.keys["family"][row].as_py())


def _text(ratio: float) -> str:
    return "" if np.isnan(ratio) else f"{ratio:.3g}"
