"""The command line of ncu: exact, accepted by the tool, and refused where the tool would refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_ncu_options import OPTIONS, WORDS
from support.fake_options import parse

from nsightlens.errors import FilterError, ProfilerOptionError
from nsightlens.harness.ncu_command import COLLECTIVES, check_options, kernel_filter, ncu_argv
from nsightlens.harness.ncu_metrics import smallest
from nsightlens.harness.options import NcuOptions, Target
from nsightlens.harness.tools import Tool

NOW = (2025, 1, 0, 0)
OLD = (2022, 3, 0, 0)
TARGET = Target(("python", "decode.py", "--launch-count", "7"))


def argv(options: NcuOptions, version: tuple[int, ...] = NOW, **more: Any) -> list[str]:
    """Return the command line without what is the same in all of them."""
    tool = Tool("ncu", "/opt/ncu", version, "", "PATH")
    words = {"output": Path("out"), "compute_capability": "9.0", **more}
    return list(ncu_argv(tool, options, TARGET, **words))


def test_the_default_says_every_option_that_changes_a_number() -> None:
    """Nothing that matters is left to the defaults of a version."""
    words = argv(NcuOptions())
    assert words[:15] == [
        "/opt/ncu", "-f", "-o", "out", "--target-processes", "all", "--graph-profiling", "node",
        "--replay-mode", "kernel", "--clock-control", "none", "--cache-control", "none", "--nvtx",
    ]  # fmt: skip
    assert words[15:17] == ["--kernel-name", f"regex:^(?!.*(?:{COLLECTIVES}))"]
    assert words[17:19] == ["--disable-extra-suffixes", "--metrics"]
    assert words[19] == ",".join(smallest("9.0", NOW))
    assert words[20:] == list(TARGET.argv)


def test_every_wish_becomes_an_option() -> None:
    """Filters, windows and collections, in ncu's own words."""
    options = NcuOptions(
        metric_set="full",
        metrics=("a.sum", "b.sum", "a.sum"),
        sections=("Occupancy",),
        nvtx_include=("D@a/", "b/"),
        nvtx_exclude=("c",),
        kernel="gemm",
        launch_skip=3,
        launch_count=5,
        replay_mode="application",
        target_processes="application-only",
        clock_control="base",
        cache_control="all",
        waits_for_profiler_start=True,
        ends_target=True,
        more=("--app-replay-match=name",),
    )
    assert argv(options, log=Path("log"))[3:] == [
        "out", "--log-file", "log", "--target-processes", "application-only",
        "--graph-profiling", "node", "--replay-mode", "application", "--clock-control", "base",
        "--cache-control", "all", "--nvtx", "--nvtx-include", "D@a/", "--nvtx-include", "b/",
        "--nvtx-exclude", "c", "--kernel-name", "gemm", "--launch-skip", "3", "--launch-count", "5",
        "--kill", "yes", "--profile-from-start", "off", "--set", "full", "--section", "Occupancy",
        "--disable-extra-suffixes", "--metrics", "a.sum,b.sum", "--app-replay-match=name",
        *TARGET.argv,
    ]  # fmt: skip


@pytest.mark.parametrize("version", [NOW, OLD, (2024, 1, 1, 0), (2026, 3, 1)])
@pytest.mark.parametrize(
    "options",
    [
        NcuOptions(),
        NcuOptions(replay_mode="range", nvtx_include=("a/",)),
        NcuOptions(metric_set="full", kernel="regex:a|b", launch_count=2, ends_target=True),
        NcuOptions(metric_set="none", sections=("Occupancy",)),
    ],
)
def test_every_version_knows_the_options_that_it_gets(
    options: NcuOptions, version: tuple[int, ...]
) -> None:
    """An option that a version does not have ends ncu before the target starts."""
    parsed = parse(argv(options, version)[1:], OPTIONS, version[:2], WORDS)  # type: ignore[arg-type]
    assert tuple(parsed.program) == TARGET.argv
    assert parsed.has("disable-extra-suffixes") <= (version >= (2024, 1))


def test_an_unknown_gpu_gets_sections() -> None:
    """Names that it may not have would be errors."""
    words = argv(NcuOptions(), compute_capability=None)
    assert "--metrics" not in words
    assert words.count("--section") == 7


def test_ranges_and_graphs_are_asked_for_what_they_can_have() -> None:
    """No patched counters, and no filter by the name of a kernel, which ncu refuses there."""
    for options in (
        NcuOptions(replay_mode="range"),
        NcuOptions(replay_mode="app-range"),
        NcuOptions(graph_profiling="graph"),
    ):
        words = argv(options)
        assert "--kernel-name" not in words
        assert "__sass_" not in words[words.index("--metrics") + 1]


def test_an_option_passed_as_it_is_takes_the_place_of_ours() -> None:
    """Ncu takes most options once: the user's counts."""
    words = argv(
        NcuOptions(
            launch_skip=1,
            more=("--clock-control", "base", "-s=9", "--target-processes=application-only"),
        )
    )
    assert words.count("--clock-control") == 1
    assert "--launch-skip" not in words
    assert "--target-processes" not in words
    assert words[-len(TARGET.argv) - 1] == "--target-processes=application-only"
    both = argv(NcuOptions(nvtx_include=("a/",), more=("--nvtx-include=b/",)))
    assert "a/" in both
    assert "--nvtx-include=b/" in both


@pytest.mark.parametrize("word", ["--export=x", "-o", "--metrics", "--import", "--set=full", "-f"])
def test_what_only_we_may_say_is_refused(word: str) -> None:
    """A report elsewhere would be lost, and a second list of metrics is an error of ncu's."""
    with pytest.raises(ProfilerOptionError, match="nsightlens gives ncu this option itself"):
        argv(NcuOptions(more=(word,)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"graph_profiling": "graph", "replay_mode": "application"}, "with kernel replay only"),
        ({"graph_profiling": "graph", "replay_mode": "range"}, "with kernel replay only"),
        ({"replay_mode": "range", "kernel": "gemm"}, "ranges as a whole"),
        ({"replay_mode": "app-range", "kernel": "regex:a"}, "ranges as a whole"),
        ({"replay_mode": "range", "waits_for_profiler_start": True}, "the ends of a range already"),
        ({"replay_mode": "range", "metrics": ("sm__sass_x.sum",)}, "patching"),
        ({"ends_target": True}, "add --launch-count"),
        ({"launch_count": 0}, "from 1 launch on"),
        ({"launch_skip": -1}, "counts from 0 on"),
        ({"clock_control": "reset"}, "base, none, boost"),
        ({"cache_control": "flush"}, "all, none"),
        ({"metric_set": "none"}, "collects nothing"),
    ],
)
def test_what_the_tool_refuses_is_refused_with_a_way_out(wrong: dict[str, Any], words: str) -> None:
    """Before a model was loaded for nothing; the same was seen of the real tool."""
    with pytest.raises(ProfilerOptionError, match=words):
        argv(NcuOptions(**wrong))


def test_what_a_version_may_not_have_is_refused() -> None:
    """It is said which version it is."""
    with pytest.raises(ProfilerOptionError, match=r"ncu 2022\.3 does not have it"):
        check_options(NcuOptions(graph_profiling="graph"), OLD)
    with pytest.raises(ProfilerOptionError, match="boost"):
        check_options(NcuOptions(clock_control="boost"), (2024, 1, 1, 0))
    check_options(NcuOptions(clock_control="boost"), NOW)


def test_a_filter_that_ncu_would_misread_is_refused() -> None:
    """It matches nothing, after minutes."""
    with pytest.raises(FilterError, match="very beginning"):
        argv(NcuOptions(nvtx_include=("nsightlens@regex:step.*/",)))


@pytest.mark.parametrize(
    ("target", "words"), [((), "no program"), (("",), "no program"), (("-x", "a"), "an option of")]
)
def test_a_target_is_a_program(target: tuple[str, ...], words: str) -> None:
    """A dash would make it an option of ncu's."""
    tool = Tool("ncu", "ncu", NOW, "", "PATH")
    with pytest.raises(ProfilerOptionError, match=words):
        ncu_argv(tool, NcuOptions(), Target(target), output=Path("o"), compute_capability="9.0")


def test_a_percent_sign_in_a_path_is_no_macro() -> None:
    """The real tool refuses a macro that it does not know."""
    words = argv(NcuOptions(), output=Path("50% done/%p"))
    assert words[3] == "50%% done/%%p"


COLLECTIVE = (
    "ncclDevKernel_AllReduce_Sum_f16_RING_LL", "ncclKernel_SendRecv", "nvshmemi_barrier",
    "cross_device_reduce_1stage", "oneShotAllReduceKernel", "multimem_all_reduce_kernel",
    "allreduce_fusion_kernel_oneshot_lamport", "void trtllm::all_reduce<float>(int)",
    "userbuffers_fp16_sum_inplace_gpu_rr", "_Z10all_reducePf",
)  # fmt: skip
OTHERS = (
    "flash_fwd_splitkv_kernel", "small_reduce_kernel", "reduce_kernel", "gemm",
    "splitKreduce_kernel", "cunn_SoftMaxForward", "nvjet_hsh_64x8_64x16_2x1_v_bz_TNT",
)  # fmt: skip


def test_kernels_that_wait_for_other_gpus_are_left_out() -> None:
    """They hang where launches are replayed one by one; a search is what ncu does."""
    expression = re.compile((kernel_filter(NcuOptions()) or "").removeprefix("regex:"))
    assert [name for name in COLLECTIVE if expression.search(name)] == []
    assert [name for name in OTHERS if not expression.search(name)] == []


@pytest.mark.parametrize("user", ["flash|reduce", "^flash", "kernel$", "^reduce_kernel$", "."])
def test_a_filter_of_the_users_and_ours_hold_together(user: str) -> None:
    """Anchors and alternatives of the user's mean what they mean alone."""
    both = kernel_filter(NcuOptions(kernel=f"regex:{user}")) or ""
    expression = re.compile(both.removeprefix("regex:"))
    found = [name for name in (*COLLECTIVE, *OTHERS) if expression.search(name)]
    assert found == [name for name in OTHERS if re.search(user, name)]


def test_a_name_or_a_wish_for_collectives_is_taken_as_it_is() -> None:
    """Who names a kernel wants that one."""
    options = NcuOptions(kernel="ncclDevKernel_SendRecv")
    assert kernel_filter(options) == options.kernel
    assert kernel_filter(replace(options, kernel=None, are_collectives_excluded=False)) is None
    with_them = NcuOptions(kernel="regex:nccl", are_collectives_excluded=False)
    assert kernel_filter(with_them) == "regex:nccl"
