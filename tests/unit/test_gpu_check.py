"""The last stage of scripts/gpu_check.sh: what was counted beside what the shapes need."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
from nsightlens.ncurep.write import write_ncu_rep

Check: TypeAlias = Callable[..., tuple[int, str, Any]]
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check.py"


@pytest.fixture
def check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Check:
    main = runpy.run_path(str(SCRIPT))["main"]

    def run(stage: str = "0") -> tuple[int, str, Any]:
        lines = ("stage\texit_status\tseconds", f"ncu-m\t{stage}\t9", "")
        (tmp_path / "stages.tsv").write_text("\n".join(lines))
        monkeypatch.setattr(sys, "argv", ["gpu_check.py", str(tmp_path)])
        code = main()
        return code, capsys.readouterr().out, json.loads((tmp_path / "summary.json").read_text())

    return run


def _write(folder: Path, **changed: float | None) -> None:
    """Write the bundled sweep as it would be in few passes, with some metrics changed."""
    reports = folder / "runs" / "m" / "reports"
    reports.mkdir(parents=True)
    few = {"profiler__replayer_passes": 9.0, **changed}
    launches = [
        LaunchSpec(
            name=launch.name,
            demangled_name=launch.demangled_name,
            grid=launch.grid,
            block=launch.block,
            nvtx=launch.nvtx,
            metrics={
                name: _changed(name, value, few)
                for name, value in dict(launch.metrics).items()  # type: ignore[arg-type]
            },
        )
        for launch in decode_sweep([8, 128, 512]).launches
    ]
    write_ncu_rep(reports / "m.ncu-rep", ReportSpec(launches=launches))


def _changed(name: str, value: Any, few: dict[str, float | None]) -> Any:
    if name not in few:
        return value
    return few[name] if name.startswith("profiler") or few[name] is None else value * few[name]


def _verdicts(summary: Any) -> dict[str, bool | None]:
    return {check["what"]: check["has_passed"] for check in summary["checks"]}


def test_what_agrees_is_a_success(tmp_path: Path, check: Check) -> None:
    """Every check passes, and the device is described."""
    _write(tmp_path)
    code, text, summary = check()
    assert set(_verdicts(summary).values()) == {True}, text
    assert code == 0
    assert summary["models"]["m"]["device"]["global_memory_bus_width"] == 5120


def test_bytes_that_differ_are_no_success(tmp_path: Path, check: Check) -> None:
    """A fifth less than the shapes need, at large batch only."""
    _write(tmp_path, **{"dram__bytes_read.sum": 0.8})
    code, text, summary = check()
    assert code == 1
    assert text.count("DIFFERS") == 4
    assert {what for what, passed in _verdicts(summary).items() if passed is False} == {
        f"DRAM bytes of {what}, batch {batch}"
        for what in ("GEMM (dense)", "attention (flash_splitkv)")
        for batch in (128, 512)
    }


def test_what_was_not_measured_is_no_success(tmp_path: Path, check: Check) -> None:
    """Without the counter of the bytes nothing is said of them."""
    _write(tmp_path, **{"dram__bytes_read.sum": None, "dram__bytes.sum.per_second": None})
    code, text, _ = check()
    assert code == 1
    assert "NOT MEASURED" in text


def test_without_a_report_nothing_was_measured(tmp_path: Path, check: Check) -> None:
    """A run that ended early still gives a summary."""
    (tmp_path / "runs" / "m").mkdir(parents=True)
    code, text, summary = check("124")
    assert code == 1
    assert "NOT MEASURED" in text
    assert _verdicts(summary) == {"reports": None}


def test_a_failed_stage_is_no_success(tmp_path: Path, check: Check) -> None:
    """Even where the checks pass."""
    _write(tmp_path)
    assert check("1")[0] == 1
