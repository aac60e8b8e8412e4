"""A small file does not ask for much: what its rows share is neither spelled nor searched in each.

Each file is made of one long text and thousands of rows that share it, or of two long lists that
belong together. It is read in a process that may not have much more memory than Python itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from support.handmade import block, file_of, kernel, metric, write_bytes

from nsightlens.arrays import LONGEST_TEXTS, text_array
from nsightlens.errors import ReportFormatError
from nsightlens.ncurep import read_columns, read_ncu_rep
from nsightlens.ncurep.compiled import _text
from nsightlens.ncurep.container import EntryIndex
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.model import ProcessInfo
from nsightlens.ncurep.scanner import compiled_scanner
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_BYTES = 300_000_000
CPU_S = 60
LONG = "n" * 100_000
VALUE = message_field(2, uint_field(5, 1))


def ranges(count: int, *header: bytes, result: bytes = b"") -> bytes:
    """Return a block of many equal range results."""
    payload = length_prefixed(result) * count
    fields = [uint_field(5, len(payload)), uint_field(7, count), *header]
    return length_prefixed(b"".join(fields)) + payload


def process(number: int, name: str = "") -> bytes:
    """Return the field of a header that names its process."""
    return message_field(6, uint_field(1, number), text_field(3, name))


def processes_and(*details: bytes) -> bytes:
    """Return a file of many processes, and what a block says of all of them."""
    return file_of(
        block([], message_field(3, *details)), *[block([], process(i)) for i in range(1000)]
    )


def sparse(count: int) -> bytes:
    """Return a file of launches that each have a metric that no other has."""
    results = [length_prefixed(message_field(4, uint_field(1, i), VALUE)) for i in range(count)]
    payload = b"".join(results)
    names = message_field(4, *(text_field(1, str(i)) for i in range(count)))
    fields = names + uint_field(5, len(payload)) + uint_field(7, count)
    return file_of(length_prefixed(fields) + payload)


def nvtx(number: int, one: bytes) -> bytes:
    """Return a domain with thousands of ranges, in a stack (number 2) or beside it (3)."""
    ranges = (uint_field(1, 7), *[one] * 10_000)
    inner = [uint_field(1, 77), message_field(2, *ranges)] if number == 2 else ranges
    domain = message_field(1, uint_field(1, 7), text_field(2, LONG))
    return message_field(21, domain, message_field(number, *inner))


READ: dict[str, bytes] = {
    "name of a process": file_of(ranges(20_000, process(9, LONG))),
    "name of a rule": file_of(
        block(
            [
                kernel(
                    message_field(
                        19,
                        *(text_field(number, LONG) for number in (1, 2, 4)),
                        message_field(3, *[message_field(1, message_field(1))] * 10_000),
                    )
                )
            ]
        )
    ),
    "name of the domain of a stack": file_of(
        block([kernel(nvtx(2, message_field(3, text_field(1, ""))))])
    ),
    "name of a metric": file_of(
        ranges(
            20_000,
            message_field(4, text_field(1, LONG)),
            result=message_field(4, uint_field(1, 0), VALUE),
        )
    ),
    "name of a metric with instances": file_of(
        block([kernel(metric(0, *[message_field(3, VALUE)] * 20_000))], strings=[LONG])
    ),
    "metrics that one launch each has": sparse(6000),
    "processes with one launch each": file_of(*[ranges(1, process(i)) for i in range(3000)]),
}
"""Files that are read, by what their rows share."""

REFUSED: dict[str, bytes] = {
    "name of an NVTX domain": file_of(
        block([kernel(nvtx(3, message_field(3, uint_field(1, 1), text_field(2, ""))))])
    ),
    "command line": processes_and(message_field(9, text_field(3, LONG))),
    "command line of the profiler": processes_and(text_field(11, LONG)),
    "version": processes_and(
        message_field(8, text_field(1, "Nsight Compute"), text_field(2, LONG))
    ),
    "versions": processes_and(*(message_field(8, text_field(1, str(i))) for i in range(10_000))),
    "name of a GPU": processes_and(message_field(6, uint_field(1, 0), text_field(2, LONG))),
    "GPUs": processes_and(*(message_field(6, uint_field(1, i)) for i in range(10_000))),
}
"""Files whose tables would fill the memory whatever they are made of."""

CHILD = f"""
import contextlib, io, json, resource, sys, warnings
from pathlib import Path
import pyarrow as pa
from nsightlens import classify, open_report
from nsightlens.cli.main import main
from nsightlens.errors import ReportFormatError
from nsightlens.ncurep import read_columns, read_ncu_rep
from nsightlens.ncurep.scanner import compiled_scanner

warnings.simplefilter("ignore")
pa.set_cpu_count(1)
folder, *names = sys.argv[1:]
status = Path("/proc/self/status").read_text()
used = 1024 * int(status.split("VmData:")[1].split()[0])
resource.setrlimit(resource.RLIMIT_DATA, (used + {MEMORY_BYTES},) * 2)
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))

def label(path):
    report = open_report(path, instances=True)
    report.metrics
    classify(report)

def describe(path):
    told = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        code = main(["info", str(path)])
    if code:
        raise ReportFormatError("", told.getvalue(), "")

scanners = ["python"] if compiled_scanner() is None else ["python", "c"]
reads = [lambda path: read_ncu_rep(path, instances=True), label, describe]
reads += [lambda path, s=s: read_columns(path, instances=True, scanner=s) for s in scanners]
for name in names:
    told = []
    for read in reads:
        try:
            read(Path(folder, name))
            told.append("read")
        except ReportFormatError as error:
            told.append(error.problem)
        except BaseException as error:
            told.append(repr(error))
    print(json.dumps(told), flush=True)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what each way of reading says of each file: ``read``, or what is wrong."""
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is measured and bounded as Linux does it")
    folder = tmp_path_factory.mktemp("small")
    files = READ | REFUSED
    for i, content in enumerate(files.values()):
        assert len(content) < 1_000_000
        (folder / str(i)).write_bytes(content)
    argv = [sys.executable, "-c", CHILD, str(folder), *map(str, range(len(files)))]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip(files, lines, strict=False))  # fewer, where the process was ended


@pytest.mark.parametrize("shared", READ)
def test_rows_that_share_a_text_share_its_memory(shared: str, told: dict[str, list[str]]) -> None:
    """It is read by every reader, and labelled."""
    assert set(told.get(shared, ["ended"])) == {"read"}


@pytest.mark.parametrize("shared", REFUSED)
def test_a_text_that_every_row_would_spell_is_refused(
    shared: str, told: dict[str, list[str]]
) -> None:
    """The reader that makes the rows says how much they would take."""
    said = told.get(shared, ["ended"])
    assert any(" would take " in problem for problem in said)
    assert all(" would take " in problem or problem == "read" for problem in said)


def test_the_processes_of_a_file_are_not_listed_for_every_launch() -> None:
    """Ten thousand launches of ten thousand processes would take minutes."""
    lists = []

    class Watched(dict[ProcessInfo, int]):
        def __iter__(self) -> Iterator[ProcessInfo]:
            lists.append(1)
            return super().__iter__()

    index = EntryIndex()
    index.processes = Watched()
    for i in range(10):
        index.process_index(ProcessInfo(i))
    index.add([(0, 0, 0, 0, 0, i) for i in range(-1, 10)])
    found = [entry.process for entry in index]
    assert found == [None, *(ProcessInfo(i) for i in range(10))]
    assert len(lists) == 1


@pytest.mark.skipif(compiled_scanner() is None, reason="no compiled scanner")
def test_a_name_is_asked_for_once(tmp_path: Path) -> None:
    """Entries that the compiled scanner leaves to the other one do not ask again."""
    odd = kernel(text_field(6, "??")).replace(b"??", b"\xff\xff")
    content = file_of(block([kernel(), odd, odd], strings=["a", "b"]))
    asked: list[str] = []

    def wanted(name: str) -> bool:
        asked.append(name)
        return False

    read_columns(write_bytes(tmp_path, content), instances=wanted)
    assert asked == ["a", "b"]


OUT_OF_ROOM = [
    (MemoryError(), "more memory than this process may have"),
    (pa.ArrowMemoryError("malloc of size 9 failed"), "more memory than this process may have"),
    (pa.ArrowCapacityError("array cannot contain more"), "2 GiB that Arrow holds"),
    (pa.ArrowInvalid("offset overflow while concatenating arrays"), "2 GiB that Arrow holds"),
    (pa.ArrowInvalid("anything else"), "the reader failed on it"),
]


@pytest.mark.parametrize(("raised", "told"), OUT_OF_ROOM)
@pytest.mark.parametrize(
    ("read", "place"),
    [
        (read_columns, "nsightlens.ncurep.read.Container"),
        (read_ncu_rep, "nsightlens.ncurep.read.Container"),
        (open_report, "nsightlens.readers.ncu_rep.rules_table"),
    ],
)
def test_what_does_not_fit_is_a_diagnosis(
    read: Any, place: str, raised: Exception, told: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Errors of memory and of Arrow say of which file they are, and what to do."""

    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(place, fail)
    path = write_bytes(tmp_path, file_of(block([kernel()])))
    with pytest.raises(ReportFormatError, match=told) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.advice
    assert caught.value.__cause__ is raised


def test_a_column_of_more_text_than_arrow_holds_is_no_column_of_nonsense() -> None:
    """Offsets of 64 bits are not cut to 32."""
    end = LONGEST_TEXTS + 1
    data = np.zeros(end, dtype=np.uint8)  # of which nothing is ever touched
    with pytest.raises(pa.ArrowCapacityError, match=f"{end} bytes"):
        _text((np.array([0, end]), data))


def test_texts_that_arrow_splits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several arrays are no column that others can refer to."""
    monkeypatch.setattr("pyarrow.array", lambda *_, **__: pa.chunked_array([["a"], ["b"]]))
    with pytest.raises(pa.ArrowCapacityError):
        text_array(["a", "b"])
