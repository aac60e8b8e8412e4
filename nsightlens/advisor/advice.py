"""`advise`: all answers for one setup, from its runs and from profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.advisor.answers import Advice, Slo, Warned
from nsightlens.advisor.batch import choose_batch
from nsightlens.advisor.busy import busy_share_at, single_servers
from nsightlens.advisor.changes import would_change
from nsightlens.advisor.confidence import confidence_of, lacking
from nsightlens.advisor.curve import curve_of
from nsightlens.advisor.memory import memory_advice
from nsightlens.advisor.mismatch import mismatches
from nsightlens.advisor.plateau import plateau as plateau_of
from nsightlens.advisor.plateau import with_fitted
from nsightlens.advisor.replicas import replica_advice
from nsightlens.advisor.settings import model_to_serve, server_command, settings_kept
from nsightlens.advisor.setups import choose_setup, named_experts, only, setups_of
from nsightlens.advisor.step_costs import step_costs
from nsightlens.advisor.what_if import what_if
from nsightlens.advisor.why import why as why_of
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.advisor.answers import (
        BatchChoice,
        Curve,
        MemoryAdvice,
        Plateau,
        Question,
        ReplicaAdvice,
        StepCosts,
        Why,
    )
    from nsightlens.advisor.setups import Setup
    from nsightlens.models import ModelConfig
    from nsightlens.serving.serving import Serving
    from nsightlens.sweeps import Sweep
    from nsightlens.timelines.timeline import Timeline

__all__ = ["Wishes", "advise"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for, and by which rules.

    Parameters
    ----------
    slos
        Limits of latency; all must be met.
    rule
        ``throughput``: the paper's; ``largest``: its second. See `BatchChoice`.
    epsilon
        Least efficiency T(B) / (B T(1)), of the rule ``throughput``.
    throughput
        Which throughput is maximised: ``total``, ``output``, or ``auto``.
    interpolate
        Also choose between measured batch sizes, marked as such.
    fit, over
        How the law is fitted, and over which batch.
    margin
        Part of the KV use that is kept beside it.
    most_replicas
        Servers on one GPU that are looked at.
    replica_memory_gib
        [GiB] What a further server needs beside weights, activations and cache.
    busy_share
        [1] Share of a step in which the GPU works, where the user knows it.
    questions
        What to predict.
    """

    slos: tuple[Slo, ...] = ()
    rule: Literal["throughput", "largest"] = "throughput"
    epsilon: float = 0.1
    throughput: Literal["auto", "total", "output"] = "auto"
    interpolate: bool = False
    fit: Literal["relative", "milliseconds"] = "relative"
    over: Literal["running", "nominal"] = "running"
    margin: float = 0.1
    most_replicas: int = 8
    replica_memory_gib: float = 0.3
    busy_share: float | None = None
    questions: tuple[Question, ...] = field(default=())

    def __post_init__(self) -> None:
        for name, known in (
            ("rule", ("throughput", "largest")),
            ("throughput", ("auto", "total", "output")),
            ("fit", ("relative", "milliseconds")),
            ("over", ("running", "nominal")),
        ):
            value = getattr(self, name)
            if value not in known:
                raise AdviceError(f"{name} must be one of {', '.join(known)}, not {value!r:.40}.")


def advise(
    serving: Serving,
    wishes: Wishes | None = None,
    *,
    conditions: Mapping[str, str] | None = None,
    sweeps: Sequence[Sweep] = (),
    timelines: Sequence[Timeline] = (),
    model: ModelConfig | None = None,
    device: str | None = None,
) -> Advice:
    """Say which batch size to serve with, what it costs, and what else could be done.

    Parameters
    ----------
    serving
        From `nsightlens.open_serving`.
    wishes
        Limits and rules; None for no limit and the paper's rule.
    conditions
        Only runs whose columns are as these: column of ``serving_runs`` to text with ``*``.
    sweeps, timelines
        From `nsightlens.sweep` and `nsightlens.timeline`, of the same model and GPU.
    model
        Sizes of the model, for blocks and predictions.
    device
        Name of the GPU, where the files do not say it.

    Returns
    -------
    Advice
        Also where nothing is feasible: then it says which limit would be.

    Raises
    ------
    AdviceError
        Several setups may be meant, or no run says how fast it was.

    Examples
    --------
    >>> import nsightlens
    >>> serving = nsightlens.open_serving("results/")  # doctest: +SKIP
    >>> nsightlens.advise(serving).choice.batch_size  # doctest: +SKIP
    96.0
    """
    wishes = wishes or Wishes()
    runs = only(serving.runs, conditions or {})
    setup, warnings = choose_setup(setups_of(runs))
    base, variants_warned = _single_servers(_with_experts(setup, model))
    curve = _with_names(curve_of(base, throughput=wishes.throughput), serving)
    plateau = plateau_of(curve, method=wishes.fit, over=wishes.over)
    curve = with_fitted(curve, plateau)
    choice = choose_batch(
        curve,
        wishes.slos,
        rule=wishes.rule,
        epsilon=wishes.epsilon,
        interpolate=wishes.interpolate,
        fit=plateau.fit,
    )
    costs = tuple(one for one in step_costs(timelines) if one.batch_size is not None)
    profiled = mismatches(setup, sweeps=sweeps, timelines=timelines, model=model)
    memory = replicas = None
    if choice.batch_size is not None:
        memory = memory_advice(base, curve, choice, margin=wishes.margin, model=model)
        replicas = _replicas(setup, curve, choice, wishes, costs=costs, model=model)
    why = why_of(curve, plateau, sweeps=sweeps, costs=costs, runs=setup.runs)
    predictions = tuple(
        what_if(
            curve,
            plateau,
            batch_size=choice.batch_size if one.batch_size is None else one.batch_size,
            context_length=one.context_length,
            device=one.device,
            model=model,
            runs=base,
            measured_device=device or setup.key.get("device_name"),
            costs=costs,
        )
        for one in wishes.questions
    )
    level, level_text = confidence_of(curve, plateau, choice)
    profiled += _queueing(base, choice)
    mine = {"", *setup.runs["run"].to_pylist()}
    notes = tuple(Warned(note.key, note.text) for note in serving.notes if note.run in mine)
    return Advice(
        setup=setup.key,
        runs=setup.runs,
        curve=curve,
        plateau=plateau,
        choice=choice,
        memory=memory,
        replicas=replicas,
        why=why,
        costs=costs,
        predictions=predictions,
        command=_command(setup, choice, memory),
        reasons=_reasons(plateau, choice, memory, replicas, why),
        would_change=would_change(curve, choice, plateau, memory),
        confidence=level,
        confidence_text=level_text,
        lacking=lacking(base, curve, replicas, why),
        warnings=_once(
            *warnings,
            *variants_warned,
            *curve.warnings,
            *plateau.warnings,
            *choice.warnings,
            *(replicas.warnings if replicas else ()),
            *profiled,
            *(one for each in predictions for one in each.warnings),
            *notes,
        ),
        sources=_sources(serving, setup, why, costs),
    )


def _with_experts(setup: Setup, model: ModelConfig | None) -> Setup:
    """Say of runs of which no file does whether the model is a mixture of experts."""
    experts: bool | None = named_experts(setup.key.get("model"))
    if model is not None:
        experts = model.experts is not None
    if experts is None:
        return setup
    name = "mixture_of_experts"
    place = setup.runs.schema.get_field_index(name)
    filled = pc.fill_null(setup.runs[name], experts)
    table = setup.runs.set_column(place, setup.runs.schema.field(place), filled)
    return replace(setup, runs=table)


def _single_servers(setup: Setup) -> tuple[pa.Table, tuple[Warned, ...]]:
    """Return the runs of one server each, of the variant with the most runs.

    Runs with and without chunked prefill are two curves; the smaller serves for comparison alone.
    """
    runs = setup.runs
    alone = single_servers(runs)
    if not alone.num_rows:
        raise AdviceError(
            f"all {runs.num_rows} runs are of several servers that share a GPU: advice begins with "
            "runs of one server."
        )
    runs = alone
    known = runs["chunked_prefill"].drop_null().to_pylist()
    if not known or all(known) or not any(known):
        return runs, ()
    majority = 2 * sum(known) > len(known)
    # Of which it is not known goes with the most.
    kept = runs.filter(pc.equal(pc.fill_null(runs["chunked_prefill"], majority), majority))
    word = "without" if majority else "with"
    text = (
        f"Runs {word} chunked prefill ({runs.num_rows - kept.num_rows}) are another curve: they "
        "are compared with, and not part of this one."
    )
    return kept, (Warned("chunked_prefill_mixed", text),)


def _with_names(curve: Curve, serving: Serving) -> Curve:
    """Say of batch sizes that only the name of a file or folder gives that this is so."""
    origins = serving.origins
    is_batch = pc.is_in(
        origins["column"].cast(pa.string()), value_set=pa.array(["max_num_seqs", "max_concurrency"])
    )
    by_name = origins.filter(
        pc.and_(is_batch, pc.equal(origins["format"].cast(pa.string()), "name"))
    )
    named = {(row["run"], row["column"]) for row in by_name.to_pylist()}
    sources = [
        "name"
        if (row["run"].split(" + ")[0], row["batch_source"]) in named
        else row["batch_source"]
        for row in curve.rows.select(["run", "batch_source"]).to_pylist()
    ]
    place = curve.rows.schema.get_field_index("batch_source")
    field = curve.rows.schema.field(place)
    column = pa.array(sources, pa.string()).dictionary_encode()
    return replace(curve, rows=curve.rows.set_column(place, field, column))


def _replicas(
    setup: Setup,
    curve: Curve,
    choice: BatchChoice,
    wishes: Wishes,
    *,
    costs: Sequence[StepCosts],
    model: ModelConfig | None,
) -> ReplicaAdvice:
    busy: tuple[float, str] | None = None
    if wishes.busy_share is not None:
        busy = (wishes.busy_share, "as given")
    elif choice.batch_size is not None:
        busy = busy_share_at(choice.batch_size, costs, setup.runs)
    return replica_advice(
        setup.runs,
        curve,
        choice,
        slos=wishes.slos,
        busy_share=busy,
        most=wishes.most_replicas,
        extra_gib=wishes.replica_memory_gib,
        model=model,
    )


def _queueing(runs: pa.Table, choice: BatchChoice) -> tuple[Warned, ...]:
    """Warn where the time to the first token that is limited is the queue of a benchmark."""
    rates = runs["request_rate_per_s"].drop_null().to_pylist()
    if not any(math.isinf(one) for one in rates) or all(
        one.metric != "ttft" for one in choice.slos
    ):
        return ()
    text = (
        "All requests were sent at once: the time to the first token is the queue of the "
        "benchmark, and says nothing of requests that come one by one."
    )
    return (Warned("ttft_is_queue", text),)


def _command(setup: Setup, choice: BatchChoice, memory: MemoryAdvice | None) -> str | None:
    if choice.batch_size is None:
        return None
    return server_command(
        setup.key.get("engine"),
        model_to_serve(setup.runs),
        batch_size=int(choice.batch_size),
        gpu_memory_utilization=None if memory is None else memory.gpu_memory_utilization,
        **settings_kept(setup.runs),
    )


def _reasons(
    plateau: Plateau,
    choice: BatchChoice,
    memory: MemoryAdvice | None,
    replicas: ReplicaAdvice | None,
    why: Why,
) -> tuple[str, ...]:
    found = [choice.binding_text]
    row: dict[str, Any] = choice.row or {}
    share, efficiency = row.get("share_of_best"), row.get("efficiency")
    if share is not None and choice.batch_size is not None:
        text = f"Batch size {choice.batch_size:g} gives {100 * share:.1f} % of the best throughput"
        if efficiency is not None:
            text += f" at an efficiency of {efficiency:.4f} of linear scaling"
        found.append(f"{text}.")
    if plateau.fit is not None and plateau.fit.knee is not None:
        fit = plateau.fit
        found.append(
            f"ITL follows {fit.t0_ms:.4g} ms + {fit.a_ms:.4g} ms per running sequence (largest "
            f"error {fit.max_error_pct:.1f} %): from {fit.knee:.3g} sequences on, a step is mostly "
            "spent on the batch."
        )
    elif plateau.refused is not None:
        found.append(plateau.refused.text)
    found += [one.text for one in (memory, replicas) if one is not None]
    return (*found, why.text)


def _once(*warnings: Warned) -> tuple[Warned, ...]:
    return tuple(dict.fromkeys(warnings))


def _sources(
    serving: Serving, setup: Setup, why: Why, costs: Sequence[StepCosts]
) -> tuple[str, ...]:
    mine = pc.is_in(
        serving.origins["run"], value_set=pc.unique(setup.runs["run"]).cast(pa.string())
    )
    paths = serving.origins.filter(mine)["path"].to_pylist()
    return tuple(dict.fromkeys([*paths, *why.sources, *(one.source for one in costs)]))
