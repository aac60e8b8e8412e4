"""The fake nsys does what the real one does, as far as the harness relies on it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.fakes import TARGET, program, run

if TYPE_CHECKING:
    from pathlib import Path

    from support.fakes import Said

OPTIONS = ("-t", "cuda,nvtx", "-s", "none", "--cpuctxsw=none", "-o", "out")
ONE = (*TARGET, "--batch-sizes", "1")


def nsys(folder: Path, *words: str, target: tuple[str, ...] = ONE, **variables: str) -> Said:
    return run("nsys", "profile", *OPTIONS, *words, *target, folder=folder, **variables)


def _rows(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "out.sqlite")) as file:
        return file.execute(query).fetchall()


def test_says_its_version(tmp_path: Path) -> None:
    """In the words of the real one."""
    said = run("nsys", "--version", folder=tmp_path)
    assert said.out == "NVIDIA Nsight Systems version 2025.1.1.103-251135540420v0\n"


def test_exports_the_same_trace_in_three_formats(tmp_path: Path) -> None:
    """SQLite by ``export``, Arrow and Parquet along with the profile."""
    said = nsys(tmp_path, "--export=arrowdir,parquetdir")
    assert said.code == 0
    said = run(
        "nsys", "export", "--type", "sqlite", "-o", "out.sqlite", "-f", "true", "-q", "true",
        "out.nsys-rep", folder=tmp_path,
    )  # fmt: skip
    assert said.code == 0
    rows = _rows(tmp_path, "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
    name = "CUPTI_ACTIVITY_KIND_KERNEL"
    arrow = pa.ipc.open_stream(tmp_path / "out_arwdir" / f"{name}.arrow").read_all()
    parquet = pq.read_table(tmp_path / "out_pqtdir" / f"{name}.parquet")
    assert arrow.equals(parquet)
    assert [tuple(row.values()) for row in arrow.to_pylist()] == rows
    assert len(rows) == 11


def test_a_kernel_leads_to_the_call_and_the_range_it_was_launched_in(tmp_path: Path) -> None:
    """By correlation id and process, then by thread and time."""
    nsys(tmp_path, "--export=sqlite")
    query = """
        SELECT s.value, n.text FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
             AND r.globalTid & ~16777215 = k.globalPid
        JOIN NVTX_EVENTS n ON n.globalTid = r.globalTid AND n.eventType = 59
             AND r.start BETWEEN n.start AND n.end AND n.text LIKE 'op v1%'
        JOIN StringIds s ON s.id = k.shortName ORDER BY k.start"""
    found = _rows(tmp_path, query)
    assert len(found) == 11
    assert found[3][0] == "flash_fwd_splitkv_kernel"
    assert found[3][1].startswith("op v1 name=attention ")


@pytest.mark.parametrize(("how", "expected"), [("node", 2), ("graph", 0)])
def test_nodes_of_graphs_are_kernels_only_where_nodes_are_traced(
    tmp_path: Path, how: str, expected: int
) -> None:
    """By default a graph is one item."""
    text = "import fake_gpu as g; [g.launch('k', graph_node=n) for n in (1, 2)]"
    nsys(tmp_path, f"--cuda-graph-trace={how}", "--export=sqlite", target=tuple(program(text)))
    tables = {row[0] for row in _rows(tmp_path, "SELECT name FROM sqlite_master")}
    assert ("CUPTI_ACTIVITY_KIND_KERNEL" in tables) == bool(expected)
    assert ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE" in tables) != bool(expected)


def test_refuses_unknown_options_and_files_that_are_there(tmp_path: Path) -> None:
    """With exit status 1."""
    said = nsys(tmp_path, "--x")
    assert (said.code, said.err.splitlines()[0]) == (1, "unrecognised option '--x'")
    (tmp_path / "out.nsys-rep").write_text("mine")
    assert nsys(tmp_path).code == 1
    assert (tmp_path / "out.nsys-rep").read_text() == "mine"
    assert run("nsys", "export", "out.nsys-rep", folder=tmp_path).code == 1


def test_a_report_of_a_newer_version_is_not_exported(tmp_path: Path) -> None:
    """In the words of the real one."""
    nsys(tmp_path, FAKE_NSYS_FAIL="newer")
    said = run("nsys", "export", "--type", "sqlite", "out.nsys-rep", folder=tmp_path)
    assert said.code == 1
    assert "newer than your current version" in said.err


def test_ends_with_the_status_of_the_target(tmp_path: Path) -> None:
    """And still writes its report."""
    said = nsys(tmp_path, FAKE_TARGET_FAIL="exit@name=fc2")
    assert said.code == 3
    assert (tmp_path / "out.nsys-rep").is_file()
