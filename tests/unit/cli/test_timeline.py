"""timeline: what each step of a trace spent its time on, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from support.timelines import write_decode_trace

from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine


def _json(run: CommandLine, *words: str) -> dict[str, Any]:
    done = run("timeline", str(write_decode_trace(Path())), *words, "-f", "json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("timeline")))
    return answer


def test_the_text_says_what_a_step_waits_for(run: CommandLine) -> None:
    """Steps, kernels, copies, gaps, and what could be gained, each with its number."""
    done = run("timeline", str(write_decode_trace(Path())), "--width", "120")
    assert done.code == 0, done.err
    assert done.out.startswith("2 steps: 1.40 us on the devices, busy 75 % of it, 5 kernels.")
    for words in ("Kernels by family", "Copies", "Longest gaps", "less host work: up to 14 %"):
        assert words in done.out
    assert "fewer synchronisations: nothing to gain (0 %" in done.out
    assert "note: 1 of 6 kernels were launched in no step" in done.out
    assert "note: 1 ranges of steps launched nothing" in done.out


@pytest.mark.parametrize("width", ["80", "100", "200"])
def test_no_line_is_wider_than_asked_for(run: CommandLine, width: str) -> None:
    """Columns are left out, and said to be."""
    text = run("timeline", str(write_decode_trace(Path())), "--width", width).out
    assert max(map(len, text.splitlines())) <= int(width)


def test_the_json_keeps_its_schema(run: CommandLine) -> None:
    """Rows are steps; the other tables stand beside them."""
    answer = _json(run, "--link-bandwidth", "pcie5")
    assert [row["batch_size"] for row in answer["rows"]] == [8, 16]
    assert answer["source"]["options"]["link_bandwidth"] == 63.0
    assert answer["gap_count"] == len(answer["gaps"]) == 5
    assert {row["advice"] for row in answer["advice"]} >= {"cuda_graph", "host_work"}


def test_csv_and_markdown_hold_the_same_steps(run: CommandLine) -> None:
    """One line each."""
    trace = str(write_decode_trace(Path()))
    rows = list(csv.DictReader(io.StringIO(run("timeline", trace, "-f", "csv").out)))
    assert [row["busy_ns"] for row in rows] == ["750", "300"]
    assert "## Longest gaps" in run("timeline", trace, "-f", "markdown").out


def test_only_as_many_rows_as_asked_for_are_shown(run: CommandLine) -> None:
    """And how many are hidden."""
    trace = str(write_decode_trace(Path()))
    assert "Longest gaps, 4 more not shown (--top)" in run("timeline", trace, "--top", "1").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("none.sqlite",), 3, "none.sqlite"),
        (("text.bin",), 4, "text.bin"),
        (("all.ncu-rep",), 4, "all.ncu-rep"),
        (("decode.sqlite", "--steps-from", "epoch"), 2, "none of the 3 NVTX ranges"),
        (("decode.sqlite", "--link-bandwidth", "fast"), 2, "no positive number"),
        (("decode.sqlite", "--short", "0"), 2, "no positive number"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    run: CommandLine, words: tuple[str, ...], code: int, message: str
) -> None:
    """With the exit code of the table."""
    write_decode_trace(Path())
    done = run("timeline", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_nothing_is_overwritten_without_force(run: CommandLine) -> None:
    """Least of all the trace."""
    trace = write_decode_trace(Path())
    before = trace.read_bytes()
    assert run("timeline", str(trace), "-f", "json", "-o", str(trace), "--force").code == 6
    assert trace.read_bytes() == before
