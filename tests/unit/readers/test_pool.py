"""Several reports at once: the same answers in the same order, whichever is ready first."""

from __future__ import annotations

import errno
import pickle
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import worker_tasks
from support.reports import attention_launch, everything, gemm_launch, write_report

from nsightlens.errors import NotAReportError, ReaderFailedError, ReportNotFoundError
from nsightlens.readers import each, open_each, open_report, pool
from nsightlens.readers.read import ReadOptions
from nsightlens.report import Report
from nsightlens.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLES = ("launches", "stalls", "rules", "nvtx", "sessions", "metrics", "instances")


@pytest.fixture(params=["processes", "threads"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the pool take processes, as where Python has much to do, or threads, as where not."""
    is_in_process = request.param == "processes"
    monkeypatch.setattr(pool, "_needs_process", lambda *_: is_in_process)
    return str(request.param)


@pytest.fixture
def only_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_needs_process", lambda *_: True)
    monkeypatch.setattr(pool, "read_report", worker_tasks.read_or_die)


def three_reports(folder: Path) -> list[Path]:
    """Write a large report and two small ones, which are ready earlier."""
    return [
        write_report(folder, everything() * 10, name="1.ncu-rep"),
        write_report(folder, [gemm_launch()], name="2.ncu-rep"),
        write_report(folder, [attention_launch()] * 2, name="3.ncu-rep"),
    ]


def assert_same(one: Report, other: Report) -> None:
    for name in TABLES:
        table = getattr(one, name)
        assert table.schema == getattr(other, name).schema
        # As text, in which NaN is NaN.
        assert str(table.to_pylist()) == str(getattr(other, name).to_pylist())
    assert (one.sources, one.warnings) == (other.sources, other.warnings)
    assert one.column_origins == other.column_origins


def test_a_report_can_be_sent_to_another_process(tmp_path: Path) -> None:
    """All of its tables, its metrics and its origins."""
    report = open_report(write_report(tmp_path, everything()), instances=True)
    assert_same(pickle.loads(pickle.dumps(report)), report)


@pytest.mark.usefixtures("how")
def test_reading_side_by_side_gives_the_same_in_the_same_order(tmp_path: Path) -> None:
    """Options and all, and progress is told of every report by its name."""
    paths = three_reports(tmp_path)
    told: list[tuple[str, int, int]] = []
    together = open_report(
        paths, jobs=2, instances=["*"], progress=lambda *state: told.append(state)
    )
    assert_same(together, open_report(paths, jobs=1, instances=["*"]))
    assert {name for name, _, _ in told} == {str(path) for path in paths}
    assert max(done for _, done, _ in told) == len(together) - 3


@pytest.mark.usefixtures("how")
def test_an_error_stands_in_the_place_of_its_report(tmp_path: Path) -> None:
    """And does not stop the rest."""
    first, second, third = three_reports(tmp_path)
    second.write_bytes(b"\x01 no report")
    second_error, gone = open_each([second, tmp_path / "gone"], jobs=1)
    found = list(open_each([first, second, tmp_path / "gone", third], jobs=2))
    assert [isinstance(one, Report) for one in found] == [True, False, False, True]
    assert isinstance(found[1], NotAReportError)
    assert str(found[1]) == str(second_error)
    assert isinstance(found[2], ReportNotFoundError)
    assert str(found[2]) == str(gone)


def test_the_first_error_is_raised(tmp_path: Path) -> None:
    """The first by its place, whichever comes first."""
    first, second, third = three_reports(tmp_path)
    for path in (second, third):
        path.write_bytes(b"\x01 no report")
    with pytest.raises(NotAReportError, match=r"2\.ncu-rep"):
        open_report([first, second, third], jobs=2, reader="native")


@pytest.mark.usefixtures("only_processes")
def test_a_process_that_ends_costs_only_its_own_report(tmp_path: Path) -> None:
    """The others are read by a new one."""
    first, second, third = three_reports(tmp_path)
    deadly = tmp_path / "deadly.ncu-rep"
    shutil.copy(first, deadly)
    found = list(open_each([deadly, second, third], jobs=2))
    assert isinstance(found[0], ReaderFailedError)
    assert f"{deadly}: the process that was to read it ended with exit code 9" in str(found[0])
    assert [len(one) for one in found[1:] if isinstance(one, Report)] == [1, 2]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """Return the processes that the pool has started so far."""
    workers: list[Worker] = []

    def remembered() -> Worker:
        workers.append(Worker())
        return workers[-1]

    monkeypatch.setattr("nsightlens.worker.Worker", remembered)
    return workers


@pytest.mark.parametrize("name", ["1.ncu-rep", "deadly.ncu-rep"])
def test_a_process_of_no_more_use_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Worker], name: str
) -> None:
    """Neither pipes nor a temporary file nor a zombie: there may be thousands of reports."""
    reader = worker_tasks.read_natively if name == "1.ncu-rep" else worker_tasks.read_or_die
    monkeypatch.setattr(pool, "read_report", reader)
    path = write_report(tmp_path, [gemm_launch()], name=name)
    reading = pool.Pool(1, ReadOptions(reader="ncu_report"), None)
    try:
        result = reading.start(str(path))
        if name == "1.ncu-rep":
            assert len(result()) == 1
        else:
            with pytest.raises(ReaderFailedError):
                result()
        (worker,) = started
        process = worker._process
        assert process.returncode is not None
        for stream in (process.stdin, process.stdout, worker._said):
            assert stream is not None
            assert stream.closed
    finally:
        reading.close()


def test_a_process_that_does_not_start_is_not_the_fault_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no more files can be opened, no report is said to be unreadable."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    paths = three_reports(tmp_path)
    monkeypatch.setattr("subprocess.Popen", refused)
    for error in open_each(paths, jobs=2):
        assert isinstance(error, ReaderFailedError)
        assert "the process that was to read it did not start: Too many open files." in str(error)
        assert "--jobs 1" in str(error)


@pytest.mark.usefixtures("only_processes")
def test_who_stops_listening_ends_the_processes(tmp_path: Path, started: list[Worker]) -> None:
    """As an interrupt does, whatever they are busy with."""
    first, second, _ = three_reports(tmp_path)
    endless = second.rename(tmp_path / "endless.ncu-rep")
    reading = each.read_each([str(first), str(endless)], ReadOptions(), jobs=2)
    assert isinstance(next(reading), Report)
    del reading  # as leaving the loop over it does
    assert len(started) == 2
    assert all(worker.has_ended for worker in started)


def test_a_pool_is_taken_only_where_it_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To start a process takes longer than to read some small reports."""
    pools: list[int] = []
    make = pool.Pool

    def counted(count: int, *arguments: object) -> object:
        pools.append(count)
        return make(count, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "Pool", counted)
    monkeypatch.setattr(each, "processor_count", lambda: 2)
    paths = three_reports(tmp_path)
    open_report(paths)
    open_report(paths, jobs=0)
    open_report(paths[0], jobs=4)
    assert pools == []
    open_report(paths, jobs=4)
    monkeypatch.setattr(each, "WORTH_A_POOL_S", 0.01)
    open_report(paths)
    assert pools == [3, 2]
    monkeypatch.setattr(each, "processor_count", lambda: 1)
    open_report(paths)
    assert pools == [3, 2]


@pytest.mark.parametrize(
    ("scanner", "name", "options", "is_needed"),
    [
        (None, "large", {}, True),
        (None, "small", {}, True),
        ("compiled", "large", {}, False),
        ("compiled", "small", {}, True),
        ("compiled", "large", {"reader": "ncu_report"}, True),
    ],
)
def test_a_process_is_taken_only_where_threads_would_wait_for_one_another(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scanner: str | None,
    name: str,
    options: dict[str, Any],
    is_needed: bool,
) -> None:
    """The compiled scanner leaves the interpreter to others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pool, "compiled_scanner", lambda: scanner)
    (tmp_path / "small").write_bytes(b"NVR")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(20 << 20)
    assert pool._needs_process(name, ReadOptions(**options)) is is_needed


def test_what_lies_on_no_disk_is_read_by_who_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its turn: an interrupt ends the wait of the main thread for a pipe, and of no other."""
    readers: dict[str, threading.Thread] = {}

    def noted(name: str, *_: object) -> str:
        readers[name] = threading.current_thread()
        return name

    monkeypatch.setattr(pool, "read_here", noted)
    monkeypatch.setattr(pool, "_needs_process", lambda *_: False)
    disk = str(write_report(tmp_path, [gemm_launch()]))
    gone = str(tmp_path / "gone")
    names = ["-", disk, "memory://small", gone]
    assert [str(one) for one in each.read_each(names, ReadOptions(), jobs=4)] == names
    here = [name for name, thread in readers.items() if thread is threading.current_thread()]
    assert here == ["-", "memory://small", gone]


def test_only_a_few_reports_are_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: what nobody has taken yet stays in memory."""
    begun: list[str] = []

    def begin(_: pool.Pool, name: str) -> Callable[[], str]:
        begun.append(name)
        return lambda: name

    monkeypatch.setattr(pool.Pool, "start", begin)
    names = [f"{i}.ncu-rep" for i in range(20)]
    taken: list[str] = []
    for report in each.read_each(names, ReadOptions(), jobs=3):
        assert len(begun) - len(taken) <= 6
        taken.append(str(report))
    assert taken == begun == names


def test_less_than_no_jobs_are_refused(tmp_path: Path) -> None:
    """And so is a reader that there is not."""
    path = write_report(tmp_path, [gemm_launch()])
    with pytest.raises(ValueError, match="jobs must not be negative: -1"):
        open_report(path, jobs=-1)
    with pytest.raises(ValueError, match="not 'other'"):
        open_report(path, reader="other")  # type: ignore[arg-type]


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Its body runs once, though reports are read in other processes."""
    script = tmp_path / "script.py"
    paths = [str(path) for path in three_reports(tmp_path)]
    script.write_text(
        f"import nsightlens\nprint(len(nsightlens.open_report({paths!r}, jobs=2)))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(10 * len(everything()) + 3)]


@pytest.mark.usefixtures("only_processes")
def test_a_file_that_is_cut_while_it_is_read_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system ends whoever reads behind the end of a mapped file: more memory would not help."""

    def end(*_: object, **__: object) -> None:
        raise WorkerDiedError("was ended by SIGBUS")

    monkeypatch.setattr(Worker, "call", end)
    with pytest.raises(ReaderFailedError, match="cut while it was read"):
        open_report(three_reports(tmp_path), jobs=2)
