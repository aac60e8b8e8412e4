"""Damage: every kind has its own error, which says where it lies and what to do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.handmade import REQUIRED, block, file_of, kernel, metric, write_bytes

from nsightlens.errors import (
    FieldMissingError,
    NotAReportError,
    ReportFormatError,
    ReportNotFoundError,
    StringIndexError,
    TrailingBytesError,
    TruncatedReportError,
    UnsupportedVersionError,
    WireFormatError,
)
from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile

ONE = metric(0, message_field(2, uint_field(5, 41)))
SOUND = file_of(block([kernel(ONE)], strings=["a"]), block([kernel(ONE)]), block([kernel(ONE)]))


def error_of(folder: Path, content: bytes) -> ReportFormatError:
    with pytest.raises(ReportFormatError) as caught:
        read_ncu_rep(write_bytes(folder, content))
    return caught.value


def salvage(folder: Path, content: bytes, **options: Any) -> NcuRepFile:
    return read_ncu_rep(write_bytes(folder, content), on_error="salvage", **options)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    """The builtin error that a caller would expect is caught too."""
    with pytest.raises(FileNotFoundError, match="there is no such file") as caught:
        read_ncu_rep(tmp_path / "none.ncu-rep")
    assert isinstance(caught.value, ReportNotFoundError)


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("open", PermissionError(13, "Permission denied")),
        ("mmap.mmap", OSError(5, "Input/output error")),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, refusal: OSError
) -> None:
    """What the operating system says is passed on, and told apart from damage."""

    def refuse(*_: object, **__: object) -> None:
        raise refusal

    path = write_bytes(tmp_path, SOUND)
    monkeypatch.setattr(f"nsightlens.ncurep.mapped.{name}", refuse, raising=False)
    with pytest.raises(ReportNotFoundError, match="cannot be read") as caught:
        read_ncu_rep(path)
    assert str(refusal.strerror) in str(caught.value)


def test_a_path_that_no_file_can_have_is_not_found() -> None:
    """A NUL in a path is refused before the operating system sees it."""
    with pytest.raises(ReportNotFoundError, match="cannot be read"):
        read_ncu_rep("a\0b.ncu-rep")


def test_a_directory_is_not_a_report(tmp_path: Path) -> None:
    """The path is a folder of reports, perhaps."""
    with pytest.raises(NotAReportError, match="this is a directory"):
        read_ncu_rep(tmp_path)


def test_a_directory_is_told_from_a_forbidden_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to open a directory as if it were forbidden."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nsightlens.ncurep.mapped.open", refuse, raising=False)
    with pytest.raises(NotAReportError, match="this is a directory"):
        read_ncu_rep(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="devices have no path on Windows")
def test_a_device_is_not_a_report() -> None:
    """It has no size to map."""
    with pytest.raises(NotAReportError, match="a device or a pipe"):
        read_ncu_rep(os.devnull)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    """Opening one would wait for a writer, which may never come."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotAReportError, match="a device or a pipe"):
        read_ncu_rep(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b"NV", "begins with the bytes 4e 56"),
        (b"hello, world", "begins with the bytes 68 65 6c 6c"),
        (b"==PROF== Connected to process 1\ngpu__time_duration.sum", "this is text, such as ncu"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (b"\x1f\x8b\x08\0", "gzip data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"SQLite format 3\0", "Nsight Systems"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"\xef\xbb\xbf" + SOUND, "the beginning of a report follows 3 bytes later"),
        (SOUND[1:], "first bytes are missing"),
        (SOUND[3:], "first bytes are missing"),
        (SOUND[4:], "first bytes are missing"),
        (SOUND[8:], "first bytes are missing"),
        (SOUND[9:], "first bytes are missing"),
        (SOUND[10:], "first bytes are missing"),
        (b"\x0c" * 40 + b"Nsight Compute Target" + SOUND[40:], "first bytes are missing"),
    ],
)
def test_what_is_not_a_report_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    """The error says what the file is instead, as far as its first bytes tell."""
    error = error_of(tmp_path, content)
    assert isinstance(error, NotAReportError)
    assert problem in error.problem


@pytest.mark.parametrize(
    "content", [b"\x20\0\0\0\x10", b"\x03\0\0\0\x10\xff\xff", b"\x01\0\0\0\x60"]
)
def test_other_bytes_do_not_look_like_a_report_without_its_beginning(
    tmp_path: Path, content: bytes
) -> None:
    """Only a whole block header does."""
    assert "missing" not in error_of(tmp_path, content).problem


@pytest.mark.parametrize("version", [0, 6, None])
def test_an_old_or_absent_version_is_refused(tmp_path: Path, version: int | None) -> None:
    """NVIDIA's reader shows nothing for these, without a word."""
    error = error_of(tmp_path, file_of(block([kernel()]), version=version))
    assert isinstance(error, UnsupportedVersionError)
    assert error.offset == 8


def test_every_cut_is_an_error_or_loses_whole_blocks(tmp_path: Path) -> None:
    """A file cut at any byte fails, except between blocks, where the format has no end mark."""
    starts = [10]
    while starts[-1] < len(SOUND):
        header_size = int.from_bytes(SOUND[starts[-1] : starts[-1] + 4], "little")
        payload = read_ncu_rep(write_bytes(tmp_path, SOUND)).results[len(starts) - 1].offset
        entry_size = int.from_bytes(SOUND[payload - 4 : payload], "little")
        starts.append(starts[-1] + 4 + header_size + 4 + entry_size)
    for cut in range(len(SOUND)):
        if cut in starts[1:]:
            assert len(read_ncu_rep(write_bytes(tmp_path, SOUND[:cut])).results) == starts.index(
                cut
            )
        else:
            assert error_of(tmp_path, SOUND[:cut]).path.endswith("handmade.ncu-rep")


@pytest.mark.parametrize(
    ("content", "kind", "offset", "where"),
    [
        pytest.param(b"NVR\0\x02\0", TruncatedReportError, 4, (), id="cut in the header's size"),
        pytest.param(b"NVR\0\x09\0\0\0\x08\x07", TruncatedReportError, 4, (), id="cut header"),
        pytest.param(b"NVR\0\x01\0\0\0\x0f", WireFormatError, 8, ("file header",), id="bad header"),
        pytest.param(
            SOUND + b"\x05\0\0\0\x10",
            TruncatedReportError,
            None,
            ("block 3",),
            id="cut block header",
        ),
        pytest.param(SOUND + b"abc", TrailingBytesError, None, ("block 3",), id="three bytes more"),
        pytest.param(
            SOUND + b"garbage!", TrailingBytesError, None, ("block 3",), id="text behind the last"
        ),
        pytest.param(
            SOUND + length_prefixed(b"\x0f"),
            WireFormatError,
            len(SOUND) + 4,
            ("block 3", "header"),
            id="damaged block header",
        ),
        pytest.param(
            SOUND + block(payload_size=9),
            TruncatedReportError,
            None,
            ("block 3",),
            id="payload past the end",
        ),
        pytest.param(
            SOUND + block([kernel()])[:-1],
            TruncatedReportError,
            None,
            ("block 3", "kernel 0"),
            id="cut result",
        ),
        pytest.param(
            SOUND + block([kernel()], sources=[b"xyz"], payload_size=6) + bytes(20),
            WireFormatError,
            None,
            ("block 3", "source 0"),
            id="entry past its payload",
        ),
        pytest.param(
            SOUND + block([kernel()], payload_size=len(kernel()) + 6) + bytes(2),
            TrailingBytesError,
            len(SOUND) + len(block([kernel()])),
            ("block 3",),
            id="payload with more than its entries",
        ),
        pytest.param(
            SOUND + block([kernel() + b"\x0f"]),
            WireFormatError,
            len(SOUND) + len(block([kernel()])),
            ("block 3", "kernel 0"),
            id="damaged result",
        ),
        pytest.param(
            SOUND + block([kernel(), kernel(metric(1))]),
            StringIndexError,
            None,
            ("block 3", "kernel 1"),
            id="name that no string table has",
        ),
    ],
)
def test_damage_is_told_with_its_place(
    tmp_path: Path,
    content: bytes,
    kind: type[ReportFormatError],
    offset: int | None,
    where: tuple[str, ...],
) -> None:
    """Class, byte offset and breadcrumb point at the structure that is damaged."""
    error = error_of(tmp_path, content)
    assert type(error) is kind
    assert error.where == where
    assert error.offset is not None
    assert error.offset >= min(len(content), len(SOUND)) if offset is None else True
    assert offset in {None, error.offset}
    assert error.advice


@pytest.mark.parametrize("number", sorted(REQUIRED))
def test_a_result_without_a_required_field_is_damage(tmp_path: Path, number: int) -> None:
    """NVIDIA's reader shows such a launch without a name and without metrics."""
    error = error_of(tmp_path, file_of(block([kernel(without=[number])])))
    assert isinstance(error, FieldMissingError)
    assert error.problem.startswith("has no ")
    assert error.where == ("block 0", "kernel 0")


@pytest.mark.parametrize(
    ("fields", "kind", "problem"),
    [
        (message_field(13, text_field(2, "")), FieldMissingError, "no name id"),
        (message_field(13, b"\x08\x00\x12\x05"), WireFormatError, "runs past the metric's end"),
        (message_field(13, b"\x08\x00\x1a\x05"), WireFormatError, "runs past the metric's end"),
        (message_field(13, b"\x08\x80"), WireFormatError, "runs past the metric's end"),
        (message_field(13, b"\x08\x00\x12\x02\x28\x80"), WireFormatError, "where its message has"),
        (message_field(13, b"\x08\x00\x12\x01\x0f"), WireFormatError, "wire type 7"),
        (message_field(13, b"\x08\x00\x0f"), WireFormatError, "wire type 7"),
        (b"\x6a\x7f\x08\x00", WireFormatError, "a metric needs 127 bytes"),
        (b"\x6a" + b"\xff" * 9 + b"\x01", WireFormatError, "a metric needs"),
    ],
)
def test_damage_inside_a_metric_is_found(
    tmp_path: Path, fields: bytes, kind: type[ReportFormatError], problem: str
) -> None:
    """The hot loop checks as much as the rest."""
    error = error_of(tmp_path, file_of(block([kernel(fields)], strings=["a"])))
    assert type(error) is kind
    assert problem in error.problem


@pytest.mark.parametrize(
    ("instance", "kind", "problem"),
    [
        (b"\x1a\x00", FieldMissingError, "an instance has no value"),
        (b"\x1a\x02\x12\x05", WireFormatError, "a value needs 5 bytes, 0 are left"),
        (b"\x1a\x01\x0f", WireFormatError, "wire type 7"),
    ],
)
def test_damage_inside_an_instance_is_found_where_it_is_read(
    tmp_path: Path, instance: bytes, kind: type[ReportFormatError], problem: str
) -> None:
    """Instances that nobody asked for are stepped over."""
    content = file_of(block([kernel(message_field(13, b"\x08\x00", instance))], strings=["a"]))
    path = write_bytes(tmp_path, content)
    assert list(read_ncu_rep(path).scalars.instance_count) == [1]
    with pytest.raises(kind, match=problem):
        read_ncu_rep(path, instances=True)


def test_a_mistake_of_the_reader_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No low-level exception of the reader reaches the user."""

    def fail(*_: object, **__: object) -> None:
        raise IndexError("slip")

    path = write_bytes(tmp_path, SOUND)
    for name in ("nsightlens.ncurep.pure.read_result", "nsightlens.ncurep.container.read_process"):
        with monkeypatch.context() as patch:
            patch.setattr(name, fail)
            content = SOUND + block([], message_field(6, uint_field(1, 1)))
            path.write_bytes(content)
            with pytest.raises(WireFormatError, match="the reader failed on it") as caught:
                read_ncu_rep(path)
            assert isinstance(caught.value.__cause__, IndexError)


def test_an_exception_of_the_caller_is_the_callers(tmp_path: Path) -> None:
    """What a function of the caller raises is not taken for damage."""

    def fail(_: str) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        read_ncu_rep(write_bytes(tmp_path, SOUND), instances=fail)


def test_a_sound_file_has_nothing_to_salvage(tmp_path: Path) -> None:
    """Salvaging reads it as usual."""
    file = salvage(tmp_path, SOUND)
    assert (len(file.results), file.damage) == (3, None)


def test_a_cut_file_gives_the_launches_before_the_cut(tmp_path: Path) -> None:
    """The error is kept beside them."""
    file = salvage(tmp_path, SOUND[:-1])
    assert isinstance(file.damage, TruncatedReportError)
    assert len(file.results) == 2
    assert list(file.scalars.result) == [0, 1]


def test_launches_of_a_block_that_was_cut_are_kept(tmp_path: Path) -> None:
    """Only the launch with the cut in it is lost."""
    content = file_of(block([kernel(ONE), kernel(ONE), kernel(ONE)], strings=["a"]))
    assert len(salvage(tmp_path, content[:-1]).results) == 2


def test_a_block_that_contradicts_its_header_gives_nothing(tmp_path: Path) -> None:
    """Nobody can say which of its entries are what the header claims."""
    contradiction = block([kernel()], payload_size=len(kernel()) + 6) + bytes(2)
    file = salvage(tmp_path, SOUND + contradiction)
    assert isinstance(file.damage, TrailingBytesError)
    assert len(file.results) == 3


def test_a_damaged_launch_ends_the_reading_and_leaves_no_trace(tmp_path: Path) -> None:
    """Values and instances that were read of it before the damage are dropped."""
    words = [
        message_field(2, text_field(1, "x")),
        message_field(
            3, message_field(1, text_field(1, "y")), message_field(2, text_field(1, "z"))
        ),
    ]
    good = kernel(metric(0, *words))
    content = file_of(block([good, good + b"\x0f", good], strings=["a"]))
    file = salvage(tmp_path, content, instances=True)
    assert isinstance(file.damage, WireFormatError)
    assert len(file.results) == 1
    assert list(file.scalars.result) == [0]
    assert file.scalars.text == {0: "x"}
    late = kernel(metric(0, *words), metric(0, message_field(3)))
    file = salvage(tmp_path, file_of(block([good, late], strings=["a"])), instances=True)
    assert isinstance(file.damage, FieldMissingError)
    assert file.instances is not None
    assert list(file.instances.scalar) == [0]
    assert file.instances.text == {0: "z"}
    assert file.instances.correlation_text == {0: "y"}


def test_the_earliest_damage_counts(tmp_path: Path) -> None:
    """A file that is cut and has a damaged launch before the cut ends at the launch."""
    content = file_of(block([kernel(), kernel() + b"\x0f"]), block([kernel()]))[:-1]
    file = salvage(tmp_path, content)
    assert isinstance(file.damage, WireFormatError)
    assert len(file.results) == 1


def test_metrics_whose_names_were_cut_off_are_left_out(tmp_path: Path) -> None:
    """A value without a name says nothing; the launch and its other values stay."""
    fields = [
        metric(
            number,
            message_field(2, text_field(1, f"text {number}")),
            message_field(3, message_field(2)),
        )
        for number in (1, 0, 2, 0)
    ]
    content = file_of(block([kernel(*fields)], strings=["a"]), block(strings=["b", "c"]))
    file = salvage(tmp_path, content[:-1], instances=True)
    assert isinstance(file.damage, TruncatedReportError)
    assert len(file.results) == 1
    assert list(file.scalars.name) == [0, 0]
    assert file.scalars.text == {0: "text 0", 1: "text 0"}
    assert file.instances is not None
    assert list(file.instances.scalar) == [0, 1]


@pytest.mark.parametrize("content", [SOUND[:20], b"", b"hello", SOUND[:60]])
def test_nothing_before_the_damage_is_still_an_error(tmp_path: Path, content: bytes) -> None:
    """An empty table would look like a sound report in which nothing was profiled."""
    with pytest.raises(ReportFormatError):
        salvage(tmp_path, content)


def test_salvaging_is_not_advised_where_it_was_tried(tmp_path: Path) -> None:
    """The place and the kind of the damage stay the same."""
    with pytest.raises(TruncatedReportError) as told:
        read_ncu_rep(write_bytes(tmp_path, SOUND[:60]))
    with pytest.raises(TruncatedReportError, match="nothing could be salvaged") as tried:
        salvage(tmp_path, SOUND[:60])
    assert "--salvage" in told.value.advice
    assert "--salvage" not in str(tried.value)
    assert (tried.value.offset, tried.value.where) == (told.value.offset, told.value.where)
