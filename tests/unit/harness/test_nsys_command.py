"""The command lines of nsys: exact, and refused where the tool would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.fake_nsys_options import EXPORT, PROFILE, WORDS
from support.fake_options import parse

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.nsys_command import nsys_argv, nsys_environment, nsys_export_argv
from nsightlens.harness.options import NsysOptions, Target
from nsightlens.harness.tools import Tool

NOW = (2025, 1, 1)
TARGET = Target(("python", "decode.py", "-t", "x"))


def argv(options: NsysOptions, version: tuple[int, ...] = NOW, output: str = "out") -> list[str]:
    """Return the command line."""
    tool = Tool("nsys", "/opt/nsys", version, "", "PATH")
    return list(nsys_argv(tool, options, TARGET, output=Path(output)))


def test_the_default_shows_kernels_in_graphs_and_samples_no_host() -> None:
    """By nsys's own default a graph is one item, without kernels."""
    assert argv(NsysOptions()) == [
        "/opt/nsys", "profile", "--output=out", "--force-overwrite=true", "--trace=cuda,nvtx",
        "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node", *TARGET.argv,
    ]  # fmt: skip


def test_every_wish_becomes_an_option() -> None:
    """Windows, children, sampled metrics."""
    options = NsysOptions(
        trace=("cuda", "nvtx", "python-gil"),
        cuda_graph_trace="graph",
        capture_range="nvtx",
        nvtx_capture="decode@*",
        capture_range_end="repeat:2",
        traces_forks=True,
        gpu_metrics_devices="all",
        delay_s=60.0,
        duration_s=0.5,
        wait="primary",
        more=("--kill=none",),
    )
    words = argv(options)
    assert words[4:] == [
        "--trace=cuda,nvtx,python-gil", "--sample=none", "--cpuctxsw=none",
        "--cuda-graph-trace=graph", "--capture-range=nvtx", "--nvtx-capture=decode@*",
        "--capture-range-end=repeat:2", "--trace-fork-before-exec=true",
        "--gpu-metrics-devices=all", "--delay=60", "--duration=0.5", "--wait=primary",
        "--kill=none", *TARGET.argv,
    ]  # fmt: skip
    assert nsys_environment(options) == {"NSYS_NVTX_PROFILER_REGISTER_ONLY": "0"}
    assert nsys_environment(NsysOptions()) == {}


def test_the_tool_knows_the_options_that_it_gets() -> None:
    """Also those of an export; the target's own options stay the target's."""
    for options in (NsysOptions(), NsysOptions(capture_range="cudaProfilerApi", delay_s=3)):
        parsed = parse(argv(options)[2:], PROFILE, (2025, 1), WORDS)
        assert tuple(parsed.program) == TARGET.argv
    tool = Tool("nsys", "/opt/nsys", NOW, "", "PATH")
    words = nsys_export_argv(tool, Path("50%.nsys-rep"), kind="arrowdir", output=Path("50%"))
    parsed = parse(words[2:], EXPORT, (2025, 1), WORDS)
    assert parsed.program == ["50%.nsys-rep"]
    assert parsed.last("output") == "50%"


def test_an_old_tool_gets_its_own_spelling() -> None:
    """The option that samples GPU metrics has had an s at its end later only."""
    options = NsysOptions(gpu_metrics_devices="0")
    assert "--gpu-metrics-device=0" in argv(options, (2023, 4, 4))
    assert "--gpu-metrics-devices=0" in argv(options)


def test_an_option_passed_as_it_is_takes_the_place_of_ours() -> None:
    """Each option counts once."""
    words = argv(NsysOptions(more=("-s", "process-tree", "--cuda-graph-trace=node:host-only")))
    assert not any(word.startswith("--sample") for word in words)
    assert [word for word in words if "graph-trace" in word] == [
        "--cuda-graph-trace=node:host-only"
    ]
    with pytest.raises(ProfilerOptionError, match="kept in the run folder"):
        argv(NsysOptions(more=("-o", "elsewhere")))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"trace": ("nvtx",)}, "traces no kernels"),
        ({"nvtx_capture": "a@*"}, "opens no window"),
        ({"capture_range": "nvtx"}, "which range"),
        ({"capture_range": "hotkey"}, "cudaProfilerApi, nvtx"),
        ({"delay_s": 0.0}, "above 0"),
        ({"duration_s": -1.0}, "above 0"),
    ],
)
def test_what_gives_no_kernels_is_refused(wrong: dict[str, Any], words: str) -> None:
    """With what to do about it."""
    with pytest.raises(ProfilerOptionError, match=words):
        argv(NsysOptions(**wrong))


def test_hardware_and_software_tracing_are_tracing() -> None:
    """Newer versions have several ways to trace CUDA."""
    assert "--trace=cuda-sw,nvtx" in argv(NsysOptions(trace=("cuda-sw", "nvtx")))


def test_a_percent_sign_in_a_path_is_no_macro() -> None:
    """As in the manual: two stand for one."""
    assert argv(NsysOptions(), output="50%")[2] == "--output=50%%"
