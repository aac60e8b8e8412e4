"""The command line of ``ncu``, from what a profile was asked to be; nothing is run here.

Every option that changes a number is given by name, also where it is ncu's default today, so that
the command line in the manifest of a run says all. Combinations that ncu refuses are refused here,
with what to do about it, before a model was loaded for nothing; what was compared with ncu itself
stands in the table `SINCE` and in `check_options`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.command_words import check_more, check_target, file_word
from nsightlens.harness.ncu_metrics import collection
from nsightlens.harness.nvtx_filter import check_filters
from nsightlens.patterns import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nsightlens.harness.options import NcuOptions, Target
    from nsightlens.harness.tools import Tool

__all__ = ["COLLECTIVES", "SINCE", "check_options", "kernel_filter", "ncu_argv"]

SINCE = {
    "disable-extra-suffixes": (2024, 1),
    "graph-profiling": (2024, 1),
}
"""First version of ncu that is known to have an option. Every other option that we give is older
than any report that we read. An option that a version may not have is left out where ncu's
default is what was asked for."""

COLLECTIVES = (
    "[nN][cC][cC][lL]|nvshmem|multimem|cross_device_reduce|[uU]ser_?[bB]uffers"
    "|AllReduce|(?:^|[^a-zA-Z])all_?[rR]educe"
)
"""Names of kernels that wait for other GPUs, as a regular expression to be searched: NCCL,
NVSHMEM, the all-reduce kernels of serving engines."""

_REPLAY_OF_RANGES = ("range", "app-range")
_CLOCKS = ("base", "none", "boost")
_CACHES = ("all", "none")
_SHORT = {
    "c": "launch-count", "s": "launch-skip", "k": "kernel-name", "o": "export", "i": "import",
    "f": "force-overwrite", "p": "port", "h": "help", "v": "version",
}  # fmt: skip
_TAKEN = (
    "export", "force-overwrite", "log-file", "import", "mode", "open-in-ui", "quiet", "help",
    "version", "list-sets", "list-sections", "list-metrics", "list-rules", "list-chips",
    "query-metrics", "metrics", "set", "csv",
)  # fmt: skip
_INSTEAD = {
    "metrics": "Use --metrics, to which ours are added",
    "set": "Use --set",
    "export": "The report is kept in the run folder",
    "log-file": "The log is kept in the run folder",
}


def ncu_argv(
    tool: Tool,
    options: NcuOptions,
    target: Target,
    *,
    output: Path,
    compute_capability: str | None,
    log: Path | None = None,
) -> tuple[str, ...]:
    """Return the whole command line.

    Parameters
    ----------
    tool
        The ncu that will run it.
    options
        What it is told.
    target
        The program to be profiled.
    output
        The report. It is overwritten.
    compute_capability
        Of the GPU, such as ``"9.0"``; None where it is not known.
    log
        A file for what ncu itself says; None leaves it on stdout, among what the target says.

    Raises
    ------
    ProfilerOptionError
        ncu would refuse the options, or they cannot give what they ask for.
    FilterError
        ncu would misread an NVTX filter.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsightlens.harness.options import NcuOptions, Target
    >>> from nsightlens.harness.tools import Tool
    >>> tool = Tool("ncu", "/opt/ncu", (2025, 1, 0, 0), "2025.1.0.0", "PATH")
    >>> options = NcuOptions(metric_set="basic", are_collectives_excluded=False)
    >>> " ".join(
    ...     ncu_argv(tool, options, Target(("app",)), output=Path("r"), compute_capability="9.0")
    ... )  # doctest: +NORMALIZE_WHITESPACE
    '/opt/ncu -f -o r --target-processes all --graph-profiling node --replay-mode kernel
    --clock-control none --cache-control none --nvtx --set basic app'
    """
    check_options(options, tool.version)
    check_target(target, "ncu")
    given = set(check_more(options.more, _SHORT, _TAKEN, "ncu", _INSTEAD))
    words = [tool.path, "-f", "-o", file_word(output)]
    if log is not None:
        words += ["--log-file", str(log)]
    for name, *values in _options(options, tool.version, compute_capability):
        # The user's word for an option that ncu takes once; of the others, both count.
        if name not in given or name in ("section", "nvtx-include", "nvtx-exclude"):
            words += [f"--{name}", *values]
    return (*words, *options.more, *target.argv)


def _options(
    options: NcuOptions, version: Sequence[int], compute_capability: str | None
) -> Iterator[tuple[str, ...]]:
    """Yield each option with its value, in the order in which a person would read them."""
    yield "target-processes", options.target_processes
    if _has("graph-profiling", version):
        yield "graph-profiling", options.graph_profiling
    yield "replay-mode", options.replay_mode
    yield "clock-control", options.clock_control
    yield "cache-control", options.cache_control
    # Also without a filter: the ranges of a launch say which step it is of.
    yield ("nvtx",)
    for expression in options.nvtx_include:
        yield "nvtx-include", expression
    for expression in options.nvtx_exclude:
        yield "nvtx-exclude", expression
    kernel = kernel_filter(options)
    if kernel is not None:
        yield "kernel-name", kernel
    if options.launch_skip is not None:
        yield "launch-skip", str(options.launch_skip)
    if options.launch_count is not None:
        yield "launch-count", str(options.launch_count)
    if options.ends_target:
        yield "kill", "yes"
    if options.waits_for_profiler_start:
        yield "profile-from-start", "off"
    yield from _collected(options, version, compute_capability)


def _collected(
    options: NcuOptions, version: Sequence[int], compute_capability: str | None
) -> Iterator[tuple[str, ...]]:
    metrics, sections = options.metrics, options.sections
    if options.metric_set == "smallest":
        ours = collection(compute_capability, version, is_of_launches=not _is_of_ranges(options))
        metrics, sections = (*ours.metrics, *metrics), (*ours.sections, *sections)
    elif options.metric_set != "none":
        yield "set", options.metric_set
    for section in dict.fromkeys(sections):
        yield "section", section
    if metrics:
        # All roll-ups of each would be stored beside the one that was asked for.
        if _has("disable-extra-suffixes", version):
            yield ("disable-extra-suffixes",)
        yield "metrics", ",".join(dict.fromkeys(metrics))


def kernel_filter(options: NcuOptions) -> str | None:
    """Return the value of ``--kernel-name``; None where every kernel is wanted.

    ncu takes one such filter and has none that excludes; its regular expressions (Boost.Regex,
    Perl syntax) are searched in the name and know lookahead, so that collectives are excluded in
    the same expression. A kernel that is wanted by its whole name is taken as it is.

    Parameters
    ----------
    options
        What ncu is told.

    Examples
    --------
    >>> from nsightlens.harness.options import NcuOptions
    >>> kernel_filter(NcuOptions(kernel="regex:^flash", are_collectives_excluded=False))
    'regex:^flash'
    >>> kernel_filter(NcuOptions(kernel="ncclDevKernel_SendRecv"))
    'ncclDevKernel_SendRecv'
    """
    kernel = options.kernel
    # Of ranges and graphs there are no kernels to choose from.
    if not options.are_collectives_excluded or _is_of_ranges(options):
        return kernel
    without = f"regex:^(?!.*(?:{COLLECTIVES}))"
    if kernel is None:
        return without
    if not kernel.startswith("regex:"):
        return kernel
    return f"{without}.*(?:{kernel.removeprefix('regex:')})"


def check_options(options: NcuOptions, version: Sequence[int]) -> None:
    """Refuse what ncu would refuse, or take for something that gives no launches.

    Parameters
    ----------
    options
        What ncu would be told.
    version
        Of ncu, such as ``(2025, 1, 0, 0)``.

    Raises
    ------
    ProfilerOptionError
        Options contradict each other, a value is none of ncu's, or this version may not have one.
    FilterError
        ncu would misread an NVTX filter.
    """
    check_filters(options.nvtx_include, options.nvtx_exclude)
    for name, value, known in (
        ("--clock-control", options.clock_control, _CLOCKS),
        ("--cache-control", options.cache_control, _CACHES),
    ):
        if value not in known:
            raise ProfilerOptionError(
                f"{name} {quoted(value)}: ncu profiles with one of {', '.join(known)}."
            )
    if options.clock_control == "boost" and tuple(version[:2]) <= (2024, 1):
        raise _refused("--clock-control boost", version, "Use none, which leaves clocks alone")
    if options.graph_profiling == "graph" and not _has("graph-profiling", version):
        raise _refused("--graph-profiling graph", version, "Profile the nodes")
    _check_counts(options)
    _check_replay(options)
    if options.metric_set == "none" and not (options.metrics or options.sections):
        raise ProfilerOptionError(
            "--set none collects nothing by itself: add --metrics or --section, or leave it out."
        )


def _check_counts(options: NcuOptions) -> None:
    if options.launch_count is not None and options.launch_count < 1:
        raise ProfilerOptionError(
            f"--launch-count {options.launch_count}: ncu profiles from 1 launch on. Leave it out "
            "for all."
        )
    if options.launch_skip is not None and options.launch_skip < 0:
        raise ProfilerOptionError(f"--launch-skip {options.launch_skip}: it counts from 0 on.")
    if options.ends_target and options.launch_count is None:
        raise ProfilerOptionError(
            "the target can be ended after a number of launches only: add --launch-count."
        )


def _check_replay(options: NcuOptions) -> None:
    """Refuse what ncu does not do together with a way of replaying."""
    mode = options.replay_mode
    if options.graph_profiling == "graph" and mode != "kernel":
        raise ProfilerOptionError(
            f"--graph-profiling graph with --replay-mode {mode}: ncu profiles whole graphs with "
            "kernel replay only. Leave one of the two out."
        )
    if mode not in _REPLAY_OF_RANGES:
        return
    if options.kernel is not None:
        raise ProfilerOptionError(
            f"--kernel with --replay-mode {mode}: ncu profiles ranges as a whole then, and no "
            "kernel of them. Choose ranges with --range, or leave --replay-mode out."
        )
    if options.waits_for_profiler_start:
        raise ProfilerOptionError(
            f"--from-profiler-start with --replay-mode {mode}: there, cudaProfilerStart and Stop "
            "are the ends of a range already. Leave --from-profiler-start out."
        )
    patched = [name for name in options.metrics if "__sass_" in name]
    if patched:
        raise ProfilerOptionError(
            f"{quoted(patched[0])} with --replay-mode {mode}: ncu counts it by patching "
            "instructions, which it does for launches only. Leave it or --replay-mode out."
        )


def _is_of_ranges(options: NcuOptions) -> bool:
    """Whether results are of ranges or graphs, not of launches."""
    return options.replay_mode in _REPLAY_OF_RANGES or options.graph_profiling == "graph"


def _has(option: str, version: Sequence[int]) -> bool:
    return tuple(version[:2]) >= SINCE[option]


def _refused(option: str, version: Sequence[int], advice: str) -> ProfilerOptionError:
    number = ".".join(str(one) for one in version[:2])
    return ProfilerOptionError(
        f"{option}: ncu {number} does not have it, as far as is known. {advice}, or use a newer "
        "ncu."
    )
