"""How often a server took memory from a running sequence, as far as its log can say.

A number that is not known is absent, which is not none:

- vLLM V0 warns at the first preemption and at every 50th after it, with the number so far: the
  last number is a lower bound. Without a warning there was none, if the log is of a scheduler that
  warns (0.5 and newer), begins with the start of the server, and goes on to its end or to a rest.
- vLLM V1 prints nothing before 0.14. From then on a line of load has the number since the line
  before it, where there is any: they add up, and are none where no line has one, if the log begins
  with the start of the server and ends at rest.
- SGLang prints each retraction: they add up, and are none where a log from start to end has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.serving.logs.log_patterns import REPEATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.benchmarks.collected import Collected
    from nsightlens.serving.logs.log_load import Load
    from nsightlens.serving.logs.log_text import LogText
    from nsightlens.serving.logs.log_version import Version

__all__ = ["take_preemptions"]

_ENDS = (
    "Shutting down FastAPI HTTP server", "Application shutdown complete", "Finished server process",
    "SIGTERM received", "Draining requests and shutting down",
)  # fmt: skip
_BEGINNINGS = ("LLM engine (v", "vLLM API server version", "server_args=ServerArgs(")


def take_preemptions(
    log: LogText, version: Version, lines: Sequence[Load], into: Collected
) -> None:
    """Take the preemptions or retractions of a log."""
    begins = any(log.has(one) for one in _BEGINNINGS)
    ends = any(log.has(one) for one in _ENDS)
    if version.engine == "sglang":
        _sglang(log, into, is_whole=begins and ends and bool(lines))
    elif version.engine == "vllm" and version.generation == 0:
        _vllm_v0(log, into, is_whole=begins and (ends or _rests(lines)), version=version)
    elif version.engine == "vllm":
        _vllm_v1(lines, into, is_whole=begins and _rests(lines), version=version)


def _rests(lines: Sequence[Load]) -> bool:
    """Whether the last line of every engine says that nothing runs or waits."""
    last = {line.engine: line for line in lines}
    return bool(last) and all(one.running == 0 and one.waiting == 0 for one in last.values())


def _vllm_v0(log: LogText, into: Collected, *, is_whole: bool, version: Version) -> None:
    most = max(log.records("preempt"), key=lambda one: float(one.match["n"]), default=None)
    if most is not None:
        words = "at least: vLLM warns of the first and of every 50th"
        line = f"line {log.line_number(most.offset)}"
        into.count("preemption_count", most.match["n"], where=line, derived=words)
    elif is_whole and version.is_from(0, 5):
        words = "no warning from start to end, and vLLM warns of the first"
        into.count("preemption_count", 0, derived=words, zero=True)


def _vllm_v1(lines: Sequence[Load], into: Collected, *, is_whole: bool, version: Version) -> None:
    told = [line.preempted for line in lines if line.preempted >= 0]
    if told and sum(told):
        words = f"sum over {len(told)} lines of load"
        words += "" if is_whole else ", at least: the log does not end at rest"
        into.count("preemption_count", sum(told), derived=words)
    elif is_whole and version.is_from(0, 14):
        words = "no line of load from start to rest tells of one"
        into.count("preemption_count", 0, derived=words, zero=True)


def _sglang(log: LogText, into: Collected, *, is_whole: bool) -> None:
    records = [one for one in log.records("sgl_retract") if not REPEATED.search(one.line)]
    if records:
        total = sum(float(one.match["n"]) for one in records)
        words = f"retracted requests of {len(records)} lines added"
        into.count("preemption_count", total, derived=words)
    elif is_whole:
        words = "no retraction from start to end"
        into.count("preemption_count", 0, derived=words, zero=True)
