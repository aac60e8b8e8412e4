"""Which launch of a report somebody means: by its number, its key or a part of its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis.select import select
from nsightlens.errors import AmbiguousLaunchError, FilterError, LaunchMatch

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["find_launch"]


def find_launch(labels: pa.Table, launch: int | str | None, nth: int | None = None) -> int:
    """Return the position of the launch that is meant.

    Parameters
    ----------
    labels
        Labels of launches, in the order of the report.
    launch
        Its ``launch_id``, as number or text; its ``key``; or a text or regular expression to be
        found in one of its names. ``None`` for the only launch.
    nth
        Of several matches, which one, from 1 in the order of the report.

    Raises
    ------
    FilterError
        Nothing matches.
    AmbiguousLaunchError
        Several launches match and ``nth`` does not say which.
    """
    found = np.flatnonzero(_matches(labels, launch))
    if not len(found):
        raise FilterError(_nothing(labels, launch))
    if nth is not None and not 1 <= nth <= len(found):
        raise FilterError(f"{_how_many(launch, len(found))}: none is number {nth}.")
    if nth is None and len(found) > 1:
        raise AmbiguousLaunchError(_how_many(launch, len(found)), _described(labels, found))
    return int(found[(nth or 1) - 1])


def _matches(labels: pa.Table, launch: int | str | None) -> NDArray[np.bool_]:
    if launch is None:
        return np.ones(labels.num_rows, dtype=bool)
    if isinstance(launch, int):
        return _equal(labels["launch_id"], launch)
    if launch.isdecimal() and int(launch) < 2**32:
        return _equal(labels["launch_id"], int(launch))
    by_key = _equal(labels["key"], launch)
    if by_key.any():
        return by_key
    # As it stands first: a name may hold signs that mean something in a regular expression.
    by_text = select(labels, kernel=re.escape(launch))
    if by_text.any() or not _is_expression(launch):
        return by_text
    return select(labels, kernel=launch)


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _equal(column: Any, value: int | str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.equal(column, value), False).to_numpy(), dtype=bool)


def _how_many(launch: int | str | None, count: int) -> str:
    launches = "1 launch" if count == 1 else f"{count} launches"
    if launch is None:
        return f"none was named, and there are {launches}"
    return f"{launch!r} matches {launches}"


def _described(labels: pa.Table, found: NDArray[np.intp]) -> list[LaunchMatch]:
    names = ("report", "launch_id", "kernel", "duration_ns")
    columns = (labels[name].take(found).to_pylist() for name in names)
    return [LaunchMatch(*row) for row in zip(*columns, strict=True)]


def _nothing(labels: pa.Table, launch: int | str | None) -> str:
    count = labels.num_rows
    if not count:
        return "the report holds no launch to explain."
    ids = labels["launch_id"].to_pylist()
    if isinstance(launch, int) or (launch or "").isdecimal():
        return f"there is no launch {launch}: the report has {min(ids)} to {max(ids)}."
    kernels = list(dict.fromkeys(name for name in labels["kernel"].to_pylist() if name))
    more = f" and {len(kernels) - 8} more" if len(kernels) > 8 else ""
    return f"no launch matches {launch!r}. The report has {' | '.join(kernels[:8])}{more}."
