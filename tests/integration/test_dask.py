"""Reports read on a Dask cluster give what they give here; what can go wrong is told in one line.

The clusters are real ones on this machine: of processes with a network between them, and of
threads.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import report_tasks
from support.reports import attention_launch, everything, gemm_launch, write_report

from nsightlens.cli.main import main
from nsightlens.errors import ClusterError, ReaderFailedError, ReportNotFoundError
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep.write import write_ncu_rep
from nsightlens.pipelines import (
    ExportOptions,
    Filters,
    cluster,
    export_reports,
    map_reports,
    sweep_reports,
)
from nsightlens.pipelines.processes import AHEAD
from nsightlens.store import open_dataset
from nsightlens.sweeps import SweepOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

distributed: Any = pytest.importorskip("distributed", reason="needs nsightlens[dask]")

pytestmark = [
    pytest.mark.slow,
    # What the library and its own libraries do with Python is not ours to mend.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:(distributed|dask|tornado)"),
]
ROOT = Path(__file__).parents[2]
SUPPORT = str(Path(report_tasks.__file__).parents[1])


@contextmanager
def local_cluster(**settings: Any) -> Iterator[str]:
    """Give the address of a cluster on this machine."""
    with distributed.LocalCluster(
        **{"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", **settings}
    ) as local:
        yield local.scheduler_address


@pytest.fixture(scope="module", params=["processes", "threads"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the address of a cluster of two workers."""
    with local_cluster(processes=request.param == "processes") as found:
        yield found


@pytest.fixture(scope="module")
def of_processes() -> Iterator[str]:
    """Return the address of a cluster of two processes."""
    with local_cluster(processes=True) as found:
        yield found


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up early."""
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    monkeypatch.setattr(cluster, "NO_WORKER_S", 0.5)
    monkeypatch.setattr(cluster, "CHECK_S", 0.1)


@contextmanager
def started(*words: str, code: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Start a scheduler or a worker as its command does, and end it."""
    kind, *options = words
    start = f"{code}\nfrom distributed.cli.dask_{kind} import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, *options, "--no-dashboard"],
        env={**os.environ, "PYTHONPATH": SUPPORT},
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def started_scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a scheduler; give it and its file."""
    file = folder / "scheduler.json"
    words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    with started(*words) as process:
        end = time.monotonic() + 60
        while not (file.exists() and file.read_bytes().endswith(b"}")):
            assert time.monotonic() < end
            time.sleep(0.05)
        yield process, file


def some_reports(folder: Path) -> list[Path]:
    """Write a large report and two small ones, which are ready earlier."""
    return [
        write_report(folder, everything() * 10, name="1.ncu-rep"),
        write_report(folder, [gemm_launch()], name="2.ncu-rep"),
        write_report(folder, [attention_launch()] * 2, name="3.ncu-rep"),
    ]


def told(outcomes: Iterator[Any]) -> list[Any]:
    """Return outcomes as what can be compared."""
    return [str(one) if isinstance(one, Exception) else one for one in outcomes]


def rows_of(table: pa.Table) -> str:
    """Return rows as text, in which NaN is NaN."""
    return str(table.to_pylist())


def test_a_cluster_gives_the_same_in_the_same_order(tmp_path: Path, address: str) -> None:
    """Also the error of a report that is none."""
    paths = some_reports(tmp_path)
    paths[1].write_bytes(b"\x01 no report")
    told_progress: list[tuple[str, int, int]] = []
    found = map_reports(
        report_tasks.launches_of,
        paths,
        {"any": "thing"},
        dask=address,
        progress=lambda *state: told_progress.append(state),
    )
    assert told(found) == told(
        map_reports(report_tasks.launches_of, paths, {"any": "thing"}, jobs=1)
    )
    assert told_progress == [(str(path), i, 3) for i, path in enumerate(paths, 1)]


def test_a_relative_name_counts_from_the_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """The workers were started in another one."""
    some_reports(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = list(map_reports(report_tasks.launches_of, ["3.ncu-rep"], None, dask=address))
    assert found == [(["3.ncu-rep"], 2, None)]


def test_a_file_that_a_worker_does_not_find_is_told(address: str) -> None:
    """As where the folder is not shared."""
    (error,) = map_reports(report_tasks.launches_of, ["gone.ncu-rep"], None, dask=address)
    assert isinstance(error, ReportNotFoundError)
    assert "gone.ncu-rep: the Dask worker on " in str(error)
    assert "a folder that all workers see under the same name" in str(error)


def test_a_fault_is_raised_with_where_it_was(tmp_path: Path, address: str) -> None:
    """As it is here."""
    with pytest.raises(ZeroDivisionError) as caught:
        list(map_reports(report_tasks.fail, some_reports(tmp_path), None, dask=address))
    assert "report_tasks.py" in str(caught.value.__cause__)


def test_a_sweep_on_a_cluster_is_the_one_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Tables, verdict, notes, and what is to be known of the reports."""
    for batch_size in (1, 16, 256):
        write_ncu_rep(tmp_path / f"b{batch_size}.ncu-rep", decode_sweep([batch_size]))
    (tmp_path / "broken.ncu-rep").write_bytes(b"\x01 no report")
    monkeypatch.chdir(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    options = SweepOptions(model="opt-1.3b")
    there = sweep_reports(names, options, filters=Filters(families=("gemm",)), dask=address)
    here = sweep_reports(names, options, filters=Filters(families=("gemm",)), jobs=1)
    for table in ("rows", "trends", "steps"):
        assert rows_of(getattr(there.sweep, table)) == rows_of(getattr(here.sweep, table))
    assert there.sweep.verdict == here.sweep.verdict
    assert there.sweep.notes == here.sweep.notes
    assert [str(one.error) for one in there.unread] == [str(one.error) for one in here.unread]
    assert there._replace(sweep=None, unread=()) == here._replace(sweep=None, unread=())  # type: ignore[arg-type]


def test_a_dataset_made_on_a_cluster_is_the_one_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Every row of every table, and what is told of the reports."""
    reports = tmp_path / "reports"
    reports.mkdir()
    some_reports(reports)
    for batch_size in (1, 16):
        write_ncu_rep(reports / f"b{batch_size}.ncu-rep", decode_sweep([batch_size]))
    (reports / "broken.ncu-rep").write_bytes(b"\x01 no report")
    monkeypatch.chdir(reports)
    names = sorted(path.name for path in reports.iterdir())
    unread: dict[str, list[str]] = {"there": [], "here": []}
    summaries = [
        export_reports(
            names,
            tmp_path / place,
            options=ExportOptions(instances=("*",)),
            on_error=lambda _, error, place=place: unread[place].append(str(error)),  # type: ignore[misc]
            **how,
        )
        for place, how in (("there", {"dask": address}), ("here", {"jobs": 1}))
    ]
    assert unread["there"] == unread["here"] != []
    there, here = (summary._replace(folder="") for summary in summaries)
    assert there == here
    there_read, here_read = open_dataset(tmp_path / "there"), open_dataset(tmp_path / "here")
    assert there_read.tables == here_read.tables
    for table in here_read.tables:
        found = [
            rows_of(one.table(table).drop_columns(["exported_at"] if table == "reports" else []))
            for one in (there_read, here_read)
        ]
        assert found[0] == found[1]


def test_tasks_run_on_the_workers_and_the_rest_here(tmp_path: Path, of_processes: str) -> None:
    """Standard input and URLs are the caller's to read."""
    names = [*map(str, some_reports(tmp_path)), "-", "memory://report"]
    found = dict(map_reports(report_tasks.process_of, names, None, dask=of_processes))  # type: ignore[arg-type]
    assert {name for name, pid in found.items() if pid == os.getpid()} == set(names[3:])


def test_few_reports_are_sent_ahead_of_the_one_that_is_waited_for(
    tmp_path: Path, address: str
) -> None:
    """Two for each of two threads: results do not pile up."""
    (path, *_) = some_reports(tmp_path)
    taken = 0

    def names() -> Iterator[str]:
        nonlocal taken
        for _ in range(12):
            taken += 1
            yield str(path)

    waits = cluster.on_cluster(
        report_tasks.process_of,
        names(),
        None,
        address,
    )
    for done, wait in enumerate(waits):
        wait()
        assert taken <= done + 2 * AHEAD + 1
    assert taken == 12


def test_no_thread_is_left_behind(tmp_path: Path, of_processes: str) -> None:
    """Neither at the end nor where the caller stops listening, whatever the workers do."""
    first, second, _ = some_reports(tmp_path)
    endless = second.rename(tmp_path / "endless.ncu-rep")
    before = set(threading.enumerate())
    list(map_reports(report_tasks.launches_of, [first], None, dask=of_processes))
    outcomes = map_reports(report_tasks.dawdle, [first, endless], 2.0, dask=of_processes)
    assert next(outcomes) == str(first)
    outcomes.close()
    assert set(threading.enumerate()) <= before


def test_workers_of_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_processes: str
) -> None:
    """What two versions find is not the same."""
    monkeypatch.setattr("nsightlens.pipelines.cluster_job.__version__", "0.0.1")
    outcomes = map_reports(report_tasks.launches_of, some_reports(tmp_path), 1, dask=of_processes)
    with pytest.raises(ClusterError, match=r"has nsightlens .* and this is 0\.0\.1\. Install"):
        next(outcomes)


def test_workers_without_nsightlens_are_told(tmp_path: Path) -> None:
    """And do not die of it."""
    with started_scheduler(tmp_path) as (_, file):
        absent = "import sys; sys.modules['nsightlens'] = None"
        with started("worker", "--scheduler-file", str(file), "--no-nanny", code=absent):
            outcomes = map_reports(
                report_tasks.launches_of, some_reports(tmp_path), None, dask=str(file)
            )
            with pytest.raises(ClusterError, match="a worker cannot import nsightlens"):
                next(outcomes)


def test_a_lost_worker_costs_only_its_own_report(tmp_path: Path) -> None:
    """The others are read by the one that takes its place."""
    first, second, _ = some_reports(tmp_path)
    deadly = second.rename(tmp_path / "deadly.ncu-rep")
    with (
        _set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(processes=True, n_workers=1) as address,
    ):
        error, *others = map_reports(report_tasks.die, [deadly, first, first], None, dask=address)
    assert isinstance(error, ReaderFailedError)
    assert str(error).startswith(f"{deadly}: the Dask workers that were to read it died")
    assert others == [str(first)] * 2


def _set(settings: dict[str, Any]) -> Any:
    import dask

    return dask.config.set(settings)


def test_a_scheduler_that_goes_away_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for a result waits no longer."""
    monkeypatch.setattr(cluster, "CONNECT_S", 2.0)
    first, second, _ = some_reports(tmp_path)
    endless = second.rename(tmp_path / "endless.ncu-rep")
    before = set(threading.enumerate())
    with (
        _set({"distributed.comm.timeouts.connect": "1s"}),
        started_scheduler(tmp_path) as (scheduler, file),
        started("worker", "--scheduler-file", str(file), "--no-nanny", "--nthreads", "1"),
    ):
        outcomes = map_reports(report_tasks.dawdle, [first, endless], 600.0, dask=str(file))
        assert next(outcomes) == str(first)
        scheduler.kill()
        with pytest.raises(ClusterError, match="the connection to its scheduler broke off"):
            next(outcomes)
    assert set(threading.enumerate()) <= before


def test_the_recipe_of_the_docs_works(tmp_path: Path) -> None:
    """As it stands there, with another folder and fewer workers."""
    page = (ROOT / "docs" / "many-reports.md").read_text(encoding="utf-8")
    page = page.replace("/shared", str(tmp_path)).replace("--nworkers 4", "--nworkers 2")
    scheduler, worker = (
        shlex.split(line.removeprefix("$ "))
        for line in page.splitlines()
        if line.startswith("$ dask ")
    )
    (command,) = (
        shlex.split(line.removeprefix("$ "))
        for line in page.splitlines()
        if line.startswith("$ nsightlens") and "--dask" in line
    )
    runs = tmp_path / "runs"
    runs.mkdir()
    for batch_size in (1, 64):
        write_ncu_rep(runs / f"{batch_size}.ncu-rep", decode_sweep([batch_size]))
    with _running(scheduler), _running(worker):
        end = time.monotonic() + 60
        while not (tmp_path / "scheduler.json").exists():
            assert time.monotonic() < end
            time.sleep(0.1)
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert main(["sweep", str(runs), "--jobs", "1", "-o", str(tmp_path / "here.csv")]) == 0
    assert (tmp_path / "sweep.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@contextmanager
def _running(words: Sequence[str]) -> Iterator[None]:
    """Run a command of Dask, such as a worker with the processes that it starts, and end it."""
    with subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@pytest.mark.usefixtures("hasty")
def test_a_scheduler_without_workers_is_told() -> None:
    """With how to start one."""
    with local_cluster(processes=False, n_workers=0) as address:
        outcomes = map_reports(report_tasks.launches_of, ["a"], None, dask=address)
        with pytest.raises(ClusterError, match=r"has had no worker for 0\.5 s"):
            next(outcomes)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("tcp://127.0.0.1:9", "Timed out"),
        ("127.0.0.1:9", "Timed out"),
        ("scheduler.json", "missing port number"),
        ("carrier-pigeon://loft:8786", "unknown address scheme"),
    ],
)
def test_a_scheduler_that_is_not_there_is_told(given: str, why: str) -> None:
    """Soon, and with no thread left that goes on trying."""
    before = set(threading.enumerate())
    outcomes = map_reports(report_tasks.launches_of, ["a"], None, dask=given)
    with pytest.raises(ClusterError) as caught:
        next(outcomes)
    assert str(caught.value).startswith(f"{given}: no Dask scheduler can be reached: {why}")
    assert "\n" not in str(caught.value)
    assert set(threading.enumerate()) <= before


def test_the_command_tells_it_in_one_line(tmp_path: Path) -> None:
    """Without what the library has to say of it."""
    report = write_report(tmp_path, [gemm_launch()])
    words = ["sweep", str(report), "--dask", "tcp://127.0.0.1:9"]
    code = (
        "import sys; from nsightlens.pipelines import cluster; cluster.CONNECT_S = 0.5; "
        f"from nsightlens.cli.main import main; sys.exit(main({words!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("nsightlens: error: tcp://127.0.0.1:9: no Dask scheduler can be reached")


@pytest.mark.parametrize("content", ["", "{}", "[]", "\x00"])
def test_a_file_that_is_no_scheduler_file_is_told(tmp_path: Path, content: str) -> None:
    """Such as a report."""
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    outcomes = map_reports(report_tasks.launches_of, ["a"], None, dask=str(file))
    with pytest.raises(ClusterError, match="not the scheduler file of a Dask scheduler"):
        next(outcomes)


def test_the_address_may_come_from_a_scheduler_file(tmp_path: Path, address: str) -> None:
    """As schedulers write it, for workers and clients of a batch system."""
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"type": "Scheduler", "address": address}))
    paths = some_reports(tmp_path)
    assert told(map_reports(report_tasks.launches_of, paths, None, dask=str(file))) == told(
        map_reports(report_tasks.launches_of, paths, None, jobs=1)
    )
