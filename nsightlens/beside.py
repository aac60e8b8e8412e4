"""Parts of a task, each done by one of a few processes beside this one.

For Python code that takes the time: threads would wait for one another. Callers import this only
when a task is so large that it pays: what starts processes takes a while to import.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, local
from typing import TYPE_CHECKING, Any, TypeVar

from nsightlens.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["do_beside"]

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def do_beside(
    task: Callable[..., _Result],
    parts: Sequence[_Part],
    arguments: tuple[Any, ...],
    count: int,
    *,
    done: Callable[[int], None] | None = None,
) -> list[_Result]:
    """Do a task for each part in processes of their own; here where one is lost.

    Parameters
    ----------
    task
        Called with one part, given before ``arguments``; importable by name. It also takes
        ``progress``, see `nsightlens.worker.Worker.call`.
    parts
        What can be pickled, as can all results.
    arguments
        Further arguments of ``task``.
    count
        How many processes.
    done
        Called with the number of parts that are done, in their order.

    Returns
    -------
    list
        Results in the order of the parts.
    """
    mine = local()
    given_up = Event()
    with ThreadPoolExecutor(count) as threads, ExitStack() as opened:

        def do_one(part: _Part) -> _Result | None:
            try:
                if not hasattr(mine, "worker"):
                    mine.worker = opened.enter_context(Worker())
                found: _Result = mine.worker.call(task, part, *arguments)
            except WorkerDiedError:
                return None if given_up.is_set() else task(part, *arguments)
            return found

        # Whatever ends this early ends the processes too, and so what the threads wait for.
        opened.callback(given_up.set)
        waiting = [threads.submit(do_one, part) for part in parts]
        opened.callback(lambda: [one.cancel() for one in waiting])
        results: list[_Result] = []
        for number, one in enumerate(waiting, 1):
            result = one.result()
            assert result is not None  # None stands for given up, and then nobody waits here
            results.append(result)
            if done is not None:
                done(number)
        return results
