"""Write docs/engines.md from the recipes: what each runs, sets and needs, and what went wrong.

Run as ``python scripts/make_engines_page.py``. It fails if the page was out of date, after writing
it anew. The command lines are those that the code makes.
"""

from __future__ import annotations

import shlex
import sys
from itertools import groupby
from pathlib import Path

from nsightlens.harness.ncu_command import kernel_filter, ncu_argv
from nsightlens.harness.nsys_command import nsys_argv
from nsightlens.harness.options import NcuOptions, NsysOptions, Target
from nsightlens.harness.recipes import RECIPES, Recipe, apply
from nsightlens.harness.tools import Tool

PAGE = Path(__file__).resolve().parents[1] / "docs" / "engines.md"
METRICS, NO_COLLECTIVES = "METRICS", "NO_COLLECTIVES"
"""In place of the list and of the expression, which are in docs/profiling.md."""
WIDTH = 96

HEAD = """\
<!-- Written by scripts/make_engines_page.py from nsightlens/harness/recipes*.py. Change those. -->

# Recipes for serving engines

A recipe fills in what profiling an engine needs: variables, options of its own command, and what
ncu and nsys are told.

    nsightlens profile --recipe vllm-decode -o RUN -- python decode.py

What you give yourself stays: an option of the command that is there already, a variable that is
set, an option of ncu or nsys. `--list-recipes` lists them, `--dry-run` shows the command lines that
come of one, [profiling](profiling.md) says what the options mean.

**None of these was run on a GPU by us.** Where each comes from is said per tool: *documented* by
the engine, *read in the source* of the engine, *seen in use* in public scripts, or *proposed* by us
from how the engine and the tools work. In the command lines, words in capitals are to be replaced.
`METRICS` stands for the smallest list of metrics for the GPU, and `NO_COLLECTIVES` for the regular
expression that leaves out kernels which wait for another GPU: see [profiling](profiling.md).

What holds for all of them:

- Decode runs in CUDA graphs in most engines: without `--graph-profiling node`, which is our
  default, a graph is one item and has no kernels. Eager mode runs other kernels.
- Kernels often run in a child process. ncu follows children (`--target-processes all`); nsys needs
  `--trace-forks` where a child is forked and never calls exec, which some programs do not survive.
- Labels made by `torch.profiler.record_function` reach neither tool: see `--step-labels` in
  [profiling](profiling.md). How labels are read stands in [steps](steps.md).
- With several GPUs ncu leaves out kernels that wait for another GPU, and what waits outside of
  kernels may still hang: profile one GPU where you can.
- ncu makes each kernel slower by orders of magnitude: raise watchdogs and time-outs of clients, and
  keep the window at a step.

| recipe | engine | ncu | nsys | profiles |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *map(_row, RECIPES.values())]
    for engine, recipes in groupby(RECIPES.values(), key=lambda one: one.engine):
        of_engine = list(recipes)
        parts.append(f"\n## {engine}\n")
        parts += [_section(one) for one in of_engine]
        failures = list(dict.fromkeys(f for one in of_engine for f in one.failures))
        if failures:
            parts.append(
                "\n### What went wrong for others\n\n"
                "| what is seen | what helps | reported in |\n|---|---|---|\n"
            )
            parts += [f"| {f.symptom} | {f.remedy} | {f.source} |\n" for f in failures]
    return "".join(parts)


def _row(recipe: Recipe) -> str:
    how = [recipe.provenance.get(tool, "not used") for tool in ("ncu", "nsys")]
    cells = (f"`{recipe.name}`", recipe.engine, *how, recipe.summary)
    return f"| {' | '.join(cells)} |\n"


def _section(recipe: Recipe) -> str:
    lines = [
        f"\n### `{recipe.name}`\n",
        f"{_sentence(recipe.summary)} Versions: {recipe.versions}.",
    ]
    lines += ["", "```sh", *_wrapped(["nsightlens", "profile", "--recipe", recipe.name, "-o", "RUN",
                                      "--", *recipe.template]), "```"]  # fmt: skip
    for tool, how in recipe.provenance.items():
        lines += ["", f"What {tool} runs ({how}):", "", "```sh", *_wrapped(command(recipe, tool)),
                  "```"]  # fmt: skip
    if recipe.window:
        lines += ["", "The window:", "", "```text", *recipe.window, "```"]
    if recipe.needs:
        lines += ["", *(f"- {need}" for need in recipe.needs)]
    return "\n".join(lines) + "\n"


def command(recipe: Recipe, tool: str) -> list[str]:
    """Return the words of what a tool runs, with what it needs in the environment in front."""
    target, ncu, nsys = apply(recipe, Target(recipe.template), NcuOptions(), NsysOptions())
    words = [f"{name}={value}" for name, value in target.environment.items()]
    if tool == "nsys":
        found = Tool("nsys", "nsys", (2025, 1, 1), "2025.1.1", "PATH")
        return [*words, *nsys_argv(found, nsys, target, output=Path("REPORT"))]
    found = Tool("ncu", "ncu", (2025, 1, 0), "2025.1.0", "PATH")
    argv = ncu_argv(found, ncu, target, output=Path("REPORT"), compute_capability="9.0")
    places = {
        argv[argv.index("--metrics") + 1]: METRICS,
        kernel_filter(NcuOptions()): NO_COLLECTIVES,
    }
    return [*words, *(places.get(word, word) for word in argv)]


def _wrapped(words: list[str]) -> list[str]:
    """Return lines that a shell reads as one command."""
    lines: list[str] = []
    for word in map(shlex.quote, words):
        if lines and len(lines[-1]) + len(word) < WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}" if lines else word)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def main() -> int:
    """Write the page, and say whether it was out of date."""
    text = page()
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    PAGE.write_text(text, encoding="utf-8")
    if not is_current:
        print(f"{PAGE.name} was out of date: it is written anew", file=sys.stderr)
    return int(not is_current)


if __name__ == "__main__":
    sys.exit(main())
