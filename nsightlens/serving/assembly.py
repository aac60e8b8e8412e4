"""The parts of one run -> its row: what the result says, then its server, its samples, its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.serving.clients import WORK, clients_together
from nsightlens.serving.path_hints import hints_of
from nsightlens.serving.run import SETTINGS, Origin, Run
from nsightlens.serving.windows import of_gpu_samples, of_server_samples, seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.grouping import Group, Located
    from nsightlens.serving.part import Samples
    from nsightlens.serving.windows import Found

__all__ = ["put_batch_of_name", "run_of_group"]

_SUMMED = ("preemption_count", "mean_running", "max_running", "mean_waiting")
_LARGEST = ("kv_peak_pct", "kv_mean_pct")
_SMALLEST = ("kv_pool_gib", "kv_block_count", "kv_pool_tokens")


def run_of_group(group: Group, name: str) -> Run | None:
    """Put the parts of a run together; None where they hold no run at all.

    What a result says comes first. Samples say best what ran; then the server's log; names of files
    and folders last.
    """
    run = Run(name)
    results = [one.part for one in group.results]
    if len({part.path for part in results}) > 1:
        clients_together(run, results)
    for part in results:
        run.take(part, SETTINGS | WORK if "replicas" in run.values else None)
    duration = run.values.get("duration_s")
    servers = [one for one in group.own if one.part.kind in {"server", "samples"}]
    gpus = [one for one in group.own if one.part.kind == "gpu"]
    indexes = {one.server_index for one in servers if one.server_index is not None}
    _samples(run, servers, gpus, duration, indexes)
    if len(indexes) > 1:
        _several_servers(run, servers, indexes)
    for one in [*servers, *gpus]:
        run.take(one.part, SETTINGS if len(indexes) > 1 else None)
    located = [*group.results, *servers]
    if group.shared:
        _names(run, located, but={"static_batch_size"})  # of this run alone, unlike the server
    had = "max_num_seqs" in run.values
    for one in group.shared:
        run.take(one.part, SETTINGS)
        run.note(
            "shared_server",
            f"{one.part.path} is of several runs: its settings and memory are used, not what "
            "happened.",
        )
    for one in [*group.results, *servers, *gpus, *group.shared]:
        run.take(one.part, hints=True)
    run.notes_of([*results, *(one.part for one in [*servers, *gpus])])
    _names(run, located)
    run.is_limit_shared = not had and bool(group.shared)
    if not results:
        _from_the_log_alone(run, servers)
    _derived(run)
    return run if _is_run(run) else None


def _put(run: Run, found: dict[str, Found], located: Sequence[Located]) -> None:
    for column, one in found.items():
        with_it = [each.part for each in located if each.part.samples is not None]
        origin = Origin(with_it[0].path, with_it[0].where, with_it[0].format, one.derived)
        run.put(column, one.value, origin)
        if one.note:
            run.note(*one.note)


def _samples(
    run: Run,
    servers: Sequence[Located],
    gpus: Sequence[Located],
    duration: float | None,
    indexes: set[str],
) -> None:
    """Take means and peaks over time: of metrics before those of a log, which come seldom."""
    for kind in ("samples", "server"):
        located = [one for one in servers if one.part.kind == kind and one.part.samples]
        samples: list[Samples] = [one.part.samples for one in located if one.part.samples]
        if not samples or (len(samples) > 1 and len(samples) != max(len(indexes), 1)):
            if len(samples) > 1:
                run.note(
                    "samples_unclear",
                    f"{len(samples)} files of samples lie with {run.name}, and nothing says that "
                    "they are of servers that ran at once: none is used.",
                )
            continue
        had = "mean_running" in run.values
        _put(run, of_server_samples(samples, duration, by_time=kind == "server"), located)
        if not had and "mean_running" in run.values:
            source = "samples" if kind == "samples" else "log"
            run.put("running_source", source, run.origins["mean_running"])
    located = [one for one in gpus if one.part.samples]
    gpu_samples = [one.part.samples for one in located if one.part.samples]
    if gpu_samples:
        found = of_gpu_samples(gpu_samples, duration)
        if any("sm_clock_max_mhz" in one.part.values for one in gpus):
            found.pop("sm_clock_max_mhz", None)  # what the device allows says more
        _put(run, found, located)


def _several_servers(run: Run, servers: Sequence[Located], indexes: set[str]) -> None:
    """Add up what servers that ran at once say each."""
    first = servers[0].part
    run.put(
        "replicas",
        len(indexes),
        Origin(first.path, "", first.format, f"{len(indexes)} servers by the names of files"),
    )
    logs = [one.part for one in servers if one.part.kind == "server"]
    for names, how, words in (
        (_SUMMED, sum, "sum"),
        (_LARGEST, max, "largest"),
        (_SMALLEST, min, "smallest"),
    ):
        for name in names:
            numbers: list[float] = [part.values[name] for part in logs if name in part.values]
            if len(numbers) == len(indexes):
                part = next(part for part in logs if name in part.values)
                derived = f"{words} of {len(numbers)} servers"
                total: Any = how(numbers)
                run.put(name, total, Origin(part.path, "", part.format, derived))


def _names(
    run: Run, located: Sequence[Located], *, but: frozenset[str] | set[str] = frozenset()
) -> None:
    """Fill gaps from the names of files and folders; settings that contradict them are told of."""
    for one in located[:1]:
        for column, hint in hints_of(one.relative).items():
            origin = Origin(one.part.path, f"name {hint.name!r}", "name", "by the name")
            if column in but:
                continue
            if column != "static_batch_size":
                run.put(column, hint.value, origin)
            else:
                put_batch_of_name(run, hint.value, origin)


def put_batch_of_name(run: Run, batch: int, origin: Origin) -> None:
    """Take a number that a name calls a batch size, or that alone tells runs apart.

    Where the server allows more, it is what the client kept in flight; where it allows fewer, the
    name is wrong, which is said.
    """
    allowed = run.values.get("max_num_seqs")
    if {"static_batch_size", "max_concurrency"} & set(run.values):
        return
    if allowed is None or batch > allowed:
        run.put("max_num_seqs", batch, origin)  # says so where it contradicts
    elif batch < allowed:
        run.put("max_concurrency", batch, origin)


def _from_the_log_alone(run: Run, servers: Sequence[Located]) -> None:
    """Make a run of a server that no benchmark result lies with: what it printed while busy."""
    for one in servers:
        samples = one.part.samples
        if samples is None or not {"running", "output_tok_per_s"} <= set(samples.columns):
            continue
        running, rate = samples.columns["running"], samples.columns["output_tok_per_s"]
        busy = np.isfinite(running) & np.isfinite(rate) & (running > 0) & (rate > 0)
        if not busy.any():
            continue
        count = int(busy.sum())
        origin = Origin(
            one.part.path,
            one.part.where,
            one.part.format,
            f"mean over the time of {count} busy lines of the log",
        )
        seconds = seconds_of(samples)[busy]
        seconds = seconds if seconds.sum() > 0 else np.ones(count)
        tokens = rate[busy] * seconds
        run.put("output_tok_per_s", float(tokens.sum() / seconds.sum()), origin)
        latency = 1e3 * float((running[busy] * seconds).sum() / tokens.sum())
        words = f"running sequences over generated tokens per second, {count} busy lines"
        run.put("mean_tpot_ms", latency, origin._replace(derived=words))
        run.note(
            "log_alone",
            f"{one.part.path}: no benchmark result lies with it: throughput and latency are means "
            "over lines of the log, which the linear law often does not fit.",
        )


def _derived(run: Run) -> None:
    """Fill what follows from other values."""
    values = run.values

    def put(column: str, value: float, of: str, words: str) -> None:
        there = run.origins[of]
        run.put(column, value, Origin(there.path, there.where, there.format, words))

    def has(*names: str) -> bool:
        return all(values.get(name) for name in names)

    completed = values.get("completed_count")
    for count, mean in (
        ("input_token_count", "mean_input_tokens"),
        ("output_token_count", "mean_output_tokens"),
    ):
        if has(count) and completed and mean not in values:
            put(mean, values[count] / completed, count, f"{count} over completed_count")
    if has("duration_s"):
        seconds = values["duration_s"]
        if completed and "requests_per_s" not in values:
            put("requests_per_s", completed / seconds, "duration_s", "completed over duration")
        if has("output_token_count") and "output_tok_per_s" not in values:
            tokens = values["output_token_count"]
            put("output_tok_per_s", tokens / seconds, "output_token_count", "tokens over duration")
        if has("output_token_count", "input_token_count") and "total_tok_per_s" not in values:
            tokens = values["input_token_count"] + values["output_token_count"]
            put("total_tok_per_s", tokens / seconds, "output_token_count", "tokens over duration")
    if "concurrency" not in values and has("requests_per_s", "mean_e2e_ms"):
        mean = values["requests_per_s"] * values["mean_e2e_ms"] / 1e3
        put("concurrency", mean, "mean_e2e_ms", "requests per second times mean latency")
    if "kv_pool_tokens" not in values and has("kv_block_count", "block_size"):
        tokens = values["kv_block_count"] * values["block_size"]
        put("kv_pool_tokens", tokens, "kv_block_count", "blocks times tokens of a block")
    needed = ("gpu_memory_utilization", "total_memory_gib", "peak_torch_gib", "non_torch_gib")
    if "kv_pool_gib" not in values and has(*needed):
        used = values["peak_torch_gib"] + values["non_torch_gib"]
        pool = values["gpu_memory_utilization"] * values["total_memory_gib"] - used
        if pool > 0:
            put("kv_pool_gib", pool, "total_memory_gib", "memory allowed, less what is not cache")


def _is_run(run: Run) -> bool:
    """Whether the values say how fast something ran: settings alone are no run."""
    return any(
        run.values.get(name)
        for name in (
            "output_tok_per_s", "total_tok_per_s", "requests_per_s", "decode_tok_per_s",
            "mean_itl_ms", "median_itl_ms", "mean_tpot_ms", "median_tpot_ms",
            "attention_share_pct", "host_share_pct", "gpu_busy_pct",
        )
    )  # fmt: skip
