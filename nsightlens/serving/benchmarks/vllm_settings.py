"""Settings of the server that stand beside a vLLM result: swept ones, and ``--metadata``.

A sweep writes each swept parameter with its type; ``--metadata`` writes what a person typed, as
text, which therefore only fills gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.serving.part import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.serving.benchmarks.client_run import ClientRun

__all__ = ["take_settings"]

_UNSET = {"", "none", "null", "auto", "default"}
_TRUE, _FALSE = {"true", "1", "yes", "on"}, {"false", "0", "no", "off"}
_INPUT = ("random_input_len", "input_len", "isl")
_OUTPUT = ("random_output_len", "output_len", "osl")


def take_settings(run: ClientRun) -> None:
    """Set the columns of settings that the object's other keys give.

    Names may have dashes or underscores. A setting that is written as text becomes a hint, and so
    do lengths (``"input_len": "1000"``), which tell workloads apart.
    """
    known = {str(key).strip().lstrip("-").lower().replace("-", "_"): key for key in run.data}
    for name, key in known.items():
        column, value = _setting(name, run.data[key])
        if value is None:
            _note_unread(run, name, key)
            continue
        if column == "gpu_memory_utilization" and not 0 < value <= 1:
            run.note("implausible", f"{key} is {value:g}, not a part of the memory: left out.")
            continue
        hint = f"?{column}" if isinstance(run.data[key], str) and "run_number" not in known else ""
        if value == run.values.get(hint or column, value):
            run.put(hint or column, value, key)
        else:
            run.note(
                "contradiction",
                f"{key} is {value}, but {column} {run.values[hint or column]}: the latter is used.",
            )
    _take_lengths(run, known)
    _take_batch(run, known)


def _setting(name: str, value: Any) -> tuple[str, Any]:
    """Return the column of a key and its value; None as the value where it has none."""
    column, parse = _COLUMNS.get(name, ("", None))
    text = value.strip().lower() if isinstance(value, str) else None
    return column, None if parse is None or value is None or text in _UNSET else parse(value)


def _note_unread(run: ClientRun, name: str, key: Any) -> None:
    value = run.data[key]
    _, parse = _COLUMNS.get(name, ("", None))
    is_unset = value is None or (isinstance(value, str) and value.strip().lower() in _UNSET)
    if parse in {_whole, _number, _flag, _not} and not is_unset:
        run.note("not_a_number", f"{key} is {str(value)[:40]!r}, no such setting: left out.")


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number and number.is_integer() else None


def _name(value: Any) -> str | None:
    """Return a name; a bare number is none (``"gpu": "8"``)."""
    return value.strip() if isinstance(value, str) and not value.strip().isdecimal() else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= LARGEST else None


def _flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _not(value: Any) -> bool | None:
    flag = _flag(value)
    return None if flag is None else not flag


def _given(value: Any) -> bool | None:
    return bool(value) or None


_COLUMNS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_num_seqs": ("max_num_seqs", _whole),
    "max_num_batched_tokens": ("max_num_batched_tokens", _whole),
    "max_model_len": ("max_model_len", _whole),
    "block_size": ("block_size", _whole),
    "tensor_parallel_size": ("tensor_parallel_size", _whole),
    "tensor_parallel": ("tensor_parallel_size", _whole),
    "tp_size": ("tensor_parallel_size", _whole),
    "tp": ("tensor_parallel_size", _whole),
    "num_scheduler_steps": ("scheduler_steps", _whole),
    "num_gpus": ("gpu_count", _whole),
    "gpu_count": ("gpu_count", _whole),
    "num_replicas": ("replicas", _whole),
    "replicas": ("replicas", _whole),
    "gpu_memory_utilization": ("gpu_memory_utilization", _number),
    "dtype": ("dtype", _name),
    "quantization": ("quantization", _name),
    "kv_cache_dtype": ("kv_cache_dtype", _name),
    "engine": ("engine", _name),
    "engine_version": ("engine_version", _name),
    "vllm_version": ("engine_version", _name),
    "device_name": ("device_name", _name),
    "gpu_name": ("device_name", _name),
    "gpu_type": ("device_name", _name),
    "gpu": ("device_name", _name),
    "dataset": ("workload", _name),
    "dataset_name": ("workload", _name),
    "enable_chunked_prefill": ("chunked_prefill", _flag),
    "chunked_prefill": ("chunked_prefill", _flag),
    "no_enable_chunked_prefill": ("chunked_prefill", _not),
    "enable_prefix_caching": ("prefix_caching", _flag),
    "prefix_caching": ("prefix_caching", _flag),
    "no_enable_prefix_caching": ("prefix_caching", _not),
    "mps": ("mps", _flag),
    "speculative_config": ("speculative", _given),
    "speculative_model": ("speculative", _given),
}


def _take_lengths(run: ClientRun, known: dict[str, Any]) -> None:
    found = []
    for names in (_INPUT, _OUTPUT):
        key = next((known[name] for name in names if name in known), None)
        number = _number(run.data[key]) if key is not None else None
        if not number or not number.is_integer():
            return
        found.append((key, int(number)))
    (key, input_tokens), (_, output_tokens) = found
    if "?workload" not in run.values:
        run.put("?workload", f"in{input_tokens}_out{output_tokens}", str(key))


def _take_batch(run: ClientRun, known: dict[str, Any]) -> None:
    """Take a batch size or concurrency that nobody but a person wrote, as a hint."""
    for names, column in (
        (("batch_size", "batch", "bs"), "max_num_seqs"),
        (("concurrency", "conc"), "max_concurrency"),
    ):
        key = next((known[name] for name in names if name in known), None)
        number = _whole(run.data[key]) if key is not None else None
        is_known = {"max_num_seqs", "max_concurrency", f"?{column}"} & run.values.keys()
        if number and not is_known:
            words = "as someone wrote it beside the result"
            run.put(f"?{column}", number, str(key), words)
