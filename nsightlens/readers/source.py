"""What the user named, as a plain file: standard input, a pipe, a URL, a compressed file.

A file on a disk is taken where it lies. Everything else is copied, decompressed if need be, into
a temporary file, so that one reader that maps files reads them all. What may be copied
is bounded: a small file can expand to more than any disk holds.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import (
    CompressedReportError,
    MissingExtraError,
    NsightLensError,
    ReportNotFoundError,
)
from nsightlens.ncurep.faults import COPY_AGAIN, SALVAGE
from nsightlens.readers.columns import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    Source = Callable[[], AbstractContextManager[IO[bytes]]]

__all__ = [
    "STDIN",
    "PlainFile",
    "is_url",
    "lies_on_disk",
    "place_of",
    "plain_file",
    "size_of",
    "typed",
]

STDIN = "-"
"""What stands for standard input; a file of this name is ``./-``."""

LARGEST = 64 << 30
"""[byte] The most that is copied: many times the largest report that people have."""
_SHARE_OF_DISK = 0.9  # what may be taken of the free space; others write there too
_CHUNK = 1 << 20  # [byte]
# [byte] Of compressed data, what comes out is lost from the last such piece before damage on.
_PIECE = 4096
_SALVAGED_PIECE = 256
_MORE_SPACE = "Set TMPDIR to a folder with more space, or give a plain file on a disk."
HEAD = 4096
"""[byte] Enough to tell what a file is."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z0-9+.:/-]+)?://")

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# RFC 8878, 3.1.2: a frame that says nothing may come first; parallel compressors begin with one.
_ZSTD_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")


class PlainFile(NamedTuple):
    """A file that can be mapped.

    Parameters
    ----------
    path
        Where it lies while it is used.
    head
        Its first bytes, at most `HEAD`; fewer where it has no more or cannot be read.
    warnings
        What is missing of it, where the caller takes what is there.
    """

    path: str
    head: bytes
    warnings: tuple[str, ...] = ()


class _CutStreamError(Exception):
    """Compressed data gives no more; what came before is in the file."""


def typed(given: str | os.PathLike[str]) -> str:
    """Return the name of a report as text, in which ``-`` is standard input and nothing else."""
    name = os.fspath(given)
    return f"{os.curdir}{os.sep}{name}" if name == STDIN and not isinstance(given, str) else name


def is_url(given: str) -> bool:
    """Tell a URL from a path."""
    return _URL.match(given) is not None


def lies_on_disk(given: str) -> bool:
    """Tell whether every process finds a regular file under this name."""
    return given != STDIN and not is_url(given) and os.path.isfile(given)  # noqa: PTH113 - any name


def size_of(given: str) -> int:
    """Return the size [byte] of a file on a disk, 0 for anything else."""
    try:
        return os.stat(given).st_size  # noqa: PTH116 - also takes what pathlib cannot hold
    except (OSError, ValueError):
        return 0


def place_of(given: str | os.PathLike[str]) -> str:
    """Return a text that is the same for two names of one file, and for two equal names."""
    name = typed(given)
    return os.path.realpath(name) if lies_on_disk(name) else name


@contextmanager
def plain_file(given: str, *, salvage: bool = False) -> Iterator[PlainFile]:
    """Give a plain file with what the user named, for as long as the context lasts.

    Parameters
    ----------
    given
        A path, ``-`` or a URL; see `typed`.
    salvage
        Take of damaged compressed data what comes before the damage.

    Raises
    ------
    ReportNotFoundError
        It does not exist or cannot be read. For a path this is left to the reader of the file.
    CompressedReportError
        Compressed data is damaged, or expands to more than there is space for; the copy of a pipe
        or URL too.
    MissingExtraError
        It is a URL, and fsspec is not installed.
    """
    if given == STDIN:
        source: Source = _standard_input
    elif is_url(given):
        source = partial(_open_url, given)
    else:
        head = _head_of_file(given)
        if head is not None and _codec(head) is None:
            yield PlainFile(given, head)
            return
        source = partial(_open_pipe_or_file, given)
    shown = shown_path(given)
    with _anonymous_file() as (file, path):
        warnings = _fill(file, source, shown, salvage=salvage)
        with _full_disk_told(shown):
            file.flush()
        file.seek(0)
        yield PlainFile(path, file.read(HEAD), warnings)


def _head_of_file(path: str) -> bytes | None:
    """Return the first bytes of a file on a disk, None where it is a pipe.

    What is neither, or cannot be read, has no first bytes: its reader says what it is.
    """
    try:
        # Before it is opened: opening a pipe waits for its writer.
        mode = os.stat(path).st_mode  # noqa: PTH116 - also takes what pathlib cannot hold
        if stat.S_ISFIFO(mode):
            return None
        if not stat.S_ISREG(mode):
            return b""
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(HEAD)
    except (OSError, ValueError):
        return b""


def _codec(head: bytes) -> str | None:
    """Return the compression whose data begins like this, by the name that Arrow gives it."""
    if head.startswith(_GZIP):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD) or _ZSTD_SKIPPABLE.match(head) else None


@contextmanager
def _anonymous_file() -> Iterator[tuple[IO[bytes], str]]:
    """Give a temporary file and a path to it; nothing is left of it when the context ends.

    Where the system names open files in /proc/self/fd, nothing is left of it either if the process
    is killed: the file has no name. Elsewhere it has one, which only this process removes.
    """
    import tempfile  # noqa: PLC0415 - as pyarrow below

    if Path("/proc/self/fd").is_dir():
        with _closed(tempfile.TemporaryFile(prefix="nsightlens-")) as file:
            yield file, f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory(prefix="nsightlens-") as folder:
        path = Path(folder, "report")
        with _closed(path.open("w+b")) as file:
            yield file, str(path)


@contextmanager
def _closed(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Close a file at the end; on a full disk that says once more what was told already."""
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def _fill(
    file: IO[bytes],
    source: Source,
    shown: str,
    *,
    salvage: bool,
) -> tuple[str, ...]:
    """Copy what a source gives into a file, decompressed; return what is to be told about it."""
    codec = None
    try:
        with source() as stream:
            head = stream.read(4)
            codec = _codec(head)
            chunks = _chunks(head, stream)
            if codec is not None:
                chunks = _decompressed(chunks, codec, _SALVAGED_PIECE if salvage else _PIECE)
            _copy(chunks, file, shown)
    except _CutStreamError as cut:
        read = file.tell()
        problem = f"the {codec} data {cut}, behind {read} bytes of the report"
        if not salvage or not read:
            advice = COPY_AGAIN if salvage else SALVAGE
            raise CompressedReportError(shown, problem, advice) from cut.__cause__
        return (f"{shown}: {problem}: what comes before was read",)
    except NsightLensError:
        raise
    except OSError as error:
        raise _unreadable(shown, error) from error
    return ()


def _chunks(head: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    yield head
    while chunk := stream.read(_CHUNK):
        yield chunk


def _decompressed(chunks: Iterator[bytes], codec: str, size: int) -> Iterator[bytes]:
    """Yield the content of gzip or zstd data, of all its members or frames, in small pieces."""
    import pyarrow as pa  # noqa: PLC0415 - a plain file needs no codec

    stream = pa.CompressedInputStream(pa.PythonFile(_Readable(chunks), mode="r"), codec)
    while True:
        try:
            chunk = stream.read(size)
        except OSError as error:
            if error.errno is not None:  # of the source, not of the codec
                raise
            is_cut = "runcated" in str(error)
            told = "ends early" if is_cut else f"is damaged ({_one_line(error)})"
            raise _CutStreamError(told) from error
        if not chunk:
            return
        yield chunk


class _Readable:
    """Chunks as the file that Arrow reads compressed data from."""

    closed = False

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, none at the end only."""
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        taken, self._rest = self._rest[:size], self._rest[size:]
        return bytes(taken)

    def close(self) -> None:
        """Do nothing: the stream behind the chunks is closed by who opened it."""


def _copy(chunks: Iterator[bytes], file: IO[bytes], shown: str) -> None:
    import shutil  # noqa: PLC0415 - as pyarrow above
    import tempfile  # noqa: PLC0415

    folder = tempfile.gettempdir()
    free = int(shutil.disk_usage(folder).free * _SHARE_OF_DISK)
    copied = 0
    for chunk in chunks:
        copied += len(chunk)
        if copied > LARGEST:
            problem = f"it expands to more than {LARGEST} bytes"
            raise CompressedReportError(shown, problem, "No report is that large: check the file.")
        if copied > free:
            problem = f"it needs more than the {free} bytes that may be taken in {folder}"
            raise CompressedReportError(shown, problem, _MORE_SPACE)
        with _full_disk_told(shown):
            file.write(chunk)


@contextmanager
def _full_disk_told(shown: str) -> Iterator[None]:
    """Say of an error that it is the temporary file that cannot be written."""
    import tempfile  # noqa: PLC0415 - as pyarrow above

    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        problem = f"it could not be copied to {tempfile.gettempdir()}: {reason}"
        raise CompressedReportError(shown, problem, _MORE_SPACE) from error


def _open_pipe_or_file(path: str) -> IO[bytes]:
    return open(path, "rb")  # noqa: PTH123 - any name


@contextmanager
def _standard_input() -> Iterator[IO[bytes]]:
    stream = sys.stdin
    if stream is None or stream.closed:
        raise ReportNotFoundError(f"{STDIN}: standard input is closed. Name a file.")
    if stream.isatty():
        told = "standard input is a terminal. Pipe a report into it, or name a file."
        raise ReportNotFoundError(f"{STDIN}: {told}")
    yield stream.buffer


@contextmanager
def _open_url(url: str) -> Iterator[IO[bytes]]:
    try:
        # An optional library.
        import fsspec  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(f"reading {url}", package="fsspec", extra="fsspec") from error
    try:
        with fsspec.open(url, "rb") as stream:
            yield stream
    except (NsightLensError, _CutStreamError):
        raise
    except Exception as error:  # each file system has errors of its own
        raise _unreadable(url, error) from error


def _unreadable(shown: str, error: Any) -> ReportNotFoundError:
    if isinstance(error, FileNotFoundError):
        return ReportNotFoundError(f"{shown}: there is no such file. Check the name.")
    reason = getattr(error, "strerror", None) or _one_line(error) or type(error).__name__
    return ReportNotFoundError(f"{shown}: cannot be read: {reason.rstrip('.')}.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
