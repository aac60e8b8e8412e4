"""A process beside this one does what it is told, and its end is an error like any other."""

from __future__ import annotations

import errno
import os
import pickle
import signal
from typing import TYPE_CHECKING

import pytest
from support import worker_tasks

from nsightlens.errors import TruncatedReportError
from nsightlens.worker import Worker, WorkerDiedError, WorkerTraceback

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """Return a worker that no test ends."""
    with Worker() as started:
        yield started


def test_a_worker_answers_and_tells_how_far_it_is(worker: Worker) -> None:
    """Whatever the function prints meanwhile."""
    told: list[tuple[int, int]] = []
    assert worker.call(worker_tasks.add, 1, 2, progress=lambda *state: told.append(state)) == 3
    assert told == [(1, 2), (2, 2)]
    assert worker.call(worker_tasks.add, 3, 4) == 7


def test_it_is_another_process_and_loads_no_pandas(worker: Worker) -> None:
    """Which takes longer to load than most reports to read."""
    assert worker.call(worker_tasks.process_id) != os.getpid()
    assert "pandas" not in worker.call(worker_tasks.modules)


def test_an_error_comes_back_whole(worker: Worker) -> None:
    """With its facts, and with where it was raised as its cause."""
    with pytest.raises(TruncatedReportError) as caught:
        worker.call(worker_tasks.fail)
    assert (caught.value.offset, caught.value.where) == (8, ("block 3",))
    assert isinstance(caught.value.__cause__, WorkerTraceback)
    assert "worker_tasks.py" in str(caught.value.__cause__)
    assert worker.is_idle


def test_an_error_that_cannot_be_sent_is_told_in_words(worker: Worker) -> None:
    """And the worker lives on."""
    with pytest.raises(RuntimeError, match="UnportableError: oneother"):
        worker.call(worker_tasks.fail_unportably)
    assert worker.call(worker_tasks.add, 1, 2) == 3


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_an_interrupt_is_left_to_the_caller(worker: Worker) -> None:
    """Ctrl-C reaches all processes of a terminal; who waits for the answer decides."""
    os.kill(worker.call(worker_tasks.process_id), signal.SIGINT)
    assert worker.call(worker_tasks.add, 1, 2) == 3


def test_a_worker_that_leaves_is_told_with_its_last_words() -> None:
    """So that one can guess why."""
    with Worker() as worker:
        with pytest.raises(WorkerDiedError, match="ended with exit code 3, saying: out of luck"):
            worker.call(worker_tasks.leave, 3)
        assert not worker.is_idle
        with pytest.raises(WorkerDiedError, match="exit code 3"):
            worker.call(worker_tasks.add, 1, 2)


def test_a_task_that_cannot_be_sent_to_an_ended_process_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Windows says of a pipe that nobody reads that the argument is invalid."""

    def refused(*_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    with Worker() as worker:
        worker.kill()
        monkeypatch.setattr(pickle, "dump", refused)
        with pytest.raises(WorkerDiedError, match=r"was ended by|ended with"):
            worker.call(worker_tasks.add, 1, 2)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_a_worker_that_is_killed_is_told_with_the_signal() -> None:
    """As the system kills where memory runs out."""
    with Worker() as worker, pytest.raises(WorkerDiedError, match="was ended by SIGKILL"):
        worker.call(worker_tasks.be_killed, int(signal.SIGKILL))
