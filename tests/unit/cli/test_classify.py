"""classify: rows, filters, order and formats."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.reports import PROCESS, attention_launch, gemm_launch, make_launch, write_report

from nsightlens import classify, open_report, tables
from nsightlens.ncurep.model import DEFAULT_DOMAIN, NvtxDomainState, NvtxRange

if TYPE_CHECKING:
    from support.command import CommandLine


def _rows(run: CommandLine, *words: str) -> list[dict[str, Any]]:
    done = run("classify", *words, "-f", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


def test_every_launch_has_a_label_or_a_reason(run: CommandLine) -> None:
    """What is not decided is unknown, and says why."""
    rows = _rows(run, "all.ncu-rep")
    assert [row["bound"] for row in rows] == ["memory", "compute", "memory", "unknown", "unknown"]
    assert all(row["reason"] for row in rows)


def test_a_row_has_every_column_of_the_table_of_labels(run: CommandLine) -> None:
    """In its order."""
    assert list(_rows(run, "all.ncu-rep")[0]) == [column.name for column in tables.LABELS]


def test_csv_and_json_say_the_same(run: CommandLine) -> None:
    """One row per launch, an empty cell for null."""
    text = run("classify", "all.ncu-rep", "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for ours, theirs in zip(rows, _rows(run, "all.ncu-rep"), strict=True):
        for name, value in theirs.items():
            if value is None:
                assert ours[name] == ""
            elif isinstance(value, float):
                assert float(ours[name]) == value
            else:
                assert ours[name] == (str(value).lower() if value in (True, False) else str(value))


@pytest.mark.parametrize(
    ("words", "launch_ids"),
    [
        (["--kernel", "flash"], [0, 4]),
        (["--kernel", "flash", "--kernel", "nothing"], [0, 4]),
        (["--nvtx", "nothing", "--nvtx", "*batch_size=512*"], [1]),
        (["--family", "gemm"], [1]),
        (["--family", "gemm", "--family", "attention"], [0, 1, 4]),
        (["--grid", "*,1,1"], [1, 2, 3]),
        (["--nvtx", "*batch_size=512*"], [1]),
        (["--kernel", "flash", "--nvtx", "*name=attention"], [0]),
    ],
)
def test_a_launch_is_kept_that_passes_all_filters(
    run: CommandLine, words: list[str], launch_ids: list[int]
) -> None:
    """Values of one filter are alternatives, filters are not."""
    assert [row["launch_id"] for row in _rows(run, "all.ncu-rep", *words)] == launch_ids


def test_a_filter_changes_neither_the_key_nor_the_label_of_a_launch(run: CommandLine) -> None:
    """Only the share of the duration, which is that of the rows."""
    every = {row["launch_id"]: row for row in _rows(run, "all.ncu-rep")}
    for row in _rows(run, "all.ncu-rep", "--kernel", "flash"):
        whole = every[row["launch_id"]]
        assert {**row, "duration_share_pct": None} == {**whole, "duration_share_pct": None}
    (only,) = _rows(run, "all.ncu-rep", "--family", "gemm")
    assert only["duration_share_pct"] == pytest.approx(100.0)


@pytest.mark.parametrize("by", ["launch", "kernel", "family"])
def test_a_filter_leaves_a_launch_in_the_range_that_it_shares(run: CommandLine, by: str) -> None:
    """The shape of the range is that of both kernels, also where only one of them is shown."""
    names = ("flash_fwd_splitkv_kernel", "flash_fwd_splitkv_combine_kernel")
    operation = NvtxRange("nsightlens@op v1 name=attention flop=1e9 bytes=2e8")
    state = [NvtxDomainState(0, DEFAULT_DOMAIN, (operation,))]
    duration = {"gpu__time_duration.sum": 90_000.0}
    write_report(
        Path(), [make_launch(name, duration, nvtx=state) for name in names], name="r.ncu-rep"
    )
    words = ["r.ncu-rep", "--by", by, "--kernel", names[0]]
    (row,) = _rows(run, *words)
    assert (row["bound"], row["evidence"]) == ("unknown", "none")
    report = open_report("r.ncu-rep")
    assert report.launches["is_alone_in_range"].to_pylist() == [False, False]
    (label,) = classify(report.filter(np.array([True, False]))).labels.to_pylist()
    assert label["bound"] == "unknown"


def test_launches_can_be_shown_by_duration_and_only_the_first_few(run: CommandLine) -> None:
    """The summary is still that of all."""
    rows = _rows(run, "all.ncu-rep", "--sort", "duration", "--limit", "2")
    assert [row["launch_id"] for row in rows] == [0, 2]
    text = run("classify", "all.ncu-rep", "--limit", "1").out
    assert "... and 4 rows more" in text
    assert "unknown: 2 of 5 launches" in text


def test_families_stand_together_along_the_batch_size(run: CommandLine) -> None:
    """The family with the most time first; duration or file order on request."""
    launches = [gemm_launch(512), attention_launch(64), gemm_launch(8), attention_launch(1)]
    write_report(Path(), launches, name="sweep.ncu-rep")
    rows = _rows(run, "sweep.ncu-rep", "--by", "family")
    assert [(row["family"], row["batch_size"]) for row in rows] == [
        ("attention", 1),
        ("attention", 64),
        ("gemm", 8),
        ("gemm", 512),
    ]
    by_time = _rows(run, "sweep.ncu-rep", "--by", "family", "--sort", "duration")
    assert by_time[0]["batch_size"] == 64
    text = run("classify", "sweep.ncu-rep", "--by", "family").out
    assert "batch size" in text, "the picture along the batch size is shown"


def test_groups_name_the_kernel_or_the_family(run: CommandLine) -> None:
    """And count their launches."""
    kernels = _rows(run, "all.ncu-rep", "--by", "kernel")
    assert sum(row["launch_count"] for row in kernels) == 5
    assert all(row["launch_id"] is None and row["kernel"] for row in kernels)


def test_reasons_are_shown_on_request_or_where_the_rows_are_few(run: CommandLine) -> None:
    """Twelve rows with their reasons fill a screen."""
    assert "memory-bound, saturated" in run("classify", "all.ncu-rep").out
    assert "memory-bound, saturated" not in run("classify", "all.ncu-rep", "--no-reasons").out
    write_report(Path(), [gemm_launch()] * 13, name="many.ncu-rep")
    assert "compute-bound" not in run("classify", "many.ncu-rep").out
    assert "compute-bound" in run("classify", "many.ncu-rep", "--reasons").out


def test_markdown_has_a_row_per_launch(run: CommandLine) -> None:
    """With reasons where they are asked for, and the report where there are several."""
    text = run("classify", "all.ncu-rep", "-f", "markdown", "--reasons").out
    assert text.startswith("| # | kernel | family |")
    assert "| reason |" in text.splitlines()[0]
    assert len(text.splitlines()) == 7
    write_report(Path(), [gemm_launch()], name="b.ncu-rep")
    assert run("classify", "all.ncu-rep", "b.ncu-rep", "-f", "markdown").out.startswith("| report")


def test_full_names_have_their_template_arguments(run: CommandLine) -> None:
    """For those who must tell two instantiations apart."""
    assert "Flash_fwd_kernel_traits" in run("classify", "all.ncu-rep", "--full-names",
                                            "--width", "400").out  # fmt: skip


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 400])
@pytest.mark.parametrize("by", ["launch", "kernel", "family"])
def test_no_line_of_the_answer_is_wider_than_the_terminal(
    run: CommandLine, width: int, by: str
) -> None:
    """Except a command, which is there to be copied."""
    done = run("classify", "all.ncu-rep", "--by", by, "--width", str(width))
    assert done.code == 0
    for line in done.out.splitlines():
        assert len(line) <= width or "nsightlens " in line, line


def test_a_report_without_a_launch_that_passes_is_not_shown(run: CommandLine) -> None:
    """Only the table: JSON names everything that was read."""
    write_report(Path(), [gemm_launch()], name="b.ncu-rep")
    text = run("classify", "all.ncu-rep", "b.ncu-rep", "--family", "attention").out
    assert text.startswith("all.ncu-rep")
    assert "b.ncu-rep ·" not in text
    assert "no launches" not in text


def test_the_same_command_gives_the_same_bytes(run: CommandLine) -> None:
    """No time stamp and no order of chance is in a result."""
    for form in ("table", "json", "csv", "markdown"):
        words = ("classify", "all.ncu-rep", "-f", form)
        assert run(*words).out == run(*words).out


def test_several_reports_have_a_heading_each_and_one_summary(run: CommandLine) -> None:
    """Sorted by duration, the report becomes a column."""
    write_report(Path(), [gemm_launch()], name="b.ncu-rep")
    text = run("classify", "all.ncu-rep", "b.ncu-rep", "none.ncu-rep").out
    for name in ("all.ncu-rep", "b.ncu-rep", "none.ncu-rep"):
        assert sum(line.startswith(name) for line in text.splitlines()) == 1
    by_time = run("classify", "all.ncu-rep", "b.ncu-rep", "--sort", "duration").out
    assert by_time.startswith("2 reports · NVIDIA H100 80GB HBM3")
    assert sum(line.startswith("b.ncu-rep") for line in by_time.splitlines()) == 1


@pytest.mark.parametrize("words", [["x\x1b[31m.ncu-rep"], ["all.ncu-rep", "--no\x1b[31m"]])
def test_an_argument_cannot_steer_the_terminal_that_shows_the_error(
    run: CommandLine, words: list[str]
) -> None:
    """It is repeated with a question mark in place of what is no sign."""
    done = run("classify", *words)
    assert done.code != 0
    assert "?[31m" in done.err
    assert "\x1b" not in done.err


def test_the_processes_of_one_report_are_told_apart(run: CommandLine) -> None:
    """Also where a kernel and its GPU are the same."""
    other = replace(PROCESS, process_id=4343)
    launches = [gemm_launch(), replace(gemm_launch(), process=other)]
    write_report(Path(), launches, name="two.ncu-rep")
    lines = run("classify", "two.ncu-rep", "--width", "100").out.splitlines()
    assert [number for line in lines for number in ("4242", "4343") if number in line.split()] == [
        "4242",
        "4343",
    ]
    rows = json.loads(run("classify", "two.ncu-rep", "-f", "json").out)["rows"]
    assert [(row["kind"], row["process_id"], row["device_id"]) for row in rows] == [
        ("kernel", 4242, 0),
        ("kernel", 4343, 0),
    ]
