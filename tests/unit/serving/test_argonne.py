"""Static batches of Argonne's tables: whole latencies, and throughput with prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.argonne import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

(ARGONNE,) = FORMATS
HEADER = (
    "Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput"
)


def _file(folder: Path, text: str) -> OpenedFile:
    path = folder / "All_results.csv"
    path.write_text(text, encoding="utf-8")
    return OpenedFile(path, path.name)


def _read(folder: Path, *rows: str, header: str = HEADER) -> list[Part]:
    file = _file(folder, "\n".join([header, *rows]) + "\n")
    assert ARGONNE.claims(file)
    return ARGONNE.read(file)


def test_a_row_is_a_static_batch(tmp_path: Path) -> None:
    """Throughput counts prompts: half of it is generated where lengths are equal."""
    (part,) = _read(tmp_path, "Nvidia H100 GPU,4,TensorRT-LLM,meta/Llama-2-7b,1024,16,8.0,4096")
    assert part.values == {
        "model": "Llama-2-7b",
        "engine": "tensorrt-llm",
        "device_name": "Nvidia H100 GPU",
        "workload": "in1024_out1024",
        "gpu_count": 4,
        "static_batch_size": 16,
        "prompt_count": 16,
        "duration_s": 8.0,
        "mean_e2e_ms": 8000.0,
        "requests_per_s": 2.0,
        "?mean_tpot_ms": 7.8125,
        "mean_input_tokens": 1024.0,
        "mean_output_tokens": 1024.0,
        "total_tok_per_s": 4096.0,
        "output_tok_per_s": 2048.0,
    }
    assert (part.where, part.run_key) == ("row 1", "row 1")
    assert "upper bound" in part.derived["?mean_tpot_ms"]
    assert [note.key for note in part.notes] == ["tpot_includes_prefill"]


def test_a_throughput_of_generated_tokens_is_told_by_arithmetic(tmp_path: Path) -> None:
    """Should a table count them alone."""
    (part,) = _read(tmp_path, "X,1,vLLM,m,100,10,10.0,100")
    assert part.values["output_tok_per_s"] == 100.0
    assert part.values["total_tok_per_s"] == 200.0


def test_a_throughput_that_does_not_fit_is_marked(tmp_path: Path) -> None:
    """It is used as it stands, and not split."""
    (part,) = _read(tmp_path, "X,1,MyEngine,m,100,10,10.0,777")
    assert part.values["total_tok_per_s"] == 777.0
    assert part.values["engine"] == "myengine"
    assert "output_tok_per_s" not in part.values
    assert "throughput_unclear" in [note.key for note in part.notes]


def test_two_lengths_may_differ(tmp_path: Path) -> None:
    """Later tables have a column for each."""
    header = HEADER.replace("Input Output Length", "Input Length,Output Length")
    (part,) = _read(tmp_path, "X,1,vLLM,m,300,100,10,10.0,400", header=header)
    assert part.values["workload"] == "in300_out100"
    assert part.values["output_tok_per_s"] == 100.0


def test_rows_without_a_measurement_are_left_out(tmp_path: Path) -> None:
    """Out of memory is no latency of 0; power and the like are listed."""
    parts = _read(
        tmp_path,
        "X,1,vLLM,m,100,1,OOM,,9",
        "X,1,vLLM,m,100,8,0,0,9",
        "X,1,vLLM,m,100,16,10,320,9",
        header=HEADER + ",Power (mW)",
    )
    assert [part.where for part in parts] == ["row 3"]
    notes = {note.key: note.text for note in parts[0].notes}
    assert notes["rows_without_values"].endswith(": 2.")
    assert "Power (mW)" in notes["unknown_columns"]


@pytest.mark.parametrize("cells", ["0,1,1.0,5", "100,0,1.0,5", "-1,-1,1.0,5", "x,y,1.0,5"])
def test_odd_numbers_make_no_rates(tmp_path: Path, cells: str) -> None:
    """Nothing is divided by nothing."""
    (part,) = _read(tmp_path, f"X,1,vLLM,m,{cells}")
    assert part.values["total_tok_per_s"] == 5.0
    assert "output_tok_per_s" not in part.values


def test_a_table_of_failures_is_refused(tmp_path: Path) -> None:
    """Nothing was measured."""
    with pytest.raises(ServingFileError, match="no row with a latency or a throughput"):
        _read(tmp_path, "X,1,vLLM,m,100,1,,")


def test_other_tables_are_not_claimed(tmp_path: Path) -> None:
    """A table of batches alone is not Argonne's."""
    assert not ARGONNE.claims(_file(tmp_path, "Model,Batch Size,Throughput\na,1,2\n"))
