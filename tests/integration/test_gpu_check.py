"""scripts/gpu_check.sh from end to end, with fakes in place of the profilers and of the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.fakes import install
from support.profiled import PYTHON_PATH

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check.sh"

pytestmark = pytest.mark.slow


def _run(folder: Path, **variables: str) -> tuple[int, str, Any]:
    """Run it, and return its exit status, what it printed and its summary."""
    install(folder / "bin")
    done = subprocess.run(
        [str(SCRIPT), str(folder / "out")],
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
            "PYTHONPATH": PYTHON_PATH,
            "PYTHON": sys.executable,
            "TMPDIR": str(folder),
            "DEVICE": "cpu",
            "MODELS": "opt-1.3b",
            "BATCH_SIZES": "8,128",
            "LAYERS": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert not list(folder.glob("gpu_check.*"))  # its working folder
    return done.returncode, done.stdout, json.loads((folder / "out/summary.json").read_text())


def test_every_stage_is_run_and_every_check_made(tmp_path: Path) -> None:
    """What is kept can be read, and names no folder of this machine."""
    code, text, summary = _run(tmp_path)
    assert {stage["stage"]: stage["exit_status"] for stage in summary["stages"]} == dict.fromkeys(
        ["doctor", "ncu-opt-1.3b", "both-opt-1.3b", "sweep-opt-1.3b", "reports-opt-1.3b"], "0"
    ), text
    assert {check["has_passed"] for check in summary["checks"]} == {True}
    assert code == 0
    assert summary["doctor"]
    assert summary["models"]["opt-1.3b"]["device"]["multiprocessor_count"] == 132
    with tarfile.open(tmp_path / "out" / "gpu_check.tar.gz") as archive:
        names = archive.getnames()
        manifest = archive.extractfile("reports/opt-1.3b.manifest.json")
        assert manifest is not None
        assert f"{tmp_path}/gpu_check" not in manifest.read().decode()
    assert "reports/opt-1.3b-ncu-batch-0128.ncu-rep" in names
    assert "tables/opt-1.3b/joined.parquet" in names
    assert "logs/opt-1.3b/ncu-batch-0008.log" in names


def test_a_stage_that_fails_does_not_stop_the_next(tmp_path: Path) -> None:
    """Without counters there is a summary that says so."""
    code, text, summary = _run(tmp_path, BATCH_SIZES="8", FAKE_NCU_FAIL="permission", NSYS="none")
    assert code == 1
    assert "ERR_NVGPUCTRPERM" in text
    statuses = {stage["stage"]: stage["exit_status"] for stage in summary["stages"]}
    assert statuses == {"doctor": "0", "ncu-opt-1.3b": "7"}
    assert [check["has_passed"] for check in summary["checks"]] == [None]


def test_no_stage_begins_when_the_time_is_over(tmp_path: Path) -> None:
    """And the summary still comes."""
    code, _, summary = _run(tmp_path, SECONDS_ALL="0")
    assert code == 1
    assert {stage["exit_status"] for stage in summary["stages"]} == {"no time left"}
