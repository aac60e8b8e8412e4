"""One batch: its cache, its steps and their times; and what it means that memory ran out."""

from __future__ import annotations

import gc
import statistics
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from kernels_under_test.cache import make_cache
from kernels_under_test.experts import Routing
from kernels_under_test.graphs import captured
from kernels_under_test.inputs import step_inputs
from kernels_under_test.operations import StepShape
from kernels_under_test.ranges import without_ranges
from nsightlens import annotate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernels_under_test.cache import Cache
    from kernels_under_test.decoder import Decoder, Predicted
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import StepRanges

__all__ = ["BatchTimes", "Plan", "forget", "is_out_of_memory", "run_batch"]

_TOKENS_SHOWN = 8
_SEED_OF_CACHE, _SEED_OF_TOKENS = 1, 2
"""Beside that of the weights, which is 0."""


class Plan(NamedTuple):
    """What is run at every batch size.

    Parameters
    ----------
    context_length
        [token] That a decode step attends to, its own token included.
    has_prefill
        The tokens before the last are run as a prompt; else the cache is filled with random ones.
    has_cuda_graphs
        Steps are recorded once and replayed.
    block_token_count
        [token] Of a block of a paged cache; None for one piece.
    warmup_count, step_count
        Decode steps that are not measured, and those that are.
    seed
        Of weights, cache and tokens.
    has_window
        The profiler is told where the measured steps begin and end.
    """

    context_length: int
    has_prefill: bool = False
    has_cuda_graphs: bool = False
    block_token_count: int | None = None
    warmup_count: int = 2
    step_count: int = 1
    seed: int = 0
    has_window: bool = False


class BatchTimes(NamedTuple):
    """What was measured at one batch size.

    Parameters
    ----------
    batch_size
        Sequences.
    median_step_ns
        [ns] Of a decode step on the host, from before its first launch until the GPU is done.
    prefill_ns
        [ns] The same of the prefill; None without.
    kv_cache_bytes
        [B] Of all tensors of the cache.
    peak_memory_bytes
        [B] Most that PyTorch had allocated at a time, weights included; None on a CPU.
    expert_count
        Different experts that the tokens of a decode step went to, on average over layers; None
        for a model without experts.
    first_tokens
        What was predicted for the first sequences.
    """

    batch_size: int
    median_step_ns: int
    prefill_ns: int | None
    kv_cache_bytes: int
    peak_memory_bytes: int | None
    expert_count: float | None
    first_tokens: list[int]


@dataclass(frozen=True)
class _Step:
    """A step that can be run again and again: each time it does the same."""

    decoder: Decoder
    inputs: StepInputs
    cache: Cache
    routing: Routing
    ranges: StepRanges

    def __call__(self) -> Predicted:
        return self.decoder.step(self.inputs, self.cache, self.routing, self.ranges)

    def annotation(self) -> annotate.Range:
        """Return the range of the step."""
        shape = self.inputs.shape
        return annotate.step(
            shape.phase, shape.batch_size, shape.context_length, shape.query_length
        )

    def check(self) -> None:
        """Raise RoutingChangedError where the last run chose other experts than were counted."""
        if self.decoder.model.experts is not None:
            self.routing.check(self.decoder.model.experts.expert_count)

    @property
    def expert_count(self) -> float | None:
        """Different experts that tokens go to, on average over layers; None without experts."""
        if not self.routing.counts:
            return None
        return statistics.fmean(sum(map(bool, counts)) for counts in self.routing.counts)


def run_batch(decoder: Decoder, plan: Plan, batch_size: int, device: Any) -> BatchTimes:
    """Run the steps of one batch size.

    Every step of a phase does the same: a decode step puts its token at the end of the context and
    the next one replaces it, so that all of them attend to ``context_length`` tokens.

    Parameters
    ----------
    decoder
        The model.
    plan
        What is run.
    batch_size
        Sequences.
    device
        Where.

    Raises
    ------
    RuntimeError
        Of PyTorch: `is_out_of_memory` says whether memory ran out.
    RoutingChangedError
        Tokens went to other experts in a step than in the same step before.
    """
    with torch.no_grad(), decoder.backend.chosen():
        with without_ranges():
            cache = _cache(decoder, plan, batch_size, device)
            prefill, decode = _steps(decoder, plan, batch_size, cache)
            for _ in range(plan.warmup_count):
                decode()
            _wait(device)
        run: Callable[[], Predicted] = decode
        if plan.has_cuda_graphs:
            run = captured(decode, decode.inputs.shape)
        with _window(is_wanted=plan.has_window):
            prefill_ns = None if prefill is None else _timed(prefill, prefill, device)[0]
            times = [_timed(decode, run, device) for _ in range(plan.step_count)]
        # The host waits for results only here, behind everything that is measured.
        for step in (prefill, decode):
            if step is not None:
                step.check()
    return BatchTimes(
        batch_size=batch_size,
        median_step_ns=round(statistics.median(time for time, _ in times)),
        prefill_ns=prefill_ns,
        kv_cache_bytes=cache.bytes,
        peak_memory_bytes=_peak_bytes(device),
        expert_count=decode.expert_count,
        first_tokens=times[-1][1].tokens[:_TOKENS_SHOWN].tolist(),
    )


def _cache(decoder: Decoder, plan: Plan, batch_size: int, device: Any) -> Cache:
    return make_cache(
        decoder.model,
        batch_size=batch_size,
        context_length=plan.context_length,
        device=device,
        dtype=decoder.weights.embedding.dtype,
        block_token_count=plan.block_token_count,
        seed=plan.seed + _SEED_OF_CACHE,
    )


def _steps(
    decoder: Decoder, plan: Plan, batch_size: int, cache: Cache
) -> tuple[_Step | None, _Step]:
    """Return the prefill, where there is one, and the decode step, each run once if need be."""
    device = decoder.weights.embedding.device
    generator = torch.Generator(device)
    generator.manual_seed(plan.seed + _SEED_OF_TOKENS)

    def random_tokens(count: int) -> Any:
        return torch.randint(decoder.model.vocab_size, (count,), generator=generator, device=device)

    shape = StepShape(batch_size, plan.context_length)
    if not plan.has_prefill:
        return None, _step(decoder, cache, shape, random_tokens(batch_size))
    length = plan.context_length - 1
    of_prompt = StepShape(batch_size, length, length, "prefill")
    prefill = _step(decoder, cache, of_prompt, random_tokens(batch_size * length))
    # It fills the cache, too, and predicts what the decode starts from.
    return prefill, _step(decoder, cache, shape, prefill().tokens)


def _step(decoder: Decoder, cache: Cache, shape: StepShape, tokens: Any) -> _Step:
    """Return a step that waits for nothing; with experts it is run once to count their tokens."""
    inputs = step_inputs(decoder.model, shape, tokens, decoder.weights.embedding.dtype)
    decoder.prepare(inputs, cache)
    routing = Routing(is_grouped=decoder.groups_experts)
    if decoder.model.experts is not None:
        decoder.step(inputs, cache, routing)
        routing.counts = routing.counted(decoder.model.experts.expert_count)
    ranges = decoder.ranges(inputs, cache, routing.counts or ())
    return _Step(decoder, inputs, cache, routing, ranges)


def _timed(step: _Step, run: Callable[[], Predicted], device: Any) -> tuple[int, Predicted]:
    """Run a step in its range, and return its time [ns] and what it predicted."""
    _wait(device)
    begin = perf_counter_ns()
    with step.annotation():
        predicted = run()
        # Within the range: it lasts as long as the step, not as long as its launches.
        _wait(device)
    return perf_counter_ns() - begin, predicted


def _wait(device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@contextmanager
def _window(*, is_wanted: bool) -> Iterator[None]:
    """Tell the profiler where to begin and to end."""
    if not is_wanted:
        yield
        return
    torch.cuda.profiler.start()
    try:
        yield
    finally:
        torch.cuda.profiler.stop()


def _peak_bytes(device: Any) -> int | None:
    return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else None


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, of a GPU or of the host.

    Parameters
    ----------
    error
        Whatever was raised.

    Examples
    --------
    >>> is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    True
    >>> is_out_of_memory(RuntimeError("shapes do not fit"))
    False
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # Memory that runs out within a recording ends that too, with an error about the recording.
    if error.__context__ is not None and is_out_of_memory(error.__context__):
        return True
    # The allocator of the CPU has no class of its own, nor has an overflow of what it is asked.
    said = str(error)
    return isinstance(error, RuntimeError) and any(
        text in said for text in ("allocate memory", "not enough memory", "out of memory",
                                  # Libraries that find no memory for their workspace.
                                  "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
                                  "Storage size calculation overflowed", "numel: integer")
    )  # fmt: skip


def forget(device: Any) -> None:
    """Give back what a batch took, so that the next one finds all of the memory."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
