"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from nsightlens.ncurep.scanner import compiled_scanner

# A shell that starts the tests in the background lets them ignore interrupts, and all that they
# start with them; some of that is to be interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"

# `make test` gives the same verdict twice. HYPOTHESIS_PROFILE=explore looks further each time.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(params=["c", "python"])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let reports be read by each of the two scanners in turn."""
    if request.param == "c" and compiled_scanner() is None:
        pytest.skip("this installation has no compiled scanner")
    monkeypatch.setenv("NSIGHTLENS_SCANNER", request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def corpus_ncu() -> Path:
    """Return the folder of real .ncu-rep reports that lies beside the checkout, or skip."""
    folder = CORPUS / "ncu"
    if not folder.is_dir():
        pytest.skip("the corpus of real reports does not lie beside this checkout")
    return folder


@pytest.fixture(scope="session")
def corpus_reports(corpus_ncu: Path) -> list[Path]:
    """Return the real reports, in the order of their names."""
    reports = sorted(corpus_ncu.glob("*.ncu-rep"))
    assert reports, f"{corpus_ncu} holds no report"
    return reports
