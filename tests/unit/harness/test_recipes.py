"""Recipes: they fit the commands that they are for, and the user's word wins."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from support.fake_ncu_options import OPTIONS
from support.fake_ncu_options import WORDS as NCU_WORDS
from support.fake_nsys_options import PROFILE
from support.fake_nsys_options import WORDS as NSYS_WORDS
from support.fake_options import parse

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.ncu_command import ncu_argv
from nsightlens.harness.nsys_command import nsys_argv
from nsightlens.harness.options import NcuOptions, NsysOptions, Target
from nsightlens.harness.recipes import RECIPES, Recipe, apply, recipe_of, rows
from nsightlens.harness.tools import Tool

NCU = Tool("ncu", "ncu", (2025, 1, 0), "", "PATH")
NSYS = Tool("nsys", "nsys", (2025, 1, 1), "", "PATH")
ENGINES = ("vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "PyTorch")


def applied(
    name: str, target: Target, ncu: NcuOptions | None = None, nsys: NsysOptions | None = None
) -> tuple[Target, NcuOptions, NsysOptions]:
    """Return what a recipe makes of what the user said."""
    return apply(RECIPES[name], target, ncu or NcuOptions(), nsys or NsysOptions())


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_a_recipe_makes_command_lines_that_both_tools_take(recipe: Recipe) -> None:
    """Of its own template, and with no option that the versions do not have."""
    target, ncu, nsys = apply(recipe, Target(recipe.template), NcuOptions(), NsysOptions())
    assert target.argv[: len(recipe.template)] == recipe.template
    output = Path("out")
    words = ncu_argv(NCU, ncu, target, output=output, compute_capability="9.0")
    assert tuple(parse(words[1:], OPTIONS, (2025, 1), NCU_WORDS).program) == target.argv
    words = nsys_argv(NSYS, nsys, target, output=output)
    assert tuple(parse(words[2:], PROFILE, (2025, 1), NSYS_WORDS).program) == target.argv


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_a_recipe_says_where_it_comes_from(recipe: Recipe) -> None:
    """And changes nothing for a tool that it is not for."""
    assert recipe.engine in ENGINES
    assert recipe.versions
    assert recipe.tools
    assert {*recipe.ncu} <= {one.name for one in fields(NcuOptions)}
    assert {*recipe.nsys} <= {one.name for one in fields(NsysOptions)}
    assert not recipe.ncu or "ncu" in recipe.tools
    assert not recipe.nsys or "nsys" in recipe.tools
    # Kernels of a graph are what a decode step consists of.
    assert NsysOptions(**recipe.nsys).cuda_graph_trace == "node"
    assert NcuOptions(**recipe.ncu).graph_profiling == "node"


def test_every_engine_has_recipes_for_both_tools() -> None:
    """Offline and as a server, where there is one."""
    for engine in ENGINES:
        of_engine = [one for one in RECIPES.values() if one.engine == engine]
        assert {tool for one in of_engine for tool in one.tools} == {"ncu", "nsys"}
    assert {name for name in RECIPES if name.endswith("-server")} == {
        "vllm-server", "sglang-server", "trtllm-server",
    }  # fmt: skip


def test_the_options_of_a_server_come_after_the_users_own() -> None:
    """With what the engine documents: spawn, labels, a window per request."""
    target, ncu, nsys = applied("vllm-server", Target(("/env/bin/vllm", "serve", "m", "-tp", "2")))
    assert target.argv[5:] == ("--profiler-config.profiler", "cuda")
    assert target.environment == {"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}
    assert ncu.waits_for_profiler_start
    assert (nsys.capture_range, nsys.capture_range_end) == ("cudaProfilerApi", "repeat")
    assert nsys.traces_forks


def test_the_user_wins() -> None:
    """In the environment, on the command line of the target, and in what the tools are told."""
    target, ncu, nsys = apply(
        RECIPES["llamacpp-decode"],
        Target(("llama-bench", "-p", "64", "-r=3"), {"GGML_CUDA_DISABLE_GRAPHS": "0"}, "there"),
        NcuOptions(launch_count=10, metric_set="full"),
        NsysOptions(cuda_graph_trace="graph"),
    )
    assert target.argv == ("llama-bench", "-p", "64", "-r=3", "-n", "32", "--no-warmup")
    assert target.environment == {"GGML_CUDA_DISABLE_GRAPHS": "0"}
    assert target.folder == "there"
    assert (ncu.launch_count, ncu.metric_set, ncu.ends_target) == (10, "full", True)
    assert nsys.cuda_graph_trace == "graph"
    mine, *_ = apply(
        RECIPES["trtllm-bench"],
        Target(("trtllm-bench",)),
        NcuOptions(),
        NsysOptions(),
        inherited={"TLLM_PROFILE_START_STOP", "HOME"},
    )
    assert "TLLM_PROFILE_START_STOP" not in mine.environment
    assert "TLLM_LLMAPI_ENABLE_NVTX" in mine.environment


def test_a_range_of_the_users_takes_the_place_of_the_recipes() -> None:
    """A launch would be profiled that is in either."""
    _, ncu, _ = applied("pytorch-decode", Target(("python",)), NcuOptions(nvtx_include=("a/",)))
    assert ncu.nvtx_include == ("a/",)


def test_a_recipe_for_another_program_is_refused() -> None:
    """Its options would be an error of the program's, after the tools have started."""
    with pytest.raises(ProfilerOptionError, match=r"for 'vllm serve', .* 'vllm serve MODEL'"):
        applied("vllm-server", Target(("python", "serve.py")))
    with pytest.raises(ProfilerOptionError, match="such as: -- trtllm-serve MODEL"):
        applied("trtllm-server", Target(()))
    target, *_ = applied("sglang-layers", Target(("python3", "-m", "sglang.launch_server")))
    assert target.argv[-1] == "--disable-cuda-graph"


def test_a_recipe_that_is_none_has_a_neighbour() -> None:
    """A slip is told the name that was meant."""
    with pytest.raises(ProfilerOptionError, match=r"Did you mean vllm-decode\?"):
        recipe_of("vllm-decod")
    assert recipe_of("vllm-decode").engine == "vLLM"


def test_the_list_has_a_row_for_each() -> None:
    """Name, engine, tools, summary."""
    assert [row[0] for row in rows()] == list(RECIPES)
    assert all(all(cell for cell in row) for row in rows())
