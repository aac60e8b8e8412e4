"""The settings that a server prints when it starts -> columns of ``serving_runs``.

Servers print them as Python prints an object: ``Namespace(a=1, ...)``, ``{'a': 1, ...}``,
``ServerArgs(...)``, or as a bare list ``a=1, b=2``. They are scanned, never evaluated: a log is not
to be trusted, and values such as ``<ConfigFormat.AUTO: 'auto'>`` are no Python.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.serving.benchmarks.named import model_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nsightlens.serving.benchmarks.collected import Collected
    from nsightlens.serving.logs.log_text import LogText

__all__ = ["Setting", "Settings", "scan_arguments", "settings_of", "take_settings"]

_MARKS = re.compile(
    r"\\.|['\"()\[\]{}>,]|(?<=[=,(\[{: ])<(?=[A-Za-z_])|(?<!\s)\s+(?=[A-Za-z_]\w*=)", re.DOTALL
)
_CLOSES = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SNAPSHOT = re.compile(r"models--[^/\\]+--([^/\\]+)[/\\]snapshots[/\\]")


class Setting(NamedTuple):
    """A setting as it stands in the log, and its line."""

    value: Any
    line: str


Settings = dict[str, Setting]


def scan_arguments(text: str, begin: int) -> dict[str, Any]:
    """Return names and values of an object that Python printed, which begins at a place of a line.

    Parameters
    ----------
    text
        The line.
    begin
        Place of the ``(`` or ``{``, or of the first name of a bare list. Of an object that is not
        closed, because the line was cut, the last value is left out.

    Examples
    --------
    >>> scan_arguments("Namespace(host=None, a=<A.B: 'x, y'>, n=0.9, names=['a', 'b'])", 9)
    {'host': None, 'a': "<A.B: 'x, y'>", 'n': 0.9, 'names': "['a', 'b']"}
    >>> scan_arguments("config: chunked=False steps=1, dtype=torch.float16", 8)
    {'chunked': False, 'steps': 1, 'dtype': 'torch.float16'}
    """
    is_dict = text[begin : begin + 1] == "{"
    items = list(_items(text, begin))
    pairs = (_pair(item, is_dict) for item in items)
    return {name: _value(raw) for name, raw in pairs if name}


def _items(text: str, begin: int) -> Iterator[str]:
    """Yield what stands between commas, outside of quotes and brackets."""
    is_bare = text[begin : begin + 1] not in {"(", "{"}
    if not is_bare:
        begin += 1
    stack: list[str] = []
    quote, start = "", begin
    for mark in _MARKS.finditer(text, begin):
        sign = mark[0]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in {"'", '"'}:
            quote = sign
        elif sign in _CLOSES:
            stack.append(_CLOSES[sign])
        elif sign in {")", "]", "}", ">"}:
            if sign != ">" and stack and stack[-1] == ">" and sign in stack:
                stack.pop()  # a "<" that was no bracket
            if stack and stack[-1] == sign:
                stack.pop()
            elif not stack and sign != ">":
                yield text[start : mark.start()]
                return
        elif not stack and sign[0] != "\\":
            yield text[start : mark.start()]
            start = mark.end()
    if is_bare and not stack and not quote:
        yield text[start:]


_DICT_PAIR = re.compile(r"\s*(['\"])([^'\"]*)\1\s*:(.*)", re.DOTALL)
_PAIR = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_WORDS = {"None": None, "True": True, "False": False}


def _pair(item: str, is_dict: bool) -> tuple[str, str]:
    if is_dict:
        match = _DICT_PAIR.match(item)
        return (match[2], match[3]) if match else ("", "")
    match = _PAIR.match(item)
    return (match[1], match[2]) if match else ("", "")


def _value(raw: str) -> Any:
    """Return a number, a truth value, None, or a text."""
    text = raw.strip()
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) < 64 and _REAL.fullmatch(text):
        return float(text)
    return text


def settings_of(log: LogText) -> Settings:
    """Return the settings that a log states, by their names in the log; the surest first.

    The configuration that vLLM made of its arguments is surer than the arguments, in which a value
    may be None or ``auto``.
    """
    found: Settings = {}
    for kind in ("vllm_config", "vllm_args", "vllm_set_args", "sgl_args"):
        for record in log.records(kind):
            line = f"line {log.line_number(record.offset)}"
            for name, value in scan_arguments(record.line, record.match.end()).items():
                if value is not None or name not in found:
                    was = found.get(name)
                    if was is None or was.value in {None, "auto"}:
                        found[name] = Setting(value, line)
    return found


def _first(settings: Mapping[str, Setting], *names: str) -> Setting | None:
    """Return the first of settings that is stated and says something."""
    for name in names:
        setting = settings.get(name)
        if setting is not None and setting.value not in {None, "auto"}:
            return setting
    return None


_COUNTS = {
    "max_num_seqs": ("max_num_seqs", "max_running_requests"),
    "max_num_batched_tokens": ("max_num_batched_tokens",),
    "max_model_len": ("max_seq_len", "max_model_len", "context_length"),
    "block_size": ("block_size", "page_size"),
    "scheduler_steps": ("num_scheduler_steps",),
    "tensor_parallel_size": ("tensor_parallel_size", "tp_size"),
}
_TEXTS = ("quantization", "kv_cache_dtype")


def take_settings(settings: Settings, into: Collected) -> None:
    """Take what the settings say of columns; what they do not state is no default."""
    model = _first(settings, "model", "model_path", "model_tag")
    if model is not None and isinstance(model.value, str):
        snapshot = _SNAPSHOT.search(model.value)
        name = snapshot[1] if snapshot else model_name(model.value)
        into.text("model", name, where=model.line)
        into.text("model_id", model.value, where=model.line)
    for column, names in _COUNTS.items():
        one = _first(settings, *names)
        if one is not None and not isinstance(one.value, str):
            into.count(column, one.value, where=one.line)
    share = _first(settings, "gpu_memory_utilization", "mem_fraction_static")
    if share is not None:
        into.real("gpu_memory_utilization", share.value, where=share.line)
    for column in _TEXTS:
        one = _first(settings, column)
        if one is not None:
            into.text(column, one.value, where=one.line)
    dtype = _first(settings, "dtype")
    if dtype is not None and isinstance(dtype.value, str):
        name = dtype.value.removeprefix("torch.")
        short = {"half": "float16", "float": "float32"}
        into.text("dtype", short.get(name, name), where=dtype.line)
    _take_flags(settings, into)
    _take_gpus(settings, into)


def _take_flags(settings: Settings, into: Collected) -> None:
    for column, names in (
        ("chunked_prefill", ("chunked_prefill_enabled", "enable_chunked_prefill")),
        ("prefix_caching", ("enable_prefix_caching",)),
    ):
        one = _first(settings, *names)
        if one is not None:
            into.flag(column, one.value, where=one.line)
    chunk = settings.get("chunked_prefill_size")
    if chunk is not None and isinstance(chunk.value, int):
        into.flag("chunked_prefill", chunk.value > 0, where=chunk.line)
    radix = settings.get("disable_radix_cache")
    if radix is not None and isinstance(radix.value, bool):
        into.flag("prefix_caching", not radix.value, where=radix.line)
    drafts = ("speculative_config", "speculative_model", "speculative_algorithm")
    stated = [settings[name] for name in drafts if name in settings]
    if stated:
        said = next((one for one in stated if one.value not in {None, "", "None"}), stated[0])
        is_speculative = said.value not in {None, "", "None", False}
        into.flag("speculative", is_speculative, where=said.line)


def _take_gpus(settings: Settings, into: Collected) -> None:
    """Take the GPUs of one server: those of tensor, pipeline and data parallelism multiplied."""
    count, words, line = 1, [], ""
    for name, short in (("tensor", "tp"), ("pipeline", "pp"), ("data", "dp")):
        one = _first(settings, f"{name}_parallel_size", f"{short}_size")
        if one is None or isinstance(one.value, bool) or not isinstance(one.value, int):
            continue
        shares_gpus = short == "dp" and _is_true(settings, "enable_dp_attention")
        if one.value > 0 and not shares_gpus:
            count *= one.value
            words.append(f"{name} parallel {one.value}")
            line = line or one.line
    if any(word.startswith("tensor") for word in words):
        into.count("gpu_count", count, where=line, derived=" x ".join(words))


def _is_true(settings: Settings, name: str) -> bool:
    return name in settings and settings[name].value is True
