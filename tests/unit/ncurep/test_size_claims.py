"""Sizes that a file claims are checked before anything is made for them, and depth is bounded.

A file of a kilobyte that says it holds ten gigabytes costs a kilobyte, wherever it says so, and a
message in a message in a message costs no stack.
"""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.handmade import block, file_of, kernel, metric, write_bytes

import nsightlens
from nsightlens.errors import NsightLensError, ReportFormatError
from nsightlens.ncurep import encode_ncu_rep, read_columns, read_ncu_rep
from nsightlens.ncurep.encode import length_prefixed, message_field, uint_field, varint
from nsightlens.ncurep.model import MAGIC
from nsightlens.ncurep.scanner import compiled_scanner
from nsightlens.ncurep.spec import LaunchSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CLAIM = 10 * 2**30
UINT32 = 2**32 - 1
ALLOWED_BYTES = 1_000_000
FILLER = bytes(1000)
DEPTH = 5000  # Python's own limit is 1000 calls


def claiming(number: int, content: bytes = b"", claim: int = CLAIM) -> bytes:
    """Return a field that says it is far longer than its content."""
    return varint(number << 3 | 2) + varint(claim) + content


def header(*fields: bytes) -> bytes:
    """Return a file of one block that has this header and a kilobyte of payload."""
    return file_of(length_prefixed(b"".join(fields)) + FILLER)


CLAIMS: dict[str, bytes] = {
    "header of the file": MAGIC + UINT32.to_bytes(4, "little") + FILLER,
    "header of a block": file_of(UINT32.to_bytes(4, "little") + uint_field(1, 0) + FILLER),
    "payload": header(uint_field(2, 1), uint_field(5, UINT32)),
    "payload beyond 32 bits": header(uint_field(2, 1), uint_field(5, CLAIM + 5000)),
    "entry": header(uint_field(2, 1), uint_field(5, 8)).replace(
        FILLER, UINT32.to_bytes(4, "little") + FILLER
    ),
    "number of kernels": header(uint_field(2, UINT32), uint_field(5, len(FILLER))),
    "number of ranges": header(uint_field(7, UINT32), uint_field(5, len(FILLER))),
    "number of sources": header(uint_field(1, UINT32), uint_field(5, len(FILLER))),
    "string table": header(claiming(4, FILLER)),
    "entry of the string table": header(message_field(4, claiming(1, b"name"))),
    "process": header(claiming(6, FILLER)),
    "name of the process": header(message_field(6, uint_field(1, 1), claiming(3, b"app"))),
    "session": header(message_field(3, claiming(9, FILLER))),
    "name of a kernel": file_of(block([kernel(claiming(6, FILLER))])),
    "unknown field": file_of(block([kernel(claiming(60, FILLER))])),
    "length beyond 64 bits": file_of(block([kernel(claiming(60, FILLER, 2**64 - 1))])),
    "metric": file_of(block([kernel(claiming(13, FILLER))], strings=["a"])),
    "value of a metric": file_of(block([kernel(metric(0, claiming(2, b"\x28\x01")))])),
    "text of a metric": file_of(block([kernel(metric(0, message_field(2, claiming(1, b"x"))))])),
    "instance": file_of(block([kernel(metric(0, claiming(3, FILLER)))], strings=["a"])),
    "value of an instance": file_of(
        block([kernel(metric(0, message_field(3, claiming(2, b"\x28\x01"))))], strings=["a"])
    ),
    "rule": file_of(block([kernel(message_field(19, claiming(1, b"rule")))])),
    "NVTX state": file_of(block([kernel(message_field(21, claiming(1, FILLER)))])),
}


def _columns(scanner: str) -> Callable[[Path], object]:
    return lambda path: read_columns(path, instances=True, scanner=scanner)  # type: ignore[arg-type]


READERS = [
    pytest.param(lambda path: read_ncu_rep(path, instances=True), id="read_ncu_rep"),
    pytest.param(_columns("python"), id="python"),
    pytest.param(
        _columns("c"),
        id="c",
        marks=pytest.mark.skipif(compiled_scanner() is None, reason="no compiled scanner"),
    ),
    pytest.param(lambda path: nsightlens.open_report(path, instances=True), id="open_report"),
]


@contextmanager
def little_memory(most_bytes: int = ALLOWED_BYTES) -> Iterator[None]:
    """Check that what runs inside takes no more memory, of Python, NumPy and Arrow."""
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most_bytes
    assert pa.total_allocated_bytes() - arrow < most_bytes


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("read", READERS)
def test_a_kilobyte_that_claims_gigabytes_fails_at_the_cost_of_a_kilobyte(
    read: Callable[[Path], object], claim: str, tmp_path: Path
) -> None:
    """The claim is held against what the file has before anything is made for it."""
    sound = tmp_path / "sound.ncu-rep"
    sound.write_bytes(encode_ncu_rep([LaunchSpec(metrics={"a": 1})]))
    read(sound)  # what is loaded and remembered the first time is not the claim's
    path = write_bytes(tmp_path, CLAIMS[claim])
    assert path.stat().st_size < 2500
    with little_memory(), pytest.raises(ReportFormatError) as caught:
        read(path)
    assert "the reader failed on it" not in str(caught.value)


def nested(number: int) -> bytes:
    """Return messages in messages, each the only field of the one around it."""
    content = b""
    for _ in range(DEPTH):
        content = message_field(number, content)
    return content


def refusal_of(read: Callable[[Path], object], path: Path) -> NsightLensError | None:
    """Return the error with which a file is refused, None where it is read."""
    try:
        read(path)
    except NsightLensError as error:
        return error
    return None


@pytest.mark.parametrize("inner", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("read", READERS)
def test_depth_of_nesting_costs_no_stack(
    read: Callable[[Path], object], inner: int, tmp_path: Path
) -> None:
    """Whatever holds five thousand messages in one another is read or refused like any other."""
    deep = nested(inner)
    results = [kernel(message_field(number, deep)) for number in range(9, 30)]
    results += [kernel(metric(0, deep)), kernel(metric(0, message_field(3, deep)))]
    files = [file_of(block([result], strings=["a"])) for result in results]
    files += [header(message_field(number, deep)) for number in (3, 4, 6, 60)]
    refusals = [refusal_of(read, write_bytes(tmp_path, content)) for content in files]
    assert not any("the reader failed on it" in str(refusal) for refusal in refusals)
    assert None in refusals
