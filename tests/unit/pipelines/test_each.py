"""A task for each of many reports: the same results in the same order, however it is done."""

from __future__ import annotations

import os
import sys
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from support import report_tasks
from support.reports import attention_launch, gemm_launch, write_report

from nsightlens.errors import MissingExtraError, NotAReportError, ReaderFailedError
from nsightlens.pipelines import each, map_reports, processes
from nsightlens.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """Return the processes that were started so far."""
    workers: list[Worker] = []

    def remembered() -> Worker:
        workers.append(Worker())
        return workers[-1]

    monkeypatch.setattr("nsightlens.worker.Worker", remembered)
    return workers


def some_reports(folder: Path, count: int = 5) -> list[Path]:
    """Write reports of one launch, of two, and so on."""
    return [
        write_report(folder, [gemm_launch()] * i, name=f"{i}.ncu-rep") for i in range(1, count + 1)
    ]


@pytest.mark.parametrize("jobs", [0, 1, 2, 8])
def test_results_come_in_the_order_of_the_reports(tmp_path: Path, jobs: int) -> None:
    """With the argument that every task is given."""
    paths = some_reports(tmp_path)
    results = list(map_reports(report_tasks.launches_of, paths, {"any": "thing"}, jobs=jobs))
    assert results == [([str(path)], i, {"any": "thing"}) for i, path in enumerate(paths, 1)]


def test_a_report_that_is_named_twice_has_two_results(tmp_path: Path) -> None:
    """So that results can be laid beside the reports."""
    (path,) = some_reports(tmp_path, 1)
    assert len(list(map_reports(report_tasks.launches_of, [path, path], None, jobs=2))) == 2


def test_jobs_are_processes_and_one_job_is_none(tmp_path: Path) -> None:
    """One after another needs no process beside this one."""
    paths = some_reports(tmp_path, 2)
    here = {pid for _, pid in known(map_reports(report_tasks.process_of, paths, None, jobs=1))}
    assert here == {os.getpid()}
    there = {pid for _, pid in known(map_reports(report_tasks.process_of, paths, None, jobs=2))}
    assert os.getpid() not in there


def known(outcomes: Iterator[Any]) -> list[Any]:
    """Return outcomes of which none is an error."""
    found = list(outcomes)
    assert not any(isinstance(one, Exception) for one in found), found
    return found


def test_what_only_this_process_can_read_is_read_by_it() -> None:
    """Standard input cannot be shared, and a URL may need what the caller has set up."""
    names = ["-", "memory://report"]
    found = known(map_reports(report_tasks.process_of, names, None, jobs=2))
    assert found == [(name, os.getpid()) for name in names]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_stands_in_the_place_of_its_report(tmp_path: Path, jobs: int) -> None:
    """And does not stop the rest."""
    first, second, third = some_reports(tmp_path, 3)
    second.write_bytes(b"\x01 no report")
    found = list(map_reports(report_tasks.launches_of, [first, second, third], None, jobs=jobs))
    assert isinstance(found[1], NotAReportError)
    assert str(second) in str(found[1])
    assert [found[0], found[2]] == [([str(first)], 1, None), ([str(third)], 3, None)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_is_raised(tmp_path: Path, jobs: int) -> None:
    """It is none of the report's, and would be that of every report."""
    with pytest.raises(ZeroDivisionError):
        list(map_reports(report_tasks.fail, some_reports(tmp_path, 2), None, jobs=jobs))


def test_a_process_that_ends_costs_only_its_own_report(tmp_path: Path) -> None:
    """The others are read by a new one."""
    deadly = write_report(tmp_path, [attention_launch()], name="deadly.ncu-rep")
    paths = [deadly, *some_reports(tmp_path, 3)]
    error, *others = map_reports(report_tasks.die, paths, None, jobs=2)
    assert isinstance(error, ReaderFailedError)
    assert f"{deadly}: the process that was to read it ended with exit code 9" in str(error)
    assert others == [str(path) for path in paths[1:]]


def test_who_stops_listening_ends_the_processes(tmp_path: Path, started: list[Worker]) -> None:
    """As an interrupt does, whatever they are busy with."""
    first, second = some_reports(tmp_path, 2)
    endless = second.rename(tmp_path / "endless.ncu-rep")
    outcomes = map_reports(report_tasks.dawdle, [first, endless], 600.0, jobs=2)
    assert next(outcomes) == str(first)
    outcomes.close()
    assert started
    assert all(worker.has_ended for worker in started)


def test_a_fault_ends_the_processes(tmp_path: Path, started: list[Worker]) -> None:
    """None is left behind by an error."""
    outcomes = map_reports(report_tasks.fail, some_reports(tmp_path, 4), None, jobs=2)
    with pytest.raises(ZeroDivisionError):
        next(outcomes)
    assert started
    assert all(worker.has_ended for worker in started)


def test_few_reports_are_begun_ahead_of_the_one_that_is_waited_for(tmp_path: Path) -> None:
    """Results behind a slow one do not pile up in memory."""
    taken: list[str] = []

    def names() -> Iterator[str]:
        for path in some_reports(tmp_path, 12):
            taken.append(str(path))
            yield str(path)

    waits = processes.in_processes(
        report_tasks.process_of,
        names(),
        None,
        2,
    )
    for done, wait in enumerate(waits):
        wait()
        assert len(taken) <= done + 2 * processes.AHEAD + 1
    assert len(taken) == 12


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_result_is_forgotten_once_it_is_taken(tmp_path: Path, jobs: int) -> None:
    """Memory does not grow with the number of reports."""
    alive: list[weakref.ref[Any]] = []
    for result in map_reports(report_tasks.box, some_reports(tmp_path, 8), None, jobs=jobs):
        alive.append(weakref.ref(result))
        assert sum(one() is not None for one in alive) <= 2
    assert len(alive) == 8


def test_a_process_is_given_the_argument_once(tmp_path: Path) -> None:
    """What it learned by a user's rules serves for the next report."""
    paths = some_reports(tmp_path, 6)
    found = known(map_reports(report_tasks.argument_of, paths, {"heavy": "options"}, jobs=2))
    assert 1 <= len(set(found)) <= 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_reports(tmp_path: Path, jobs: int) -> None:
    """Also those that could not be read."""
    paths = [str(path) for path in some_reports(tmp_path, 3)]
    told: list[tuple[str, int, int]] = []
    names = [*paths, "gone.ncu-rep"]
    list(
        map_reports(
            report_tasks.launches_of,
            names,
            None,
            jobs=jobs,
            progress=lambda *state: told.append(state),
        )
    )
    assert told == [(name, i, 4) for i, name in enumerate(names, 1)]


def test_a_negative_number_of_jobs_is_refused() -> None:
    """Before anything is read."""
    with pytest.raises(ValueError, match="jobs must not be negative: -1"):
        map_reports(report_tasks.launches_of, [], None, jobs=-1)


def test_processes_are_taken_only_where_they_pay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[Worker]
) -> None:
    """To start one takes longer than to read some small reports."""
    monkeypatch.setattr(each, "processor_count", lambda: 2)
    paths = some_reports(tmp_path, 2)
    list(map_reports(report_tasks.launches_of, paths, None))
    assert not started
    monkeypatch.setattr(each, "WORTH_PROCESSES_S", 0.0)
    list(map_reports(report_tasks.launches_of, paths, None))
    assert len(started) == 2


def test_without_dask_there_is_an_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an optional library."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcomes = map_reports(report_tasks.launches_of, ["a"], None, dask="tcp://127.0.0.1:8786")
    with pytest.raises(MissingExtraError, match=r'pip install "nsightlens\[dask\]"'):
        next(outcomes)
