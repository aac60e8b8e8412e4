"""What the shapes of a model need in the launches of a sweep that no annotation describes.

How many layers were profiled follows from the launches of attention: one for each layer and step,
merging kernels aside. Matrix products are compared only where their number fits the model: so many
for each of these layers, with queries, keys and values in one product or three, gate and up in one
or two, with or without the last product of the step. Else nothing is said.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.sweeps.components import component_of, is_merging
from nsightlens.sweeps.needed import SOURCES, Needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.models import ModelConfig, OperationWork
    from nsightlens.sweeps.part import SweepPart

__all__ = ["ComponentWork", "ModelNeeds", "StepKey", "needed_by_model"]

StepKey = tuple[Any, Any, Any]
"""Device, phase and batch size of a step, as text; null as None."""

_SPLITS = {"qkv_proj": 3, "gate_up_proj": 2, "shared_gate_up_proj": 2}
"""Products that may be done as so many of their own."""


class ComponentWork(NamedTuple):
    """[FLOP], [B] What the launches of a component need in a step."""

    flop: float
    bytes: float


class ModelNeeds(NamedTuple):
    """What a model needs.

    Parameters
    ----------
    rows
        By row of the sweep.
    components
        By step and component: also where several rows share the work of one component.
    notes
        Why some steps are not compared, one sentence each.
    """

    rows: Needed
    components: dict[tuple[StepKey, str], ComponentWork]
    notes: list[str]


class _Seen(NamedTuple):
    """Operations that were profiled, for so many steps."""

    works: list[OperationWork]
    steps: Fraction


class _Row(NamedTuple):
    position: int
    family: str | None
    subtype: str | None
    launches: int
    context: str | None
    query_tokens: str | None


def needed_by_model(part: SweepPart, model: ModelConfig) -> ModelNeeds:
    """Return what the shapes of a model need in each row and step.

    Parameters
    ----------
    part
        The sums.
    model
        Its sizes.
    """
    count = len(part)
    rows = Needed(np.full(count, np.nan), np.full(count, np.nan), np.full(count, -1, dtype=np.int8))
    found: dict[tuple[StepKey, str], ComponentWork] = {}
    problems: dict[str, list[str]] = {}
    for key, members in _steps(part):
        for component, seen in _of_step(key, members, model):
            if isinstance(seen, str):
                problems.setdefault(seen, []).append(key[2] or "")
                continue
            found[key, component] = _total(seen)
            for main, part_of_it in _by_kind(members, component, seen):
                if len(main) > 1:
                    kinds = f"{len(main)} kinds of kernels share the {component} of a step"
                    problems.setdefault(kinds, []).append(key[2] or "")
                    continue
                at = main[0].position
                rows.flop[at], rows.bytes[at] = _total(part_of_it)
                rows.source[at] = SOURCES.index("model")
    return ModelNeeds(rows, found, [_note(why, at, model) for why, at in problems.items()])


def _steps(part: SweepPart) -> Iterator[tuple[StepKey, list[_Row]]]:
    """Return the rows of every step."""
    names = ("device_name", "phase", "batch_size", "family", "subtype")
    columns = [part.keys[name].to_pylist() for name in names]
    columns += [part.common[name].to_pylist() for name in ("context_length", "query_tokens")]
    launches = part.sums.added["counted_launches"].tolist()
    steps: dict[StepKey, list[_Row]] = {}
    rows = zip(*columns, launches, strict=True)
    for i, (device, phase, batch, family, subtype, context, query, count) in enumerate(rows):
        row = _Row(i, family, subtype, count, context, query)
        steps.setdefault((device, phase, batch), []).append(row)
    yield from steps.items()


def _by_kind(
    members: Sequence[_Row], component: str, seen: _Seen
) -> Iterator[tuple[list[_Row], _Seen]]:
    """Set the products of experts apart where kernels of their own did them."""
    main = [row for row in members if _is_main(row, component)]
    grouped = [row for row in main if _is_grouped(row.subtype)]
    if not 0 < len(grouped) < len(main):
        yield main, seen
        return
    for is_it in (False, True):
        works = [work for work in seen.works if _is_grouped(work.subtype) == is_it]
        yield [row for row in main if _is_grouped(row.subtype) == is_it], _Seen(works, seen.steps)


def _is_grouped(subtype: str | None) -> bool:
    return (subtype or "").startswith("grouped")


def _is_main(row: _Row, component: str) -> bool:
    is_it = component_of(row.family) == component
    return is_it and not is_merging(row.family, row.subtype) and row.launches > 0


def _of_step(
    key: StepKey, members: Sequence[_Row], model: ModelConfig
) -> Iterator[tuple[str, _Seen | str]]:
    """Return what was profiled of attention and matmul in a step, or why it is not known."""
    attention = [row for row in members if _is_main(row, "attention")]
    products = [row for row in members if _is_main(row, "matmul")]
    if not attention and not products:
        return
    works = _works(key, attention, model)
    if isinstance(works, str):
        yield "attention", works
        return
    of_attention = [work for work in works if work.family == "attention"]
    launches = sum(row.launches for row in attention)
    steps = Fraction(launches, sum(work.launches_per_step for work in of_attention))
    is_even = len(of_attention) == 1 or steps.denominator == 1
    if is_even:
        yield "attention", _Seen(of_attention, steps)
    else:
        yield "attention", "its layers differ, and what was profiled is no whole step"
    if products:
        count = sum(row.launches for row in products)
        yield "matmul", _of_products(works, steps, count, launches)


def _works(
    key: StepKey, attention: Sequence[_Row], model: ModelConfig
) -> list[OperationWork] | str:
    """Return the operations of a step, or what is missing for them."""
    from nsightlens.models import step_work  # noqa: PLC0415 only where a model is given

    _, phase, batch = key
    contexts = {row.context for row in attention}
    queries = {row.query_tokens for row in attention}
    if phase != "decode":
        return "only steps of decode are compared"
    if batch is None:
        return "nothing says their batch size"
    if not attention:
        return "no launch of attention says how many layers were profiled"
    if len(contexts) != 1 or None in contexts:
        return "nothing says one context length for them"
    query = _query_length(queries, int(batch))
    context = int(contexts.pop() or 0)
    if int(batch) < 1 or not 1 <= query <= context:
        return "their batch size or context length cannot be"
    stored = model.stored_weights
    return step_work(
        model,
        batch_size=int(batch),
        context_length=context,
        query_length=query,
        phase="decode",
        weight_bytes=2.0 if stored is None else stored.bytes_per_element,
    )


def _query_length(queries: Iterable[str | None], batch: int) -> int:
    """Return the query tokens per sequence where all have as many, else the 1 of plain decode."""
    tokens = {int(text) for text in queries if text is not None}
    if len(tokens) == 1 and batch > 0:
        length, rest = divmod(tokens.pop(), batch)
        return length if length and not rest else 1
    return 1


def _total(seen: _Seen) -> ComponentWork:
    steps = float(seen.steps)
    return ComponentWork(
        steps * sum(work.flop for work in seen.works),
        steps * sum(work.read_bytes + work.written_bytes for work in seen.works),
    )


def _of_products(
    works: Sequence[OperationWork], steps: Fraction, count: int, layers: int
) -> _Seen | str:
    """Return the matrix products, or why their number does not fit."""
    in_layers = [work for work in works if work.family == "gemm" and work.is_per_layer]
    outside = [work for work in works if work.family == "gemm" and not work.is_per_layer]
    if not in_layers:
        return "the model has no matrix products"
    is_whole = steps.denominator == 1
    if not is_whole and len({work.launches_per_step for work in in_layers}) > 1:
        return "its layers differ, and what was profiled is no whole step"
    alone = {steps * number for number in _launch_counts(in_layers)}
    with_last = {
        one + steps * sum(work.launches_per_step for work in outside) for one in alone if is_whole
    }
    if count in alone & with_last:
        return f"{count} launches of matrix products can be with or without the last of the step"
    if count not in alone | with_last:
        return (
            f"{count} launches of matrix products do not fit {layers} of attention, to which belong"
            f" {_listed(alone | with_last)}"
        )
    return _Seen(in_layers if count in alone else [*in_layers, *outside], steps)


def _launch_counts(works: Sequence[OperationWork]) -> set[int]:
    """Return how many launches the products of a step can be."""
    choices = [
        {work.launches_per_step, work.launches_per_step * _SPLITS.get(work.operation, 1)}
        for work in works
    ]
    return {sum(choice) for choice in product(*choices)}


def _listed(counts: Iterable[Fraction]) -> str:
    texts = [str(one) for one in sorted(counts)]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _note(why: str, batches: Sequence[str], model: ModelConfig) -> str:
    named = [batch for batch in dict.fromkeys(batches) if batch]
    where = f" at batch {', '.join(named)}" if named else ""
    return f"{model.name} is not set beside what was measured{where}: {why}."
