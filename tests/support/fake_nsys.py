"""NVIDIA's nsys as far as the harness can see it, without a GPU: ``profile`` and ``export``.

Its ``.nsys-rep`` is a text of our own that only its own ``export`` reads, from which it makes real
exports (`support.fake_timeline`, `support.fake_export`). The same target gives the same trace, but
for process ids.

``FAKE_NSYS_VERSION`` is the version that it has; ``FAKE_NSYS_FAIL`` what goes wrong: ``silent``
(no report), ``no_kernels`` (a driver that gives none), ``newer`` (the report is of a newer version
than the exporter), ``hang``, ``target`` (the target dies of a signal, as workers of engines do
under nsys). ``FAKE_NSYS_LOG`` is a file that gets every command line.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from support.fake_nsys_options import EXPORT, PROFILE, WORDS
from support.fake_options import OptionError, Parsed, parse
from support.fake_target import FakeTarget, program_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TextIO

    from support.fake_records import Event

VERSION = "2025.1.1.103-251135540420v0"
_FAILURES = ("", "silent", "no_kernels", "newer", "hang", "target")
_NEWER = (
    "Exportation error: Report was created in Nsight Systems version (2099.1.1.1), newer than your"
    " current version ({}). Please download a newer version of Nsight Systems."
)


def main(argv: Sequence[str]) -> int:
    """Do what nsys does with this command line, and return its exit status."""
    version = os.environ.get("FAKE_NSYS_VERSION", VERSION)
    if log := os.environ.get("FAKE_NSYS_LOG"):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(list(argv)) + "\n")
    failure = os.environ.get("FAKE_NSYS_FAIL", "")
    if failure not in _FAILURES:
        raise SystemExit(f"FAKE_NSYS_FAIL={failure}: it can be {', '.join(_FAILURES)}")
    command, rest = (argv[0], argv[1:]) if argv else ("", ())
    if command in ("--version", "-v"):
        _tell(f"NVIDIA Nsight Systems version {version}")
        return 0
    numbers = re.findall(r"\d+", version)
    try:
        if command == "profile":
            options = parse(rest, PROFILE, (int(numbers[0]), int(numbers[1])), WORDS)
            return _profile(options, failure)
        if command == "export":
            options = parse(rest, EXPORT, (int(numbers[0]), int(numbers[1])), WORDS)
            return _export(options, version)
    except OptionError as error:
        _tell(f"{error}\n\nusage: nsys {command} [<args>]", sys.stderr)
        return 1
    _tell(f"unrecognised command '{command}'", sys.stderr)
    return 1


def _tell(text: str, where: TextIO | None = None) -> None:
    print(text, file=where or sys.stdout, flush=True)


# --- profile ---


def _profile(options: Parsed, failure: str) -> int:
    from support.fake_timeline import Timeline

    if not options.program or program_of(options.program) is None:
        name = options.program[0] if options.program else ""
        _tell(f"The target executable '{name}' was not found.", sys.stderr)
        return 1
    report = _with_suffix(options.last("output", "report1"), ".nsys-rep")
    if report.exists() and options.last("force-overwrite", "false") != "true":
        _tell(f"{report} already exists. Use --force-overwrite=true to overwrite.", sys.stderr)
        return 1
    more = dict(each.partition("=")[::2] for each in options.last("env-var").split(",") if each)
    timeline = Timeline(
        has_nodes=options.last("cuda-graph-trace", "graph").startswith("node"),
        is_wanted=lambda event: failure != "no_kernels" and _is_captured(event, options),
    )
    _tell("Collecting data...")
    with FakeTarget(options.program, more) as target:
        for event in target.events():
            timeline.take([event])
            if event.launch is not None and failure == "target":
                os.kill(event.process, signal.SIGSEGV)
            if event.launch is not None and failure == "hang":
                time.sleep(3600)
        status = target.wait()
    code = 128 - status if status < 0 else status
    if failure == "silent":
        return code
    _tell(f"Generating '{report.with_suffix('.qdstrm')}'")
    document = {"failure": failure, "tables": timeline.finish()}
    report.write_text(json.dumps(document), encoding="utf-8")
    _tell(f"[1/1] [========================100%] {report.name}")
    for form in filter(None, options.last("export").split(",")):
        _write(report, document, form, None)
    _tell(f"Generated:\n    {report}")
    return code


def _is_captured(event: Event, options: Parsed) -> bool:
    """Return whether an event is in the capture range."""
    kind = options.last("capture-range", "none")
    launch = event.launch
    if kind == "none" or launch is None:
        return True
    if kind == "cudaProfilerApi":
        return launch.is_on
    text, _, domain = options.last("nvtx-capture").partition("@")
    return any(
        name == text
        for stacks in launch.stacks.values()
        for where, names in stacks.items()
        for name in names
        if domain in ("*", where)
    )


# --- export ---


def _export(options: Parsed, version: str) -> int:
    report = Path(options.program[0]) if options.program else Path()
    if not report.is_file():
        _tell(f"File '{report}' does not exist.", sys.stderr)
        return 1
    try:
        document = json.loads(report.read_text(encoding="utf-8"))
    except ValueError:
        _tell(f"Exportation error: '{report}' is no report of Nsight Systems.", sys.stderr)
        return 1
    if document["failure"] == "newer":
        _tell(_NEWER.format(version), sys.stderr)
        return 1
    form = options.last("type", "sqlite")
    output = Path(options.last("output")) if options.has("output") else None
    if output is not None and output.exists():
        if options.last("force-overwrite", "false") != "true":
            _tell(f"{output} already exists.", sys.stderr)
            return 1
        if output.is_file():
            output.unlink()
    return _write(report, document, form, output)


def _write(report: Path, document: dict[str, Any], form: str, output: Path | None) -> int:
    from support.fake_export import SUFFIXES, export

    if form not in SUFFIXES:
        _tell(f"The fake does not export {form}.", sys.stderr)
        return 1
    export(document["tables"], form, output or report.with_name(report.stem + SUFFIXES[form]))
    return 0


def _with_suffix(text: str, suffix: str) -> Path:
    path = Path(text).absolute()
    return path if path.suffix == suffix else path.with_name(path.name + suffix)
