"""Whatever a target prints, a diagnosis is made, and the target's words are not taken for ncu's."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.harness.diagnosis import CAUSES, Attempt, diagnose
from nsightlens.harness.diagnosis_lines import tool_lines
from nsightlens.harness.host import Host
from nsightlens.harness.options import NcuOptions

WORDS = (
    "ERR_NVGPUCTRPERM - The user does not have permission", "LaunchFailed", "out of memory",
    "Profiling failed because a driver resource was unavailable", "No kernels were profiled.",
    "unrecognised option '--x'", "==", "ERROR==", "\r", "\x1b[31m", "0%....50%", "step",
)  # fmt: skip
noise = st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=8).map("\n".join)
OF_NCU = frozenset(["counters_not_permitted", "driver_resource_held", "option_refused"])


@settings(max_examples=150)
@given(out=noise, err=noise, code=st.integers(-15, 255), count=st.none() | st.integers(0, 3))
def test_unmarked_words_are_never_those_of_ncu(
    out: str, err: str, code: int, count: int | None
) -> None:
    """A cause that only ncu can name is never found in them; any cause is one of the table."""
    text = "==PROF== Connected to process 1\n" + out
    attempt = Attempt("ncu", ("ncu",), code, False, text, err, Path("/nowhere/r.ncu-rep"), count,
                      NcuOptions())  # fmt: skip
    found = diagnose(attempt, Host(), (2025, 1))
    if found is None:
        assert count
        assert code == 0
        return
    assert found.cause in CAUSES
    is_marked = any(line.severity == "ERROR" for line in tool_lines(text) + tool_lines(err))
    assert is_marked or found.cause not in OF_NCU
    assert "\n" not in found.message


@settings(max_examples=100)
@given(before=noise, behind=noise)
def test_a_marked_line_is_found_between_any_others(before: str, behind: str) -> None:
    """At the beginning of a line, whatever is around it."""
    text = f"{before}\n==ERROR== ERR_NVGPUCTRPERM - The user does not have\n{behind}"
    attempt = Attempt("ncu", ("ncu",), 1, False, text, "", Path("/nowhere/r.ncu-rep"), None,
                      NcuOptions())  # fmt: skip
    found = diagnose(attempt, Host(), (2025, 1))
    assert found is not None
    assert found.cause in {"counters_not_permitted", "option_refused"}
