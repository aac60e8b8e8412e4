"""Tasks that tests do for each of many reports; other processes have to import them by name."""

from __future__ import annotations

import os
import time
from typing import Any

from nsightlens.pipelines import file_of, read_one


def launches_of(name: str, argument: Any) -> tuple[list[str], int, Any]:
    """Return the sources and the number of launches of a report, and the argument."""
    report = read_one(name)
    return list(report.sources), len(report), argument


def process_of(name: str, _: Any) -> tuple[str, int]:
    """Return the name and the number of the process that does it."""
    return name, os.getpid()


def fail(name: str, _: Any) -> None:
    """Raise what is no diagnosis."""
    raise ZeroDivisionError(name)


def die(name: str, _: Any) -> str:
    """End the process if the name of the report says so."""
    if "deadly" in name:
        os._exit(9)
    return name


def dawdle(name: str, seconds: float) -> str:
    """Take long, if the name of the report says so."""
    if "endless" in name:
        time.sleep(seconds)
    return name


def note_start(name: str, folder: str) -> str:
    """Leave a file that says that the task has begun."""
    base = os.path.basename(file_of(name))  # noqa: PTH119
    with open(os.path.join(folder, base), "w", encoding="utf-8"):  # noqa: PTH118, PTH123
        return name


class Box:
    """What can be seen to be gone."""


def box(name: str, _: Any) -> Box:
    """Return something that nobody else holds."""
    del name
    return Box()


def argument_of(name: str, argument: Any) -> tuple[int, int]:
    """Return the number of the process, and what object its argument is."""
    del name
    _seen.append(argument)  # so that no other object can take its place
    return os.getpid(), id(argument)


_seen: list[Any] = []
