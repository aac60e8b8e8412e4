"""Which launch of a report somebody means: by its number, its key or a part of its name."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.select import select
from nsightlens.errors import AmbiguousLaunchError, FilterError, LaunchMatch
from nsightlens.patterns import expression_of, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["find_launch"]

_MOST_LAUNCHES = 2**32
_SHOWN = 8


def find_launch(labels: pa.Table, launch: Any, nth: Any = None) -> int:
    """Return the position of the launch that is meant.

    Parameters
    ----------
    labels
        Labels of launches, in the order of the report.
    launch
        Its ``launch_id``, as number (also of NumPy or Arrow) or text; its ``key``; or a text or
        regular expression to be found in one of its names. ``None`` for the only launch.
    nth
        Of several matches, which one, from 1 in the order of the report.

    Raises
    ------
    FilterError
        Nothing matches.
    AmbiguousLaunchError
        Several launches match and ``nth`` does not say which.
    TypeError
        ``launch`` or ``nth`` is not of these types.
    """
    launch = _plain(launch)
    if nth is not None and (nth := _whole(nth)) is None:
        raise TypeError("nth is the number of a match, from 1: a whole number")
    found = np.flatnonzero(_matches(labels, launch))
    if not len(found):
        raise FilterError(_nothing(labels, launch))
    if nth is not None and not 1 <= nth <= len(found):
        raise FilterError(f"{_how_many(launch, len(found))}: none is number {nth}.")
    if nth is None and len(found) > 1:
        raise AmbiguousLaunchError(_how_many(launch, len(found)), _described(labels, found))
    return int(found[(nth or 1) - 1])


def _plain(launch: Any) -> int | str | None:
    """Return a launch as a number that is its id, or as text."""
    value = launch.as_py() if isinstance(launch, pa.Scalar) else launch
    if (value is None and launch is not None) or not (value is None or isinstance(value, str)):
        value = _whole(value)
        if value is None:
            raise TypeError(
                "a launch is named by its launch_id, a whole number, or by a text: its key, or a "
                f"part of its kernel's name; not by {type(launch).__name__}"
            )
    return _id_in(value) if isinstance(value, str) else value


def _whole(value: Any) -> int | None:
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    # True is 1 to Python, and never a launch.
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _id_in(text: str) -> int | str:
    """Return the id that a text spells; a longer number may be part of a name."""
    is_spelled = text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")
    is_short = len(text) <= len(str(_MOST_LAUNCHES))
    return int(text) if is_spelled and is_short and int(text) < _MOST_LAUNCHES else text


def _matches(labels: pa.Table, launch: int | str | None) -> NDArray[np.bool_]:
    if launch is None:
        return np.ones(labels.num_rows, dtype=bool)
    if isinstance(launch, int):
        if not 0 <= launch < _MOST_LAUNCHES:
            return np.zeros(labels.num_rows, dtype=bool)
        return _equal(labels["launch_id"], launch)
    by_key = _equal(labels["key"], launch)
    if by_key.any():
        return by_key
    # As it stands first: a name may hold signs that mean something in a regular expression.
    by_text = select(labels, kernel=re.escape(launch))
    if by_text.any() or _fault_of(launch):
        return by_text
    return select(labels, kernel=launch)


def _fault_of(text: str) -> str:
    """Say why a text is no regular expression; "" where it is one."""
    try:
        expression_of(text)
    except ValueError as error:
        return str(error)
    return ""


def _equal(column: Any, value: int | str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.equal(column, value), False).to_numpy(), dtype=bool)


def _how_many(launch: int | str | None, count: int) -> str:
    launches = "1 launch" if count == 1 else f"{count} launches"
    if launch is None:
        return f"none was named, and there are {launches}"
    return f"{_said(launch)} matches {launches}"


def _said(launch: int | str | None) -> str:
    if isinstance(launch, int) and abs(launch) >= _MOST_LAUNCHES:
        # Python refuses to write out a number of thousands of digits.
        return "of a number beyond 32 bits"
    return quoted(launch) if isinstance(launch, str) else str(launch)


def _described(labels: pa.Table, found: NDArray[np.intp]) -> list[LaunchMatch]:
    names = ("report", "launch_id", "kernel", "duration_ns")
    columns = (labels[name].take(found).to_pylist() for name in names)
    return [LaunchMatch(*row) for row in zip(*columns, strict=True)]


def _nothing(labels: pa.Table, launch: int | str | None) -> str:
    count = labels.num_rows
    if not count:
        return "the report holds no launch to explain."
    if not isinstance(launch, str):
        return f"there is no launch {_said(launch)}: the report has {_ids(labels)}."
    if launch.isdecimal() and (not launch.isascii() or launch[0] != "0"):
        return f"there is no launch {quoted(launch)}: the report has {_ids(labels)}."
    kernels = list(dict.fromkeys(name for name in labels["kernel"].to_pylist() if name))
    there = f"The report has {_listed(kernels, ' | ')}."
    fault = _fault_of(launch)
    read = f" as it stands, and it is not a regular expression: {fault}" if fault else ""
    return f"no launch matches {quoted(launch)}{read}. {there}"


def _ids(labels: pa.Table) -> str:
    ids = sorted(set(labels["launch_id"].to_pylist()))
    if len(ids) == 1:
        return f"only {ids[0]}"
    if len(ids) == ids[-1] - ids[0] + 1:
        return f"{ids[0]} to {ids[-1]}"
    return _listed([str(one) for one in ids], ", ")


def _listed(texts: Sequence[str], separator: str) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return separator.join(texts[:_SHOWN]) + more
