"""Formulas over raw metrics, written as text and evaluated on whole columns.

A formula is what a person would write: metric names, numbers, ``+ - * /`` and parentheses. The
text is also its provenance: it stands beside every value that it gave. `nsightlens.metrics.catalog`
lists formulas per column; `nsightlens.metrics.derive` picks, per launch, the first with a value.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["Formula", "formula", "metrics_of"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e\d+)?)|(?P<name>[A-Za-z_][\w.:]*)|(?P<sign>[-+*/()]))"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_OPERATION: dict[str, Callable[..., NDArray[np.float64]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


class Formula:
    """One formula, compiled.

    Parameters
    ----------
    text
        The formula, such as ``"a.sum + 2 * b.sum"``.

    Attributes
    ----------
    metrics
        Names of the metrics in it, each once.

    Raises
    ------
    ValueError
        The text is not a formula.

    Examples
    --------
    >>> Formula("(a.sum + b.sum) * 32").metrics
    ('a.sum', 'b.sum')
    """

    __slots__ = ("_program", "metrics", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = _to_postfix(text)
        self.metrics = tuple(
            dict.fromkeys(
                step for step in self._program if isinstance(step, str) and step not in _OPERATION
            )
        )

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def evaluate(
        self, number: Callable[[str], NDArray[np.float64]], launch_count: int
    ) -> NDArray[np.float64]:
        """Evaluate the formula for every launch.

        Parameters
        ----------
        number
            Gives a metric as float64, NaN where a launch has no value. Shape (n,).
        launch_count
            Number of launches n.

        Returns
        -------
        numpy.ndarray
            NaN where any metric of the formula is missing or NaN, and where it would divide by
            zero: an absent addend is not zero. Shape (n,).
        """
        stack: list[NDArray[np.float64]] = []
        with np.errstate(all="ignore"):
            for step in self._program:
                if isinstance(step, float):
                    stack.append(np.full(launch_count, step))
                elif step in _OPERATION:
                    right, left = stack.pop(), stack.pop()
                    stack.append(_OPERATION[step](left, right))
                else:
                    stack.append(number(step))
        result = stack.pop()
        return np.where(np.isfinite(result), result, np.nan)


@cache
def formula(text: str) -> Formula:
    """Return the compiled formula of a text; each text is compiled once."""
    return Formula(text)


def metrics_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics that occur in some formulas, each once, in order."""
    return tuple(dict.fromkeys(name for text in texts for name in formula(text).metrics))


def _to_postfix(text: str) -> tuple[float | str, ...]:
    """Turn infix text into postfix order (Dijkstra's shunting yard)."""
    output: list[float | str] = []
    pending: list[str] = []
    position, is_operand_next = 0, True
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"not a formula: {text!r}, at {text[position:]!r}")
        position = match.end()
        sign = match["sign"]
        if is_operand_next != (sign in {None, "("}):
            raise ValueError(f"not a formula: {text!r}, at {match.group().strip()!r}")
        if sign is None:
            output.append(float(match["number"]) if match["number"] else match["name"])
            is_operand_next = False
        elif sign == "(":
            pending.append(sign)
        elif sign == ")":
            _close(pending, output, text)
        else:
            while pending and _PRECEDENCE.get(pending[-1], 0) >= _PRECEDENCE[sign]:
                output.append(pending.pop())
            pending.append(sign)
            is_operand_next = True
    if is_operand_next or "(" in pending:
        raise ValueError(f"not a formula: {text!r}, it ends early")
    return (*output, *reversed(pending))


def _close(pending: list[str], output: list[float | str], text: str) -> None:
    while pending and pending[-1] != "(":
        output.append(pending.pop())
    if not pending:
        raise ValueError(f"not a formula: {text!r}, at ')'")
    pending.pop()
