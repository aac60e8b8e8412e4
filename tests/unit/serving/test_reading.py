"""Many files are read in processes beside this one, with the same result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving import reading
from nsightlens.serving.folder import find_files
from nsightlens.serving.reading import read_files

if TYPE_CHECKING:
    from pathlib import Path

RESULT = {
    "num_prompts": 10, "completed": 10, "duration": 50.0, "request_throughput": 0.2,
    "output_throughput": 20.0, "total_input_tokens": 1000, "total_output_tokens": 1000,
    "mean_ttft_ms": 5.0, "mean_tpot_ms": 50.0, "mean_itl_ms": 50.0,
}  # fmt: skip


def _fill(folder: Path) -> None:
    for number in range(5):
        (folder / f"b{number}.json").write_text(json.dumps(RESULT), encoding="utf-8")
    (folder / "empty.json").touch()


def test_processes_beside_this_one_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path)
    found, _ = find_files([tmp_path])
    here = read_files(found)
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(reading, "MANY", 3)
    monkeypatch.setattr(reading, "_AT_ONCE", 2)
    monkeypatch.setattr(reading, "processor_count", lambda: 2)
    beside = read_files(found, lambda _, done, total: told.append((done, total)))
    assert [one.row for one in beside] == [one.row for one in here]
    assert [[(part.relative, part.part.values) for part in one.located] for one in beside] == [
        [(part.relative, part.part.values) for part in one.located] for one in here
    ]
    assert told == [(2, 6), (4, 6), (6, 6)]


def test_one_of_many_is_refused_in_its_row_and_a_single_one_by_an_error(tmp_path: Path) -> None:
    _fill(tmp_path)
    found, _ = find_files([tmp_path])
    states = {one.row.path.rpartition("/")[2]: one.row.state for one in read_files(found)}
    assert states["empty.json"] == "refused"
    assert states["b0.json"] == "read"
    alone, _ = find_files([tmp_path / "empty.json"])
    with pytest.raises(ServingFileError, match="is empty"):
        read_files(alone)


DIGITS = b"vLLM API server version 0.6.3\n# GPU blocks: " + b"9" * 5000 + b", # CPU blocks: 1\n"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("server.log.gz", b"\x1f\x8b\x08rest", "is compressed"),
        ("server.log", DIGITS, ""),
    ],
    ids=["compressed", "thousands of digits"],
)  # fmt: skip
def test_one_file_of_no_use_does_not_end_a_folder(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    _fill(tmp_path)
    (tmp_path / name).write_bytes(content)
    found, _ = find_files([tmp_path])
    rows = {one.row.path.rpartition("/")[2]: one.row for one in read_files(found)}
    assert reason in (rows[name].reason or "")
    assert rows["b0.json"].state == "read"
