"""What GuideLLM's reports say of the model and of the data, in each generation somewhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.named import at, model_name, workload_of

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.collected import Collected

__all__ = ["read_names"]

_MODEL = (("config", "backend", "model"), ("worker", "backend_model"), ("args", "model"),
          ("args", "backend", "model"))  # fmt: skip
_MODEL_ABOVE = (
    ("config", "spec", "backend", "model"),
    ("args", "model"),
    ("args", "backend_model"),
)
_DATA = (("args", "data"), ("request_loader", "data"), ("config", "requests", "data"))
_DATA_ABOVE = (("config", "spec", "data"), ("args", "data"))


def read_names(run: Collected, top: Any, one: Any) -> None:
    """Take the model and the workload: of the benchmark, else of the report that it is in."""
    models = [model_name(at(one, *keys)) for keys in _MODEL]
    models += [model_name(at(top, *keys)) for keys in _MODEL_ABOVE]
    run.text("model", next((name for name in models if name), None))
    datas = [at(one, *keys) for keys in _DATA] + [at(top, *keys) for keys in _DATA_ABOVE]
    for data in datas:
        first = data[0] if isinstance(data, list) and len(data) == 1 else data
        run.text("workload", _workload(first))


def _workload(data: Any) -> str | None:
    """Return the nominal lengths of synthetic data, else the name of the data set."""
    if isinstance(data, dict):
        return workload_of(data.get("prompt_tokens"), data.get("output_tokens"))
    if not isinstance(data, str):
        return None
    found = [
        re.search(rf"\b{name}['\"]?\s*[:=]\s*(\d{{1,9}})\b", data)
        for name in ("prompt_tokens", "output_tokens")
    ]
    if found[0] and found[1]:
        return workload_of(int(found[0][1]), int(found[1][1]))
    name = re.split(r"[/\\]", data.strip())[-1]
    return name if re.fullmatch(r"[\w.-]{1,64}", name) else None
