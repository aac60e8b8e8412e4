"""One run of a profiler, looked at: which cause of `nsightlens.harness.diagnosis_causes` it shows.

The order of the looks in `Case.found` is the precedence that `nsightlens.harness.diagnosis` tells.
"""

from __future__ import annotations

import re
import shutil
import signal
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.harness.diagnosis_filters import blamed_filter
from nsightlens.harness.diagnosis_lines import (
    said_by_ncu,
    said_by_nsys,
    target_lines,
    tool_lines,
)
from nsightlens.harness.diagnosis_versions import is_gpu_known, known_since
from nsightlens.harness.options import NcuOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from nsightlens.harness.diagnosis import Attempt
    from nsightlens.harness.host import Host

__all__ = ["Case", "Found"]

_INTERRUPTS = (-signal.SIGINT, 128 + signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGTERM)
_KILLS = (-9, 137)
_LAST_LINES = 8
_LONGEST_LINE = 300
"""[character] Of a line that a message repeats."""
_LITTLE_DISK_BYTES = 16 << 20
_CODE = re.compile(r"The\s+application\s+returned\s+an\s+error\s+code\s+\((\d+)\)")
_SIGNAL = re.compile(r"^\s*The target application terminated with signal (\d+)", re.MULTILINE)
_NO_KERNELS = "No kernels were profiled"
_CONNECTED = "Connected to process"
_BACKED_UP = "Backing up device memory"
_SLOW = "Launching the workload is taking more time than expected"
_GPU_MEMORY = re.compile(
    r"CUDA out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation|OutOfMemoryError"
    r"|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED"
)


class Found(NamedTuple):
    """A cause, what is special about this case, and the lines that show it."""

    cause: str
    detail: str = ""
    evidence: tuple[str, ...] = ()


class Case:
    """One attempt, looked at."""

    def __init__(self, attempt: Attempt, host: Host, version: tuple[int, ...]) -> None:
        self._attempt = attempt
        self._host = host
        self._version = version
        self._is_ncu = attempt.tool == "ncu"
        self._lines = [*tool_lines(attempt.tool_text), *tool_lines(attempt.error_text)]
        self._target_lines = target_lines(attempt.error_text)

    def found(self) -> Found | None:
        """Return the first of the causes that holds."""
        looks: tuple[Callable[[], Found | None], ...] = (
            self._interrupted, self._named, self._hung, self._killed, self._target_out_of_memory,
            self._target_failed, self._nothing_profiled, self._other_words, self._crashed,
            self._bad_report, self._bad_exit,
        )  # fmt: skip
        first = next((found for look in looks if (found := look()) is not None), None)
        if first is not None and first.cause in ("kernel_not_profiled", "unknown", "no_kernels"):
            return self._unknown_gpu(first.evidence) or first
        return first

    def _interrupted(self) -> Found | None:
        attempt = self._attempt
        if attempt.has_timed_out or attempt.return_code not in _INTERRUPTS:
            return None
        return Found("interrupted", f"{attempt.tool} ended by {_signal(attempt.return_code)}")

    def _named(self) -> Found | None:
        """Return what the profiler itself calls the failure."""
        said = said_by_ncu(self._lines)
        if said is None and not self._is_ncu:
            said = said_by_nsys(self._attempt.error_text) or said_by_nsys(self._attempt.tool_text)
        if said is None:
            return self._counters_of_nsys()
        cause = said.cause
        if cause == "metric_not_known" and self._host.has_mig:
            cause = "mig"
        detail = self._details.get(cause, Case._as_said)(self, said.text)
        return Found(cause, detail, _evidence(said.text, self._errors()))

    def _counters_of_nsys(self) -> Found | None:
        """Return that nsys may not sample metrics of the GPU; it marks none of its lines."""
        asked = getattr(self._attempt.options, "gpu_metrics_devices", None)
        rows = (self._attempt.error_text + "\n" + self._attempt.tool_text).splitlines()
        said = next((row.strip() for row in rows if "ERR_NVGPUCTRPERM" in row), None)
        if self._is_ncu or not asked or said is None:
            return None
        return Found("counters_not_permitted", self._rights(said), (said,))

    def _as_said(self, text: str) -> str:
        return _cut(text)

    def _rights(self, _: str) -> str:
        """Say what this process lacks."""
        host = self._host
        name = "root" if host.is_root else "an ordinary user" if host.is_root is False else "a user"
        inside = f" in a {host.container} container" if host.is_in_container else ""
        if host.may_read_counters:
            return (
                f"by the facts of this host it should be permitted (this process is {name}"
                f"{inside}), so another layer forbids it"
            )
        if host.has_own_user_namespace:
            return f"this process is {name} in a user namespace of its own{inside}"
        lacks = ""
        if host.capabilities is not None and "CAP_SYS_ADMIN" not in host.capabilities:
            lacks = " without CAP_SYS_ADMIN"
        option = ", and RmProfilingAdminOnly is 1" if host.counters_are_restricted else ""
        return f"this process is {name}{inside}{lacks}{option}"

    def _no_driver(self, text: str) -> str:
        host = self._host
        if host.libcuda is not None and host.is_libcuda_stub:
            return f"a program here would load {host.libcuda}, which is a stub"
        if host.libcuda is None and host.driver_version is None:
            return "no driver of NVIDIA's was found on this host"
        return _cut(text)

    def _no_lock(self, text: str) -> str:
        return self._host.lock_file_problem or _cut(text)

    def _held(self, text: str) -> str:
        running = self._host.profilers_running
        return f"running here: {', '.join(running)}" if running else _cut(text)

    def _old(self, text: str) -> str:
        return self._ignorance() or _cut(text)

    _details: dict[str, Callable[[Case, str], str]] = {  # noqa: RUF012 - constant
        "counters_not_permitted": _rights,
        "stub_libcuda": _no_driver,
        "lock_file": _no_lock,
        "driver_resource_held": _held,
        "gpu_not_supported": _old,
    }

    def _hung(self) -> Found | None:
        if not self._attempt.has_timed_out:
            return None
        kernel = self._last_kernel()
        detail = f"ncu was at the kernel {kernel}" if kernel else ""
        slow = tuple(line.text for line in self._lines if line.text.startswith(_SLOW))[-1:]
        return Found("hung", detail, (*slow, *self._last_words()))

    def _last_kernel(self) -> str | None:
        for line in reversed(self._lines):
            found = re.match(r'Profiling "(.+?)"', line.text)
            if line.severity == "PROF" and found:
                return _cut(found[1], 120)
        return None

    def _killed(self) -> Found | None:
        attempt = self._attempt
        code = self._target_code()
        if attempt.return_code in _KILLS:
            who = attempt.tool
        elif code in (9, 137) and not self._is_ended_by_tool():
            who = "the target"
        else:
            return None
        backed = tuple(one.text for one in self._lines if one.text.startswith(_BACKED_UP))[-1:]
        free = self._host.free_memory_bytes
        room = "" if free is None else f"; {free / 1e9:.1f} GB of memory are free now"
        return Found("killed", f"{who} was ended by SIGKILL{room}", backed)

    def _target_code(self) -> int | None:
        """Return the exit code of the target that the profiler told, None where it told none."""
        for line in self._lines:
            found = _CODE.match(line.whole)
            if line.severity == "ERROR" and found:
                return int(found[1])
        if self._is_ncu:
            return None
        found = _SIGNAL.search(self._attempt.error_text + "\n" + self._attempt.tool_text)
        return None if found is None else 128 + int(found[1])

    def _is_ended_by_tool(self) -> bool:
        """Whether the profiler itself ended the target, as it was asked to or after a failure."""
        options = self._attempt.options
        asked = isinstance(options, NcuOptions) and options.ends_target
        words = "Trying to shutdown target application"
        return (asked and bool(self._attempt.result_count)) or any(
            line.severity == "PROF" and line.text.startswith(words) for line in self._lines
        )

    def _has_failed_target(self) -> bool:
        if self._is_ended_by_tool():
            return False
        if self._target_code() is not None:
            return True
        # nsys ends with the code of its target, and says nothing of it.
        return (
            not self._is_ncu and self._attempt.return_code > 0 and _size(self._attempt.report) > 0
        )

    def _target_out_of_memory(self) -> Found | None:
        words = [*self._target_lines, *target_lines(self._attempt.tool_text)]
        told = [line for line in words if _GPU_MEMORY.search(line)]
        is_bad = self._has_failed_target() or self._is_backed_up()
        if not told or not is_bad or self._went_well():
            return None
        return Found("target_out_of_memory", _cut(told[-1].strip()), (told[-1].strip(),))

    def _is_backed_up(self) -> bool:
        return any(line.text.startswith(_BACKED_UP) for line in self._lines)

    def _target_failed(self) -> Found | None:
        if not self._has_failed_target():
            return None
        code = self._target_code()
        shown = self._attempt.return_code if code is None else code
        words = self._last_words()
        last = f", and its last words were: {_cut(words[-1])}" if words else ", without a word"
        return Found("target_failed", f"it ended with {_code(shown)}{last}", words)

    def _last_words(self) -> tuple[str, ...]:
        words = self._target_lines or target_lines(self._attempt.tool_text)
        return tuple(_cut(line.strip()) for line in words[-_LAST_LINES:])

    def _nothing_profiled(self) -> Found | None:
        attempt = self._attempt
        said = [line for line in self._lines if line.severity == "WARNING"
                and line.whole.startswith(_NO_KERNELS)]  # fmt: skip
        if not said and attempt.result_count != 0:
            return None
        if not self._is_ncu:
            return Found("no_cuda_events", "", self._last_words())
        evidence = tuple(line.text for line in said)
        if not any(line.text.startswith(_CONNECTED) for line in self._lines):
            is_hidden = self._host.visible_devices in ("", "-1")
            why = "; CUDA_VISIBLE_DEVICES hides every GPU" if is_hidden else ""
            return Found("no_kernels", f"ncu met no process that uses CUDA{why}", evidence)
        options = attempt.options
        blame = ""
        if isinstance(options, NcuOptions):
            blame = blamed_filter(options, attempt.ranges_seen)
        return Found("no_kernels", blame or "the target launched none that ncu saw", evidence)

    def _other_words(self) -> Found | None:
        others = [line for line in self._errors() if not _CODE.match(line)]
        if not others:
            return None
        return Found("unknown", "; ".join(map(_cut, others[:3])), tuple(others))

    def _errors(self) -> list[str]:
        return [line.text for line in self._lines if line.severity == "ERROR" and line.text]

    def _crashed(self) -> Found | None:
        code = self._attempt.return_code
        if code >= 0:
            return None
        return Found("tool_crashed", f"{self._attempt.tool} ended by {_signal(code)}",
                      self._last_words())  # fmt: skip

    def _bad_report(self) -> Found | None:
        attempt = self._attempt
        if attempt.result_count is not None or attempt.return_code != 0:
            return None
        size = _size(attempt.report)
        free = _free_bytes(attempt.report)
        if free is not None and free < _LITTLE_DISK_BYTES:
            return Found("disk_full", f"{free / 1e6:.0f} MB are left beside {attempt.report}")
        if size <= 0:
            kind = "is empty" if size == 0 else "does not exist"
            return Found("report_missing", f"{attempt.report} {kind}", self._last_words())
        return Found("report_unreadable", attempt.report_problem or str(attempt.report))

    def _bad_exit(self) -> Found | None:
        attempt = self._attempt
        if attempt.return_code == 0 or self._went_well():
            return None
        words = self._last_words()
        last = f"; the last words were: {words[-1]}" if words else ""
        return Found("unknown", f"{attempt.tool} ended with exit code {attempt.return_code}{last}",
                      words)  # fmt: skip

    def _went_well(self) -> bool:
        """Whether there are launches, and nothing failed but a target that was ended on purpose."""
        attempt = self._attempt
        return bool(attempt.result_count) and (attempt.return_code == 0 or self._is_ended_by_tool())

    def _unknown_gpu(self, evidence: tuple[str, ...]) -> Found | None:
        """Return that this ncu is too old for the GPU, which explains whatever it said."""
        ignorance = self._ignorance() if self._is_ncu else None
        return None if ignorance is None else Found("gpu_not_supported", ignorance, evidence)

    def _ignorance(self) -> str | None:
        version = ".".join(map(str, self._version))
        for gpu in self._host.gpus:
            capability = gpu.compute_capability
            if is_gpu_known(self._version, capability) is not False:
                continue
            since = known_since(capability or "")
            seen = f"; {'.'.join(map(str, since))} is known to" if since else ""
            return (
                f"ncu {version} does not know {gpu.name or 'the GPU'} (compute capability "
                f"{capability}){seen}"
            )
        return None


def _evidence(first: str, errors: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([first, *errors]))


def _cut(text: str, longest: int = _LONGEST_LINE) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _signal(code: int) -> str:
    number = -code if code < 0 else code - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _code(code: int) -> str:
    """Say an exit code, and the signal that it may stand for."""
    if code < 0 or code > 128:
        return f"{_signal(code)} (exit code {code})"
    if code in (6, 7, 11):
        return f"exit code {code} (that is also the number of {_signal(128 + code)})"
    return f"exit code {code}"


def _size(path: Path) -> int:
    """Return the size [B] of a file or the number of entries of a folder; -1 where it is not."""
    try:
        return sum(1 for _ in path.iterdir()) if path.is_dir() else path.stat().st_size
    except OSError:
        return -1


def _free_bytes(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return None
