"""Everything that goes wrong under a profiler becomes a diagnosis, and costs no more than that."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from support.command import CommandLine
from support.fakes import TARGET, kernels, program
from support.profiled import Profile, manifest, processes_of

if TYPE_CHECKING:
    from pathlib import Path

PROFILING = 7
MODEL = ("--model", "opt-1.3b", "--batch-sizes", "1,8", "--context", "500", "--layers", "1")
ONE = (*TARGET, "--batch-sizes", "1")


@pytest.fixture
def profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Profile:
    return Profile(CommandLine(capsys), tmp_path, monkeypatch)


def _causes(profile: Profile) -> dict[str, str | None]:
    return {
        part["part_id"]: part["failure"] and part["failure"]["cause"]
        for part in manifest(profile.run)["parts"]
    }


@pytest.mark.parametrize(
    ("kind", "cause", "remedy"),
    [
        ("permission", "counters_not_permitted", "nsightlens profile --tools nsys"),
        ("stub", "stub_libcuda", "nvidia-smi"),
        ("lock", "lock_file", "TMPDIR"),
        ("resource", "driver_resource_held", "dcgmi profile --pause"),
        ("oom", "replay_out_of_memory", "--replay-mode application"),
        ("prepare", "kernel_not_profiled", "compute-sanitizer"),
        ("launch", "kernel_not_profiled", "Leave this kernel out"),
        ("incompatible", "driver_not_compatible", "Install a newer driver"),
        ("unsupported", "gpu_not_supported", "Install a newer Nsight Compute"),
        ("mig", "mig", "out of MIG mode"),
        ("disk_full", "disk_full", "df -h"),
        ("silent", "report_missing", "does not exist"),
        ("truncated", "report_unreadable", "the file ends inside it"),
        ("segfault", "tool_crashed", "SIGSEGV"),
    ],
)
def test_a_failure_of_the_profiler_is_told_with_its_remedy(
    profile: Profile, kind: str, cause: str, remedy: str
) -> None:
    """With exit code 7, in the manifest too, and without a report that looks finished."""
    done = profile(target=ONE, FAKE_NCU_FAIL=kind)
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-program": cause}
    assert remedy in done.err
    assert not profile.reports()
    assert not list(profile.run.glob(".partial/*"))


def test_a_failure_says_what_ncu_said(profile: Profile) -> None:
    """The words of the tool stand in the message, for whoever looks them up."""
    done = profile(target=ONE, FAKE_NCU_FAIL="permission")
    assert "ERR_NVGPUCTRPERM" in done.err
    done = profile("--force", target=ONE, FAKE_NCU_FAIL="launch")
    assert "LaunchFailed" in done.err


def test_a_filter_that_nothing_passes_is_told_with_the_ranges_that_were_seen(
    profile: Profile,
) -> None:
    """Exit code 0 of ncu is not trusted."""
    done = profile("--range", "DecodeStep335", target=ONE)
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-program": "no_kernels"}
    assert "DecodeStep335" in done.err
    assert "step v1 phase=decode batch_size=1" in done.err


def test_a_name_that_no_kernel_has_is_told(profile: Profile) -> None:
    """The filter that matched nothing is named."""
    done = profile("--kernel", "no_such_kernel", target=ONE)
    assert _causes(profile) == {"ncu-program": "no_kernels"}
    assert "no_such_kernel" in done.err


def test_a_target_without_a_kernel_is_told(profile: Profile) -> None:
    """No launch at all is not the fault of a filter."""
    done = profile(target=program("print('no kernel here')"))
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-program": "no_kernels"}


def test_a_target_that_is_not_there_is_told(profile: Profile) -> None:
    """By its name."""
    done = profile(target=("./no_such_program",))
    assert _causes(profile) == {"ncu-program": "target_not_found"}
    assert "no_such_program" in done.err


def test_a_target_that_crashes_has_its_last_words_shown(profile: Profile) -> None:
    """They are what tells, not that ncu failed."""
    done = profile(target=ONE, FAKE_TARGET_FAIL="crash@name=fc1")
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-program": "target_failed"}
    assert "CUDA error: an illegal memory access was encountered" in done.err


def test_a_target_without_memory_is_not_taken_for_replay(profile: Profile) -> None:
    """Replay modes would not help it."""
    profile(target=ONE, FAKE_TARGET_FAIL="oom@name=fc1")
    assert _causes(profile) == {"ncu-program": "target_out_of_memory"}


def test_a_failure_at_one_batch_size_costs_that_one_only(profile: Profile) -> None:
    """The other is kept, and the next run does what is missing."""
    done = profile(*MODEL, target=(), FAKE_TARGET_FAIL="crash@batch_size=1 ")
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-batch-0001": "target_failed", "ncu-batch-0008": None}
    assert [path.name for path in profile.reports()] == ["ncu-batch-0008.ncu-rep"]
    assert "attention" in done.out  # what there is is shown
    assert profile(*MODEL, "--no-tables", target=()).code == 0
    assert len(profile.commands()) == 3
    assert len(profile.reports()) == 2


def test_a_failure_that_every_part_would_have_ends_the_run(profile: Profile) -> None:
    """Nobody waits for the same answer ten times."""
    done = profile(*MODEL, target=(), FAKE_NCU_FAIL="permission")
    assert done.code == PROFILING
    assert len(profile.commands()) == 1
    assert "1 part was not begun" in done.err


@pytest.mark.parametrize("which", ["target", "profiler"])
def test_a_hang_is_ended_with_everything_that_was_started(profile: Profile, which: str) -> None:
    """Also a grandchild that ignores the polite signal."""
    mark = f"hang-{which}-{os.getpid()}"
    fail = {"FAKE_TARGET_FAIL": "hang@name=fc1"} if which == "target" else {"FAKE_NCU_FAIL": "hang"}
    began = time.monotonic()
    done = profile("--idle-timeout", "2", target=ONE, FAKE_MARK=mark, **fail)
    assert time.monotonic() - began < 60
    assert done.code == PROFILING
    assert _causes(profile) == {"ncu-program": "hung"}
    assert not list(processes_of(mark))


def test_a_collective_is_left_out(profile: Profile) -> None:
    """It would wait for the other GPUs for ever."""
    text = "import fake_gpu as g; g.launch('ncclDevKernel_AllReduce_Sum_f16_RING_LL'); g.launch()"
    assert profile("--no-tables", target=program(text)).code == 0
    assert kernels(profile.run / "reports", "ncu-program.ncu-rep") == ["kernel"]


def test_a_version_that_is_too_old_for_an_option_gets_a_command_line_of_its_age(
    profile: Profile,
) -> None:
    """The fake of that version refuses what it does not know."""
    done = profile("--no-tables", target=ONE, FAKE_NCU_VERSION="2022.3.0.0 (build 31729285)")
    assert done.code == 0, done.err
    assert "--disable-extra-suffixes" not in profile.commands()[0]


# --- nsys ---


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("silent", "report_missing"),
        ("newer", "report_newer_than_tool"),
        ("no_kernels", "no_cuda_events"),
        ("target", "target_failed"),
    ],
)
def test_a_failure_of_a_trace_is_told_and_costs_no_report(
    profile: Profile, kind: str, cause: str
) -> None:
    """What ncu measured is kept."""
    done = profile("--no-tables", target=ONE, tools="both", FAKE_NSYS_FAIL=kind)
    assert done.code == PROFILING
    assert _causes(profile) == {"nsys-program": cause, "ncu-program": None}
    assert len(profile.reports()) == 1
    assert not list((profile.run / "traces").iterdir())
