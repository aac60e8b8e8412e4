"""The fake ncu does what the real one does, as far as the harness relies on it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support import fake_failures
from support.fakes import FAKES, TARGET, environment, kernels, operations, program, run

from nsightlens.errors import NsightLensError
from nsightlens.harness.ncu_metrics import smallest
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from support.fakes import Said

ONE = (*TARGET, "--batch-sizes", "1")
STEP = ("--nvtx", "--nvtx-include", "regex:^nsightlens$@^step v1/")
FREE = ("--metrics", "launch__grid_size")


def ncu(folder: Path, *words: str, target: tuple[str, ...] = ONE, **variables: str) -> Said:
    return run("ncu", "-o", "out", *words, *target, folder=folder, **variables)


def test_says_its_version(tmp_path: Path) -> None:
    """The version can be chosen."""
    said = run("ncu", "--version", folder=tmp_path, FAKE_NCU_VERSION="2024.1.1.0 (build 33998838)")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "Version 2024.1.1.0 (build 33998838) (public-release)"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--x"], "unrecognised option '--x'. Use --help for further details."),
        (["--launch-count", "many"], "the argument ('many') for option '--launch-count'"),
        (["--cache-control", "some"], "the argument ('some') for option '--cache-control'"),
        (["--set", "everything"], "Set 'everything' did not match"),
        (["--section", "Everything"], "Section 'Everything' did not match"),
        (["--nvtx-include", "a/"], "NVTX filters need the option --nvtx"),
        (["--nvtx", "--nvtx-include", "a@b@c/"], "Invalid NVTX filter: more than one domain"),
        (["-o", "again"], "option '--export' cannot be specified more than once"),
        (["./none"], "'./none' does not exist or is not an executable"),
        (["--import", "none.ncu-rep"], "Could not open report file 'none.ncu-rep'"),
    ],
)
def test_refuses_what_the_real_one_refuses(tmp_path: Path, words: list[str], error: str) -> None:
    """With one line and exit status 1, before the target runs."""
    said = ncu(tmp_path, *words, "python", "-c", "print('it runs')", target=())
    assert said.code == 1
    assert said.out.startswith(f"==ERROR== {error}")
    assert "it runs" not in said.out


def test_an_older_version_does_not_know_newer_options(tmp_path: Path) -> None:
    """The list of options is that of a version."""
    said = ncu(tmp_path, "--disable-extra-suffixes", FAKE_NCU_VERSION="2022.3.0.0 (build 1)")
    assert said.errors == [
        "unrecognised option '--disable-extra-suffixes'. Use --help for further details."
    ]


def test_prints_the_lines_of_the_real_one(tmp_path: Path) -> None:
    """Connected, one line a launch with its passes, disconnected, the report."""
    said = ncu(tmp_path, "-c", "1")
    process = said.out.split("Connected to process ")[1].split()[0]
    assert [line for line in said.out.splitlines() if line != "decoding"] == [
        f"==PROF== Connected to process {process} ({os.path.realpath(sys.executable)})",
        '==PROF== Profiling "vectorized_layer_norm_kernel" - 0: 0%....50%....100% - 10 passes',
        f"==PROF== Disconnected from process {process}",
        f"==PROF== Report: {tmp_path / 'out.ncu-rep'}",
    ]
    assert said.code == 0


def test_holds_what_was_asked_for_and_nothing_else(tmp_path: Path) -> None:
    """Beside what ncu always stores."""
    wanted = ("dram__bytes_read.sum", "regex:stalled_(wait|gmma)_per")
    ncu(tmp_path, "--disable-extra-suffixes", "--metrics", ",".join(wanted), "-c", "2")
    found = {name for name in open_report(tmp_path / "out.ncu-rep").store.names if "__" in name}
    assert {name for name in found if not name.startswith(("launch__", "device__"))} == {
        "dram__bytes_read.sum",
        "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
        "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
        "sm__maximum_warps_avg_per_active_cycle",
        "sm__maximum_warps_per_active_cycle_pct",
        "profiler__replayer_passes",
    }


def test_stores_each_metric_four_times_unless_told_otherwise(tmp_path: Path) -> None:
    """As ncu does without --disable-extra-suffixes."""
    ncu(tmp_path, "--metrics", "dram__bytes_read.sum", "-c", "1")
    names = open_report(tmp_path / "out.ncu-rep").store.names
    assert {f"dram__bytes_read.{of}" for of in ("sum", "avg", "min", "max")} <= set(names)


def test_knows_what_the_smallest_collection_of_this_chip_asks_for(tmp_path: Path) -> None:
    """Without an error, and it fills what a label needs."""
    names = ",".join(smallest("9.0", (2025, 1)))
    said = ncu(tmp_path, *STEP, "--disable-extra-suffixes", "--metrics", names)
    assert (said.code, said.errors) == (0, [])
    launches = open_report(tmp_path / "out.ncu-rep").launches
    for column in ("duration_ns", "dram_read_bytes", "tensor_fp16_flop_count", "l2_bytes"):
        assert launches[column].null_count == 0, column


def test_fails_at_a_metric_that_the_chip_does_not_have(tmp_path: Path) -> None:
    """An unknown name is an error of the launch."""
    said = ncu(tmp_path, "--metrics", "gpu__time_duration.sum,dram__bytes_op_read.sum")
    assert said.code == 1
    assert said.errors[0] == "Failed to find metric dram__bytes_op_read.sum"
    assert not (tmp_path / "out.ncu-rep").exists()


def test_work_follows_from_the_annotations(tmp_path: Path) -> None:
    """Bytes are exact, tensor operations padded to the tile: 8 rows at batch 1."""
    ncu(tmp_path, *STEP, "-k", "regex:^nvjet", "-c", "1", "--set", "full")
    launches = open_report(tmp_path / "out.ncu-rep").launches
    read, written = (launches[f"dram_{of}_bytes"][0].as_py() for of in ("read", "write"))
    assert read + written == 2 * (2048 * 6144 + 2048 + 6144)
    assert launches["tensor_fp16_flop_count"][0].as_py() == 8 * 2 * 2048 * 6144


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-k", "flash_fwd"], []),
        (["-k", "regex:split"], ["attention", "out_proj"]),
        (["-k", "regex:^nvjet", "-s", "1", "-c", "2"], ["out_proj", "fc1"]),
        (["--nvtx-include", "regex:^nsightlens$@step v1/.* name=fc/"], ["fc1", "fc2"]),
        (["--nvtx-exclude", "regex:nsightlens@step v1.*/"], []),
    ],
)
def test_takes_the_launches_that_pass_the_filters(
    tmp_path: Path, words: list[str], expected: list[str]
) -> None:
    """No launch is no error: ncu ends with 0 and without a report."""
    said = ncu(tmp_path, "--nvtx", *FREE, *words)
    assert said.code == 0
    if expected:
        assert operations(tmp_path) == expected
    else:
        assert "==WARNING== No kernels were profiled." in said.out.splitlines()
        assert not (tmp_path / "out.ncu-rep").exists()


def test_waits_for_the_profiler_to_be_started(tmp_path: Path) -> None:
    """``--profile-from-start off`` takes what lies between start and stop."""
    lines = ["import fake_gpu as g", "g.launch('a')", "g.profiler_start()", "g.launch('b')"]
    text = "; ".join([*lines, "g.profiler_stop()", "g.launch('c')"])
    ncu(tmp_path, "--profile-from-start", "off", *FREE, target=tuple(program(text)))
    assert kernels(tmp_path) == ["b"]


def test_sees_children_and_threads(tmp_path: Path) -> None:
    """All processes of the target, each launch with the ranges of its thread."""
    text = (
        "import fake_gpu, nvtx, os, subprocess, sys, threading\n"
        "nvtx.push_range('main')\n"
        "t = threading.Thread(target=fake_gpu.launch, args=('of_thread',)); t.start(); t.join()\n"
        "fake_gpu.launch('of_main')\n"
        "subprocess.run([sys.executable, '-c', 'import fake_gpu; fake_gpu.launch(\"of_child\")'])\n"
        "os.fork() or (fake_gpu.launch('of_fork'), os._exit(0))\n"
        "os.wait()"
    )
    target = tuple(program(text))
    ncu(tmp_path, "--nvtx", *FREE, target=target)
    assert kernels(tmp_path) == ["of_thread", "of_main", "of_child", "of_fork"]
    report = open_report(tmp_path / "out.ncu-rep")
    assert report.launches["nvtx_path"].to_pylist()[:2] == [None, "main"]
    said = ncu(tmp_path, "--nvtx", "-f", *FREE, "--nvtx-include", "main/", target=target)
    assert said.code == 0
    assert kernels(tmp_path) == ["of_main"]
    ncu(tmp_path, "-f", *FREE, "--target-processes", "application-only", target=target)
    assert kernels(tmp_path) == ["of_thread", "of_main"]


def test_ends_the_target_after_enough_launches(tmp_path: Path) -> None:
    """``--kill yes``."""
    text = "import fake_gpu, time; fake_gpu.launch('a'); time.sleep(600)"
    said = ncu(tmp_path, "-c", "1", "--kill", "yes", *FREE, target=tuple(program(text)))
    assert said.code == 0
    assert kernels(tmp_path) == ["a"]


def test_overwrites_only_with_force(tmp_path: Path) -> None:
    """The words are those of a user's log."""
    (tmp_path / "out.ncu-rep").write_text("mine")
    said = ncu(tmp_path)
    assert said.errors == ["File out.ncu-rep already exists. Use '-f' for overwriting the file."]
    assert (tmp_path / "out.ncu-rep").read_text() == "mine"


def test_names_the_report_as_its_macros_say(tmp_path: Path) -> None:
    """``%q{NAME}`` is a variable, ``%%`` a percent sign; the suffix is added."""
    words = ("-o", "%q{PART}_50%%_%p_%i", "-c", "1", *FREE)
    said = run("ncu", *words, *ONE, folder=tmp_path, PART="decode")
    assert said.code == 0
    (report,) = tmp_path.glob("*.ncu-rep")
    assert re.fullmatch(r"decode_50%_\d+_1\.ncu-rep", report.name)


def test_writes_its_lines_where_it_is_told(tmp_path: Path) -> None:
    """``--log-file`` leaves stdout to the target."""
    said = ncu(tmp_path, "--log-file", "log", *FREE)
    assert said.out == "decoding\n"
    assert "==PROF== Report:" in (tmp_path / "log").read_text()


def test_the_same_target_gives_the_same_report(tmp_path: Path) -> None:
    """But for process ids."""
    reports = []
    for _ in range(2):
        ncu(tmp_path, *STEP, "-f", "--set", "full")
        report = open_report(tmp_path / "out.ncu-rep")
        names = [name for name in report.launches.column_names if name != "process_id"]
        reports.append(report.launches.select(names))
    assert reports[0].equals(reports[1])


@pytest.mark.parametrize("kind", ["permission", "stub"])
def test_fails_on_request_in_the_words_of_the_real_one(tmp_path: Path, kind: str) -> None:
    """Exit status 1, and no report. What comes of every kind is in the tests of the harness."""
    said = ncu(tmp_path, *FREE, FAKE_NCU_FAIL=kind)
    words = (fake_failures.AT_LAUNCH | fake_failures.AT_START)[kind][0]
    assert said.code == 1
    assert words in (said.err if kind == "stub" else said.out)
    assert not (tmp_path / "out.ncu-rep").exists()


def test_fails_at_one_batch_size_alone(tmp_path: Path) -> None:
    """What was profiled before is kept."""
    target = (*TARGET, "--batch-sizes", "1,4")
    said = ncu(tmp_path, *STEP, *FREE, target=target, FAKE_NCU_FAIL="prepare@batch_size=4 ")
    assert said.code == 1
    assert len(kernels(tmp_path)) == 11


def test_replay_of_the_application_needs_no_memory(tmp_path: Path) -> None:
    """So that the remedy of a failure helps."""
    said = ncu(tmp_path, *FREE, "--replay-mode", "application", FAKE_NCU_FAIL="oom")
    assert said.code == 0


@pytest.mark.parametrize("kind", fake_failures.AT_END)
def test_leaves_no_sound_report_on_request(tmp_path: Path, kind: str) -> None:
    """Half a write, none, and a file that was cut: two of them with exit status 0."""
    said = ncu(tmp_path, *FREE, FAKE_NCU_FAIL=kind)
    assert said.code == (kind == "disk_full")
    with pytest.raises(NsightLensError):
        open_report(tmp_path / "out.ncu-rep")


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [("crash", 1, "illegal memory access"), ("exit", 3, ""), ("abort", 134, "")],
)
def test_says_that_the_target_failed(tmp_path: Path, kind: str, code: int, text: str) -> None:
    """The words of the target itself pass through; the report holds what came before."""
    target = (*TARGET, "--batch-sizes", "1,4")
    said = ncu(tmp_path, *FREE, target=target, FAKE_TARGET_FAIL=f"{kind}@batch_size=4 ")
    assert said.code == 1
    assert said.errors == [f"The application returned an error code ({code})."]
    assert text in said.err
    assert len(kernels(tmp_path)) == 11


def test_a_target_that_hangs_leaves_a_grandchild_that_ignores_the_polite_signal(
    tmp_path: Path,
) -> None:
    """Only the signal that cannot be ignored ends the whole tree."""
    argv = [sys.executable, str(FAKES / "ncu"), "-o", "out", *FREE, *ONE]
    process = subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=environment({"FAKE_TARGET_FAIL": "hang@name=fc2"}),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    pattern = f"/proc/{process.pid}/task/{process.pid}/children"
    deadline = time.monotonic() + 60
    while len(_descendants(process.pid)) < 2:
        assert time.monotonic() < deadline, pattern
        time.sleep(0.02)
    family = _descendants(process.pid)
    time.sleep(0.3)  # it has set its signals by then
    process.terminate()
    process.wait()
    assert any(_is_alive(each) for each in family)
    os.killpg(process.pid, signal.SIGKILL)
    while any(_is_alive(each) for each in family):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _descendants(process: int) -> list[int]:
    found: list[int] = []
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:  # noqa: PTH123
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    for child in children:
        found += [child, *_descendants(child)]
    return found


def _is_alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
