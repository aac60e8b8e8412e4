"""Whatever text is given as ``ncu --csv``: a report that holds together, or a typed error."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from hypothesis import example, given
from hypothesis import strategies as st

from nsightlens.errors import ReportFormatError
from nsightlens.ncucsv import looks_like_csv
from nsightlens.readers.ncu_csv import report_from_ncu_csv

PIECES = (
    '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
    '"ID","Process ID","Kernel Name","Grid Size","CC","a__x.sum","gpu__time_duration.sum"',
    ",ID,Process ID,Kernel Name,launch__grid_size",
    '"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"',
    '"0","1","k(int)","gpu__time_duration.sum","us","1,234.50"',
    '"","","","","","us","Mbyte"', '"0","1","k","(1, 2, 3)","9.0","1.234,5","nan"',
    "==PROF== Connected to process 1", "==ERROR== LaunchFailed", "n/a", "1e999", "9" * 400, "-0",
    "\n", "\n", "\n", '"', ",", ";", "\t", "\r", "\0", "\ufeff", "\ud800", "(!) ", " (1; 2)",
    "thread Domain:Push/Pop_Range:PL_Type", "1 a:b:c:d:e:f:g:h",
)  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=30).map("".join)


def read(content: bytes | str) -> None:
    modes: tuple[Literal["raise", "salvage"], ...] = ("raise", "salvage")
    for on_error in modes:
        with suppress(ReportFormatError):
            report = report_from_ncu_csv("x.csv", content, on_error=on_error)
            assert len(report) > 0
            for table in (report.launches, report.metrics, report.rules, report.nvtx):
                table.validate(full=True)


@given(texts)
@example("\n".join((PIECES[0], PIECES[4])))
@example("\n".join((PIECES[1], PIECES[5], PIECES[6])))
def test_any_text_is_a_report_or_a_typed_error(text: str) -> None:
    """Never another exception, and never a report without launches."""
    read(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_a_typed_error(content: bytes) -> None:
    """In whatever encoding they are taken to be."""
    looks_like_csv(content)
    read(content)


@given(st.data())
def test_a_damaged_text_is_a_report_or_a_typed_error(data: st.DataObject) -> None:
    """Pieces of a sound text removed, doubled or replaced."""
    text = "\n".join((PIECES[0], *[PIECES[4]] * 3, PIECES[1], PIECES[5], *[PIECES[6]] * 3))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + data.draw(st.sampled_from((*PIECES, ""))) + text[end:]
    read(text)
