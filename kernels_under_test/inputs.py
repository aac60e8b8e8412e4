"""What a step starts from: tokens, positions, angles and masks, all made before it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kernels_under_test.models import ROTARY_BASE
from kernels_under_test.operations import StepShape, layer_kinds

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig

__all__ = ["StepInputs", "first_key", "step_inputs"]

_OPT_OFFSET = 2
"""OPT counts positions from 2."""


@dataclass(frozen=True)
class StepInputs:
    """What a step starts from. A step computes no place and waits for nothing of the host.

    Parameters
    ----------
    shape
        What the step is made of.
    tokens
        Shape (tokens,), sequence by sequence.
    positions
        Rows of the learned table, shape (tokens,); None with rotary positions.
    cosines, sines
        Shape (queries, 1, width); the first half of the sines is negative. None with learned ones.
    masks
        For every window, what is added to the products of queries and keys, shape (queries, keys);
        None for one query, which sees all that there is.
    key_counts
        Keys of every sequence, shape (sequences,), as kernels take them.
    seen_counts
        For every window, the same from the first key on that any query sees.
    """

    shape: StepShape
    tokens: Any
    positions: Any
    cosines: Any
    sines: Any
    masks: dict[int | None, Any]
    key_counts: Any
    seen_counts: dict[int | None, Any]

    @property
    def first(self) -> int:
        """[token] Place of the first query."""
        return self.shape.context_length - self.shape.query_length


def first_key(shape: StepShape, window: int | None) -> int:
    """Return the place of the first key that any query sees [token].

    Examples
    --------
    >>> first_key(StepShape(1, 500), 128)
    372
    """
    if window is None:
        return 0
    return max(0, shape.context_length - (window + shape.query_length - 1))


def step_inputs(model: ModelConfig, shape: StepShape, tokens: Any, dtype: Any) -> StepInputs:
    """Make what a step starts from.

    Parameters
    ----------
    model
        Its sizes.
    shape
        What the step is made of.
    tokens
        Shape (tokens,); its device is that of all.
    dtype
        Of activations.
    """
    device = tokens.device
    context = shape.context_length
    places = torch.arange(context - shape.query_length, context, device=device)
    positions = cosines = sines = None
    if model.position_count:
        positions = (places + _OPT_OFFSET).repeat(shape.batch_size)
    else:
        width = model.latent.rope_dim if model.latent is not None else model.head_dim
        cosines, sines = _angles(places, width, dtype)
    windows = {kind.window for kind in layer_kinds(model)}
    masks = {window: _mask(shape, window, places, dtype) for window in windows}
    counts = torch.full((shape.batch_size,), context, dtype=torch.int32, device=device)
    seen = {window: counts - first_key(shape, window) for window in windows}
    return StepInputs(shape, tokens, positions, cosines, sines, masks, counts, seen)


def _angles(places: Any, width: int, dtype: Any) -> tuple[Any, Any]:
    half = torch.arange(0, width, 2, device=places.device, dtype=torch.float64) / width
    angles = places.to(torch.float64)[:, None] * ROTARY_BASE**-half
    sines = angles.sin()
    # The two halves of a head turn with each other: x cos + (x rolled by a half) sin.
    both = torch.cat([angles.cos()] * 2, -1), torch.cat([-sines, sines], -1)
    return both[0].to(dtype)[:, None], both[1].to(dtype)[:, None]


def _mask(shape: StepShape, window: int | None, places: Any, dtype: Any) -> Any:
    if shape.query_length == 1:
        return None
    keys = torch.arange(first_key(shape, window), shape.context_length, device=places.device)
    distance = places[:, None] - keys
    hidden = distance < 0
    if window is not None:
        hidden |= distance >= window
    mask = torch.zeros(hidden.shape, dtype=dtype, device=places.device)
    return mask.masked_fill_(hidden, -torch.inf)
