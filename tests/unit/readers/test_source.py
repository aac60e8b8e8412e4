"""Whatever a report comes in, its reader gets a plain file with the same bytes."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from nsightlens.errors import CompressedReportError, MissingExtraError, ReportNotFoundError
from nsightlens.readers import source
from nsightlens.readers.source import is_url, plain_file, typed

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT = b"NVR\0" + os.urandom(100_000) + bytes(3_000_000)


def zstd(content: bytes) -> bytes:
    """Return content as one zstd frame."""
    return bytes(pa.compress(content, "zstd", asbytes=True))


SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18\x04\0\0\0\1\2\3\4"

COMPRESSED = {
    "gzip": gzip.compress(CONTENT),
    "gzip of two members": gzip.compress(CONTENT[:999]) + gzip.compress(CONTENT[999:]),
    "zstd": zstd(CONTENT),
    "zstd of two frames": zstd(CONTENT[:999]) + zstd(CONTENT[999:]),
    "zstd behind a frame that says nothing": SKIPPABLE_FRAME + zstd(CONTENT),
}


def content_of(given: str, **options: Any) -> bytes:
    """Return the bytes that a reader would find."""
    with plain_file(given, **options) as file:
        content = Path(file.path).read_bytes()
        assert file.head == content[:4096]
    return content


def written(folder: Path, content: bytes, name: str = "report") -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


@contextmanager
def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> Iterator[None]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    yield


def test_a_plain_file_is_taken_where_it_lies(tmp_path: Path) -> None:
    """Nothing is copied that can be mapped."""
    given = written(tmp_path, CONTENT)
    with plain_file(given) as file:
        assert file == (given, CONTENT[:4096], ())


@pytest.mark.parametrize("kind", COMPRESSED)
def test_compressed_data_is_known_by_its_content(tmp_path: Path, kind: str) -> None:
    """Whatever its suffix, and with all its members or frames."""
    assert content_of(written(tmp_path, COMPRESSED[kind])) == CONTENT


def test_nothing_is_left_of_the_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after it was used nor after an error."""
    given = written(tmp_path, COMPRESSED["gzip"])
    cut = written(tmp_path, COMPRESSED["gzip"][:-9], "cut")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    content_of(given)
    with pytest.raises(CompressedReportError):
        content_of(cut)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("content", [CONTENT, COMPRESSED["gzip"], COMPRESSED["zstd"], b"", b"N"])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Compressed or not, and however little comes."""
    with standard_input(monkeypatch, content):
        assert content_of("-") == (content if len(content) < 9 else CONTENT)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """As a shell gives one for ``<(zcat report.gz)``."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(COMPRESSED["zstd"],))
    writer.start()
    try:
        assert content_of(str(path)) == CONTENT
    finally:
        writer.join()


def test_a_terminal_is_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever typed a dash by mistake need not guess why nothing happens."""
    with standard_input(monkeypatch, b""):
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        with pytest.raises(ReportNotFoundError, match="is a terminal"):
            content_of("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ReportNotFoundError, match="is closed"):
        content_of("-")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("lost", [1, 4, 60])
def test_cut_compressed_data_is_told_with_the_name_of_the_file(
    tmp_path: Path, kind: str, lost: int
) -> None:
    """A download that was broken off is no shorter report."""
    given = written(tmp_path, COMPRESSED[kind][:-lost], "r.ncu-rep.x")
    with pytest.raises(CompressedReportError, match="ends early") as caught:
        content_of(given)
    assert str(caught.value).startswith(f"{given}: the {kind} data ends early, behind ")
    assert "--salvage" in str(caught.value)
    with plain_file(given, salvage=True) as file:
        assert CONTENT.startswith(Path(file.path).read_bytes())
        assert file.warnings[0].startswith(f"{given}: the {kind} data ends early")


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_changed_compressed_data_is_told(tmp_path: Path, kind: str) -> None:
    """By the checks that the format has."""
    content = bytearray(COMPRESSED[kind])
    content[len(content) // 2] ^= 0xFF
    content[4:9] = b"\xff" * 5
    given = written(tmp_path, bytes(content) + b"garbage")
    with pytest.raises(CompressedReportError, match=f"the {kind} data is damaged"):
        content_of(given)


def test_of_compressed_data_without_content_nothing_is_salvaged(tmp_path: Path) -> None:
    """The advice is not to do what was done."""
    given = written(tmp_path, COMPRESSED["gzip"][:12])
    with pytest.raises(CompressedReportError, match="behind 0 bytes") as caught:
        content_of(given, salvage=True)
    assert "--salvage" not in str(caught.value)
    with pytest.raises(CompressedReportError, match="--salvage"):
        content_of(given)


def test_what_expands_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it fills the disk."""
    given = written(tmp_path, COMPRESSED["zstd"])
    with monkeypatch.context() as patch:
        patch.setattr(source, "LARGEST", 1 << 20)
        with pytest.raises(CompressedReportError, match="expands to more than 1048576 bytes"):
            content_of(given)
    usage = shutil_usage(free=2 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(CompressedReportError, match=r"needs more than the .* Set TMPDIR"):
        content_of(given)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("content", [CONTENT, b"NVR"], ids=["while", "behind"])
def test_a_disk_that_fills_up_is_told_with_its_folder(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Whether it is full while the copy is written or when its last bytes are: once, and so."""
    full = Path("/dev/full").open("w+b")  # noqa: SIM115 - the reader closes it
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: full)
    with (
        standard_input(monkeypatch, content),
        pytest.raises(CompressedReportError, match=r"No space left on device\. Set TMPDIR") as told,
    ):
        content_of("-")
    folder = tempfile.gettempdir()
    assert str(told.value).startswith(f"-: it could not be copied to {folder}: No space left")


def shutil_usage(free: int) -> Any:
    """Return what `shutil.disk_usage` says of a disk with so much free space."""

    class Usage:
        def __init__(self) -> None:
            self.free = free

    return Usage()


@pytest.mark.parametrize(
    "given", ["s3://bucket/x.ncu-rep", "https://host/x", "simplecache::gs://b/x"]
)
def test_a_url_is_told_from_a_path(given: str) -> None:
    """By its protocol."""
    assert is_url(given)


@pytest.mark.parametrize(
    "given", ["-", "x.ncu-rep", "C://x.ncu-rep", "./a://b", "a::b.ncu-rep", ""]
)
def test_a_path_is_told_from_a_url(given: str) -> None:
    """A drive is no protocol."""
    assert not is_url(given)


def test_a_file_whose_name_is_a_dash_is_a_file() -> None:
    """Only the text that a user types stands for standard input."""
    assert typed("-") == "-"
    assert Path(typed(Path("-"))) == Path("-")
    assert typed(Path("-")) != "-"


def test_a_url_is_read_by_fsspec() -> None:
    """And what lies there may be compressed."""
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://nsightlens/x.gz", "wb") as file:
        file.write(COMPRESSED["gzip"])
    assert content_of("memory://nsightlens/x.gz") == CONTENT
    with pytest.raises(ReportNotFoundError, match="memory://nsightlens/gone: there is no such"):
        content_of("memory://nsightlens/gone")


def test_a_url_that_fsspec_cannot_open_is_told_in_one_line() -> None:
    """In the words of fsspec."""
    pytest.importorskip("fsspec")
    with pytest.raises(
        ReportNotFoundError, match=r"unheard://x: cannot be read: .*unheard"
    ) as told:
        content_of("unheard://x")
    assert "\n" not in str(told.value)


def test_without_fsspec_a_url_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r'pip install "nsightlens\[fsspec\]"'):
        content_of("s3://bucket/x.ncu-rep")


def test_a_path_to_nothing_is_left_to_the_reader_of_the_file(tmp_path: Path) -> None:
    """Which says what is wrong with it."""
    for given in (str(tmp_path), str(tmp_path / "gone"), "a\0b"):
        with plain_file(given) as file:
            assert file == (given, b"", ())
