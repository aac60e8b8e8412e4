"""Logs of ncu that others published: each is told by what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsightlens.harness.diagnosis import Attempt, diagnose
from nsightlens.harness.host import Host
from nsightlens.harness.options import NcuOptions

pytestmark = pytest.mark.corpus

# What ended each run, as its log shows. Exit codes were not published: 1 where an error is told.
CAUSES = {
    "Mlightsnow__DD2360-llm.c__fp32_ncu.txt": "counters_not_permitted",
    "bwd29__self-join-MiSTIC__results_old_profBINCOTSS1.out": "target_failed",
    "bwd29__self-join-MiSTIC__results_old_results3prof.out": "target_failed",
    "bwd29__self-join-MiSTIC__results_old_results5prof.out": "target_failed",
    "bwd29__self-join-MiSTIC__results_old_results5prof_at_68baa7a9.out": "report_exists",
    "bwd29__self-join-MiSTIC__results_prof.out": "kernel_not_profiled",
}


def _attempt(text: str, *, count: int | None) -> Attempt:
    code = int("==ERROR==" in text)
    report = Path("/nowhere/report.ncu-rep")
    return Attempt("ncu", ("ncu",), code, False, text, "", report, count, NcuOptions())


@pytest.fixture
def logs(corpus_ncu: Path) -> Path:
    """Return the folder of logs."""
    folder = corpus_ncu.parent / "ncu-csv"
    if not folder.is_dir():
        pytest.skip("the corpus has no logs of ncu")
    return folder


@pytest.mark.parametrize("name", CAUSES)
def test_a_log_of_a_failure_is_told(logs: Path, name: str) -> None:
    """Whatever the target printed between the lines of ncu."""
    text = (logs / name).read_text(encoding="utf-8", errors="replace")
    found = diagnose(_attempt(text, count=None), Host(), (2024, 1))
    assert found is not None
    assert found.cause == CAUSES[name]


def test_a_log_without_an_error_is_none(logs: Path) -> None:
    """Of every other log and table of ncu, if its report holds launches."""
    others = [path for path in sorted(logs.iterdir()) if path.name not in CAUSES]
    read = 0
    for path in others:
        text = path.read_text(encoding="utf-8", errors="replace")
        if "==ERROR==" not in text:
            read += 1
            assert diagnose(_attempt(text, count=1), Host(), (2024, 1)) is None, path.name
    assert read > 20
