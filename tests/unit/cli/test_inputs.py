"""Reports that are not plain files: compressed, from a pipe, at a URL, several at once."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from nsightlens.readers import nvidia

if TYPE_CHECKING:
    from support.command import CommandLine


def rows_of(run: CommandLine, *words: str) -> list[dict[str, Any]]:
    """Return the rows of an answer that succeeded."""
    done = run("classify", *words, "-f", "json")
    assert (done.code, done.err) == (0, "")
    return list(json.loads(done.out)["rows"])


def typed_into(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_compressed_report_answers_as_the_plain_one(run: CommandLine) -> None:
    """Under the name that was typed."""
    content = Path("all.ncu-rep").read_bytes()
    Path("all.ncu-rep.gz").write_bytes(gzip.compress(content))
    Path("all.ncu-repz").write_bytes(pa.compress(content, "zstd", asbytes=True))
    plain = rows_of(run, "all.ncu-rep")
    for name in ("all.ncu-rep.gz", "all.ncu-repz"):
        rows = rows_of(run, name)
        assert {row["report"] for row in rows} == {name}
        same = [{**row, "report": "all.ncu-rep"} for row in rows]
        assert [list(row.values())[2:] for row in same] == [list(r.values())[2:] for r in plain]
    Path("cut.gz").write_bytes(gzip.compress(content)[:-20])
    done = run("classify", "cut.gz")
    assert done.code == 4
    assert done.err.startswith("nsightlens: error: cut.gz: the gzip data ends early, behind ")


def test_of_a_cut_compressed_report_the_launches_before_the_cut_are_salvaged(
    run: CommandLine,
) -> None:
    """And both what was cut of the data and what is damaged of the report are told."""
    content = Path("all.ncu-rep").read_bytes()
    packed = gzip.compress(content)
    Path("cut.gz").write_bytes(packed[: len(packed) * 3 // 4])
    done = run("classify", "cut.gz", "--salvage", "-f", "json")
    assert done.code == 0
    assert 1 <= len(json.loads(done.out)["rows"]) < 5
    first, second = done.err.splitlines()
    assert first.startswith("nsightlens: warning: cut.gz: the gzip data ends early, behind ")
    assert second.startswith("nsightlens: warning: cut.gz: damaged at byte ")


def test_a_dash_is_standard_input(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read once, and nothing that could be overwritten."""
    typed_into(monkeypatch, gzip.compress(Path("all.ncu-rep").read_bytes()))
    rows = rows_of(run, "-", "-")
    assert len(rows) == 5
    assert rows[0]["report"] == "-"
    typed_into(monkeypatch, Path("all.ncu-rep").read_bytes())
    assert run("classify", "-", "-o", "out.json").code == 0
    typed_into(monkeypatch, b"")
    done = run("classify", "-")
    assert done.code == 4
    assert done.err.startswith("nsightlens: error: -: the file is empty.")


def test_a_url_is_read_under_its_own_name(run: CommandLine) -> None:
    """Both slashes of it."""
    fsspec = pytest.importorskip("fsspec")
    url = "memory://nsightlens/all.ncu-rep"
    with fsspec.open(url, "wb") as file:
        file.write(Path("all.ncu-rep").read_bytes())
    assert {row["report"] for row in rows_of(run, url)} == {url}
    done = run("classify", "memory://nsightlens/gone")
    assert done.code == 3
    assert done.err.startswith("nsightlens: error: memory://nsightlens/gone: there is no such file")


def test_jobs_change_nothing_of_the_answer(run: CommandLine) -> None:
    """Neither order nor errors nor exit code."""
    words = ("classify", "text.bin", "all.ncu-rep", "gone.ncu-rep", "none.ncu-rep", "-f", "json")
    assert run(*words, "--jobs", "2") == run(*words, "--jobs", "1")
    assert run("classify", "all.ncu-rep", "--jobs", "-1").code == 2


def test_the_reader_of_nvidia_has_to_be_installed(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that installs it is told."""
    monkeypatch.setattr(nvidia, "find_spec", lambda _: None)
    done = run("classify", "all.ncu-rep", "--reader", "ncu_report")
    assert done.code == 5
    assert 'pip install "nsightlens[ncu]"' in done.err
