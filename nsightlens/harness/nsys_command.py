"""The command lines of ``nsys``, from what a profile was asked to be; nothing is run here.

What matters to decode steps is not nsys's default: kernels inside CUDA graphs need
``--cuda-graph-trace=node``, and a window that ends must not end the target with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.command_words import check_more, check_target, file_word
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    from nsightlens.harness.options import NsysOptions, Target
    from nsightlens.harness.tools import Tool

    ExportKind = Literal["sqlite", "arrowdir", "parquetdir"]

__all__ = ["check_options", "nsys_argv", "nsys_environment", "nsys_export_argv"]

LAST_SINGULAR = (2023, 4)
"""Last nsys that is known to spell ``--gpu-metrics-device`` without an s at its end."""

_SHORT = {
    "t": "trace", "s": "sample", "c": "capture-range", "p": "nvtx-capture", "o": "output",
    "f": "force-overwrite", "y": "delay", "d": "duration", "e": "env-var", "w": "show-output",
    "b": "backtrace", "n": "inherit-environment", "x": "stop-on-exit", "Y": "start-later",
    "h": "help",
}  # fmt: skip
_TAKEN = ("output", "force-overwrite", "export", "help")
_INSTEAD = {
    "output": "The report is kept in the run folder",
    "export": "The report is exported after it was written",
}
_CAPTURES = ("cudaProfilerApi", "nvtx")


def nsys_argv(tool: Tool, options: NsysOptions, target: Target, *, output: Path) -> tuple[str, ...]:
    """Return the whole command line of ``nsys profile``.

    Parameters
    ----------
    tool
        The nsys that will run it.
    options
        What it is told.
    target
        The program to be traced.
    output
        The report. It is overwritten.

    Raises
    ------
    ProfilerOptionError
        nsys would refuse the options, or they cannot give what they ask for.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsightlens.harness.options import NsysOptions, Target
    >>> from nsightlens.harness.tools import Tool
    >>> tool = Tool("nsys", "/opt/nsys", (2025, 1, 1), "2025.1.1", "PATH")
    >>> " ".join(nsys_argv(tool, NsysOptions(), Target(("app",)), output=Path("r")))
    ... # doctest: +NORMALIZE_WHITESPACE
    '/opt/nsys profile --output=r --force-overwrite=true --trace=cuda,nvtx --sample=none
    --cpuctxsw=none --cuda-graph-trace=node app'
    """
    check_options(options)
    check_target(target, "nsys")
    given = set(check_more(options.more, _SHORT, _TAKEN, "nsys", _INSTEAD))
    words = [tool.path, "profile", f"--output={file_word(output)}", "--force-overwrite=true"]
    words += [
        f"--{name}={value}" for name, value in _options(options, tool.version) if name not in given
    ]
    return (*words, *options.more, *target.argv)


def _options(options: NsysOptions, version: Sequence[int]) -> Iterator[tuple[str, str]]:
    yield "trace", ",".join(options.trace)
    # Neither says anything of the GPU, and both cost the host time that is measured.
    yield "sample", "none"
    yield "cpuctxsw", "none"
    yield "cuda-graph-trace", options.cuda_graph_trace
    if options.capture_range is not None:
        yield "capture-range", options.capture_range
        if options.nvtx_capture is not None:
            yield "nvtx-capture", options.nvtx_capture
        yield "capture-range-end", options.capture_range_end
    if options.traces_forks:
        yield "trace-fork-before-exec", "true"
    if options.gpu_metrics_devices is not None:
        is_old = tuple(version[:2]) <= LAST_SINGULAR
        yield f"gpu-metrics-device{'' if is_old else 's'}", options.gpu_metrics_devices
    if options.delay_s is not None:
        yield "delay", f"{options.delay_s:g}"
    if options.duration_s is not None:
        yield "duration", f"{options.duration_s:g}"
    if options.wait is not None:
        yield "wait", options.wait


def check_options(options: NsysOptions) -> None:
    """Refuse what nsys would refuse, or what gives a trace without kernels.

    Parameters
    ----------
    options
        What nsys would be told.

    Raises
    ------
    ProfilerOptionError
        Options contradict each other.
    """
    if not any(one == "cuda" or one.startswith("cuda-") for one in options.trace):
        raise ProfilerOptionError(
            f"--trace {quoted(','.join(options.trace))} traces no kernels: add cuda."
        )
    if options.capture_range is not None and options.capture_range not in _CAPTURES:
        raise ProfilerOptionError(
            f"--capture-range {quoted(options.capture_range)}: one of {', '.join(_CAPTURES)}."
        )
    if options.nvtx_capture is not None and options.capture_range != "nvtx":
        raise ProfilerOptionError(
            f"the NVTX range {quoted(options.nvtx_capture)} opens no window of nsys without "
            "--capture-range nvtx: add it."
        )
    if options.capture_range == "nvtx" and not options.nvtx_capture:
        raise ProfilerOptionError(
            "--capture-range nvtx: nsys has to know which range opens the window. Add "
            "--nvtx-capture RANGE@DOMAIN."
        )
    for name, seconds in (("--delay", options.delay_s), ("--duration", options.duration_s)):
        if seconds is not None and not seconds > 0:
            raise ProfilerOptionError(f"{name} {seconds:g}: it is a number of seconds above 0.")


def nsys_environment(options: NsysOptions) -> Mapping[str, str]:
    """Return what the target needs in its environment for the options to work.

    nsys looks for the range that opens a window among registered strings only, which those of
    ``torch.cuda.nvtx`` are not, unless it is told otherwise.

    Parameters
    ----------
    options
        What nsys is told.

    Examples
    --------
    >>> from nsightlens.harness.options import NsysOptions
    >>> nsys_environment(NsysOptions(capture_range="nvtx", nvtx_capture="decode@*"))
    {'NSYS_NVTX_PROFILER_REGISTER_ONLY': '0'}
    """
    return {"NSYS_NVTX_PROFILER_REGISTER_ONLY": "0"} if options.capture_range == "nvtx" else {}


def nsys_export_argv(
    tool: Tool, report: Path, *, kind: ExportKind, output: Path
) -> tuple[str, ...]:
    """Return the command line of ``nsys export``.

    Parameters
    ----------
    tool
        The nsys that will run it, at least as new as the one that wrote the report.
    report
        The ``.nsys-rep``.
    kind
        ``sqlite`` for one file, ``arrowdir`` or ``parquetdir`` for a folder with a file per table.
    output
        The file or folder. It is overwritten.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsightlens.harness.tools import Tool
    >>> tool = Tool("nsys", "nsys", (2025, 1, 1), "2025.1.1", "PATH")
    >>> nsys_export_argv(tool, Path("a.nsys-rep"), kind="sqlite", output=Path("a.sqlite"))[1:4]
    ('export', '--type=sqlite', '--output=a.sqlite')
    """
    return (
        tool.path,
        "export",
        f"--type={kind}",
        f"--output={output}",
        "--force-overwrite=true",
        "--quiet=true",
        str(report),
    )
