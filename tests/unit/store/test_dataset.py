"""A dataset reads back as it was written, or says what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from support.datasets import GPUS, contents_of, reports_in, values_of, write_reports

import nsightlens
from nsightlens import tables
from nsightlens.errors import DatasetFormatError, ReportNotFoundError
from nsightlens.store import DatasetWriter, open_dataset
from nsightlens.store.manifest import export_names

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a dataset of two runs: reports 1 and 2 on one GPU, report 3 on three."""
    write_reports(tmp_path / "ds", [1, 2])
    with DatasetWriter(tmp_path / "ds") as writer:
        writer.add(contents_of(3, gpus=GPUS))
    return tmp_path / "ds"


def _of_report(table: pa.Table, number: int) -> pa.Table:
    mine = table.filter(pc.equal(table["report_id"].cast(pa.string()), f"{number:064x}"))
    return mine.drop_columns(["report_id"])


def test_every_table_reads_back_equal_with_its_metadata(folder: Path) -> None:
    """Also categories, lists, time stamps, and tables without a row."""
    dataset = open_dataset(folder)
    assert dataset.tables == ("reports", "launches", "labels", "rules", "sessions")
    for number, gpus in ((1, GPUS[:1]), (2, GPUS[:1]), (3, GPUS)):
        for name, expected in contents_of(number, gpus=gpus).contents.items():
            found = _of_report(dataset.table(name), number)
            if "launch_id" in found.column_names:
                found = found.sort_by("launch_id")
            assert values_of(found).equals(values_of(expected)), name
            assert found.schema.equals(expected.schema, check_metadata=True), name


def test_the_id_of_the_report_comes_first_and_is_described(folder: Path) -> None:
    """With launch_id it names a launch wherever the report lies."""
    field = open_dataset(folder).table("labels").schema.field(0)
    assert (field.name, field.type) == ("report_id", pa.dictionary(pa.int32(), pa.string()))
    assert b"SHA-256" in field.metadata[b"meaning"]


def test_a_scan_of_a_gpu_opens_the_files_of_that_gpu_alone(folder: Path) -> None:
    """Also of launches whose GPU is not known."""
    scan = open_dataset(folder).dataset("labels")
    for gpu, row_count, file_count in (("NVIDIA A100-SXM4-80GB", 1, 1), (GPUS[0], 7, 2)):
        fragments = list(scan.get_fragments(pc.field("gpu") == gpu))
        assert len(fragments) == file_count
        assert scan.count_rows(filter=pc.field("gpu") == gpu) == row_count
    assert scan.count_rows(filter=pc.field("gpu").is_null()) == 1
    assert open_dataset(folder).gpus == (*sorted(name for name in GPUS if name), None)


def test_columns_partitions_and_rows_can_be_chosen(folder: Path) -> None:
    """And a column that is not there is named."""
    dataset = open_dataset(folder)
    chosen = dataset.table("labels", ["gpu", "family"], pc.field("family") == "gemm")
    assert chosen.column_names == ["gpu", "family"]
    assert chosen["family"].to_pylist() == ["gemm"] * 3
    with pytest.raises(ValueError, match="no column 'famly'"):
        dataset.table("labels", ["famly"])
    with pytest.raises(ValueError, match="no table 'metrics'"):
        dataset.table("metrics")


def test_each_run_is_a_hive_partition(folder: Path) -> None:
    """Its name begins with the time."""
    exports = set(open_dataset(folder).table("reports", ["export"])["export"].to_pylist())
    assert exports == {path.name.removeprefix("export=") for path in folder.glob("export=*")}


def test_a_file_says_by_itself_what_it_holds(folder: Path) -> None:
    """Without nsightlens: unit, meaning and source of columns, both versions; names once."""
    file = next(folder.glob("*/table=launches/**/*.parquet"))
    schema = pq.read_schema(file)
    assert schema.field("duration_ns").metadata[b"unit"] == b"ns"
    assert schema.field("duration_ns").metadata[b"source"] == b"gpu__time_duration.sum"
    assert schema.metadata[b"schema_version"] == str(tables.SCHEMA_VERSION).encode()
    assert schema.metadata[b"tool_version"] == nsightlens.__version__.encode()
    group = pq.read_metadata(next(folder.glob("*/table=labels/**/*.parquet"))).row_group(0)
    column = next(
        group.column(i) for i in range(group.num_columns)
        if group.column(i).path_in_schema == "kernel_demangled_name"
    )  # fmt: skip
    assert column.has_dictionary_page
    assert column.compression == "ZSTD"


def test_reports_of_a_run_share_its_row_groups(tmp_path: Path) -> None:
    """Thousands of reports are not thousands of row groups."""
    write_reports(tmp_path / "ds", range(40))
    (file,) = (tmp_path / "ds").glob("*/table=labels/**/*.parquet")
    assert pq.read_metadata(file).num_row_groups == 1
    assert len(reports_in(tmp_path / "ds")) == 40


def test_it_shows_how_much_it_holds(folder: Path) -> None:
    """In a terminal and in a notebook."""
    dataset = open_dataset(folder)
    assert repr(dataset).startswith("<Dataset of 3 reports at ")
    assert "labels 9" in repr(dataset)
    assert "Dataset of 3 reports" in dataset._repr_html_()
    assert dataset.row_count("labels") == 9
    assert len(dataset.reports) == 3


def test_a_table_becomes_a_data_frame(folder: Path) -> None:
    """With the same filter."""
    frame = open_dataset(folder).to_pandas("labels", filter=pc.field("family") == "gemm")
    assert list(frame["launch_id"]) == [1, 1, 1]


def test_a_folder_that_is_no_dataset_is_told_from_one_that_is_damaged(tmp_path: Path) -> None:
    """Each error names the file and what to do."""
    for missing in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ReportNotFoundError, match=r"nsightlens-dataset\.json"):
            open_dataset(missing)
    for text in ("[]", "{", '{"schema": "else"}'):
        (tmp_path / "nsightlens-dataset.json").write_text(text, encoding="utf-8")
        with pytest.raises(DatasetFormatError, match="not the marker"):
            open_dataset(tmp_path)


@pytest.mark.parametrize("name", ["schema_version", "layout_version"])
def test_a_dataset_of_another_version_is_refused(folder: Path, name: str) -> None:
    """Its columns may mean something else."""
    _change(folder / "nsightlens-dataset.json", **{name: 99})
    with pytest.raises(DatasetFormatError, match=f"{name.replace('_', ' ')} 99, and this"):
        open_dataset(folder)


def test_a_run_of_another_schema_version_is_refused(folder: Path) -> None:
    """As if it had been copied there."""
    _change(min(folder.glob("*/_export.json")), schema_version=99)
    with pytest.raises(DatasetFormatError, match="schema version 99"):
        open_dataset(folder)


def _change(file: Path, **values: Any) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, **values}), encoding="utf-8")


def test_a_manifest_that_is_gone_or_is_none_is_noticed(folder: Path) -> None:
    """A run without one is not read as if it were whole."""
    manifest = min(folder.glob("*/_export.json"))
    for text in ("{}", '{"schema": "nsightlens.dataset.export"}', "\0"):
        manifest.write_text(text, encoding="utf-8")
        with pytest.raises(DatasetFormatError, match="not the manifest"):
            open_dataset(folder)
    manifest.unlink()
    with pytest.raises(DatasetFormatError, match="the file is gone"):
        open_dataset(folder)


def test_a_manifest_cannot_name_a_file_of_somewhere_else(folder: Path) -> None:
    """A dataset from elsewhere reads only what is its own."""
    manifest = min(folder.glob("*/_export.json"))
    content = json.loads(manifest.read_text(encoding="utf-8"))
    for path in ("/etc/passwd", "../x.parquet", "table=labels/../../x"):
        files = [{**content["files"][0], "path": path}]
        manifest.write_text(json.dumps({**content, "files": files}), encoding="utf-8")
        with pytest.raises(DatasetFormatError, match="not the manifest"):
            open_dataset(folder)


def test_a_file_that_is_gone_cut_or_swapped_is_noticed(folder: Path) -> None:
    """Before anything of the dataset is read."""
    file = min(folder.glob("*/table=labels/**/*.parquet"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    with pytest.raises(DatasetFormatError, match=f"{len(whole) - 10} bytes instead of the"):
        open_dataset(folder)
    file.unlink()
    with pytest.raises(DatasetFormatError, match=r"part-00000\.parquet: the file is gone"):
        open_dataset(folder)


def test_a_file_with_other_rows_is_noticed_when_its_table_is_read(folder: Path) -> None:
    """Even if its size is that of the one that was written."""
    file = min(folder.glob("*/table=labels/**/*.parquet"))
    pq.write_table(pq.read_table(file, partitioning=None).slice(0, 1), file)
    _resize_in_manifest(file)
    dataset = open_dataset(folder)
    with pytest.raises(DatasetFormatError, match="1 rows instead of the 6"):
        dataset.table("labels")


def _resize_in_manifest(file: Path) -> None:
    manifest = file.parents[2] / "_export.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    path = file.relative_to(manifest.parent).as_posix()
    for entry in content["files"]:
        if entry["path"] == path:
            entry["size_bytes"] = file.stat().st_size
    manifest.write_text(json.dumps(content), encoding="utf-8")


def test_values_that_changed_on_the_disk_are_noticed_when_they_are_read(folder: Path) -> None:
    """The pages of a file carry checksums, where the installed Arrow knows them."""
    try:
        pads.ParquetFragmentScanOptions(page_checksum_verification=True)
    except TypeError:
        pytest.skip("this Arrow knows no checksums of pages")
    file = min(folder.glob("*/table=labels/**/*.parquet"))
    whole = file.read_bytes()
    group = pq.read_metadata(file).row_group(0)
    names = [group.column(i).path_in_schema for i in range(group.num_columns)]
    column = group.column(names.index("duration_ns"))
    at = column.data_page_offset + column.total_compressed_size - 3
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    with pytest.raises(DatasetFormatError, match="cannot be read"):
        open_dataset(folder).table("labels")


def test_a_report_in_two_runs_is_noticed(folder: Path) -> None:
    """As when the folder of a run was copied: each row would count twice."""
    import shutil

    run = min(folder.glob("export=*"))
    shutil.copytree(run, folder / "export=copy")
    with pytest.raises(DatasetFormatError, match=r"is in export=.* and in export=copy"):
        open_dataset(folder)


def test_a_run_of_an_older_version_lacks_a_column_that_was_added_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads as null there; nothing else changes."""
    old = contents_of(1)
    labels = old.contents["labels"].drop_columns(["reason"])
    monkeypatch.setattr("nsightlens.store.writer.__version__", "0.0.1")
    monkeypatch.setattr("nsightlens.store.parts.__version__", "0.0.1")
    with DatasetWriter(tmp_path / "ds") as writer:
        writer.add(old._replace(contents={**old.contents, "labels": labels}))
    monkeypatch.undo()
    write_reports(tmp_path / "ds", [2])
    found = open_dataset(tmp_path / "ds").table("labels")
    expected = contents_of(2).contents["labels"]
    assert values_of(_of_report(found, 2)).equals(values_of(expected))
    assert _of_report(found, 1)["reason"].to_pylist() == [None] * 3
    assert open_dataset(tmp_path / "ds").reports["tool_version"].to_pylist()[0] == "0.0.1"


def test_a_dataset_that_is_replaced_while_it_is_opened_is_opened_as_it_is_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed is gone, and that is no damage."""
    looks: list[int] = []

    def replaced_after_the_first_look(root: Path) -> list[str]:
        found = export_names(root)
        if not looks:
            write_reports(folder, [7], force=True)
        looks.append(1)
        return found

    monkeypatch.setattr("nsightlens.store.dataset.export_names", replaced_after_the_first_look)
    assert open_dataset(folder).reports["report"].to_pylist() == ["r7.ncu-rep"]
