"""info, export and schema: what a report holds, its tables as files, the schemas of the results."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from support.datasets import values_of
from support.ncu_csv import ncu_csv
from support.reports import attention_launch, make_launch, write_report

import nsightlens
from nsightlens import tables
from nsightlens.cli import schema
from nsightlens.ncurep.spec import LaunchSpec
from nsightlens.render.json_schema import SCHEMAS, published, schema_document, write_published

if TYPE_CHECKING:
    from support.command import CommandLine

OUTPUTS = [
    ("classify", ["classify", "all.ncu-rep"]),
    ("classify", ["classify", "all.ncu-rep", "none.ncu-rep", "--by", "kernel"]),
    ("classify", ["classify", "all.ncu-rep", "--by", "family", "--sort", "duration"]),
    ("classify", ["classify", "cut.bin", "--salvage"]),
    ("info", ["info", "all.ncu-rep", "none.ncu-rep"]),
    ("metrics", ["metrics", "all.ncu-rep", "--like", "*"]),
    ("metric-names", ["metrics", "all.ncu-rep"]),
]


@pytest.mark.parametrize(("name", "words"), OUTPUTS)
def test_a_json_result_is_what_its_published_schema_says(
    run: CommandLine, name: str, words: list[str]
) -> None:
    """Every key of a row is described, though a reader must accept more."""
    done = run(*words, "-f", "json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    document = json.loads(published(name))
    jsonschema.validate(answer, document, cls=jsonschema.Draft202012Validator)
    described = set(document["properties"]["rows"]["items"]["properties"])
    assert all(set(row) == described for row in answer["rows"])
    assert set(answer["source"]) == set(document["properties"]["source"]["properties"])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_published_schema_is_valid_and_up_to_date(name: str) -> None:
    """After a change of a table: call nsightlens.render.json_schema.write_published()."""
    document = json.loads(published(name))
    jsonschema.Draft202012Validator.check_schema(document)
    assert document == schema_document(name)
    with tempfile.TemporaryDirectory() as folder:
        write_published(Path(folder))
        assert (Path(folder) / f"{name}.json").read_text(encoding="utf-8") == published(name)


def test_the_schema_describes_every_column_of_the_labels_with_its_unit() -> None:
    """The words are those of the table."""
    row = schema_document("classify")["properties"]["rows"]["items"]["properties"]
    assert list(row) == [column.name for column in tables.LABELS]
    assert row["duration_ns"]["description"].endswith("[ns]")
    assert row["batch_size"]["type"] == ["integer", "null"]
    assert row["regime"]["enum"] == [
        "saturated",
        "latency",
        "small_grid",
        "balanced",
        "unknown",
        None,
    ]


def test_a_schema_is_printed_by_its_name_and_all_are_listed(run: CommandLine) -> None:
    """The command answers without reading any report."""
    assert run("schema", "classify").out == published("classify")
    listed = [line.split()[0] for line in run("schema").out.splitlines()]
    assert listed == list(SCHEMAS) == list(schema.NAMES)


def _info(run: CommandLine, *words: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(run("info", *words, "-f", "json").out)["rows"][0]
    return row


def test_info_counts_what_the_report_holds(run: CommandLine) -> None:
    """Launches by kind and family, failed ones, and where they ran."""
    row = _info(run, "all.ncu-rep")
    assert row["launch_count"] == 5
    assert row["failed_launch_count"] == 1
    assert row["launches_by_kind"] == {"kernel": 5}
    assert "unknown" not in row["launches_by_family"]
    assert row["key"] == row["report"]
    assert row["launches_by_family"]["attention"] == 2
    assert row["size_bytes"] == Path("all.ncu-rep").stat().st_size
    assert row["devices"][0] == {
        "device_name": "NVIDIA H100 80GB HBM3",
        "compute_capability": "9.0",
    }
    assert row["processes"] == [{"process_id": 4242, "process_name": "decode"}]


def test_info_on_what_ncu_printed_asks_for_the_report(run: CommandLine) -> None:
    """What a page does not show may well have been collected."""
    printed = ncu_csv(nsightlens.open_report("all.ncu-rep"))
    without_device = printed.replace("device__attribute_display_name", "another__metric")
    Path("all.csv").write_text(without_device, encoding="utf-8")
    assert _info(run, "all.csv")["is_text"]
    assert not _info(run, "all.ncu-rep")["is_text"]
    text = " ".join(run("info", "all.csv").out.split())
    assert "give the .ncu-rep file itself" in text
    assert "no section adds" not in text


def test_info_says_what_is_missing_and_which_section_adds_it(run: CommandLine) -> None:
    """Failed launches aside, because nothing can be collected for them."""
    missing = {column["column"]: column for column in _info(run, "all.ncu-rep")["missing_columns"]}
    assert missing["dram_bytes"]["missing_count"] == 2
    assert missing["dram_bytes"]["sections"] == ["MemoryWorkloadAnalysis"]
    text = " ".join(run("info", "all.ncu-rep").out.split())
    assert "ncu --section MemoryWorkloadAnalysis adds" in text
    assert "dram_bytes (2)" in text
    assert "ncu --metrics " in text


def test_info_tells_of_clocks_that_were_locked(run: CommandLine) -> None:
    """Because durations are then not those of production."""
    write_report(Path(), [attention_launch()], name="base.ncu-rep", clock_control="base")
    assert "ncu held the SM clock" in run("info", "base.ncu-rep").out
    assert "not stated" in run("info", "all.ncu-rep").out
    write_report(Path(), [make_launch(is_clock_locked=True)], name="held.ncu-rep")
    assert "clocks      locked: ncu held the SM clock" in run("info", "held.ncu-rep").out


def test_info_of_an_empty_report_says_so(run: CommandLine) -> None:
    """And does not list every column as missing."""
    text = run("info", "none.ncu-rep").out
    assert "none: ncu profiled nothing" in text
    assert "cannot fill" not in text


def test_versions_are_told_without_a_report(run: CommandLine) -> None:
    """For a report of a fault."""
    done = run("info", "--version")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == [
        "nsightlens",
        "python",
        "numpy",
        "pyarrow",
        "scanner",
    ]
    assert run("--version").out == f"nsightlens {nsightlens.__version__}\n"


def test_an_export_holds_every_table_of_the_report(run: CommandLine) -> None:
    """Equal to those that the library gives."""
    done = run("export", "all.ncu-rep", "-o", "out")
    assert (done.code, done.out) == (0, "")
    assert "labels 5" in done.err
    report = nsightlens.open_report("all.ncu-rep")
    result = nsightlens.classify(report)
    found = nsightlens.open_dataset("out")
    expected = {
        name: getattr(report, name)
        for name in ("launches", "stalls", "metrics", "rules", "nvtx", "sessions")
    }
    expected |= {name: getattr(result, name) for name in ("labels", "resources", "rooflines")}
    assert set(found.tables) == {"reports", *expected}
    for name, table in expected.items():
        ours = found.table(name)
        assert set(ours["report_id"].to_pylist()) <= {_sha256("all.ncu-rep")}
        assert values_of(ours.drop_columns(["report_id"])).equals(values_of(table)), name


def _sha256(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def test_a_filtered_export_keeps_the_keys(run: CommandLine) -> None:
    """And holds no row of another launch in any table."""
    run("export", "all.ncu-rep", "-o", "out", "--family", "gemm")
    found = nsightlens.open_dataset("out")
    assert found.table("labels")["launch_id"].to_pylist() == [1]
    assert found.table("labels")["duration_share_pct"].to_pylist() == [100.0]
    for name in ("launches", "metrics", "resources", "rooflines", "stalls"):
        assert set(found.table(name)["launch_id"].to_pylist()) == {1}, name


def test_an_export_is_replaced_only_by_force(run: CommandLine) -> None:
    """Else it is added to."""
    assert run("export", "all.ncu-rep", "-o", "out").code == 0
    assert run("export", "none.ncu-rep", "-o", "out").code == 0
    assert len(nsightlens.open_dataset("out")) == 2
    assert run("export", "all.ncu-rep", "-o", "out", "--force").code == 0
    assert len(nsightlens.open_dataset("out")) == 1
    assert run("export", "all.ncu-rep", "-o", ".", "--force").code == 6


def test_what_is_no_kernel_is_of_the_family_other(run: CommandLine) -> None:
    """The same word as classify has for it; its GPU is the one that the session names."""
    launches = [LaunchSpec(kind="range"), LaunchSpec(kind="graph")]
    write_report(Path(), launches, name="kinds.ncu-rep")
    (row,) = json.loads(run("info", "kinds.ncu-rep", "-f", "json").out)["rows"]
    assert row["launches_by_kind"] == {"range": 1, "graph": 1}
    assert row["launches_by_family"] == {"other": 2}
    assert [device["device_name"] for device in row["devices"]] == ["NVIDIA H100 80GB HBM3"]
    labels = json.loads(run("classify", "kinds.ncu-rep", "-f", "json").out)["rows"]
    assert {row["family"] for row in labels} == {"other"}
    assert [row["key"] for row in labels] == ["(range)|?|?|0", "(graph)|?|?|0"]
