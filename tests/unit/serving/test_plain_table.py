"""A table with a row per run is read as it is, or refused with what to write instead."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.plain_table import FORMATS
from nsightlens.tables import SERVING_RUNS, schema_of, table_of

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

(TABLE,) = FORMATS


def _file(folder: Path, text: str | bytes, name: str = "t.csv") -> OpenedFile:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return OpenedFile(path, name)


def _read(folder: Path, text: str | bytes, name: str = "t.csv") -> list[Part]:
    file = _file(folder, text, name)
    assert TABLE.claims(file)
    return TABLE.read(file)


def _values(parts: list[Part]) -> list[dict[str, Any]]:
    return [dict(part.values) for part in parts]


def _notes(parts: list[Part]) -> dict[str, str]:
    return {note.key: note.text for note in parts[0].notes}


def test_a_row_is_a_run_with_its_place(tmp_path: Path) -> None:
    """The column that a value came from is told where its name is another one."""
    parts = _read(tmp_path, "model,max_num_seqs,itl_s\na/opt,1,0.0035\na/opt,8,0.004\n")
    assert _values(parts)[1] == {"model": "opt", "max_num_seqs": 8, "mean_itl_ms": 4.0}
    assert [part.kind for part in parts] == ["result", "result"]
    assert [part.where for part in parts] == ["row 1", "row 2"]
    assert [part.run_key for part in parts] == ["row 1", "row 2"]
    assert parts[1].wheres == {"mean_itl_ms": "row 2, column itl_s"}
    assert parts[1].derived == {"mean_itl_ms": "1000 times what stands there"}


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("itl_s", ("0.003", "0.004")),
        ("ITL (ms)", ("3", "4")),
        ("mean_itl_us", ("3000", "4000")),
        ("itl [ns]", ("3e6", "4e6")),
        ("itl", ("3 ms", "4 ms")),
        ("itl", ("3000us", "4000us")),
    ],
)
def test_units_do_not_matter(tmp_path: Path, header: str, cells: tuple[str, str]) -> None:
    """The same latency in any unit, in the header or in the cells."""
    parts = _read(tmp_path, f"max_num_seqs,{header}\n1,{cells[0]}\n8,{cells[1]}\n")
    assert [one["mean_itl_ms"] for one in _values(parts)] == pytest.approx([3.0, 4.0])


def test_a_second_row_of_header_gives_units(tmp_path: Path) -> None:
    """Spreadsheets often have one."""
    parts = _read(tmp_path, "max_num_seqs,ITL,TTFT\n,us,s\n1,3000,2\n")
    assert _values(parts) == [{"max_num_seqs": 1, "mean_itl_ms": 3.0, "mean_ttft_ms": 2000.0}]


def test_a_latency_without_a_unit_is_left_out_by_name(tmp_path: Path) -> None:
    """And the table is refused where nothing else was measured."""
    parts = _read(tmp_path, "max_num_seqs,itl,total_tok_s\n1,3,300\n")
    assert "mean_itl_ms" not in parts[0].values
    assert "'itl' has no unit" in _notes(parts)["unit_missing"]
    assert "'mean_itl_ms'" in _notes(parts)["unit_missing"]
    with pytest.raises(ServingFileError, match=r"'itl' without a unit.*Name it 'mean_itl_ms'"):
        _read(tmp_path, "max_num_seqs,itl\n1,3\n")


def test_unknown_columns_are_listed(tmp_path: Path) -> None:
    """Nothing disappears without a word."""
    text = "max_num_seqs,itl_ms,excluded_by_paper,mood,\n1,3,0,fine,\n"
    assert _notes(_read(tmp_path, text))["unknown_columns"].endswith(
        "columns that are not used: excluded_by_paper, mood."
    )


def test_empty_cells_are_null_and_rows_without_values_are_left_out(tmp_path: Path) -> None:
    """A row in which memory ran out is no run."""
    parts = _read(tmp_path, "max_num_seqs,itl_ms,kv_peak_pct\n1,3,\n8,OOM,99\n16,,\n32,5,n/a\n")
    assert _values(parts) == [
        {"max_num_seqs": 1, "mean_itl_ms": 3.0},
        {"max_num_seqs": 32, "mean_itl_ms": 5.0},
    ]
    assert parts[1].where == "row 4"
    assert "'OOM' in column 'itl_ms', row 2" in _notes(parts)["not_a_number"]
    assert _notes(parts)["rows_without_values"].endswith(": 2.")


def test_zeros_that_are_no_measurement_are_left_out(tmp_path: Path) -> None:
    """But no preemption is a measurement."""
    parts = _read(tmp_path, "max_num_seqs,itl_ms,kv_peak_pct,preemptions\n1,3,0,0\n")
    assert _values(parts) == [{"max_num_seqs": 1, "mean_itl_ms": 3.0, "preemption_count": 0.0}]
    assert "'kv_peak_pct' is 0 in row 1" in _notes(parts)["zero"]


def test_impossible_numbers_are_left_out(tmp_path: Path) -> None:
    """Negative times, more than all of the pool, more than all of the memory."""
    text = "max_num_seqs,itl_ms,total_tok_s,kv_peak_pct,gmu\n1,-3,5,150,200\n8,inf,6,50,0.9\n"
    first, second = _values(_read(tmp_path, text))
    assert first == {"max_num_seqs": 1, "total_tok_per_s": 5.0}
    assert second["gpu_memory_utilization"] == 0.9
    assert "mean_itl_ms" not in second


def test_a_utilization_in_percent_is_known_by_its_size(tmp_path: Path) -> None:
    """No part is larger than 1."""
    parts = _read(tmp_path, "max_num_seqs,itl_ms,gmu\n1,3,90\n")
    assert parts[0].values["gpu_memory_utilization"] == 0.9
    assert "already_percent" in _notes(parts)


@pytest.mark.parametrize("said", ["True", "yes", "1"])
def test_whether_there_were_preemptions_is_taken(tmp_path: Path, said: str) -> None:
    """One at least, where it is said that there were some."""
    parts = _read(tmp_path, f"max_num_seqs,itl_ms,preempted(x)\n1,3,False\n8,4,{said}\n16,5,\n")
    assert [one.get("preemption_count") for one in _values(parts)] == [0.0, 1.0, None]
    assert "preemptions_not_counted" in _notes(parts)


def test_cells_with_a_number_per_server_give_the_worst(tmp_path: Path) -> None:
    """The largest use, and the smallest pool."""
    text = (
        "max_num_seqs\titl_ms\tkv_peak_pct_server0\tkv_peak_each\tgpu_blocks_each\n"
        "96\t18\t30.46\t30.46,31.94\t8749,8748\n"
        "96\t18\t30.5\t\t\n"
    )
    first, second = _values(_read(tmp_path, text, "t.tsv"))
    assert (first["kv_peak_pct"], first["kv_block_count"]) == (31.94, 8748)
    assert second["kv_peak_pct"] == 30.5
    assert "kv_block_count" not in second


def test_the_mean_of_all_samples_steps_aside_for_that_of_the_run(tmp_path: Path) -> None:
    """Where both are there; alone, `mean_running` is what ran."""
    parts = _read(tmp_path, "batch,itl_ms,mean_running,mean_running_in_window\n8,3,7.1,7.9\n")
    assert parts[0].values["mean_running"] == 7.9
    assert parts[0].values["mean_running_whole"] == 7.1
    parts = _read(tmp_path, "batch,itl_ms,mean_running\n8,3,7.1\n")
    assert parts[0].values["mean_running"] == 7.1


def test_a_batch_is_static_unless_a_scheduler_shows(tmp_path: Path) -> None:
    """Preemptions, or what ran on average, are of a server that fills batches itself."""
    assert _values(_read(tmp_path, "batch,itl_ms\n8,3\n"))[0]["static_batch_size"] == 8
    served = _read(tmp_path, "batch,itl_ms,mean_running\n8,3,7.5\n")
    assert served[0].values["max_num_seqs"] == 8
    both = _read(tmp_path, "batch,max_num_seqs,itl_ms\n8,256,3\n")[0].values
    assert (both["static_batch_size"], both["max_num_seqs"]) == (8, 256)


def test_a_whole_concurrency_is_the_setting_of_a_client(tmp_path: Path) -> None:
    """A fraction is a mean of what was in flight."""
    assert _read(tmp_path, "concurrency,itl_ms\n8,3\n")[0].values["max_concurrency"] == 8
    assert _read(tmp_path, "concurrency,itl_ms\n7.5,3\n")[0].values["concurrency"] == 7.5


def test_nominal_lengths_are_of_the_workload(tmp_path: Path) -> None:
    """They tell runs of different work apart."""
    parts = _read(tmp_path, "max_num_seqs,itl_ms,output_len\n8,3,390\n")
    assert parts[0].values["workload"] == "out390"
    parts = _read(tmp_path, "max_num_seqs,itl_ms,isl,osl,dataset\n8,3,1024,128,random\n8,3,,,x\n")
    assert [one["workload"] for one in _values(parts)] == ["random_in1024_out128", "x"]


def test_an_attention_backend_is_no_engine(tmp_path: Path) -> None:
    """Its name hints at vLLM; several of them tell runs apart."""
    text = "max_num_seqs,itl_ms,backend\n8,3,FLASH_ATTN(default)\n8,4,XFORMERS\n"
    first, second = _values(_read(tmp_path, text))
    assert (first["workload"], second["workload"]) == ("flash_attn", "xformers")
    assert first["?engine"] == "vllm"
    assert "engine" not in first
    alone = _read(tmp_path, "max_num_seqs,itl_ms,backend\n8,3,FLASH_ATTN\n")[0].values
    assert "workload" not in alone
    assert _read(tmp_path, "batch,itl_ms,backend\n8,3,SGLang\n")[0].values["engine"] == "sglang"


def test_a_throughput_of_unclear_tokens_has_a_note(tmp_path: Path) -> None:
    """What it is taken for, and what to write."""
    parts = _read(tmp_path, "max_num_seqs,throughput\n1,300\n8,2000\n")
    assert parts[0].values["total_tok_per_s"] == 300.0
    assert "'throughput' does not say" in _notes(parts)["throughput_unclear"]


def test_the_rate_of_one_request_is_no_throughput(tmp_path: Path) -> None:
    """Trap 8: avg_tokens_per_sec of a table that a person wrote."""
    text = "batch_size,avg_tokens_per_sec,itl_ms\n1,250,4\n8,200,5\n32,125,8\n"
    parts = _read(tmp_path, text)
    assert "total_tok_per_s" not in parts[0].values
    assert "throughput_per_request" in _notes(parts)
    with pytest.raises(ServingFileError, match="is what one request sees"):
        _read(tmp_path, "batch_size,avg_tokens_per_sec\n1,250\n8,200\n32,125\n")


def test_a_whole_latency_alone_is_refused(tmp_path: Path) -> None:
    """It does not say how long a token takes."""
    with pytest.raises(ServingFileError, match="read as the whole latency of a request"):
        _read(tmp_path, "batch,latency [us]\n1,3000\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("batch;itl_ms;total_tok_s\n1;3;1,300\n8;4;2,000\n", "such as '1,300'"),
        ('batch,itl_ms,total_tok_s\n1,"3,5",300.5\n', "decimal comma"),
        ("batch,itl_ms,itl_ms\n1,3,4\n", "two columns 'itl_ms' with other values"),
        ("itl_ms,total_tok_s\n3,5\n4,5\n", "no column says the batch size"),
        ("batch,itl_ms,completed\n1,3,0\n", "no row in which a request succeeded"),
        ("batch,itl_ms\n1,OOM\n", "no throughput and no time between tokens"),
        ("batch,itl_ms\n", "a header and no rows"),
        ("model,B,replicas\na,1,2\n", "no throughput and no time between tokens"),
        ('batch,itl_ms\n1,"3\n8,4\n', "quote that is never closed"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, text: str, problem: str
) -> None:
    """In one clause, with advice."""
    with pytest.raises(ServingFileError, match=problem) as error:
        _read(tmp_path, text)
    assert error.value.advice


def test_decimal_commas_are_read_where_they_are_sure(tmp_path: Path) -> None:
    """As spreadsheets of half of Europe write them."""
    parts = _read(tmp_path, "batch;itl_ms;total_tok_s\n1;3,5;300\n8;4,25;2.000\n")
    assert [one["mean_itl_ms"] for one in _values(parts)] == [3.5, 4.25]
    assert [one["total_tok_per_s"] for one in _values(parts)] == [300.0, 2000.0]


def test_equal_columns_are_one_and_unequal_ones_are_noted(tmp_path: Path) -> None:
    """Two spellings of one column contradict each other."""
    assert _read(tmp_path, "batch,itl_ms,itl_ms\n1,3,3\n")[0].values["mean_itl_ms"] == 3.0
    parts = _read(tmp_path, "batch,itl_ms,ITL (ms)\n1,3,4\n8,,4\n")
    assert [one["mean_itl_ms"] for one in _values(parts)] == [3.0, 4.0]
    assert "in row 1: the first is used" in _notes(parts)["contradiction"]


def test_cells_of_another_unit_than_the_header_are_left_out(tmp_path: Path) -> None:
    """Nobody knows which one is right."""
    parts = _read(tmp_path, "batch,itl_us,total_tok_s\n1,3 ms,5\n")
    assert "mean_itl_ms" not in parts[0].values
    assert "unit_contradiction" in _notes(parts)


def test_names_of_gpus_are_taken_and_their_numbers_are_not(tmp_path: Path) -> None:
    """`gpu` may be the name of a device or its index."""
    parts = _read(tmp_path, "batch,itl_ms,gpu\n1,3,H100\n8,4,0\n")
    assert [one.get("device_name") for one in _values(parts)] == ["H100", None]


def _all_columns() -> dict[str, Any]:
    data: dict[str, Any] = {}
    for index, column in enumerate(SERVING_RUNS):
        if pa.types.is_boolean(column.type):
            data[column.name] = [True, False]
        elif pa.types.is_integer(column.type):
            data[column.name] = [index + 1, None]
        elif pa.types.is_floating(column.type):
            share = column.unit == "1"
            data[column.name] = [0.5 if share else index + 0.1, None]
        else:
            data[column.name] = [f"{column.name}-x", None]
    data["request_rate_per_s"] = [math.inf, 1 / 3]
    data["mean_itl_ms"] = [1 / 3, 2 / 3]
    return data


def test_a_table_of_ours_comes_back_as_it_was(tmp_path: Path) -> None:
    """Each value to its last digit; null stays absent."""
    data = _all_columns()
    path = tmp_path / "runs.parquet"
    parquet.write_table(table_of(schema_of(SERVING_RUNS), data, 2), path)
    file = OpenedFile(path)
    assert TABLE.claims(file)
    parts = TABLE.read(file)
    for row, part in enumerate(parts):
        assert part.values == {
            name: values[row]
            for name, values in data.items()
            if values[row] is not None and name != "run"
        }
    assert parts[0].wheres == {}
    assert parts[0].notes == ()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "batch,itl\n1,3\n", True),
        ("a.csv", "batch,mood\n1,3\n", True),
        ("a.csv", "mood,weather\n1,3\n", False),
        ("a.csv", "model,weather\n1,3\n", False),
        ("a.txt", "batch,itl_ms\n1,3\n", True),
        ("a.txt", "batch,mood\n1,3\n", False),
        ("a.json", '{"batch": 1, "itl_ms": 3}', False),
        ("a.log", "Starting, please wait\nbatch 1, ok\n", False),
    ],
)
def test_only_tables_of_runs_are_claimed(
    tmp_path: Path, name: str, text: str, expected: bool
) -> None:
    """A table without any known column is nobody's."""
    assert TABLE.claims(_file(tmp_path, text, name)) is expected


def test_parquet_of_something_else_is_not_claimed(tmp_path: Path) -> None:
    """Folders of results hold other tables too."""
    path = tmp_path / "kernels.parquet"
    parquet.write_table(pa.table({"kernel_name": ["a"], "duration_ns": [1]}), path)
    assert not TABLE.claims(OpenedFile(path))


def test_damaged_parquet_is_claimed_and_refused(tmp_path: Path) -> None:
    """Nobody else would say what is wrong with it."""
    path = tmp_path / "runs.parquet"
    parquet.write_table(pa.table({"max_num_seqs": [1], "itl_ms": [3.0]}), path)
    path.write_bytes(path.read_bytes()[:-20])
    file = OpenedFile(path)
    assert TABLE.claims(file)
    with pytest.raises(ServingFileError, match="Parquet that cannot be read"):
        TABLE.read(file)


def test_what_ran_is_said_to_come_from_the_table(tmp_path: Path) -> None:
    """Where the table does not say it itself."""
    parts = _read(tmp_path, "batch,itl_ms,mean_running,running_source\n8,3,7,log\n9,3,8,\n7,2,,\n")
    assert [one.get("running_source") for one in _values(parts)] == ["log", "result", None]


def test_a_million_rows_are_no_table_of_runs(tmp_path: Path) -> None:
    """They are refused before they are read."""
    with pytest.raises(ServingFileError, match="has 300000 rows"):
        _read(tmp_path, "batch,itl_ms\n" + "1,3\n" * 300_000)


def test_thousands_of_rows_are_read(tmp_path: Path) -> None:
    """Each with its own values."""
    rows = "".join(f"{n},{n / 8}\n" for n in range(1, 5001))
    parts = _read(tmp_path, "max_num_seqs,itl_ms\n" + rows)
    assert len(parts) == 5000
    assert parts[4999].values == {"max_num_seqs": 5000, "mean_itl_ms": 625.0}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.text(max_size=6) | st.floats().map(str), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_any_cells_are_read_or_refused(tmp_path: Path, rows: list[list[str]]) -> None:
    """Never a traceback, and never a value that is no number."""
    text = "max_num_seqs,itl_ms,total_tok_s\n" + "\n".join(",".join(row) for row in rows)
    file = _file(tmp_path, text)
    if not TABLE.claims(file):
        return
    try:
        parts = TABLE.read(file)
    except ServingFileError:
        return
    for part in parts:
        for value in part.values.values():
            assert isinstance(value, str) or (math.isfinite(value) and value > 0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    """Behind a header that is known."""
    for head in (b"max_num_seqs,itl_ms\n1,3\n", b"PAR1", b"\xff\xfe"):
        file = _file(tmp_path, head + data)
        if TABLE.claims(file):
            with contextlib.suppress(ServingFileError):
                assert TABLE.read(file)
