"""Which engine wrote a log, of which version and generation: both change what lines mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nsightlens.serving.logs.log_text import LogText

__all__ = ["Version", "version_of"]


class Version(NamedTuple):
    """An engine, its version as text and as numbers, and for vLLM whether it is V0 or V1."""

    engine: str | None = None
    text: str | None = None
    line: str = ""
    numbers: tuple[int, int] | None = None
    is_development: bool = False
    generation: int | None = None

    def is_before(self, major: int, minor: int) -> bool:
        """Return whether it is surely older: builds between releases may be newer than named."""
        return (
            self.numbers is not None and not self.is_development and self.numbers < (major, minor)
        )

    def is_from(self, major: int, minor: int) -> bool:
        """Return whether it is surely this version or a newer one."""
        return self.numbers is not None and self.numbers >= (major, minor)


def version_of(log: LogText) -> Version:
    """Return what a log says of its engine.

    Examples
    --------
    >>> from nsightlens.serving.logs.log_text import LogText
    >>> version = version_of(LogText("Initializing a V1 LLM engine (v0.8.5.post1) with config: "))
    >>> version.engine, version.numbers, version.generation
    ('vllm', (0, 8), 1)
    """
    engine = _engine(log)
    if engine is None:
        return Version()
    if engine != "vllm":
        record = log.last("trt_version") if engine == "tensorrt-llm" else None
        if record is None:
            return Version(engine)
        return _version(engine, record.match["version"], _line(log, record.offset), None)
    for name in ("vllm_engine", "vllm_version", "vllm_banner"):
        record = log.last(name)
        if record is not None:
            text, line = record.match["version"], _line(log, record.offset)
            return _version(engine, text, line, _generation(log))
    return Version(engine, generation=_generation(log))


def _line(log: LogText, offset: int) -> str:
    return f"line {log.line_number(offset)}"


def _engine(log: LogText) -> str | None:
    for engine, words in (
        ("vllm", ("LLM engine (v", "vLLM API server version", "is preempted by PreemptionMode.")),
        ("sglang", ("server_args=ServerArgs(", "#running-req: ", "max_total_num_tokens=")),
        ("vllm", ("Avg prompt throughput: ", " KV cache size: ", "Memory profiling results: ")),
        ("vllm", ("# GPU blocks: ", "# cuda blocks: ", "non-default args: {", "vailable KV cache")),
        ("tensorrt-llm", ("in paged KV cache (", "TensorRT-LLM version: ")),
    ):
        if any(log.has(one) for one in words):
            return engine
    return None


def _version(engine: str, text: str, line: str, generation: int | None) -> Version:
    match = re.match(r"v?(\d{1,4})\.(\d{1,4})", text)
    numbers = (int(match[1]), int(match[2])) if match else None
    is_development = bool(re.search(r"dev|\+g|rc", text))
    return Version(engine, text.removeprefix("v"), line, numbers, is_development, generation)


def _generation(log: LogText) -> int | None:
    record = log.last("vllm_engine")
    if record is not None and record.match["generation"]:
        return int(record.match["generation"][1:])
    if log.has(" reqs, Waiting: ") or log.has(" KV cache size: "):
        return 1
    words = (", Swapped: ", "# GPU blocks: ", "# CPU blocks: ", "is preempted by PreemptionMode.")
    if any(log.has(one) for one in words):
        return 0
    return None
