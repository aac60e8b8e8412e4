"""``nsightlens explain``: one launch, named in several ways, in three formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from support.reports import attention_launch, gemm_launch, write_empty_report, write_report

from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from pathlib import Path

    from support.command import CommandLine


def test_it_shows_a_launch_on_one_screen(run: CommandLine) -> None:
    """What it is, the label, the roofs, the steps and what the warps wait for."""
    done = run("explain", "all.ncu-rep", "0", "--width", "100")
    assert (done.code, done.err) == (0, "")
    for word in ("kernel ", "-bound", "roofs", "step by step", "warps wait for"):
        assert word in done.out
    assert len(done.out.splitlines()) <= 60


def test_json_is_what_its_schema_says_and_has_every_number(run: CommandLine) -> None:
    """Of every launch of a report, also of one that failed and one that is no kernel."""
    count = len(json.loads(run("classify", "all.ncu-rep", "-f", "json").out)["rows"])
    schema = json.loads(published("explain"))
    for launch in range(count):
        answer = json.loads(run("explain", "all.ncu-rep", str(launch), "-f", "json").out)
        jsonschema.validate(answer, schema)
        (row,) = answer["rows"]
        assert row["launch_id"] == row["launch"]["launch_id"] == launch
        assert row["label"]["key"] == row["key"]


def test_several_matches_are_listed_and_none_is_chosen(run: CommandLine, tmp_path: Path) -> None:
    """On stderr, with the exit code of usage; stdout stays empty."""
    write_report(tmp_path, [gemm_launch()] * 25, name="many.ncu-rep")
    done = run("explain", "many.ncu-rep", "nvjet")
    assert (done.code, done.out) == (2, "")
    listed = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert listed[0].split()[0] == "0"
    assert listed[-1].strip() == "and 5 more"
    assert len(listed) == 21
    assert "'nvjet' matches 25 launches" in done.err.splitlines()[-1]
    assert "launch 2, " in run("explain", "many.ncu-rep", "nvjet", "--nth", "3").out


def test_a_folder_of_reports_lists_the_report_of_each_match(
    run: CommandLine, tmp_path: Path
) -> None:
    """A number alone is no name there."""
    (tmp_path / "two").mkdir()
    for name in ("a.ncu-rep", "b.ncu-rep"):
        write_report(tmp_path / "two", [gemm_launch()], name=name)
    done = run("explain", "two", "0")
    assert done.code == 2
    assert "a.ncu-rep" in done.err
    assert "b.ncu-rep" in done.err
    assert "b.ncu-rep, launch 0" in run("explain", "two", "0", "--nth", "2").out


def test_what_is_not_there_is_an_error_of_usage(run: CommandLine) -> None:
    """The message says what there is."""
    done = run("explain", "all.ncu-rep", "absent")
    assert (done.code, done.out) == (2, "")
    assert "no launch matches 'absent'. The report has" in done.err
    assert run("explain", "none.ncu-rep", "0").code == 2


def test_one_report_and_one_launch_are_taken(run: CommandLine) -> None:
    """Whoever names two reports learns so, and not that a number is not understood."""
    done = run("explain", "all.ncu-rep", "all.ncu-rep", "0")
    assert (done.code, done.out) == (2, "")
    assert "explain takes one REPORT, or a folder, and one LAUNCH, not 3 arguments" in done.err


@pytest.mark.parametrize("launch", [[], ["0"]])
def test_a_report_without_launches_has_nothing_to_explain(
    run: CommandLine, tmp_path: Path, launch: list[str]
) -> None:
    """Asked for one launch, an empty page would be no answer."""
    write_empty_report(tmp_path)
    done = run("explain", "empty.ncu-rep", *launch)
    assert (done.code, done.out) == (2, "")
    assert "the report holds no launch to explain" in done.err


def test_the_named_device_stands_beside_that_of_the_report(run: CommandLine) -> None:
    """Peaks are not of the GPU that the heading names."""
    words = ("all.ncu-rep", "--device", "nvidia a40")
    assert "  peaks     of A40, as named\n" in run("explain", *words[:1], "0", *words[1:]).out
    markdown = run("explain", *words[:1], "0", *words[1:], "-f", "markdown").out
    assert "| peaks | of A40, as named |" in markdown
    assert " · peaks of A40 · " in run("classify", *words).out


def test_the_suffix_of_the_output_chooses_the_format(run: CommandLine, tmp_path: Path) -> None:
    """And an existing file stays unless it is to be replaced."""
    assert run("explain", "all.ncu-rep", "0", "-o", "one.md").code == 0
    assert (tmp_path / "one.md").read_text(encoding="utf-8").startswith("# `")
    assert run("explain", "all.ncu-rep", "0", "-o", "one.md").code == 6
    assert run("explain", "all.ncu-rep", "0", "-o", "one.md", "--force").code == 0


def test_peaks_of_another_gpu_move_the_roofs(run: CommandLine) -> None:
    """As in classify: the same numbers against another peak."""
    row = json.loads(run("explain", "all.ncu-rep", "0", "-f", "json").out)["rows"][0]
    words = ("explain", "all.ncu-rep", "0", "-f", "json", "--device", "NVIDIA A100-SXM4-80GB")
    other = json.loads(run(*words).out)["rows"][0]
    assert row["label"]["duration_ns"] == other["label"]["duration_ns"]
    roofs = [{r["resource"]: r["peak_per_s"] for r in one["resources"]} for one in (row, other)]
    assert roofs[0]["dram"] != roofs[1]["dram"]


def test_classify_proposes_to_explain_the_longest_launch(run: CommandLine, tmp_path: Path) -> None:
    """The command that it prints works as it stands."""
    launches = [attention_launch(), gemm_launch()]
    write_report(tmp_path, launches, name="two.ncu-rep")
    rows = json.loads(run("classify", "two.ncu-rep", "-f", "json").out)["rows"]
    longest = max(rows, key=lambda row: row["duration_ns"])["launch_id"]
    proposed = [
        line.split("#")[0].split()[-4:]
        for line in run("classify", "two.ncu-rep", "--width", "160").out.splitlines()
        if "nsightlens explain" in line
    ]
    assert proposed == [["nsightlens", "explain", "two.ncu-rep", str(longest)]]
    assert run(*proposed[0][1:]).code == 0
