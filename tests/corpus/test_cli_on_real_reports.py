"""Every command answers on every real report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from support.command import CommandLine

from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Return the command line."""
    return CommandLine(capsys)


@pytest.mark.parametrize("by", ["launch", "kernel", "family"])
def test_every_launch_of_every_report_has_a_label_or_a_reason(
    run: CommandLine, corpus_ncu: Path, by: str
) -> None:
    """And the JSON is what its schema says."""
    done = run("classify", str(corpus_ncu), "--by", by, "-f", "json")
    assert done.code == 0
    # None of them lies in a step that says its batch size, by which families are grouped.
    assert done.err.count("nsightlens: ") == (1 if by == "family" else 0)
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("classify")))
    assert sum(row["launch_count"] for row in answer["rows"]) == 261
    assert all(row["reason"] for row in answer["rows"] if row["bound"] == "unknown")
    keys = [(row["report"], row["key"]) for row in answer["rows"]]
    assert len(set(keys)) == len(keys), "a key names one row of a report"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_about_a_real_report_is_wider_than_the_terminal(
    run: CommandLine, corpus_ncu: Path, width: int
) -> None:
    """Except a command, which is there to be copied."""
    for by in ("launch", "kernel", "family"):
        done = run("classify", str(corpus_ncu), "--by", by, "--reasons", "--width", str(width))
        assert done.code == 0
        wide = [line for line in done.out.splitlines() if len(line) > width]
        assert all("nsightlens " in line for line in wide), wide


def test_info_describes_every_report(run: CommandLine, corpus_ncu: Path) -> None:
    """As text and as JSON."""
    assert run("info", str(corpus_ncu)).code == 0
    answer = json.loads(run("info", str(corpus_ncu), "-f", "json").out)
    jsonschema.validate(answer, json.loads(published("info")))
    assert len(answer["rows"]) == 31


def test_every_value_of_every_report_can_be_written(
    run: CommandLine, corpus_reports: list[Path]
) -> None:
    """As JSON that its schema allows, and as CSV with as many rows."""
    for report in corpus_reports[::6]:
        answer = json.loads(run("metrics", str(report), "--like", "*", "-f", "json").out)
        jsonschema.validate(
            {**answer, "rows": answer["rows"][:500]}, json.loads(published("metrics"))
        )
        text = run("metrics", str(report), "--like", "*", "-f", "csv").out
        assert text.count("\r\n") == 1 + len(answer["rows"])
