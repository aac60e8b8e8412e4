"""The bundled report is what the model writes, and says everywhere that it is synthetic."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.known_metrics import unknown_metrics

from nsightlens import example
from nsightlens.example.decode_sweep import (
    BATCH_SIZES,
    FILE_NAME,
    decode_sweep,
    encode_decode_sweep,
)
from nsightlens.ncurep import read_ncu_rep

if TYPE_CHECKING:
    from nsightlens.ncurep.model import NcuRepFile

SCRIPT = Path(__file__).parents[3] / "scripts" / "make_example.py"


@pytest.fixture(scope="module")
def bundled() -> NcuRepFile:
    """Return the bundled report, read."""
    return read_ncu_rep(example.path())


def test_the_bundled_report_is_what_the_model_writes_now() -> None:
    """After a change of the model, `python scripts/make_example.py` must be run again."""
    assert example.path().read_bytes() == encode_decode_sweep()


def test_the_bundled_report_is_small() -> None:
    """It travels with every installation."""
    assert example.path().stat().st_size < 500_000


def test_it_says_that_it_is_synthetic_wherever_it_can(bundled: NcuRepFile) -> None:
    """File, process, host, command line, versions and comment."""
    (session,) = bundled.sessions
    assert "synthetic" in FILE_NAME
    assert example.path().name == FILE_NAME
    assert session.process is not None
    assert "synthetic" in (session.process.process_name or "")
    assert "synthetic" in (session.process.host_name or "")
    assert "not measured" in (session.profiler_command_line or "")
    assert all("synthetic" in provider for provider in session.versions)
    assert b"nothing was measured" in example.path().read_bytes()


def test_every_batch_size_has_its_step(bundled: NcuRepFile) -> None:
    """Each launch lies in a step and in an operation of our own annotations."""
    steps: dict[str, int] = {}
    for result in bundled.results:
        assert result.nvtx is not None
        (ours,) = (domain for domain in result.nvtx if domain.name == "nsightlens")
        step, operation = (open_range.name for open_range in ours.push_pop)
        steps[step] = steps.get(step, 0) + 1
        assert operation.startswith("op v1 name=")
    assert list(steps) == [
        f"step v1 phase=decode batch_size={batch} context=500 query=1" for batch in BATCH_SIZES
    ]
    # Three batch sizes have a merge kernel besides the eleven launches.
    assert list(steps.values()) == [12, 12, 12, 11, 11, 11, 11, 11, 11, 11]


def test_an_operation_carries_its_useful_work(bundled: NcuRepFile) -> None:
    """2 B K N for a GEMM, in whole numbers."""
    names = [
        open_range.name
        for result in bundled.results
        for domain in result.nvtx or ()
        for open_range in domain.push_pop
    ]
    batch, k, n = 8, 2048, 8192
    flop, moved = 2 * batch * k * n, 2 * (k * n + batch * (k + n) + n)
    assert f"op v1 name=fc1 flop={flop} bytes={moved}" in names


def test_the_script_writes_the_report_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It replaces all files and says how large they became."""
    (tmp_path / FILE_NAME).write_bytes(b"old")
    monkeypatch.setattr(example, "path", lambda name: tmp_path / example.FILE_NAMES[name])
    monkeypatch.setattr(example, "serving_path", lambda: tmp_path / "sweep.csv")
    spec = importlib.util.spec_from_file_location("make_example", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main()
    assert (tmp_path / FILE_NAME).read_bytes() == encode_decode_sweep()
    assert (tmp_path / example.FILE_NAMES["short_context"]).is_file()
    assert capsys.readouterr().out.count(" bytes") == 3


def test_another_sweep_can_be_made() -> None:
    """Batch sizes and context are parameters."""
    found = [x for x in decode_sweep([3], 1000).launches if x.name == "flash_fwd_splitkv_kernel"]
    (launch,) = found
    assert launch.nvtx is not None
    assert "batch_size=3 context=1000" in launch.nvtx[1].push_pop[0].name


@pytest.mark.ncu_report
def test_every_counter_of_the_example_exists_on_the_chip() -> None:
    """NVIDIA's library can describe each of them for a GH100."""
    pytest.importorskip(
        "ncu_report", reason="NVIDIA's reader is not installed (pip install nsightlens[ncu])"
    )
    assert unknown_metrics(example.path()) == []
