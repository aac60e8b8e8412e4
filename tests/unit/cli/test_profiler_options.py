"""The options of both tools on the command line become the records of the harness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.cli.arguments import OneLineParser
from nsightlens.cli.profiler_options import (
    add_profiler_options,
    ncu_options_of,
    nsys_options_of,
)
from nsightlens.errors import FilterError
from nsightlens.harness.options import NcuOptions, NsysOptions

if TYPE_CHECKING:
    import argparse


def parsed(*words: str) -> argparse.Namespace:
    """Return what a command with these options is told."""
    parser = OneLineParser(prog="nsightlens profile")
    add_profiler_options(parser)
    return parser.parse_args(words)


def test_without_options_the_records_have_their_defaults() -> None:
    """One place says what they are."""
    assert ncu_options_of(parsed()) == NcuOptions()
    assert nsys_options_of(parsed()) == NsysOptions()


def test_every_option_of_ncu_reaches_the_record() -> None:
    """Each field has its option."""
    options = ncu_options_of(
        parsed(
            "--set", "full", "--metrics", "a.sum, b.sum", "--metrics", "c", "--section", "X",
            "--nvtx-include", "D@a/", "--range", "x/y", "--range-domain", "E", "--nvtx-exclude",
            "b", "--kernel", "regex:k", "--launch-skip", "0", "--launch-count", "2",
            "--end-after-count", "--replay-mode", "application", "--graph-profiling", "graph",
            "--clock-control", "base", "--cache-control", "all", "--with-collectives",
            "--from-profiler-start", "--ncu-option=--verbose",
            "--ncu-option=--target-processes=application-only",
        )
    )  # fmt: skip
    assert options == NcuOptions(
        metric_set="full",
        metrics=("a.sum", "b.sum", "c"),
        sections=("X",),
        nvtx_include=("D@a/", r"E@x\/y/"),
        nvtx_exclude=("b",),
        kernel="regex:k",
        launch_skip=0,
        launch_count=2,
        ends_target=True,
        replay_mode="application",
        graph_profiling="graph",
        clock_control="base",
        cache_control="all",
        are_collectives_excluded=False,
        waits_for_profiler_start=True,
        more=("--verbose", "--target-processes=application-only"),
    )


def test_every_option_of_nsys_reaches_the_record() -> None:
    """Each field has its option."""
    options = nsys_options_of(
        parsed(
            "--trace", "cuda,nvtx,osrt", "--graph-profiling", "graph", "--trace-forks",
            "--nvtx-window", "decode@*", "--window-end", "repeat:3", "--gpu-metrics", "all",
            "--delay", "1.5", "--duration", "2", "--wait", "primary", "--nsys-option=--kill=none",
        )
    )  # fmt: skip
    assert options == NsysOptions(
        trace=("cuda", "nvtx", "osrt"),
        cuda_graph_trace="graph",
        capture_range="nvtx",
        nvtx_capture="decode@*",
        capture_range_end="repeat:3",
        traces_forks=True,
        gpu_metrics_devices="all",
        delay_s=1.5,
        duration_s=2.0,
        wait="primary",
        more=("--kill=none",),
    )


def test_the_start_of_the_profiler_holds_for_both_tools() -> None:
    """The program opens the window, whoever listens."""
    args = parsed("--from-profiler-start")
    assert ncu_options_of(args).waits_for_profiler_start
    assert nsys_options_of(args).capture_range == "cudaProfilerApi"


def test_ranges_of_either_kind() -> None:
    """The whole name, escaped; the kind decides about the slash."""
    args = parsed("--range", "a,b", "--range", "c", "--range-kind", "start-end")
    assert ncu_options_of(args).nvtx_include == (r"a\,b", "c")
    with pytest.raises(FilterError, match="add one"):
        ncu_options_of(parsed("--range-domain", "d"))
    with pytest.raises(FilterError, match="empty"):
        ncu_options_of(parsed("--range", ""))


@pytest.mark.parametrize(
    "words",
    [
        ("--launch-count", "0"),
        ("--launch-skip", "-1"),
        ("--delay", "0"),
        ("--duration", "soon"),
        ("--duration", "inf"),
        ("--replay-mode", "twice"),
        ("--clock-control", "reset"),
        ("--kernel", "a", "--kernel", "b"),
    ],
)
def test_what_cannot_be_is_a_usage_error(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, with the command that explains more."""
    with pytest.raises(SystemExit) as error:
        parsed(*words)
    assert error.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_help_explains_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    parser = OneLineParser(prog="nsightlens profile")
    add_profiler_options(parser)
    assert all(len(line) <= 80 for line in parser.format_help().splitlines())
    assert all(action.help for action in parser._actions)
