"""What the client of a serving benchmark wrote of one run, while its columns are read out of it.

Whatever is no number, negative or zero without being a measurement is left out with a note, and a
rate that contradicts the counts it is of is replaced by them, so that no wrong number passes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import LARGEST, Note, Part

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TOLERANCE", "ClientRun", "disagree"]

TOLERANCE = 0.05
"""Part by which numbers that should be equal may differ."""

_PROBLEMS = {
    "not_a_number": "no number",
    "not_measured": "NaN or infinite, which is no measurement",
    "zero_not_measured": "0, which is no measurement",
    "contradiction": "negative, which cannot be",
    "implausible": "too large to be true",
}


class ClientRun:
    """One object that a client wrote, and what was read out of it.

    Parameters
    ----------
    data
        The object.
    shown
        Its file, as messages name it.
    where
        Its place in the file, such as ``"line 3"``; empty for the whole file.
    """

    def __init__(self, data: Mapping[str, Any], shown: str, where: str = "") -> None:
        self.data = data
        self.shown = shown
        self.where = where
        self.values: dict[str, Any] = {}
        self.notes: list[Note] = []
        self._wheres: dict[str, str] = {}
        self._derived: dict[str, str] = {}
        self._left_out: dict[str, list[str]] = {}

    @property
    def place(self) -> str:
        """File and place, for sentences."""
        return f"{self.shown}, {self.where}" if self.where else self.shown

    def number(self, key: str) -> float | None:
        """Return a number that is not negative; None, with a note, where it is something else."""
        value = self.data.get(key)
        problem = _problem(value)
        if problem:
            self._leave_out(problem, key)
        return None if problem or value is None else float(value)

    def positive(self, key: str) -> float | None:
        """Return a number above zero; a zero is noted as no measurement."""
        number = self.number(key)
        if number == 0:
            self._leave_out("zero_not_measured", key)
        return number or None

    def whole(self, key: str) -> int | None:
        """Return a whole number."""
        number = self.number(key)
        if number is not None and not number.is_integer():
            self._leave_out("not_a_number", key)
            return None
        return None if number is None else int(number)

    def text(self, key: str) -> str | None:
        """Return a text that is not empty."""
        value = self.data.get(key)
        return value.strip() or None if isinstance(value, str) else None

    def put(self, column: str, value: Any, key: str = "", derived: str | None = None) -> None:
        """Set a column; ``key`` says where in the object it stands, ``derived`` how it came."""
        if value is None:
            return
        self.values[column] = value
        self._derived.pop(column, None)
        if derived:
            self._derived[column] = derived
        if key:
            self._wheres[column] = f"{self.where}, {key}" if self.where else key

    def drop(self, column: str) -> None:
        """Leave a column out after all."""
        self.values.pop(column, None)

    def note(self, key: str, text: str) -> None:
        """Say something of this run."""
        self.notes.append(Note(key, f"{self.place}: {text}"))

    def rate(self, column: str, key: str, count: float | None, of: str) -> None:
        """Set a rate that the object states, or the one that ``count`` over the duration gives.

        The counts are used, with a note, where the two differ by more than `TOLERANCE`.
        """
        stated = self.number(key)
        duration = self.values.get("duration_s")
        computed = count / duration if count and duration else None
        words = f"{of} over the duration"
        if stated is None or computed is None:
            self.put(column, self.positive(key), key)
            self.put(column, computed, derived=words)
        elif disagree(stated, computed):
            self.put(column, computed, derived=words)
            self.note(
                "contradiction",
                f"{key} is {stated:.6g}, but {words} is {computed:.6g} per second: the latter is "
                "used.",
            )
        else:
            self.put(column, stated, key)

    def refusal(self, problem: str, advice: str) -> ServingFileError:
        """Return the error that says why this object is of no use."""
        where = (self.where,) if self.where else ()
        return ServingFileError(self.shown, problem, advice, where=where)

    def part(self, kind: str) -> Part:
        """Return what was read, as a result of the format ``kind``."""
        left_out = [
            Note(problem, f"{self.place}: {', '.join(keys)}: {_PROBLEMS[problem]}: left out.")
            for problem, keys in self._left_out.items()
        ]
        return Part(
            "result",
            self.shown,
            kind,
            values=self.values,
            where=self.where,
            wheres={key: where for key, where in self._wheres.items() if key in self.values},
            derived={key: how for key, how in self._derived.items() if key in self.values},
            notes=(*self.notes, *left_out),
            run_key=self.where,
        )

    def _leave_out(self, problem: str, key: str) -> None:
        keys = self._left_out.setdefault(problem, [])
        if key not in keys:
            keys.append(key)


def _problem(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "not_a_number"
    if isinstance(value, float) and not math.isfinite(value):
        return "not_measured"
    if value < 0:
        return "contradiction"
    return "implausible" if value > LARGEST else None


def disagree(one: float, other: float, tolerance: float = TOLERANCE) -> bool:
    """Return whether two numbers that should be equal differ by more than a part of the larger."""
    return abs(one - other) > tolerance * max(abs(one), abs(other))
