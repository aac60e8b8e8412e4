"""The queries of docs/dataset.md run as they stand, and all engines give the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import nsightlens
import nsightlens.example
from nsightlens.pipelines import export_reports

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "dataset.md").read_text(encoding="utf-8")
ENGINES = {"duckdb": "DuckDB", "polars": "Polars"}


def _fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a dataset of the bundled example in the current folder."""
    monkeypatch.chdir(tmp_path)
    export_reports([nsightlens.example.path()], "dataset")
    return nsightlens.open_dataset("dataset")


@pytest.fixture
def expected(dataset: Any) -> dict[str, Any]:
    """Return what the queries have to find, computed from the tables row by row."""
    labels = dataset.table("labels").to_pylist()
    attention: dict[Any, tuple[float, float]] = {}
    for row in labels:
        if row["family"] == "attention":
            place = (row["device_name"], row["batch_size"])
            share, time = attention.get(place, (0.0, 0.0))
            weighted = row["dram_throughput_pct"] * row["duration_ns"]
            attention[place] = (share + weighted, time + row["duration_ns"])
    gemms = [row["duration_ns"] for row in labels if row["family"] == "gemm"]
    of_launch = {row["launch_id"]: row for row in labels}
    sectors: dict[Any, float] = {}
    for row in dataset.table("metrics").to_pylist():
        if row["metric"] == "lts__t_sectors.sum":
            label = of_launch[row["launch_id"]]
            key = (label["family"], label["batch_size"], label["bound"])
            sectors[key] = sectors.get(key, 0.0) + row["value"]
    assert len(attention) == 10
    assert sectors
    return {
        "attention": {key: share / time for key, (share, time) in attention.items()},
        "slowest": sorted(gemms, reverse=True)[:10],
        "sectors": sectors,
    }


def test_the_queries_for_duckdb_run(dataset: Any, expected: dict[str, Any]) -> None:
    """And find what is there."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    attention, slowest, counts, sectors, reports = (
        duckdb.sql(query).fetchall() for query in _fences("sql")
    )
    found = {(gpu, batch): share for gpu, batch, share, _ in attention}
    assert found == pytest.approx(expected["attention"])
    assert [1e3 * row[2] for row in slowest] == pytest.approx(expected["slowest"])
    assert sum(row[3] for row in counts) == dataset.row_count("labels")
    assert {row[:3]: row[3] for row in sectors} == pytest.approx(expected["sectors"])
    assert [row[0] for row in reports] == [str(nsightlens.example.path())]


def test_the_queries_for_polars_run(dataset: Any, expected: dict[str, Any]) -> None:
    """With the same numbers."""
    pytest.importorskip("polars", reason="Polars is not installed")
    assert len(dataset) == 1
    names = _run(next(code for code in _fences("py") if "polars" in code))
    found = {row[:2]: row[2] for row in names["attention"].rows()}
    assert found == pytest.approx(expected["attention"])
    assert names["slowest"]["duration_ns"].to_list() == pytest.approx(expected["slowest"])
    assert {row[:3]: row[3] for row in names["sectors"].rows()} == pytest.approx(
        expected["sectors"]
    )


def test_the_queries_for_pandas_run(expected: dict[str, Any]) -> None:
    """With the same numbers."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    names = _run(next(code for code in _fences("py") if "to_pandas" in code))
    assert names["attention"].to_dict() == pytest.approx(expected["attention"])
    assert list(names["slowest"]["duration_ns"]) == pytest.approx(expected["slowest"])
    assert names["sectors"].to_dict() == pytest.approx(expected["sectors"])


def _run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return names


def test_staged_files_are_seen_by_no_engine(dataset: Any) -> None:
    """Not even by one that takes every Parquet file below the dataset, hidden or not."""
    from support.datasets import contents_of

    from nsightlens.store import DatasetWriter

    before = dataset.row_count("labels")
    with DatasetWriter("dataset") as writer:
        writer.add(contents_of(1))
        for glob in ("dataset/*/table=labels/**/*.parquet", "dataset/**/table=labels/*/*.parquet"):
            for name in ENGINES:
                assert _count(name, glob) == before, (name, glob)
    for name in ENGINES:
        assert _count(name, "dataset/*/table=labels/**/*.parquet") == before + 3


def _count(engine: str, glob: str) -> int:
    module = pytest.importorskip(engine, reason=f"{ENGINES[engine]} is not installed")
    if engine == "duckdb":
        return int(module.sql(f"SELECT count(*) FROM read_parquet('{glob}')").fetchall()[0][0])
    return int(module.scan_parquet(glob).select(module.len()).collect().item())
