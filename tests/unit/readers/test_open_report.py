"""A file becomes a Report: identity, tables beside the launches, several files, damage."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

import pytest
from support.reports import (
    PROCESS,
    attention_launch,
    everything,
    failed_launch,
    gemm_launch,
    make_launch,
    write_empty_report,
    write_report,
)

import nsightlens
from nsightlens import tables
from nsightlens.errors import NotAReportError, ReportNotFoundError, SalvageWarning
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange
from nsightlens.ncurep.spec import LaunchSpec, MetricSpec
from nsightlens.readers import find_reports, open_report


def test_a_launch_is_one_row_with_its_identity(tmp_path: Path) -> None:
    """Ids, names and extents come from the result itself."""
    path = write_report(tmp_path, [gemm_launch(), attention_launch(batch_size=8)])
    report = open_report(path)
    row = report.launches.to_pylist()[1]
    assert len(report) == 2
    assert row["report"] == str(path)
    assert row["launch_id"] == 1
    assert row["kind"] == "kernel"
    assert row["kernel_name"] == "flash_fwd_splitkv_kernel"
    assert row["kernel_demangled_name"].startswith("void flash::flash_fwd_splitkv_kernel<")
    assert row["process_id"] == PROCESS.process_id
    assert (row["grid_x"], row["grid_y"], row["grid_z"]) == (1, 8, 32)
    assert row["grid_block_count"] == 256
    assert row["block_thread_count"] == 128
    assert row["device_name"] == "NVIDIA H100 80GB HBM3"
    assert row["compute_capability"] == "9.0"
    assert row["duration_ns"] > 0
    assert row["dram_bytes"] == row["dram_read_bytes"] + row["dram_write_bytes"]


def test_the_tables_have_the_documented_schemas(tmp_path: Path) -> None:
    """Names and types are a promise, whatever a report lacks."""
    report = open_report(write_report(tmp_path, everything()), instances=True)
    for columns, table in (
        (tables.LAUNCHES, report.launches), (tables.STALLS, report.stalls),
        (tables.METRICS, report.metrics), (tables.RULES, report.rules), (tables.NVTX, report.nvtx),
        (tables.SESSIONS, report.sessions), (tables.INSTANCES, report.instances),
    ):  # fmt: skip
        assert [(f.name, f.type) for f in table.schema] == [(c.name, c.type) for c in columns]
        table.validate(full=True)


def test_a_failed_collection_has_no_extent_and_no_measurement(tmp_path: Path) -> None:
    """The 0,0,0 grid and the NaN duration of a cut launch are not numbers to compute with."""
    row = open_report(write_report(tmp_path, [failed_launch()])).launches.to_pylist()[0]
    assert row["is_failed_collection"] is True
    assert row["grid_x"] is None
    assert row["grid_block_count"] is None
    assert row["duration_ns"] is None


def test_an_nvtx_path_names_domains_stacks_and_start_end_ranges(tmp_path: Path) -> None:
    """The default domain is not spelled out; others are, in ncu's own notation."""
    state = [
        NvtxDomainState(0, "<default domain>", (NvtxRange("outer"), NvtxRange("inner"))),
        NvtxDomainState(7, "mine", (NvtxRange("step"),), (NvtxRange("whole", range_id=3),)),
    ]
    report = open_report(write_report(tmp_path, [make_launch(nvtx=state), make_launch(nvtx=None)]))
    assert report.launches["nvtx_path"].to_pylist() == ["outer/inner;mine@step;mine@whole", None]
    assert report.launches["is_alone_in_range"].to_pylist() == [True, None]
    columns = ["domain", "range_kind", "depth", "name"]
    assert [tuple(row.values()) for row in report.nvtx.select(columns).to_pylist()] == [
        ("<default domain>", "push_pop", 0, "outer"),
        ("<default domain>", "push_pop", 1, "inner"),
        ("mine", "push_pop", 0, "step"),
        ("mine", "start_end", None, "whole"),
    ]


def test_rules_and_sessions_are_tables(tmp_path: Path) -> None:
    """NVIDIA's messages keep their severity; the session its versions and command line."""
    report = open_report(write_report(tmp_path, [gemm_launch()]))
    rule = report.rules.to_pylist()[0]
    assert (rule["rule"], rule["severity"]) == ("SOLBottleneck", "warning")
    session = report.sessions.to_pylist()[0]
    assert session["process_id"] == PROCESS.process_id
    assert session["ncu_version"].startswith("2025.1.0.0")
    assert session["driver_version"] == "560.28.03"
    assert session["cuda_version"] == "12.6"
    assert session["profiler_command_line"].startswith("ncu --set full")
    assert session["created_at"] == datetime.fromtimestamp(1_740_308_185, tz=timezone.utc)


def test_instances_are_read_only_for_the_metrics_asked_for(tmp_path: Path) -> None:
    """Instances are most of a full report; nobody pays for them unasked."""
    launch = make_launch(
        metrics={"a__x": 5.0, "b__x": 6},
        instances={"a__x": [(2**63, 1.5), (2, 2.5)], "b__x": [("HMMA", 7)]},
    )
    path = write_report(tmp_path, [make_launch(), launch])
    assert open_report(path).instances.num_rows == 0
    only_b = open_report(path, instances=["b__*"]).instances.to_pylist()
    assert [(row["metric"], row["correlation_text"], row["integer"]) for row in only_b] == [
        ("b__x", "HMMA", 7)
    ]
    both = open_report(path, instances=True).instances.to_pylist()
    assert [
        (row["launch_id"], row["metric"], row["instance"], row["correlation_integer"], row["value"])
        for row in both
    ] == [(1, "a__x", 0, 2**63, 1.5), (1, "a__x", 1, 2, 2.5), (1, "b__x", 0, None, 7.0)]


def test_of_a_metric_that_is_stored_twice_the_instances_of_the_last_count(tmp_path: Path) -> None:
    """As its value does; otherwise an instance would have two rows."""
    twice = [MetricSpec("m", 1, [(0, 10), (1, 11)]), MetricSpec("m", 2, [(0, 20)])]
    path = write_report(tmp_path, [LaunchSpec(name="k", metrics=twice)])
    rows = open_report(path, instances=True).instances.to_pylist()
    assert [(row["instance"], row["correlation_integer"], row["integer"]) for row in rows] == [
        (0, 0, 20)
    ]


def test_a_path_that_is_no_utf8_is_spelled_the_same_everywhere(tmp_path: Path) -> None:
    """Sources, tables and warnings name one file in one way."""
    given = os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.ncu-rep")
    try:
        Path(given).write_bytes(write_report(tmp_path, [gemm_launch()]).read_bytes())
    except OSError:
        pytest.skip("this file system holds no name that is not UTF-8")
    report = open_report(given)
    assert report.sources == (f"{tmp_path}/bad\\xff.ncu-rep",)
    assert report.launches["report"].to_pylist() == list(report.sources)
    assert report.sessions["report"].to_pylist() == list(report.sources)


def test_bytes_that_are_no_utf8_are_shown_escaped(tmp_path: Path) -> None:
    """A name in another encoding neither fails nor is lost."""
    broken = b"kern\xe9l".decode("utf-8", "surrogateescape")
    report = open_report(write_report(tmp_path, [make_launch(broken, {broken: 1.0})]))
    assert report.launches["kernel_name"].to_pylist() == ["kern\\xe9l"]
    assert "kern\\xe9l" in report.metric_names


def test_several_reports_become_one_in_the_order_given(tmp_path: Path) -> None:
    """The launch ids start again in each report."""
    first = write_report(tmp_path, [gemm_launch(), gemm_launch()], name="1.ncu-rep")
    second = write_report(tmp_path, [attention_launch()], name="2.ncu-rep")
    report = open_report([second, first])
    assert report.launches["launch_id"].to_pylist() == [0, 0, 1]
    assert report.sources == (str(second), str(first))


def test_a_report_of_zero_launches_is_a_report(tmp_path: Path) -> None:
    """A sound file may hold nothing; its tables are empty, with their columns."""
    report = open_report(write_empty_report(tmp_path))
    assert len(report) == 0
    assert report.launches.schema.names == [column.name for column in tables.LAUNCHES]


def test_a_cut_report_fails_unless_salvage_is_asked_for(tmp_path: Path) -> None:
    """What is read before the cut equals the same launches of the whole file."""
    path = write_report(tmp_path, [gemm_launch(), attention_launch()])
    whole = open_report(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 3 // 4])
    with pytest.raises(nsightlens.NsightLensError, match=r"report\.ncu-rep: at byte"):
        open_report(path)
    with pytest.warns(SalvageWarning, match="1 sound launch salvaged"):
        salvaged = open_report(path, on_error="salvage")
    assert len(salvaged) == 1
    assert salvaged.warnings
    assert salvaged.launches.to_pylist() == whole.launches.slice(0, 1).to_pylist()


@pytest.mark.parametrize("content", [b"", b"hello, this is text", b"\x01\x02", b"NVR\0"])
def test_what_is_no_report_is_never_an_empty_report(tmp_path: Path, content: bytes) -> None:
    """Bad input never gives an empty success, salvage or not."""
    path = tmp_path / "bad.ncu-rep"
    path.write_bytes(content)
    for on_error in ("raise", "salvage"):
        with pytest.raises(nsightlens.NsightLensError, match=r"bad\.ncu-rep"):
            open_report(path, on_error=on_error)


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """Report and launch_id together name one launch."""
    first = write_report(tmp_path, [gemm_launch()], name="1.ncu-rep")
    second = write_report(tmp_path, [gemm_launch()], name="2.ncu-rep")
    report = open_report([first, second, tmp_path / "." / "1.ncu-rep"])
    assert report.sources == (str(first), str(second))


def test_any_path_like_object_is_a_path(tmp_path: Path) -> None:
    """Such as the entry of a directory listing."""
    write_report(tmp_path, [gemm_launch()])
    with os.scandir(tmp_path) as entries:
        assert len(open_report(next(entries))) == 1


def test_one_pattern_of_instances_needs_no_list(tmp_path: Path) -> None:
    """A string is a name, not a sequence of letters."""
    launch = make_launch(metrics={"a__x": 5.0}, instances={"a__x": [(1, 1.5)]})
    path = write_report(tmp_path, [launch])
    assert open_report(path, instances="a__*").instances.num_rows == 1


def test_an_unknown_way_to_treat_errors_is_refused(tmp_path: Path) -> None:
    """A typing error must not turn a failure into a salvage."""
    path = write_report(tmp_path, [gemm_launch()])
    with pytest.raises(ValueError, match="'Raise'"):
        open_report(path, on_error="Raise")  # type: ignore[arg-type]


def test_no_path_at_all_is_an_error() -> None:
    """An empty list of files is a mistake of the caller, not an empty report."""
    with pytest.raises(ReportNotFoundError, match="no report was given"):
        open_report([])


def test_a_directory_is_no_report(tmp_path: Path) -> None:
    """open_report takes files; find_reports expands folders."""
    with pytest.raises(NotAReportError, match="directory"):
        open_report(tmp_path)


def test_progress_is_told_to_the_caller(tmp_path: Path) -> None:
    """A long read can show how far it is."""
    path = write_report(tmp_path, [gemm_launch()] * 3)
    told: list[tuple[str, int, int]] = []
    open_report(path, progress=lambda *args: told.append(args))
    assert told[-1] == (str(path), 3, 3)


def test_a_folder_stands_for_the_reports_in_it(tmp_path: Path) -> None:
    """Folders are searched in depth; files stay as named, once each."""
    (tmp_path / "deep").mkdir()
    inner = write_report(tmp_path / "deep", [gemm_launch()], name="b.ncu-rep")
    outer = write_report(tmp_path, [gemm_launch()], name="a.ncu-rep")
    other = tmp_path / "note.txt"
    other.write_text("x", encoding="utf-8")
    assert find_reports([tmp_path]) == [outer, inner]
    assert find_reports([other, outer, tmp_path]) == [other, outer, inner]


def test_a_folder_of_text_says_how_to_name_it(tmp_path: Path) -> None:
    """It is not looked for there, where other text lies; the error says what to do."""
    (tmp_path / "run.csv").write_text("text")
    (tmp_path / "run2.csv").write_text("text")
    told: list[str] = []
    assert find_reports([tmp_path], on_error=lambda error: told.append(str(error))) == []
    assert told[0].startswith(f"{tmp_path}: the folder holds no .ncu-rep file, but 2 text files. ")
    assert told[0].endswith(f"name it, as {tmp_path / '*.csv'} does.")


def test_a_folder_stands_for_compressed_reports_too(tmp_path: Path) -> None:
    """And not for other text, which may be anything."""
    names = ["a.ncu-rep", "b.ncu-rep.gz", "c.ncu-rep.zst", "d.ncu-repz"]
    for name in [*names, "e.csv", "f.gz", "g.ncu-rep.bak"]:
        (tmp_path / name).write_bytes(b"")
    assert find_reports([tmp_path]) == [tmp_path / name for name in names]


def test_standard_input_and_urls_are_found_as_they_are(tmp_path: Path) -> None:
    """A path would lose a slash, and a file may be named by a dash."""
    path = write_report(tmp_path, [gemm_launch()])
    assert find_reports(["-", "s3://b/x", str(path), "-"]) == ["-", "s3://b/x", path]


def test_what_cannot_be_used_is_told_and_the_rest_is_found(tmp_path: Path) -> None:
    """An empty name does not stand for the current folder."""
    sound = write_report(tmp_path, [gemm_launch()], name="a.ncu-rep")
    told: list[str] = []
    gone, no_name = str(tmp_path / "gone"), "a\0b"
    found = find_reports([gone, sound, "", no_name], on_error=lambda e: told.append(str(e)))
    assert found == [sound]
    assert told[0] == f"{gone}: there is no such file. Check the path."
    assert told[1] == "the name of a report is empty. Name a file or a folder."
    assert told[2].startswith(f"{no_name}: cannot be read: ")


def test_a_report_that_must_not_be_looked_at_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer for its folder would be taken for a whole one."""
    write_report(tmp_path, [gemm_launch()], name="a.ncu-rep")
    look = os.stat

    def denied(path: str) -> os.stat_result:
        if path.endswith(".ncu-rep"):
            raise PermissionError(13, "Permission denied")
        return look(path)

    monkeypatch.setattr("nsightlens.readers.find.os.stat", denied)
    with pytest.raises(ReportNotFoundError, match=r"a\.ncu-rep: cannot be read: Permission"):
        find_reports([tmp_path])


def test_a_folder_without_reports_and_a_missing_path_are_errors(tmp_path: Path) -> None:
    """Nothing to read is said, with what to do."""
    with pytest.raises(ReportNotFoundError, match="holds no"):
        find_reports([tmp_path])
    with pytest.raises(ReportNotFoundError, match="no such file"):
        find_reports([tmp_path / "absent.ncu-rep"])


def test_whether_ncu_held_the_clocks_is_known_for_each_launch(tmp_path: Path) -> None:
    """A ridge point at the base clock is not the one in production; the report says which it is."""
    states = [True, False, None]
    report = open_report(write_report(tmp_path, [make_launch(is_clock_locked=s) for s in states]))
    assert report.launches["is_clock_locked"].to_pylist() == states
