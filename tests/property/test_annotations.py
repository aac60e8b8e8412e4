"""What `nsightlens.annotate` writes is what `nsightlens.steps` reads."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nsightlens import annotate
from nsightlens.steps import read_path

COUNTS = st.none() | st.integers(1, 10**18 - 1)
WORK = st.none() | st.floats(0, allow_nan=False, allow_infinity=False) | st.integers(0, 10**30)
NAMES = st.text(st.characters(), min_size=1) | st.text(" %=/;@v1\n\t", min_size=1)


class _Heard:
    """A stand-in for our domain of NVTX, which keeps what is open as a path."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def push(self, text: str) -> None:
        """Open a range."""
        self.names.append(text)

    def pop(self) -> None:
        """Close nothing: the path is looked at later."""

    def path(self) -> str:
        """Return the path as readers of reports join it."""
        return f"nsightlens@{'/'.join(self.names)}"


@given(
    phase=st.sampled_from(["prefill", "decode", "mixed"]),
    batch_size=COUNTS,
    context=st.none() | st.integers(0, 10**18 - 1),
    query=COUNTS,
    name=NAMES,
    flop=WORK,
    bytes_=WORK,
)
def test_what_is_written_is_what_is_read(
    phase: Any,
    batch_size: int | None,
    context: int | None,
    query: int | None,
    name: str,
    flop: float | None,
    bytes_: float | None,
) -> None:
    """Any name, and every number."""
    heard = _Heard()
    before = annotate._is_asked, annotate._domain
    annotate._is_asked, annotate._domain = True, heard  # type: ignore[assignment]
    try:
        with annotate.step(phase, batch_size, context, query), annotate.op(name, flop, bytes_):
            pass
    finally:
        annotate._is_asked, annotate._domain = before
    found = read_path(heard.path())
    assert (found.phase, found.batch_size) == (phase, batch_size)
    assert (found.context_length, found.query_length) == (context, query)
    assert found.operation == name
    assert found.operation_flop == (None if flop is None else float(flop))
    assert found.operation_bytes == (None if bytes_ is None else float(bytes_))
