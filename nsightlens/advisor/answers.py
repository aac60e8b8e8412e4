"""The answers of the advisor, as data: what each question's module returns and pages show.

Every number is None where it is not known. Sentences are whole and carry their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Advice",
    "BatchChoice",
    "Cost",
    "Curve",
    "Fit",
    "Lacking",
    "MemoryAdvice",
    "Neighbour",
    "Plateau",
    "Prediction",
    "Question",
    "ReplicaAdvice",
    "Slo",
    "StepCosts",
    "Warned",
    "Why",
]

Metric = Literal["itl", "tpot", "ttft"]
Statistic = Literal["mean", "median", "p99"]


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that makes an answer weaker: a key for programs, and a sentence."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Slo:
    """A limit of latency that was asked for.

    Parameters
    ----------
    metric, statistic
        What must not exceed it: ``itl``, ``tpot`` or ``ttft``; ``mean``, ``median`` or ``p99``.
    limit_ms
        [ms] The limit; None where ``factor`` gives it.
    factor
        The limit is this times the latency at the measured batch size nearest to
        ``reference_batch``.
    reference_batch
        See ``factor``; the paper's is 32.
    """

    metric: Metric = "itl"
    statistic: Statistic = "mean"
    limit_ms: float | None = None
    factor: float | None = None
    reference_batch: float = 32.0

    def __post_init__(self) -> None:
        for what, value, known in (
            ("metric", self.metric, get_args(Metric)),
            ("statistic", self.statistic, get_args(Statistic)),
        ):
            if value not in known:
                raise AdviceError(f"{what} must be one of {', '.join(known)}, not {value!r:.40}.")
        for number in (self.limit_ms, self.factor):
            if number is not None and not isinstance(number, (int, float)):
                raise AdviceError(f"A limit must be a number, not {number!r:.40}.")

    @property
    def column(self) -> str:
        """Column of ``advice_curve`` and ``serving_runs`` that it limits."""
        return f"{self.statistic}_{self.metric}_ms"


@dataclass(frozen=True, eq=False)
class Curve:
    """The runs of one setup, one row per batch size, in rising order.

    Parameters
    ----------
    rows
        With the schema ``ADVICE_CURVE``.
    throughput
        Which column ``throughput_tok_s`` is: ``total`` (prompt and generated tokens) or ``output``.
    single_throughput_tok_s
        [token/s] T(1); None where no batch size of 1 was measured.
    warnings
        What weighs against rows, and what was chosen for which reason.
    """

    rows: pa.Table
    throughput: Literal["total", "output"]
    single_throughput_tok_s: float | None
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """The law ITL = t0 + a B, fitted.

    Parameters
    ----------
    method
        ``relative``: least squares of the relative error. ``milliseconds``: plain least squares.
    over
        ``running`` or ``nominal``: which batch it is fitted over.
    t0_ms, a_ms
        [ms], [ms per sequence].
    knee
        t0 / a [sequences]: where a step spends as much on the batch as on what it always does, and
        throughput is half of its asymptote.
    knee_low, knee_high
        Interval of 95 %, where there are enough rows.
    r2
        Of the time, plainly.
    mean_error_pct, max_error_pct
        [%] Of the fitted against the measured time.
    row_count
        Rows with weight.
    asymptote_tok_s
        [token/s] Generated tokens per second that the law tends to: 1000 / a.
    """

    method: Literal["relative", "milliseconds"]
    over: Literal["running", "nominal"]
    t0_ms: float
    a_ms: float
    knee: float | None
    knee_low: float | None
    knee_high: float | None
    r2: float | None
    mean_error_pct: float
    max_error_pct: float
    row_count: int
    asymptote_tok_s: float | None


@dataclass(frozen=True, slots=True)
class Plateau:
    """Where throughput stops to grow.

    Parameters
    ----------
    fit, other_fit
        The law by the method that was asked for, and by the other; None where it does not hold.
    refused
        Why there is no knee: key and sentence, or None where the law holds.
    batch_at_90, batch_at_95
        First measured batch size with that share of the best throughput [%].
    best_batch, best_throughput_tok_s
        Batch size with the best throughput among rows that were not preempted.
    is_plateau_reached
        Whether the last rows gain less than a tenth of what the first rows gain per sequence; None
        where there are too few.
    """

    fit: Fit | None
    other_fit: Fit | None
    refused: Warned | None
    batch_at_90: float | None
    batch_at_95: float | None
    best_batch: float | None
    best_throughput_tok_s: float | None
    is_plateau_reached: bool | None
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The next smaller or larger batch size, and what it would cost or gain against the choice."""

    batch_size: float
    throughput_tok_s: float | None
    throughput_change_pct: float | None
    latency_ms: float | None
    latency_change_pct: float | None
    excluded_by: str | None
    """The constraint that forbids it, as in `BatchChoice.binding_constraint`; None if allowed."""


@dataclass(frozen=True, slots=True)
class BatchChoice:
    """The batch size to serve with.

    Parameters
    ----------
    rule
        ``throughput`` (the paper's: most throughput within the limits) or ``largest`` (its second:
        the largest batch within the latency limit, without epsilon).
    epsilon
        Least efficiency T(B) / (B T(1)); None where the rule has none or T(1) is not known.
    slos, limits_ms
        The limits, and each in ms.
    batch_size
        B_opt; None where nothing is feasible.
    row
        Row of the curve as a dict (interpolated values where ``is_interpolated``); None likewise.
    is_interpolated
        Whether it lies between measured batch sizes.
    binding_constraint
        What keeps from a larger choice: ``slo``, ``efficiency``, ``preemption``, ``thrash``
        (a larger server thrashed), ``throughput`` (the next larger is slower) or
        ``measured_range`` (nothing larger was measured); where nothing is feasible, the constraint
        to relax.
    binding_text
        The same as a sentence with numbers.
    largest_feasible
        Largest batch size within all limits.
    smaller, larger
        What the neighbours would cost.
    nearest_feasible_slo_ms
        [ms] Where nothing is feasible because of latency: the least limit that is met.
    """

    rule: Literal["throughput", "largest"]
    epsilon: float | None
    slos: tuple[Slo, ...]
    limits_ms: tuple[float, ...]
    batch_size: float | None
    row: dict[str, Any] | None
    is_interpolated: bool
    binding_constraint: str
    binding_text: str
    largest_feasible: float | None
    smaller: Neighbour | None
    larger: Neighbour | None
    nearest_feasible_slo_ms: float | None
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryAdvice:
    """What the choice needs of the KV pool, and what could be given back.

    Parameters
    ----------
    kv_pool_gib, kv_peak_pct, kv_used_gib
        The pool at the choice, and its largest use.
    kv_freed_gib, freed_pct
        [GiB] Pool less use, without a margin (the paper's figure), and its share of the memory of
        the GPU [%].
    margin
        Part of the use that is kept beside it.
    kv_needed_gib, kv_blocks_needed
        Use with the margin.
    kv_given_back_gib
        [GiB] Pool less ``kv_needed_gib``; 0 where nothing is left.
    gpu_memory_utilization
        The new setting that leaves a pool of ``kv_needed_gib``.
    gpu_memory_utilization_was
        The one that was measured with.
    missing
        What is needed and not known, in words; empty where the answer is whole.
    text
        The answer as a sentence; says plainly where nothing can be given back.
    """

    kv_pool_gib: float | None
    kv_peak_pct: float | None
    kv_used_gib: float | None
    kv_freed_gib: float | None
    freed_pct: float | None
    margin: float
    kv_needed_gib: float | None
    kv_blocks_needed: int | None
    kv_given_back_gib: float | None
    gpu_memory_utilization: float | None
    gpu_memory_utilization_was: float | None
    missing: tuple[str, ...]
    text: str


@dataclass(frozen=True, eq=False)
class ReplicaAdvice:
    """How many servers of the chosen batch size fit on the GPU, and what they would gain.

    Parameters
    ----------
    rows
        With the schema ``ADVICE_REPLICAS``.
    replicas_max
        Most that fit; None where it is not known.
    recommended
        Servers to run: most gain within the SLO among those that fit; 1 where none gains.
    gpu_busy_share, busy_source
        [1] Of a step's wall time at R = 1, and where it came from.
    gain_bound
        min(R, 1 / busy share) for ``replicas_max``.
    comparisons
        Sentences: against the best single server (chunked prefill included), against simply a
        larger batch.
    commands
        Lines to start MPS and the servers.
    missing
        What is needed and not known.
    """

    rows: pa.Table
    replicas_max: int | None
    recommended: int
    gpu_busy_share: float | None
    busy_source: str | None
    gain_bound: float | None
    comparisons: tuple[str, ...]
    commands: tuple[str, ...]
    missing: tuple[str, ...]
    text: str
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """One thing that a decode step spends time on and could be rid of."""

    key: Literal["copies", "gaps", "syncs", "host", "short_kernels"]
    per_step_us: float
    share_of_step_pct: float
    saving_us: float
    is_worth_acting: bool
    text: str


@dataclass(frozen=True, slots=True)
class StepCosts:
    """What copies, gaps and short kernels cost, by batch size, from timelines."""

    batch_size: float | None
    step_us: float
    gpu_busy_share: float
    costs: tuple[Cost, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Why:
    """Why throughput stops to grow, from profiles.

    Parameters
    ----------
    verdict
        ``attention_bandwidth`` (attention's share rises and it saturates DRAM), ``compute``,
        ``host``, ``unclear`` or ``no_profile``.
    text
        In one or two sentences with numbers.
    shares
        (batch size, attention %, matmul %, other %, host %) of decode steps; None in unknown parts.
    sources
        Files that say it.
    """

    verdict: str
    text: str
    shares: tuple[tuple[float, float | None, float | None, float | None, float | None], ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was not measured, predicted: never mixed with what was.

    Parameters
    ----------
    question
        What was asked, such as ``"batch 160, context 500, h200"``.
    batch_size, context_length, device
        As asked; None where as measured.
    itl_ms, throughput_tok_s, kv_peak_pct
        The prediction.
    itl_low_ms, itl_high_ms
        Interval from the back-test.
    method
        How, in words: the fitted law, scaled by the roofline model where context or GPU differ.
    backtest_mean_error_pct, backtest_max_error_pct
        [%] Leave-one-out error of the law on the user's own points; None with fewer than four.
    text
        As a sentence that begins with "Predicted".
    """

    question: str
    batch_size: float
    context_length: float | None
    device: str | None
    itl_ms: float | None
    itl_low_ms: float | None
    itl_high_ms: float | None
    throughput_tok_s: float | None
    kv_peak_pct: float | None
    method: str
    backtest_mean_error_pct: float | None
    backtest_max_error_pct: float | None
    text: str
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Something that was not measured: see `nsightlens.advisor.what_if`."""

    batch_size: float | None = None
    context_length: float | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Lacking:
    """Something that is not there, and what it would make possible."""

    what: str
    enables: str


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """All answers for one setup.

    Parameters
    ----------
    setup
        What the runs have in common, such as ``{"model": "opt-1.3b", "engine": "vllm"}``.
    runs
        With the schema ``SERVING_RUNS``: all runs of the setup, replicas and variants included.
    curve, plateau, choice, memory, replicas, why, costs, predictions
        See their classes; ``replicas`` is None where nothing is feasible.
    command
        Command line of the server with the recommended settings; None where nothing is feasible.
    reasons
        Why, one sentence with numbers each, the most important first.
    would_change
        What would change the answer.
    confidence, confidence_text
        ``high``, ``medium`` or ``low``, and why.
    lacking
        What is missing, with what it would enable.
    warnings
        Of all parts, without repetition.
    sources
        Files that the answer rests on.
    """

    setup: dict[str, Any]
    runs: pa.Table
    curve: Curve
    plateau: Plateau
    choice: BatchChoice
    memory: MemoryAdvice | None
    replicas: ReplicaAdvice | None
    why: Why
    costs: tuple[StepCosts, ...]
    predictions: tuple[Prediction, ...]
    command: str | None
    reasons: tuple[str, ...]
    would_change: tuple[str, ...]
    confidence: Literal["high", "medium", "low"]
    confidence_text: str
    lacking: tuple[Lacking, ...]
    warnings: tuple[Warned, ...]
    sources: tuple[str, ...]

    def __repr__(self) -> str:
        chosen = "nothing feasible" if self.choice.batch_size is None else self.choice.batch_size
        return f"<Advice for {self.setup.get('model')}: batch size {chosen}>"
