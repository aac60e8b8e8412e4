"""What a run consists of: its parts, and the exact command line of each; nothing is run here.

A part is one run of one profiler. A model of ours has one per tool and batch size, so that what
goes wrong at one batch size costs that one only; a program of the user's has one per tool.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.command_words import file_word
from nsightlens.harness.ncu_command import ncu_argv
from nsightlens.harness.nsys_command import nsys_argv, nsys_environment, nsys_export_argv
from nsightlens.harness.nvtx_filter import step_expression
from nsightlens.harness.options import NcuOptions, NsysOptions, Target
from nsightlens.readers.find import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from nsightlens.harness.tools import Tool, ToolName

    Work = Literal["batch", "program"]

__all__ = ["OWN_MODELS", "TOOLS", "Decode", "Part", "Request", "parts_of", "tools_of"]

TOOLS: tuple[ToolName, ...] = ("nsys", "ncu")
"""In the order in which they run: a trace is soon made, and tells of ranges and steps."""
_PLACES: dict[ToolName, tuple[str, str]] = {
    "ncu": ("reports", ".ncu-rep"),
    "nsys": ("traces", ".nsys-rep"),
}
EXPORT_SUFFIX = ".sqlite"


OWN_MODELS = (
    "tiny-opt", "tiny-llama", "tiny-mistral", "tiny-qwen2", "tiny-qwen3", "tiny-mla",
    "tiny-mla-query-rank", "tiny-moe", "tiny-qwen-moe", "small-mla", "small-moe",
)  # fmt: skip
"""Models that `kernels_under_test` has beside those of `nsightlens.models`."""


@dataclass(frozen=True)
class Decode:
    """Decode steps of a model with random weights, as `kernels_under_test.decode` runs them.

    Parameters
    ----------
    model
        A name that is built in, or the config.json of one.
    batch_sizes
        Sequences in a step; each is a part of its own.
    context
        [token] In the KV cache of each sequence.
    more
        Further options of `kernels_under_test.decode`, as on its command line.
    has_prefill
        The prompt is processed too, and profiled.
    seed
        Of weights and inputs.
    python
        The interpreter that runs it; empty for the one that runs this.
    """

    model: str
    batch_sizes: tuple[int, ...]
    context: int
    more: tuple[str, ...] = ()
    has_prefill: bool = False
    seed: int = 0
    python: str = ""

    def target(self, batch_size: int, *, opens_window: bool) -> Target:
        """Return the program for one batch size.

        Parameters
        ----------
        batch_size
            Sequences in a step.
        opens_window
            It calls cudaProfilerStart and Stop around the steps.
        """
        return Target(
            (
                self.python or sys.executable,
                *("-m", "kernels_under_test.decode", "--model", self.model),
                *("--batch-sizes", str(batch_size), "--context", str(self.context)),
                *("--seed", str(self.seed)),
                *self.more,
                *(("--prefill",) if self.has_prefill else ()),
                *(("--profiler-window",) if opens_window else ()),
            )
        )


@dataclass(frozen=True)
class Request:
    """What is to be profiled, how, and where it is kept.

    Parameters
    ----------
    folder
        The run folder; made where there is none.
    work
        A program of the user's, or decode steps of a model.
    tools
        ``ncu``, ``nsys`` or both.
    ncu, nsys
        What each is told.
    given
        Program or folder of a tool, by its name, where it is not to be looked for.
    timeout_s, idle_timeout_s
        [s] How long a part may take, in all and without a word; None for no limit.
    environment
        Variables of every target, beside those of this process.
    are_steps_only
        Of a user's program, only steps that `nsightlens.annotate.step` marks.
    replaces
        What an earlier run made in the folder is replaced.
    makes_tables
        Tables are made at the end.
    """

    folder: Path
    work: Target | Decode
    tools: tuple[ToolName, ...] = ("ncu",)
    ncu: NcuOptions = field(default_factory=NcuOptions)
    nsys: NsysOptions = field(default_factory=NsysOptions)
    given: Mapping[ToolName, str] = field(default_factory=dict)
    timeout_s: float | None = None
    idle_timeout_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    are_steps_only: bool = False
    replaces: bool = False
    makes_tables: bool = True

    def __post_init__(self) -> None:
        if not self.tools or set(self.tools) - set(TOOLS):
            raise ProfilerOptionError(
                f"tools {', '.join(self.tools) or 'none'}: a run needs ncu, nsys or both."
            )
        if isinstance(self.work, Decode) and not self.work.batch_sizes:
            raise ProfilerOptionError("no batch size to decode at: give one or more.")

    @property
    def seed(self) -> int | None:
        """Of weights and inputs; None where the program is not ours."""
        return self.work.seed if isinstance(self.work, Decode) else None


class Part(NamedTuple):
    """One run of one profiler.

    Parameters
    ----------
    part_id
        Its name in the run folder, such as ``ncu-batch-0008``.
    tool
        The profiler.
    work
        What it is of: the same for the parts of both tools, such as ``batch-0008``.
    batch_size
        Sequences in a step; None where only the program knows.
    target
        The program, with the variables that it gets beside those of this process.
    argv
        The whole command line.
    made
        Where the profiler writes, in order: the report, and the export of a trace.
    outputs
        Where they are kept, below the run folder.
    options
        What the profiler is told.
    export_argv
        The command line that exports a trace; empty for a report.
    """

    part_id: str
    tool: Tool
    work: str
    batch_size: int | None
    target: Target
    argv: tuple[str, ...]
    made: tuple[Path, ...]
    outputs: tuple[str, ...]
    options: NcuOptions | NsysOptions
    export_argv: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The command line without what depends on where things lie: the tool and the output."""
        return command_of(self.argv, [str(path) for path in self.made])


def command_of(argv: Sequence[str], made: Sequence[str]) -> tuple[str, ...]:
    """Return a command line as it is compared between runs.

    Parameters
    ----------
    argv
        The whole command line.
    made
        Where the profiler writes.

    Examples
    --------
    >>> command_of(["/opt/ncu", "-o", "/run/a.ncu-rep", "app"], ["/run/a.ncu-rep"])
    ('-o', 'OUTPUT', 'app')
    """
    words = list(argv[1:])
    for path in made:
        words = [word.replace(file_word(Path(path)), "OUTPUT") for word in words]
    return tuple(words)


def tools_of(request: Request) -> tuple[ToolName, ...]:
    """Return the tools of a request, in the order in which they run."""
    return tuple(name for name in TOOLS if name in request.tools)


def parts_of(
    request: Request, tools: Mapping[ToolName, Tool], compute_capability: str | None
) -> tuple[Part, ...]:
    """Return the parts of a run, in the order in which they run.

    Parameters
    ----------
    request
        What is to be profiled.
    tools
        The installed profilers, by name.
    compute_capability
        Of the GPU, such as ``"9.0"``; None where it is not known.

    Raises
    ------
    ProfilerOptionError
        A profiler would refuse what it is to be told.
    FilterError
        ncu would misread an NVTX filter.

    Examples
    --------
    >>> from nsightlens.harness.tools import Tool
    >>> tool = Tool("ncu", "/opt/ncu", (2025, 1), "2025.1", "PATH")
    >>> request = Request(Path("run"), Decode("opt-1.3b", (1, 8), 500))
    >>> [part.part_id for part in parts_of(request, {"ncu": tool}, "9.0")]
    ['ncu-batch-0001', 'ncu-batch-0008']
    """
    parts = []
    for name in tools_of(request):
        for work, batch_size in _works(request):
            stem = f"{name}-{work}"
            folder, suffix = _PLACES[name]
            suffixes = (suffix,) if name == "ncu" else (suffix, EXPORT_SUFFIX)
            # Absolute: the target may run in another folder.
            made = tuple(Path(request.folder.absolute(), PARTIAL, stem + one) for one in suffixes)
            outputs = tuple(f"{folder}/{stem}{one}" for one in suffixes)
            options = request.ncu if name == "ncu" else request.nsys
            draft = Part(
                stem, tools[name], work, batch_size, Target(()), (), made, outputs, options
            )
            parts.append(
                _ncu(request, draft, compute_capability) if name == "ncu" else _nsys(request, draft)
            )
    return tuple(parts)


def _works(request: Request) -> list[tuple[str, int | None]]:
    if isinstance(request.work, Target):
        return [("program", None)]
    return [(f"batch-{size:04d}", size) for size in sorted(set(request.work.batch_sizes))]


def _ncu(request: Request, draft: Part, compute_capability: str | None) -> Part:
    options = request.ncu
    has_filter = options.nvtx_include or options.waits_for_profiler_start
    if isinstance(request.work, Decode):
        if not has_filter:
            phase = None if request.work.has_prefill else "decode"
            options = replace(options, nvtx_include=(step_expression(phase, draft.batch_size),))
    elif request.are_steps_only:
        options = replace(options, nvtx_include=(*options.nvtx_include, step_expression()))
    target = _target(request, draft.batch_size, opens_window=options.waits_for_profiler_start)
    argv = ncu_argv(
        draft.tool,
        options,
        target,
        output=draft.made[0],
        compute_capability=compute_capability,
    )
    return draft._replace(target=target, argv=argv, options=options)


def _nsys(request: Request, draft: Part) -> Part:
    options = request.nsys
    opens_window = options.capture_range == "cudaProfilerApi"
    target = _target(request, draft.batch_size, opens_window=opens_window)
    variables = {**nsys_environment(options), **target.environment}
    target = replace(target, environment=variables)
    report, export = draft.made
    return draft._replace(
        target=target,
        argv=nsys_argv(draft.tool, options, target, output=report),
        export_argv=nsys_export_argv(draft.tool, report, kind="sqlite", output=export),
    )


def _target(request: Request, batch_size: int | None, *, opens_window: bool) -> Target:
    if isinstance(request.work, Decode):
        target = request.work.target(batch_size or 1, opens_window=opens_window)
    else:
        target = request.work
    return replace(target, environment={**request.environment, **target.environment})
