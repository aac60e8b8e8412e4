"""Parts of a task, each done by one of a few processes beside this one.

Apart from `parallel`, because few columns are long enough to need it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, local
from typing import TYPE_CHECKING, Any

from nsightlens.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["read_beside"]

_Texts = list[list[str]]


def read_beside(
    read: Callable[..., _Texts],
    parts: Sequence[Sequence[str]],
    arguments: tuple[Any, ...],
    count: int,
) -> list[_Texts]:
    """Read parts of a column in processes of their own; here where one is lost.

    Parameters
    ----------
    read
        Reads one part, given before ``arguments``; importable by name.
    parts
        Names.
    arguments
        Further arguments of ``read``.
    count
        How many processes.
    """
    mine = local()
    given_up = Event()
    with ThreadPoolExecutor(count) as threads, ExitStack() as opened:

        def read_one(part: Sequence[str]) -> _Texts:
            try:
                if not hasattr(mine, "worker"):
                    mine.worker = opened.enter_context(Worker())
                found: _Texts = mine.worker.call(read, part, *arguments)
            except WorkerDiedError:
                return [] if given_up.is_set() else read(part, *arguments)
            return found

        # Whatever ends this early ends the processes too, and so what the threads wait for.
        opened.callback(given_up.set)
        waiting = [threads.submit(read_one, part) for part in parts]
        opened.callback(lambda: [one.cancel() for one in waiting])
        return [one.result() for one in waiting]
