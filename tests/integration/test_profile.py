"""``nsightlens profile`` from a program to labelled tables, under fake profilers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from support.command import CommandLine
from support.fakes import FAKES, TARGET, program
from support.profiled import Profile, contents, kill_all, manifest

from nsightlens.readers import open_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OUTPUT = 6
MODEL = ("--model", "opt-1.3b", "--batch-sizes", "1,8", "--context", "500", "--layers", "1")


@pytest.fixture
def profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Profile:
    return Profile(CommandLine(capsys), tmp_path, monkeypatch)


# --- From a program to tables ---


def test_gives_the_sweep_table(profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
    """Attention is flat, matmul rises with the batch; one is memory-bound, the other no longer."""
    batches = (1, 8, 64, 512)
    done = profile(target=(*TARGET, "--batch-sizes", ",".join(map(str, batches))))
    assert done.code == 0, done.err
    assert "attention stays at 1 FLOP/B" in " ".join(done.out.split())
    assert "bandwidth-saturated attention limits large batches" in " ".join(done.out.split())
    shown = CommandLine(capsys)("sweep", str(profile.run / "reports"), "-f", "json")
    rows = {(row["component"], row["batch_size"]): row for row in json.loads(shown.out)["rows"]}
    useful = "useful_arithmetic_intensity_flop_per_byte"
    assert [rows["attention", batch][useful] for batch in batches] == [1.0] * 4
    rising = [rows["matmul", batch][useful] for batch in batches]
    assert rising == sorted(rising)
    assert rising[-1] == 384.0
    bounds = [rows["matmul", batch]["bound"] for batch in batches]
    assert bounds == ["memory", "memory", "memory", "compute"]
    assert rows["attention", 512]["bound"] == "memory"


def test_a_model_is_profiled_one_batch_size_at_a_time(profile: Profile) -> None:
    """Each is a part with a report of its own, and only its decode step is in it."""
    done = profile(*MODEL, "--no-tables", target=())
    assert done.code == 0, done.err
    assert [path.name for path in profile.reports()] == [
        "ncu-batch-0001.ncu-rep",
        "ncu-batch-0008.ncu-rep",
    ]
    for path, batch in zip(profile.reports(), (1, 8), strict=True):
        paths = open_report(path).launches["nvtx_path"].to_pylist()
        assert len(paths) == 11
        assert all(f"phase=decode batch_size={batch} context=500" in each for each in paths)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_model_of_torch_is_profiled_on_the_cpu(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real decode steps: every operation has its launch, with the work that it needs."""
    monkeypatch.setenv("PYTHONPATH", str(FAKES.parents[1]))
    words = ("--model", "tiny-opt", "--batch-sizes", "2", "--context", "32", "--device", "cpu")
    done = profile(*words, target=())
    assert done.code == 0, done.err
    rows = contents(profile.run)["sweep.parquet"]
    components = {row["component"] for row in rows}
    assert components == {"attention", "matmul", "other"}
    for row in rows:
        assert row["batch_size"] == 2
        assert row["dram_bytes"] == pytest.approx(row["algorithmic_bytes"], rel=0.01)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="the labels are of PyTorch")
def test_labels_of_an_engine_are_seen_where_that_is_asked_for(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--step-labels`` reaches the worker that a target starts; the batch size is in the sweep."""
    monkeypatch.setenv("PYTHONPATH", str(FAKES.parents[1]))
    worker = (
        "import fake_gpu, torch\n"
        "with torch.profiler.record_function('execute_context_0(0)_generation_4(4)'):\n"
        "    fake_gpu.launch('void flash_fwd_splitkv_kernel<float>()', flop=1e9, tensor=True)"
    )
    target = program(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {worker!r}])")
    done = profile("--step-labels", target=target)
    assert done.code == 0, done.err
    (row,) = contents(profile.run)["labels.parquet"]
    assert (row["phase"], row["batch_size"], row["step_engine"]) == ("decode", 4, "vLLM")


def test_only_annotated_steps_are_profiled_where_that_is_asked_for(profile: Profile) -> None:
    """What the program launches besides is left out."""
    lines = [
        "import fake_gpu, runpy, sys",
        "fake_gpu.launch('warm_up')",
        "sys.argv = ['my_decode.py', '--batch-sizes', '2']",
        f"runpy.run_path({TARGET[1]!r}, run_name='__main__')",
    ]
    target = program("; ".join(lines))
    assert profile("--annotated-steps", "--no-tables", target=target).code == 0
    names = open_report(profile.reports()[0]).launches["kernel_name"].to_pylist()
    assert len(names) == 11
    assert "warm_up" not in names


def test_says_what_it_would_run(profile: Profile) -> None:
    """``--dry-run`` prints the command lines, and starts neither a profiler nor the target."""
    done = profile(*MODEL, "--dry-run", target=(), tools="both")
    assert done.code == 0
    lines = done.out.splitlines()
    assert sum(f"{profile.ncu} -f -o" in line for line in lines) == 2
    assert sum(f"{profile.nsys} profile" in line for line in lines) == 2
    assert sum("regex:^nsightlens$@^step v1 phase=decode batch_size=8" in x for x in lines) == 1
    assert profile.commands() == []
    assert not profile.run.exists()


def test_the_manifest_says_how_it_was_made(profile: Profile) -> None:
    """The exact command line, versions, GPU, seed, passes, and the variables that matter."""
    profile(*MODEL, "--no-tables", target=(), CUDA_VISIBLE_DEVICES="0", HF_TOKEN="secret")
    content = manifest(profile.run)
    assert [part["argv"][1:] for part in content["parts"]] == profile.commands()
    assert content["tools"]["ncu"]["version"].startswith("2025.1.0")
    assert content["host"]["gpus"][0]["name"] == "NVIDIA H100 80GB HBM3"
    # Other variables that matter are those that this machine has set.
    assert content["environment"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert "HF_TOKEN" not in content["environment"]
    assert content["seed"] == 0
    assert "secret" not in (profile.run / "manifest.json").read_text()
    # The smallest list of metrics of the GPU that nvidia-smi names, in as few passes as that takes.
    for words in profile.commands():
        assert "--set" not in words
        assert "--section" not in words
        assert "fbpa__dram_read_bytes.sum" in words[words.index("--metrics") + 1].split(",")
    assert max(int(passes) for part in content["parts"] for passes in part["pass_counts"]) < 12


# --- A run folder ---


def test_only_what_is_missing_is_run_again(profile: Profile) -> None:
    """Nothing of a finished run; a report that somebody removed, and a batch size that is new."""
    first = profile(*MODEL, target=())
    before = contents(profile.run)
    again = profile(*MODEL, target=())
    assert (again.code, again.out) == (0, first.out)
    assert len(profile.commands()) == 2
    profile.reports()[0].unlink()
    assert profile(*MODEL, target=()).code == 0
    assert len(profile.commands()) == 3
    assert contents(profile.run) == before
    words = [*MODEL[:3], "1,8,64", *MODEL[4:]]
    assert profile(*words, "--no-tables", target=()).code == 0
    assert len(profile.commands()) == 4
    assert len(profile.reports()) == 3


def test_another_run_does_not_go_into_the_same_folder(profile: Profile) -> None:
    """Other options are another run, and nothing of the first is lost without --force."""
    profile("--no-tables")
    kept = contents(profile.run)
    done = profile("--no-tables", "--set", "full")
    assert done.code == OUTPUT
    assert contents(profile.run) == kept
    assert profile("--no-tables", "--set", "full", "--force").code == 0
    assert contents(profile.run) != kept


def test_two_runs_into_one_folder_exclude_each_other(profile: Profile) -> None:
    """The second leaves at once and says so; the first is not disturbed."""
    mark = f"two-runs-{os.getpid()}"
    argv = [sys.executable, "-m", "nsightlens", "profile", *profile.options(), "--", *TARGET]
    variables = {"FAKE_MARK": mark, "FAKE_NCU_FAIL": "hang"}
    with subprocess.Popen(
        argv, env={**os.environ, **variables}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ):
        try:
            _until(lambda: bool(profile.commands()))
            done = profile(target=TARGET)
        finally:
            kill_all(mark)
    assert done.code == OUTPUT
    assert "another run writes into this folder" in done.err
    assert (
        profile("--no-tables", target=TARGET).code == 0
    )  # a run that was killed leaves no lock behind


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- Both tools ---


def test_both_tools_are_joined(profile: Profile) -> None:
    """Every launch under ncu has its kernel under nsys, and each duration says whose it is."""
    done = profile(*MODEL, target=(), tools="both")
    assert done.code == 0, done.err
    joined = contents(profile.run)["joined.parquet"]
    assert len(joined) == 22
    assert all(row["matched_by"] == "step" for row in joined)
    assert all(row["ncu_duration_ns"] and row["nsys_duration_ns"] for row in joined)
    assert {row["batch_size"] for row in joined} == {1, 8}
    names = {path.name for path in (profile.run / "traces").iterdir()}
    assert names == {
        f"nsys-batch-{batch}{suffix}"
        for batch in ("0001", "0008")
        for suffix in (".nsys-rep", ".sqlite")
    }


def test_a_trace_alone_needs_no_counters(profile: Profile) -> None:
    """``--tools nsys`` starts no ncu, and the next run may add it."""
    done = profile(tools="nsys", FAKE_NCU_FAIL="permission")
    assert done.code == 0, done.err
    assert profile.commands() == []
    assert len(contents(profile.run)["trace_kernels.parquet"]) == 22
    assert profile("--no-tables", tools="both").code == 0
    assert len(profile.reports()) == 1
