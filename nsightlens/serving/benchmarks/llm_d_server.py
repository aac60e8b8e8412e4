"""What an llm-d benchmark report says of the servers while they ran: batch, queue, KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.collected import number_of
from nsightlens.serving.benchmarks.named import at
from nsightlens.serving.benchmarks.stated_units import pct_of

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.collected import Collected

__all__ = ["read_service"]

_COUNTED = {
    "mean_running": ("running_requests", "mean"),
    "max_running": ("running_requests", "max"),
    "mean_waiting": ("waiting_requests", "mean"),
}
_SHARES = {
    "kv_mean_pct": ("kv_cache_usage", "mean"),
    "kv_peak_pct": ("kv_cache_usage", "max"),
}


def read_service(run: Collected, top: Any) -> None:
    """Take what ran, what waited and how full the cache was, of the component that serves."""
    service = at(top, "metrics", "service")
    for column, name in (("mean_running", "batch_size"), ("mean_waiting", "queue_size")):
        if at(service, name, "units") == "count":
            place = f"metrics.service.{name}.mean"
            run.real(column, at(service, name, "mean"), where=place)
    _of_components(run, top)
    if "mean_running" in run.values:
        run.text("running_source", "result")
    seen = at(top, "results", "observability", "vllm_num_preemptions_total", "components")
    for one in seen if isinstance(seen, list) else []:
        counted = number_of(at(one, "statistics", "mean"))
        if counted:
            run.note(
                "preemptions_since_start",
                "The server had preempted sequences (its counter was "
                f"{counted:.4g} on average), before this run or in it.",
            )
            break


def _of_components(run: Collected, top: Any) -> None:
    components = at(top, "results", "observability", "components")
    servers = list(_labels(top))  # not a set: a label of a damaged file may be a list
    kept = [
        (index, one)
        for index, one in enumerate(components if isinstance(components, list) else [])
        if at(one, "component_label") in servers
    ]
    if len(kept) != 1:
        return
    index, one = kept[0]
    place = f"results.observability.components[{index}].aggregate"
    for column, (name, statistic) in _COUNTED.items():
        if at(one, "aggregate", name, "units") == "count":
            raw = at(one, "aggregate", name, statistic)
            run.real(column, raw, where=f"{place}.{name}.{statistic}")
    for column, (name, statistic) in _SHARES.items():
        found = at(one, "aggregate", name)
        scale = pct_of(at(found, "units"))
        run.real(column, at(found, statistic), scale=scale, where=f"{place}.{name}.{statistic}")


def _labels(top: Any) -> set[str]:
    """Return the labels of the inference engines: a router has running requests too."""
    stack = at(top, "scenario", "stack")
    return {
        label
        for one in (stack if isinstance(stack, list) else [])
        if at(one, "standardized", "kind") == "inference_engine"
        and isinstance(label := at(one, "metadata", "label"), str)
    }
