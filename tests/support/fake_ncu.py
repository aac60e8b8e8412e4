"""NVIDIA's ncu as far as the harness can see it, without a GPU: options, messages, exit status.

Runs the target with stubs that note what it launches (`support.fake_target`), filters the launches
as ncu does, and writes a real .ncu-rep with the metrics that were asked for, of a modelled H100
SXM (`support.fake_counters`). The same target gives the same report, but for process ids.

``FAKE_NCU_VERSION`` is the version that it has, ``FAKE_NCU_FAIL`` what goes wrong
(`support.fake_failures`); ``FAKE_NCU_LOG`` a file that gets one line of JSON with every command
line.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from support import fake_failures
from support.fake_ncu_options import OPTIONS, WORDS
from support.fake_nvtx_filter import FilterError, nvtx_filter
from support.fake_options import OptionError, Parsed, parse
from support.fake_target import FakeTarget, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from nsightlens.example.model import Kernel
    from nsightlens.ncurep.spec import LaunchSpec
    from support.fake_nvtx_filter import NvtxFilter
    from support.fake_records import Launch

VERSION = "2025.1.0.0 (build 35237751)"
_NO = ("off", "no", "0")
_CHIPS = "ga100, ga102, ga103, ga104, ga106, ga107, gh100, ad102, ad103, ad104, gb100, tu102"


def main(argv: Sequence[str]) -> int:
    """Do what ncu does with this command line, and return its exit status."""
    version = os.environ.get("FAKE_NCU_VERSION", VERSION)
    if log := os.environ.get("FAKE_NCU_LOG"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(list(argv)) + "\n")
    numbers = re.findall(r"\d+", version)
    try:
        parsed = parse(argv, OPTIONS, (int(numbers[0]), int(numbers[1])), WORDS)
    except OptionError as error:
        return _refuse(str(error))
    if parsed.has("version"):
        return _tell(
            "NVIDIA (R) Nsight Compute Command Line Profiler\n"
            "Copyright (c) 2018-2025 NVIDIA Corporation\n"
            f"Version {version} (public-release)"
        )
    listed = _listed(parsed)
    if listed is not None:
        return _tell(listed)
    return _Run(parsed, argv, version).run()


def _tell(text: str) -> int:
    sys.stdout.write(text + "\n")
    return 0


def _refuse(text: str) -> int:
    sys.stdout.write(f"==ERROR== {text}\n")
    return 1


def _listed(parsed: Parsed) -> str | None:
    """Return what an option that only lists prints, None where there is none."""
    if parsed.has("help"):
        return "\n".join(f"  --{name}" for name in OPTIONS)
    if parsed.has("list-chips"):
        return _CHIPS
    if not any(parsed.has(name) for name in ("list-sets", "list-sections", "query-metrics")):
        return None
    from support.fake_counters import SECTIONS, SETS, universe

    if parsed.has("list-sets"):
        heads = "Identifier Sections                                 Enabled Estimated Metrics"
        rows = [f"{name:<10} {', '.join(of)}" for name, of in SETS.items()]
        return "\n".join([heads, *rows])
    if parsed.has("list-sections"):
        return "\n".join(["Identifier", *SECTIONS])
    from nsightlens.example.layer import decode_layer

    names = {name.partition(".")[0] for name in universe(decode_layer(1, 500)[1])}
    return "\n".join(["Device NVIDIA H100 80GB HBM3 (GH100)", *sorted(names)])


class _Refused(Exception):  # noqa: N818 - what the tool says is the error
    """The tool ends here, with what it says."""


class _Filters(NamedTuple):
    include: tuple[NvtxFilter, ...]
    exclude: tuple[NvtxFilter, ...]
    kernel: re.Pattern[str] | None
    kernel_base: str
    is_of_process: bool


class _Run:
    """One run of ncu with a target."""

    def __init__(self, parsed: Parsed, argv: Sequence[str], version: str) -> None:
        self._parsed = parsed
        self._argv = argv
        self._version = version
        self._failure = fake_failures.failure()
        self._specs: list[LaunchSpec] = []
        self._connected: list[int] = []
        self._matched = 0
        self._has_failed = False
        self._out: TextIO = sys.stdout

    def run(self) -> int:
        try:
            filters = self._checked()
        except _Refused as error:
            return _refuse(str(error))
        self._open_log()
        if self._failure.kind == fake_failures.DIES and not self._failure.expression:
            os.kill(os.getpid(), signal.SIGSEGV)
        for line in fake_failures.AT_START.get(self._failure.kind, ()):
            print(line, file=sys.stderr if self._failure.kind == "stub" else self._out)
            return 1
        with FakeTarget(self._parsed.program, {}) as target:
            is_over = self._follow(target, filters)
            if is_over or self._has_failed:
                target.end()
            status = target.wait()
        for process in self._connected:
            self._say(f"==PROF== Disconnected from process {process}")
        return self._end(status, is_killed=is_over)

    # --- Before the target runs ---

    def _checked(self) -> _Filters:
        parsed = self._parsed
        if parsed.has("import"):
            raise _Refused(f"Could not open report file '{parsed.last('import')}'.")
        if not parsed.program:
            raise _Refused("No target application specified. Use --help for further details.")
        if program_of(parsed.program) is None:
            raise _Refused(
                f"'{parsed.program[0]}' does not exist or is not an executable. Please make sure"
                " to specify the absolute path to the executable if it is not in the working"
                " directory or PATH."
            )
        self._check_sections()
        file = self._file()
        if file is not None and file.exists() and not parsed.has("force-overwrite"):
            raise _Refused(f"File {file.name} already exists. Use '-f' for overwriting the file.")
        if file is not None and not os.access(file.parent, os.W_OK):
            raise _Refused(f"Could not open report file '{file}'.")
        include, exclude = parsed.every("nvtx-include"), parsed.every("nvtx-exclude")
        if (include or exclude) and not parsed.has("nvtx"):
            raise _Refused("NVTX filters need the option --nvtx.")
        try:
            return _Filters(
                tuple(nvtx_filter(each) for each in include),
                tuple(nvtx_filter(each) for each in exclude),
                _expression(parsed.last("kernel-name")),
                parsed.last("kernel-name-base", "function"),
                parsed.last("nvtx-push-pop-scope") == "process",
            )
        except FilterError as error:
            raise _Refused(f"Invalid NVTX filter: {error}.") from error

    def _check_sections(self) -> None:
        from support.fake_counters import SECTIONS, SETS

        name = self._parsed.last("set")
        if name and name not in SETS:
            raise _Refused(f"Set '{name}' did not match any existing set.")
        for section in self._parsed.every("section"):
            if section.removeprefix("regex:") == section and section not in SECTIONS:
                raise _Refused(f"Section '{section}' did not match any existing section.")

    def _file(self) -> Path | None:
        text = self._parsed.last("export")
        if not text:
            return None
        macros = {"%": "%", "p": str(os.getpid()), "h": "host", "i": "1"}
        text = re.sub(
            r"%(?:q\{(\w+)\}|([%phi]))",
            lambda found: os.environ.get(found[1], "") if found[1] else macros[found[2]],
            text,
        )
        path = Path(text).absolute()
        return path if path.suffix == ".ncu-rep" else path.with_name(path.name + ".ncu-rep")

    def _open_log(self) -> None:
        log = self._parsed.last("log-file", "stdout")
        if log == "stderr":
            self._out = sys.stderr
        elif log != "stdout":
            self._out = Path(log).open("w", encoding="utf-8")  # noqa: SIM115 - to the end

    # --- While it runs ---

    def _follow(self, target: FakeTarget, filters: _Filters) -> bool:
        """Profile what the target launches; return whether it was enough to end it."""
        count = int(self._parsed.last("launch-count", str(10**9)))
        for launch in self._launches(target):
            self._profile(launch, filters, count)
            if self._has_failed:
                return False
            if len(self._specs) >= count and self._parsed.last("kill", "no") not in _NO:
                return True
        return False

    def _launches(self, target: FakeTarget) -> Iterator[Launch]:
        waits = self._parsed.last("profile-from-start", "on") in _NO
        is_alone = self._parsed.last("target-processes", "all") == "application-only"
        for event in target.events():
            if is_alone and event.process != target.process_id:
                continue
            launch = event.launch
            if launch is None:
                continue
            if launch.process not in self._connected:
                self._connected.append(launch.process)
                where = launch.executable
                self._say(f"==PROF== Connected to process {launch.process} ({where})")
            if launch.is_on or not waits:
                yield launch

    def _profile(self, launch: Launch, filters: _Filters, count: int) -> None:
        from support.fake_kernels import kernel_of

        kernel = kernel_of(launch)
        names = {"function": kernel.name, "demangled": kernel.demangled_name}
        name = names.get(filters.kernel_base, kernel.name)
        if filters.kernel is not None and not filters.kernel.search(name):
            return
        if self._parsed.has("nvtx") and not _is_taken(launch, filters):
            return
        self._matched += 1
        skip = int(self._parsed.last("launch-skip", "0"))
        if self._matched <= skip or len(self._specs) >= count:
            return
        number = len(self._specs)
        self._out.write(f'==PROF== Profiling "{kernel.name}" - {number}: 0%')
        self._out.flush()
        if self._failure.concerns(launch, kernel.name) and self._fails(launch, kernel):
            return
        self._collect(launch, kernel)

    def _fails(self, launch: Launch, kernel: Kernel) -> bool:
        kind = self._failure.kind
        if kind == fake_failures.HANGS:
            time.sleep(3600)
        if kind == fake_failures.DIES:
            os.kill(os.getpid(), signal.SIGSEGV)
        replay = self._parsed.last("replay-mode", "kernel")
        if kind not in fake_failures.AT_LAUNCH or (kind == "oom" and replay != "kernel"):
            return False
        self._say("")
        for line in fake_failures.AT_LAUNCH[kind]:
            self._say(line.format(kernel=kernel.name, process=launch.process))
        self._has_failed = True
        return True

    def _collect(self, launch: Launch, kernel: Kernel) -> None:
        from support import fake_counters
        from support.fake_report import spec_of

        parsed = self._parsed
        by_name = [word for text in parsed.every("metrics") for word in text.split(",") if word]
        sections = parsed.every("section")
        # Without a word about what to collect, ncu takes its basic set.
        set_name = parsed.last("set") or ("none" if by_name or sections else "basic")
        metrics, unknown = fake_counters.asked(
            fake_counters.universe(kernel),
            fake_counters.expressions_of(set_name, sections),
            by_name,
            has_suffixes=not parsed.has("disable-extra-suffixes"),
        )
        if unknown:
            self._say("")
            for line in fake_failures.UNKNOWN_METRIC:
                words = {"kernel": kernel.name, "process": launch.process}
                self._say(line.format(metric=", ".join(unknown), **words))
            self._has_failed = True
            return
        passes = fake_counters.passes_of(metrics, set_name)
        metrics["profiler__replayer_passes"] = passes
        plural = "pass" if passes == 1 else "passes"
        self._say(f"....50%....100% - {passes} {plural}")
        self._specs.append(spec_of(launch, kernel, metrics, has_nvtx=parsed.has("nvtx")))

    def _say(self, line: str) -> None:
        if not self._parsed.has("quiet") or line.startswith("==ERROR=="):
            print(line, file=self._out, flush=True)

    # --- After it ---

    def _end(self, status: int, *, is_killed: bool) -> int:
        if not self._specs:
            self._say("==WARNING== No kernels were profiled.")
            if self._parsed.last("target-processes", "all") != "all":
                self._say(
                    "==WARNING== Profiling kernels launched by child processes requires the"
                    " --target-processes all option."
                )
        is_bad = status != 0 and not (is_killed or self._has_failed)
        is_bad = is_bad and self._parsed.last("check-exit-code", "yes") not in _NO
        if is_bad:
            # A target that a signal ended has the status that a shell would give it.
            code = 128 - status if status < 0 else status
            self._say(f"==ERROR== The application returned an error code ({code}).")
        is_written = self._write()
        return int(self._has_failed or is_bad or not is_written)

    def _write(self) -> bool:
        file = self._file()
        if file is None or not self._specs or self._failure.kind == "silent":
            return True
        from support.fake_report import encode

        options = self._parsed
        data = encode(
            self._specs,
            command=shlex.join(["ncu", *self._argv]),
            program=shlex.join(options.program),
            version=self._version,
            clock_control=options.last("clock-control", "base"),
            cache_control=options.last("cache-control", "all"),
            replay_mode=options.last("replay-mode", "kernel"),
        )
        if self._failure.kind == "disk_full":
            file.write_bytes(data[: len(data) // 2])
            self._say(fake_failures.DISK_FULL.format(file=file))
            return False
        if self._failure.kind == "truncated":
            data = data[: len(data) * 2 // 3]
        file.write_bytes(data)
        self._say(f"==PROF== Report: {file}")
        return True


def _expression(text: str) -> re.Pattern[str] | None:
    if not text:
        return None
    if text.startswith("regex:"):
        return re.compile(text.removeprefix("regex:"))
    return re.compile(f"^{re.escape(text)}$")


def _is_taken(launch: Launch, filters: _Filters) -> bool:
    scope = filters.is_of_process
    is_in = any(each.takes(launch, is_of_process=scope) for each in filters.include)
    if filters.include and not is_in:
        return False
    return not any(each.takes(launch, is_of_process=scope) for each in filters.exclude)
