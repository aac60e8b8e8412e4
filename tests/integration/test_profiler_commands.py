"""Every command line that the harness makes is one that the profilers take, as their fakes know."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import fake_ncu_options, fake_nsys_options
from support.fake_nvtx_filter import nvtx_filter
from support.fake_options import Parsed, parse

from nsightlens.harness.ncu_command import ncu_argv
from nsightlens.harness.nsys_command import nsys_argv, nsys_export_argv
from nsightlens.harness.nvtx_filter import range_expression, step_expression
from nsightlens.harness.options import NcuOptions, NsysOptions, Target
from nsightlens.harness.recipes import RECIPES, apply
from nsightlens.harness.tools import Tool

VERSIONS = [(2023, 3, 0, 0), (2024, 1, 1, 0), (2025, 1, 0, 0), (2026, 1, 0, 0)]
TARGET = Target(("app", "--set", "its own"))
NCU_OPTIONS = {
    "default": NcuOptions(),
    "full": NcuOptions(metric_set="full", cache_control="all", clock_control="base"),
    "sections": NcuOptions(metric_set="none", sections=("SpeedOfLight", "Occupancy")),
    "window": NcuOptions(launch_skip=3, launch_count=5, ends_target=True, kernel="regex:^gemm"),
    "application": NcuOptions(replay_mode="application", target_processes="application-only"),
    "range": NcuOptions(replay_mode="app-range", nvtx_include=(step_expression("decode"),)),
    "started": NcuOptions(waits_for_profiler_start=True, are_collectives_excluded=False),
    "filters": NcuOptions(
        nvtx_include=(step_expression("decode", 8), range_expression("a/b", domain="c")),
        nvtx_exclude=(range_expression("Step", kind="start_end"),),
    ),
}
NSYS_OPTIONS = {
    "default": NsysOptions(),
    "window": NsysOptions(capture_range="cudaProfilerApi", traces_forks=True, wait="primary"),
    "timed": NsysOptions(delay_s=10.0, duration_s=5.0, gpu_metrics_devices="all"),
    "nvtx": NsysOptions(capture_range="nvtx", nvtx_capture="step@nsightlens"),
}


def _ncu(options: NcuOptions, target: Target, version: tuple[int, ...]) -> Parsed:
    tool = Tool("ncu", "/opt/ncu", version, "", "PATH")
    argv = ncu_argv(tool, options, target, output=Path("/run/a.ncu-rep"), compute_capability="9.0")
    words = fake_ncu_options
    parsed = parse(argv[1:], words.OPTIONS, (version[0], version[1]), words.WORDS)
    for expression in (*parsed.every("nvtx-include"), *parsed.every("nvtx-exclude")):
        nvtx_filter(expression)
    return parsed


def _nsys(options: NsysOptions, target: Target) -> Parsed:
    tool = Tool("nsys", "/opt/nsys", (2025, 1, 1, 0), "", "PATH")
    argv = nsys_argv(tool, options, target, output=Path("/run/a.nsys-rep"))
    assert argv[1] == "profile"
    words = fake_nsys_options
    return parse(argv[2:], words.PROFILE, (2025, 1), words.WORDS)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NCU_OPTIONS)
def test_ncu_takes_every_command_line(name: str, version: tuple[int, ...]) -> None:
    """All options are those of the version, and the target gets its own."""
    parsed = _ncu(NCU_OPTIONS[name], TARGET, version)
    assert parsed.program == list(TARGET.argv)
    assert parsed.last("export") == "/run/a.ncu-rep"
    assert parsed.has("force-overwrite")


@pytest.mark.parametrize("name", NSYS_OPTIONS)
def test_nsys_takes_every_command_line(name: str) -> None:
    """All options are those of ``nsys profile``."""
    parsed = _nsys(NSYS_OPTIONS[name], TARGET)
    assert parsed.program == list(TARGET.argv)
    assert parsed.last("output") in ("/run/a", "/run/a.nsys-rep")


@pytest.mark.parametrize("name", RECIPES)
def test_the_profilers_take_what_a_recipe_fills_in(name: str) -> None:
    """The template itself stands for the user's program."""
    recipe = RECIPES[name]
    target, ncu, nsys = apply(recipe, Target(recipe.template), NcuOptions(), NsysOptions())
    if "ncu" in recipe.tools:
        assert _ncu(ncu, target, (2025, 1, 0, 0)).program == list(target.argv)
    if "nsys" in recipe.tools:
        assert _nsys(nsys, target).program == list(target.argv)


def test_nsys_takes_the_command_line_of_an_export() -> None:
    """From the report to a file beside it."""
    tool = Tool("nsys", "/opt/nsys", (2025, 1, 1, 0), "", "PATH")
    argv = nsys_export_argv(
        tool, Path("/run/a.nsys-rep"), output=Path("/run/a.sqlite"), kind="sqlite"
    )
    words = fake_nsys_options
    parsed = parse(argv[2:], words.EXPORT, (2025, 1), words.WORDS)
    assert (argv[1], parsed.last("type"), parsed.program) == (
        "export",
        "sqlite",
        ["/run/a.nsys-rep"],
    )
