"""What genai-perf and AIPerf say of their own settings: model, load, lengths of the prompts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.collected import number_of
from nsightlens.serving.benchmarks.named import at, model_name, workload_of

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.collected import Collected

__all__ = ["read_config"]

_MODEL = (("model_names",), ("model",), ("models",), ("models", "items"),
          ("endpoint", "model_names"), ("endpoint", "model"))  # fmt: skip
_INPUT = (("input", "synthetic_tokens", "mean"), ("synthetic_input_tokens_mean",),
          ("input", "prompt", "input_tokens", "mean"))  # fmt: skip
_OUTPUT = (("input", "output_tokens", "mean"), ("output_tokens_mean",),
           ("input", "prompt", "output_tokens", "mean"))  # fmt: skip
_LOAD = (("perf_analyzer", "stimulus"), ("loadgen",), ())
_OPTIONS = {
    "model": r"(?:-m|--model|--model-names)[ =]+'?\"?([^\s'\"]+)",
    "input": r"--(?:isl|synthetic-input-tokens-mean|prompt-input-tokens-mean)[ =]+(\d+)",
    "output": r"--(?:osl|output-tokens-mean|prompt-output-tokens-mean)[ =]+(\d+)",
}


def read_config(run: Collected, top: dict[str, Any]) -> None:
    """Take model, load and lengths from ``input_config``, else from the command line."""
    config = top.get("input_config")
    command = at(top, "run_info", "cli_command") or at(config, "cli_command")
    said = {
        key: match[1]
        if isinstance(command, str) and (match := re.search(pattern, command))
        else None
        for key, pattern in _OPTIONS.items()
    }
    models = [name for keys in _MODEL if (name := model_name(at(config, *keys)))]
    run.text("model", models[0] if models else model_name(said["model"]))
    lengths = [
        next(
            (one for keys in paths if (one := number_of(at(config, *keys)))),
            _length(config, short) or number_of(said[key]),
        )
        for key, short, paths in (("input", "isl", _INPUT), ("output", "osl", _OUTPUT))
    ]
    run.text("workload", workload_of(*lengths))
    _load(run, config)


def _length(config: Any, name: str) -> float | None:
    """Return a nominal length [token] of AIPerf's one data set: a number or a distribution."""
    datasets = at(config, "datasets")
    if not isinstance(datasets, list) or len(datasets) != 1:
        return None
    said = at(datasets, 0, "prompts", name) or at(datasets, 0, name)
    return number_of(at(said, "mean")) or number_of(at(said, "value")) or number_of(said)


def _load(run: Collected, config: Any) -> None:
    phases = at(config, "phases")
    if isinstance(phases, list):
        _phases(run, phases)
    for keys in _LOAD:
        load, place = at(config, *keys), ".".join(("input_config", *keys))
        run.count("max_concurrency", at(load, "concurrency"), where=f"{place}.concurrency")
        run.real("request_rate_per_s", at(load, "request_rate"), where=f"{place}.request_rate")


def _phases(run: Collected, phases: list[Any]) -> None:
    """Take the load of the phase that was measured: warm-ups are excluded from results."""
    kept = [
        (index, one)
        for index, one in enumerate(phases)
        if isinstance(one, dict)
        and one.get("exclude_from_results") is not True
        and "warmup" not in (one.get("kind"), one.get("name"))
    ]
    if len(kept) > 1:
        run.note(
            "several_phases",
            f"The statistics are of {len(kept)} phases together: no load is taken from them.",
        )
        return
    for index, phase in kept:
        place = f"input_config.phases[{index}]"
        run.count("max_concurrency", phase.get("concurrency"), where=f"{place}.concurrency")
        rate = phase.get("request_rate") or phase.get("rate")
        run.real("request_rate_per_s", rate, where=f"{place}.request_rate")
