"""Logs of vLLM (V0 and V1), SGLang and TensorRT-LLM: settings, memory, preemptions, load.

The text is searched for the lines of `log_patterns`; its name does not matter.
A log in which the server was started several times is read from the last start that came to life,
since files are appended to and what lies beside the log is of the last run.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected
from nsightlens.serving.logs.log_failures import failure_of, memory_ran_out_later
from nsightlens.serving.logs.log_load import load_of
from nsightlens.serving.logs.log_memory import take_memory
from nsightlens.serving.logs.log_model import take_model
from nsightlens.serving.logs.log_preemption import take_preemptions
from nsightlens.serving.logs.log_samples import samples_of, take_peaks
from nsightlens.serving.logs.log_settings import settings_of, take_settings
from nsightlens.serving.logs.log_text import LogText
from nsightlens.serving.logs.log_version import version_of
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_BEGINNINGS = (
    "vLLM API server version ", "LLM engine (v", "non-default args: {", "server_args=ServerArgs(",
)  # fmt: skip
_LIVES = (
    "Avg prompt throughput: ", "# GPU blocks: ", "# cuda blocks: ", "GPU KV cache size: ",
    "vailable KV cache memory: ", "Memory profiling results: total_gpu_memory=",
    "is preempted by PreemptionMode.", "#running-req: ", "max_total_num_tokens=",
    "max tokens in paged KV cache (",
)  # fmt: skip
_QUOTED = (".md", ".rst", ".tex", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml")
"""Of files that may quote a line of a log, but are none."""
_JSON = re.compile(r'\s*(?:\{|\[\s*[\[{"\]])')
_DOCKER = re.compile(r'\s*\{"log":\s*"')
_CONTAINER = re.compile(
    r"^([\w.-]{1,64}) +\| [^\n]*?(?:Avg prompt throughput: |Decode batch|KV cache size: |"
    r"# GPU blocks: |# cuda blocks: )",
    re.MULTILINE,
)
_NAMED_AS_LOGS = (".log", ".out", ".err", ".txt", "")


def _claims(file: OpenedFile) -> bool:
    """Whether a text has lines that only servers print, in its beginning or, in a log, anywhere."""
    if not file.is_text or file.path.suffix.lower() in _QUOTED:
        return False
    if _JSON.match(file.head) and not _DOCKER.match(file.head):
        return False
    if "PERFORMANCE OVERVIEW" in file.head:  # a report of trtllm-bench, with lines of its engine
        return False
    if _has_line(file.head):
        return True
    is_long = file.byte_count > len(file.head)
    return is_long and file.path.suffix.lower() in _NAMED_AS_LOGS and _has_line(file.text)


def _has_line(text: str) -> bool:
    return any(words in text for words in (*_BEGINNINGS, *_LIVES))


def _read(file: OpenedFile) -> list[Part]:
    text = _of_docker(file.text) if _DOCKER.match(file.head) else file.text
    _refuse_several_servers(file, text)
    starts = LogText(text).starts()
    alive = [one for one in starts if failure_of(one) is None and _lives(one)]
    log = alive[-1] if alive else starts[-1]
    failure = failure_of(log)
    if failure is not None:
        place = f"line {log.line_number(failure.offset)}"
        raise ServingFileError(file.shown, failure.problem, failure.advice, where=[place])
    into = Collected(file.shown, "server-log")
    if len(starts) > 1:
        _note_starts(starts, log, into)
    part = _part(log, into)
    if not set(part.values) - {"engine", "engine_version"} and part.samples is None:
        raise ServingFileError(
            file.shown,
            "says which server ran, and nothing of its settings, memory or load",
            "Give the whole log, from the start of the server on.",
        )
    return [part]


def _part(log: LogText, into: Collected) -> Part:
    version = version_of(log)
    into.text("engine", version.engine)
    into.text("engine_version", version.text, where=version.line)
    settings = settings_of(log)
    limits = log.last("sgl_max")
    if limits is not None:
        line = f"line {log.line_number(limits.offset)}"
        into.count("max_num_seqs", limits.match["mrr"], where=line)
        into.count("max_model_len", limits.match["ctx"], where=line)
    take_settings(settings, into)
    take_model(log, into)
    chunked = log.last("vllm_chunked")
    if chunked is not None:
        line = f"line {log.line_number(chunked.offset)}"
        into.flag("chunked_prefill", True, where=line)
        into.count("max_num_batched_tokens", chunked.match["tokens"], where=line)
    take_memory(log, version, into)
    lines, interval_s = load_of(log)
    take_preemptions(log, version, lines, into)
    samples = samples_of(lines, interval_s, into)
    if samples is not None:
        samples = take_peaks(log, lines, samples, into)
    engines = {line.engine for line in lines}
    if len(engines) > 1:
        into.note(
            "several_engines",
            f"{into.path}: {len(engines)} engines serve together: what runs is added up, memory "
            "and KV pool are those of one.",
        )
    later = memory_ran_out_later(log)
    if later is not None:
        into.note(
            "out_of_memory",
            f"{into.path}, line {log.line_number(later)}: the server ran out of memory after it "
            "had started.",
        )
    return replace(into.part("server"), samples=samples)


def _lives(log: LogText) -> bool:
    return any(log.has(words) for words in _LIVES)


def _note_starts(starts: list[LogText], log: LogText, into: Collected) -> None:
    number = starts.index(log) + 1
    which = "the last" if number == len(starts) else f"number {number}, the last that came to life"
    into.note(
        "several_starts",
        f"{into.path}: the server was started {len(starts)} times: {which} counts, from line "
        f"{log.line_number(log.begin)} on.",
    )


def _refuse_several_servers(file: OpenedFile, text: str) -> None:
    """Raise where lines of several containers are mixed, as ``docker compose logs`` mixes them."""
    if " | " not in file.head:
        return
    names = sorted(set(_CONTAINER.findall(text)))
    if len(names) > 1:
        raise ServingFileError(
            file.shown,
            f"mixes the lines of {len(names)} servers ({', '.join(names[:4])})",
            "Save each server's log to a file of its own: docker compose logs NAME > NAME.log.",
        )


def _of_docker(text: str) -> str:
    """Return the lines that Docker keeps as JSON objects, as they were printed."""
    lines = []
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        printed = value.get("log") if isinstance(value, dict) else None
        if isinstance(printed, str):
            lines.append(printed.rstrip("\r\n").replace("\n", " "))
    return "\n".join(lines)


FORMATS = (Format("server-log", "log of vLLM, SGLang or TensorRT-LLM", _claims, _read),)
