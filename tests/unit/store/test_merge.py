"""Reports that are added one by one end in few runs, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.datasets import GPUS, contents_of, reports_in, values_of, write_reports

from nsightlens.store import DatasetWriter, merge, open_dataset
from nsightlens.store.manifest import Export, PartFile

if TYPE_CHECKING:
    import pyarrow as pa


def _run(name: str, report_count: int, size_bytes: int = 1) -> Export:
    files = (PartFile("p", "labels", 1, size_bytes),)
    return Export(Path(name), files, dict.fromkeys(map(str, range(report_count)), ""), "1")


def test_runs_are_merged_when_there_are_many_of_about_one_size() -> None:
    """Small ones first, and larger ones when these have become as large."""
    new = _run("new", 1)
    ones = [_run(f"one{i}", 1) for i in range(16)]
    assert merge.runs_to_merge(ones[:15], new) == []
    assert merge.runs_to_merge(ones, new) == ones
    larger = [_run(f"larger{i}", 17) for i in range(16)]
    assert merge.runs_to_merge([*larger[:15], *ones], new) == ones
    assert merge.runs_to_merge([*larger, *ones], new) == [*larger, *ones]
    assert merge.runs_to_merge([*larger, *ones[:15]], new) == []


def test_a_large_run_is_left_alone() -> None:
    """Its files are large enough for any query, and long to write."""
    large = [_run(f"large{i}", 1, 1 << 30) for i in range(40)]
    assert merge.runs_to_merge(large, _run("new", 1)) == []


def test_ten_thousand_runs_of_one_report_become_some_dozens() -> None:
    """Each report is rewritten a few times."""
    runs: list[Export] = []
    written = most = 0
    for i in range(10_000):
        new = _run(f"new{i}", 1)
        merged = merge.runs_to_merge(runs, new)
        gone = {run.folder.name for run in merged}
        count = 1 + sum(len(run.reports) for run in merged)
        written += count
        runs = [run for run in runs if run.folder.name not in gone]
        runs.append(new._replace(reports=dict.fromkeys(map(str, range(count)), "")))
        most = max(most, len(runs))
    assert most <= 64
    assert written <= 5 * 10_000


def _add_one_by_one(folder: Path, numbers: range) -> None:
    for number in numbers:
        with DatasetWriter(folder) as writer:
            writer.add(contents_of(number, gpus=GPUS))


def test_merged_runs_read_as_they_did_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row of every table, with its metadata."""
    monkeypatch.setattr(merge, "_FEW", 3)
    _add_one_by_one(tmp_path / "merged", range(11))
    monkeypatch.setattr(merge, "_FEW", 1000)
    _add_one_by_one(tmp_path / "apart", range(11))
    merged, apart = open_dataset(tmp_path / "merged"), open_dataset(tmp_path / "apart")
    assert len(merged.exports) < 6 < len(apart.exports)
    assert reports_in(tmp_path / "merged") == list(range(11))
    assert merged.tables == apart.tables
    for name in merged.tables:
        ours, theirs = (_sorted(dataset.table(name)) for dataset in (merged, apart))
        if name == "reports":
            ours, theirs = (one.drop_columns(["exported_at"]) for one in (ours, theirs))
        assert ours.equals(theirs), name
        schemas = [dataset.table(name).schema for dataset in (merged, apart)]
        assert schemas[0].equals(schemas[1], check_metadata=True)
    assert merged.gpus == apart.gpus
    assert not list(tmp_path.glob(".*"))


def _sorted(table: pa.Table) -> pa.Table:
    keys = [name for name in ("report_id", "launch_id") if name in table.column_names]
    return values_of(table).sort_by([(key, "ascending") for key in keys])


def test_a_report_of_a_merged_run_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the options that it was exported with."""
    monkeypatch.setattr(merge, "_FEW", 2)
    for number in range(4):
        write_reports(tmp_path / "ds", [number], options={"n": number})
    assert len(open_dataset(tmp_path / "ds").exports) < 4
    for number in range(4):
        assert write_reports(tmp_path / "ds", [number], options={"n": number}) == ["present"]
        assert write_reports(tmp_path / "ds", [number], options={"n": -1}) == ["differs"]


def test_runs_of_two_versions_are_merged_to_all_columns_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the older one lacks is null."""
    monkeypatch.setattr(merge, "_FEW", 1)
    old = contents_of(1)
    labels = old.contents["labels"].drop_columns(["reason"])
    with DatasetWriter(tmp_path / "ds") as writer:
        writer.add(old._replace(contents={**old.contents, "labels": labels}))
    write_reports(tmp_path / "ds", [2])
    dataset = open_dataset(tmp_path / "ds")
    assert len(dataset.exports) == 1
    assert dataset.table("labels")["reason"].null_count == 3
    assert reports_in(tmp_path / "ds") == [1, 2]


@pytest.mark.parametrize("why", ["no exchange", "a file of the user", "a damaged file", "no space"])
def test_where_runs_cannot_be_merged_they_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Nothing is lost by that but speed."""
    ds = tmp_path / "ds"
    write_reports(ds, [1])
    monkeypatch.setattr(merge, "_FEW", 1)
    if why == "no exchange":
        monkeypatch.setattr("nsightlens.store.staging.exchanged_at_once", lambda *_: False)
    elif why == "a file of the user":
        (ds / "README").write_text("mine", encoding="utf-8")
    elif why == "a damaged file":
        (next(ds.glob("*/table=rules/**/*.parquet"))).write_bytes(b"no Parquet")
    else:
        monkeypatch.setattr("nsightlens.store.writer.merge", _disk_full)
    before = {path.name for path in ds.iterdir()}
    assert write_reports(ds, [2]) == ["added"]
    assert before < {path.name for path in ds.iterdir()}
    if why != "a damaged file":
        assert reports_in(ds) == [1, 2]
    assert list(tmp_path.iterdir()) == [ds]


def _disk_full(*_: object) -> Export:
    raise OSError(28, "No space left on device")
