"""``nsightlens profile``: decode steps under ncu and nsys, into a run folder with tables."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli.arguments import Once, OneLineParser, add_text, name_of_file
from nsightlens.cli.exit_codes import SeveralErrors
from nsightlens.cli.predict import batch_sizes_with_dots, tokens
from nsightlens.cli.profiler_options import (
    add_profiler_options,
    from_zero,
    ncu_options_of,
    nsys_options_of,
    seconds,
)
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress
from nsightlens.errors import ProfilerOptionError

if TYPE_CHECKING:
    from nsightlens.harness.manifest import PartRecord
    from nsightlens.harness.options import NcuOptions, NsysOptions, Target
    from nsightlens.harness.plan import Decode, Request
    from nsightlens.harness.run import ProfileRun
    from nsightlens.harness.tools import ToolName

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "profile decode steps under ncu and nsys, and label what they ran"
DESCRIPTION = """\
Runs decode steps of a model with random weights, or any program, under ncu,
nsys or both, and keeps reports, logs and tables in a run folder, with a
manifest of how they were made. The same command goes on with what an
interrupted run has left undone. In the end it says what `nsightlens sweep` says
of the reports."""
EPILOG = """\
examples:
  nsightlens profile --model opt-1.3b --batch-sizes 1:512 --context 500 -o run/
  nsightlens profile -o run/ --range decode -- python my_decode.py
  nsightlens profile -o run/ --recipe vllm-decode --dry-run -- python my_vllm.py
  nsightlens profile --list-recipes"""

_TOOLS: dict[str, tuple[ToolName, ...]] = {
    "ncu": ("ncu",),
    "nsys": ("nsys",),
    "both": ("nsys", "ncu"),
}
_OF_MODEL = (
    "batch_sizes", "context", "layers", "dtype", "attention", "cache", "cuda_graphs", "prefill",
    "steps", "warmup", "device", "seed", "python",
)  # fmt: skip
"""Options that say how a model is decoded."""
_PASSED = ("layers", "dtype", "attention", "cache", "steps", "warmup", "device")
"""Of these, what `kernels_under_test.decode` takes as it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument(
        "program",
        metavar="PROGRAM",
        nargs="*",
        help="program to profile, with its arguments, after --",
    )
    _add_run(parser)
    _add_model(parser)
    _add_recipes(parser)
    add_profiler_options(parser)
    add_text(parser, names=False)


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument(
        "-o",
        "--output",
        metavar="RUN",
        action=Once,
        type=name_of_file,
        help="run folder; made where there is none",
    )
    group.add_argument(
        "--tools",
        choices=tuple(_TOOLS),
        action=Once,
        help="ncu for counters, nsys for a timeline; both are joined (default: ncu)",
    )
    for name in ("ncu", "nsys"):
        group.add_argument(
            f"--{name}",
            metavar="PATH",
            action=Once,
            type=name_of_file,
            help=f"{name} to be used, or its folder (default: as doctor finds it)",
        )
    group.add_argument(
        "--timeout", metavar="S", type=seconds, action=Once, help="end a part after S seconds"
    )
    group.add_argument(
        "--idle-timeout",
        metavar="S",
        type=seconds,
        action=Once,
        help="end a part after S seconds without a line of output",
    )
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="print each command line, and run none of them",
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on with an interrupted run, which is what happens by default; an error where the "
        "folder holds none",
    )
    group.add_argument(
        "--force", action="store_true", help="replace what an earlier run made in the folder"
    )
    group.add_argument(
        "--no-tables", action="store_true", help="make no tables, and say nothing of the reports"
    )
    group.add_argument(
        "--no-progress",
        action="store_true",
        help="show no progress; it is shown only on a terminal",
    )


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "model", "Decode steps in plain PyTorch with random weights; one part per batch size."
    )
    group.add_argument(
        "--model",
        metavar="NAME",
        action=Once,
        type=name_of_file,
        help="built-in name such as opt-1.3b, or a config.json of Hugging Face",
    )
    group.add_argument(
        "--batch-sizes",
        metavar="LIST",
        action=Once,
        type=batch_sizes_with_dots,
        help="sequences in a step: 1,8,64; A:B and A,...,B double from A on",
    )
    group.add_argument(
        "--context",
        metavar="N",
        action=Once,
        type=tokens,
        help="tokens in the KV cache of each sequence",
    )
    group.add_argument(
        "--layers",
        metavar="N",
        action=Once,
        type=tokens,
        help="layers to run (default: all of the model)",
    )
    for name, values in (
        ("dtype", "fp16, bf16, ..."),
        ("attention", "sdpa, eager, ..."),
        ("cache", "contiguous or paged"),
        ("device", "cuda or cpu"),
    ):
        group.add_argument(
            f"--{name}",
            metavar="NAME",
            action=Once,
            help=f"{values}: see python -m kernels_under_test.decode --help",
        )
    group.add_argument("--cuda-graphs", action="store_true", help="launch steps as CUDA graphs")
    group.add_argument(
        "--prefill", action="store_true", help="process the prompt too, and profile it"
    )
    group.add_argument("--steps", metavar="N", type=tokens, action=Once, help="steps to profile")
    group.add_argument(
        "--warmup", metavar="N", type=from_zero, action=Once, help="steps before that"
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=from_zero,
        action=Once,
        help="of weights and inputs (default: 0)",
    )
    group.add_argument(
        "--python",
        metavar="PATH",
        action=Once,
        type=name_of_file,
        help="interpreter with torch (default: the one that runs nsightlens)",
    )


def _add_recipes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engines")
    group.add_argument(
        "--recipe",
        metavar="NAME",
        action=Once,
        help="fill in what profiling this engine needs; what is given beside it stays",
    )
    group.add_argument("--list-recipes", action="store_true", help="list the recipes")
    group.add_argument(
        "--step-labels",
        action="store_true",
        help="make labels of torch.profiler.record_function visible as NVTX ranges, as for steps "
        "of SGLang and vLLM",
    )
    group.add_argument(
        "--annotated-steps",
        action="store_true",
        help="of the program, profile only steps that nsightlens.annotate.step marks",
    )


def run(args: argparse.Namespace) -> int:
    """Profile, or say what would be run."""
    if args.list_recipes:
        return _list_recipes()
    request = _request(args)
    if args.dry_run:
        return _dry_run(request)
    return _profile(args, request)


# --- What is asked for ---


def _request(args: argparse.Namespace) -> Request:
    from nsightlens.harness.plan import Request

    if args.output is None:
        raise ProfilerOptionError("where shall the run be kept? Add -o RUN.")
    ncu, nsys = ncu_options_of(args), nsys_options_of(args)
    work: Decode | Target
    tools = _TOOLS[args.tools or "ncu"]
    if args.model is not None:
        work = _decode(args)
    else:
        work, ncu, nsys, tools = _program(args, ncu, nsys, tools)
    return Request(
        folder=Path(args.output),
        work=work,
        tools=tools,
        ncu=ncu,
        nsys=nsys,
        given={name: given for name in _TOOLS["both"] if (given := getattr(args, name))},
        timeout_s=args.timeout,
        idle_timeout_s=args.idle_timeout,
        environment=_step_labels(work) if args.step_labels else {},
        are_steps_only=args.annotated_steps,
        replaces=args.force,
        makes_tables=not args.no_tables,
    )


def _decode(args: argparse.Namespace) -> Decode:
    from nsightlens.harness.plan import OWN_MODELS, Decode
    from nsightlens.models import read_model

    for given, what in (
        (args.program, f"the program {' '.join(args.program)[:60]}"),
        (args.recipe, "--recipe"),
        (args.annotated_steps, "--annotated-steps"),
    ):
        if given:
            raise ProfilerOptionError(f"--model and {what} exclude each other: leave one out.")
    for name in ("batch_sizes", "context"):
        if getattr(args, name) is None:
            raise ProfilerOptionError(f"--model needs {_option(name)}: add it.")
    if args.model not in OWN_MODELS:
        read_model(args.model)  # a slip in its name shall cost nothing
    more = [
        word
        for name in _PASSED
        if (value := getattr(args, name)) is not None
        for word in (_option(name), str(value))
    ]
    if args.cuda_graphs:
        more.append("--cuda-graphs")
    return Decode(
        model=args.model,
        batch_sizes=tuple(args.batch_sizes),
        context=args.context,
        more=tuple(more),
        has_prefill=args.prefill,
        seed=args.seed or 0,
        python=args.python or "",
    )


def _program(
    args: argparse.Namespace, ncu: NcuOptions, nsys: NsysOptions, tools: tuple[ToolName, ...]
) -> tuple[Target, NcuOptions, NsysOptions, tuple[ToolName, ...]]:
    import os

    from nsightlens.harness.options import Target

    for name in _OF_MODEL:
        if getattr(args, name):
            raise ProfilerOptionError(f"{_option(name)} is for --model: add it, or leave it out.")
    target = Target(tuple(args.program))
    if args.recipe is not None:
        from nsightlens.harness.recipes import apply, recipe_of

        recipe = recipe_of(args.recipe)
        if args.tools is None:
            tools = ("ncu",) if "ncu" in recipe.tools else recipe.tools[:1]
        lacking = [name for name in tools if name not in recipe.tools]
        if lacking:
            raise ProfilerOptionError(
                f"recipe {recipe.name} is for {' and '.join(recipe.tools)}, not for "
                f"{' and '.join(lacking)}: choose another with --tools."
            )
        target, ncu, nsys = apply(recipe, target, ncu, nsys, inherited=os.environ)
    if not target.argv:
        raise ProfilerOptionError(
            "nothing to profile: give a --model, or a program after --, as in: -- python decode.py"
        )
    return target, ncu, nsys, tools


def _step_labels(work: Decode | Target) -> dict[str, str]:
    import os

    from nsightlens.harness.options import Target
    from nsightlens.harness.step_labels import step_label_environment

    own = work.environment if isinstance(work, Target) else {}
    before = {**os.environ, **own}
    after = step_label_environment(before)
    return {name: value for name, value in after.items() if before.get(name) != value}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


# --- What is done ---


def _list_recipes() -> int:
    from nsightlens.cli.output import write_to_stdout
    from nsightlens.harness.recipes import rows

    table = [("recipe", "engine", "tools", "what it profiles"), *rows()]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()
        for row in table
    )
    write_to_stdout(f"{line}\n" for line in lines)
    return 0


def _dry_run(request: Request) -> int:
    from nsightlens.cli.output import write_to_stdout
    from nsightlens.harness.run import planned

    plan = planned(request, is_dry=True)
    for note in plan.notes:
        say("note", note)
    lines = []
    for part in plan.parts:
        variables = [
            f"{name}={shlex.quote(text)}" for name, text in part.target.environment.items()
        ]
        folder = f"cd {shlex.quote(part.target.folder)} && " if part.target.folder else ""
        lines.append(f"{folder}{' '.join([*variables, shlex.join(part.argv)])}\n")
        if part.export_argv:
            lines.append(f"{shlex.join(part.export_argv)}\n")
    write_to_stdout(lines)
    return 0


def _profile(args: argparse.Namespace, request: Request) -> int:
    from nsightlens.harness.progress import progress_text
    from nsightlens.harness.run import Listener, perform

    if args.resume:
        _check_resume(request)
    with Progress(is_wanted=not args.no_progress) as line:

        def tell(kind: str, text: str) -> None:
            line.clear()
            say(kind, text)

        listener = Listener(
            on_progress=lambda progress: line.show(progress_text(progress)),
            on_part=lambda record: tell("part", _told(record)) if args.verbose else None,
            on_note=lambda note: tell("note", note),
        )
        try:
            done = perform(request, listener)
        except (KeyboardInterrupt, SystemExit):
            tell("note", f"what is finished is kept in {request.folder}: the same command goes on")
            raise
    if done.skipped:
        many = "part was" if len(done.skipped) == 1 else "parts were"
        say("note", f"{len(done.skipped)} {many} not begun, and would fail the same way")
    code = 0 if args.no_tables else _show(args, done)
    if done.errors:
        raise SeveralErrors(done.errors)
    return code


def _check_resume(request: Request) -> None:
    from nsightlens.errors import RunFolderMismatchError
    from nsightlens.harness.manifest import read_manifest

    if request.replaces:
        raise ProfilerOptionError("--resume and --force exclude each other: leave one out.")
    if read_manifest(request.folder) is None:
        raise RunFolderMismatchError(
            f"{request.folder} holds no run to go on with: leave --resume out to begin one."
        )


def _told(record: PartRecord) -> str:
    """Return how a part ended, in one line."""
    from nsightlens.harness.progress import duration_text

    if record.failure is not None:
        return f"{record.part_id} failed: {record.failure.cause}"
    what = "launches" if record.tool == "ncu" else "kernels"
    words = [f"{record.part_id}: {record.launch_count} {what}"]
    if record.pass_counts:
        words.append(f"{' or '.join(record.pass_counts)} passes each")
    words.append(duration_text(record.duration_s or 0.0))
    return ", ".join(words)


def _show(args: argparse.Namespace, done: ProfileRun) -> int:
    """Say what the reports say, as ``nsightlens sweep`` would of the folder."""
    if done.traces:
        trace = shlex.quote(str(done.traces[-1]))
        say("note", f"to see what the time goes to: nsightlens timeline {trace}")
    if not done.reports:
        return 0
    from nsightlens.cli import sweep

    parser = OneLineParser(prog="nsightlens sweep")
    sweep.add_arguments(parser)
    width = [] if args.width is None else ["--width", str(args.width)]
    words = [*width, "--no-progress", "--", str(done.folder / "reports")]
    return sweep.run(parser.parse_args(words, argparse.Namespace(verbose=False)))
