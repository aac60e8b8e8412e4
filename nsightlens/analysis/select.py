"""Filters over launches: by kernel name, family, NVTX range and grid."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.analysis.classification import Classification
from nsightlens.analysis.identity import extent
from nsightlens.devices.columns import text_column
from nsightlens.errors import FilterError
from nsightlens.kernels import parse_launch_kernels
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.patterns import expression_of, pattern_of, quoted
from nsightlens.report import check_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from nsightlens.kernels import KernelRules, UserRules
    from nsightlens.report import Report

__all__ = ["select"]

_NAMES = ("kernel_name", "kernel_demangled_name", "kernel_mangled_name")
_LONGEST = 100
"""[character] Of an expression that an error proposes."""


def select(
    launches: Report | Classification | pa.Table,
    *,
    kernel: str | Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    nvtx: str | Sequence[str] | None = None,
    grid: str | Sequence[str] | None = None,
    kernel_rules: KernelRules | None = None,
) -> NDArray[np.bool_]:
    """Say which launches pass all filters that are given.

    A filter of several values is passed by a launch that any of them fits.

    Parameters
    ----------
    launches
        A report, a classification, or a table with the columns of launches or labels.
    kernel
        Regular expression to be found in the short, plain, demangled or mangled name.
    families
        Families of kernels, such as ``attention``.
    nvtx
        Pattern with ``*`` and ``?`` for the NVTX path or one of its ranges. Everything else stands
        for itself, also a bracket.
    grid
        Blocks as ``x,y,z``; ``*`` stands for any number.
    kernel_rules
        Rules for kernel names that family and short name are to follow, as in
        `nsightlens.classify`.

    Returns
    -------
    numpy.ndarray
        True for each launch that passes. Shape (launches,).

    Raises
    ------
    FilterError
        A filter cannot be understood.
    SettingsFileError
        The file of rules cannot be used.

    Examples
    --------
    >>> table = pa.table({"nvtx_path": ["DecodeStep7/attn", None]})
    >>> select(table, nvtx="DecodeStep*").tolist()
    [True, False]
    """
    table = _table(launches)
    rules = as_user_rules(kernel_rules)
    keep = np.ones(table.num_rows, dtype=bool)
    if kernel is not None:
        keep &= _matches_kernel(table, [_compiled(one) for one in _several(kernel)], rules)
    if families:
        wanted = set(families)
        keep &= _holds(_column(table, "family", rules), lambda text: text in wanted)
    if nvtx is not None:
        keep &= _holds(_column(table, "nvtx_path"), _any_of(map(_nvtx_test, _several(nvtx))))
    if grid is not None:
        keep &= _holds(_column(table, "grid"), _any_of(map(_grid_test, _several(grid))))
    return keep


def _several(values: str | Sequence[str]) -> Sequence[str]:
    return [values] if isinstance(values, str) else values


def _any_of(tests: Iterable[Callable[[str], bool]]) -> Callable[[str], bool]:
    kept = list(tests)
    return lambda text: any(test(text) for test in kept)


def _table(launches: Report | Classification | pa.Table) -> pa.Table:
    if isinstance(launches, Classification):
        return launches.labels
    if isinstance(launches, pa.Table):
        return launches
    check_report(launches)
    return launches.launches


def _column(table: pa.Table, name: str, rules: UserRules | None = None) -> Any:
    """Return a column as text, made from the columns of launches where labels would have it."""
    if name in table.column_names:
        return table[name]
    if name == "grid" and "grid_x" in table.column_names:
        return extent(table, "grid")
    names = {one: table[one] for one in _NAMES if one in table.column_names}
    if name in ("family", "kernel") and names:
        missing = pa.nulls(table.num_rows, pa.string())
        parsed = parse_launch_kernels(
            *(names.get(one, missing) for one in (_NAMES[1], _NAMES[0], _NAMES[2])), rules=rules
        )
        return parsed["short_name" if name == "kernel" else name]
    raise FilterError(f"cannot filter by {name}: the table has no such column")


def _matches_kernel(
    table: pa.Table, patterns: Sequence[re.Pattern[str]], rules: UserRules | None
) -> NDArray[np.bool_]:
    columns = [table[name] for name in _NAMES if name in table.column_names]
    columns.append(_column(table, "kernel", rules))
    found = np.zeros(table.num_rows, dtype=bool)
    for column in columns:
        found |= _holds(column, lambda text: any(one.search(text) for one in patterns))
    return found


def _holds(column: Any, test: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Test each distinct text once; null does not pass."""
    code, texts = text_column({"text": column}, "text")
    passes = np.array([text is not None and test(text) for text in texts], dtype=bool)
    kept: NDArray[np.bool_] = passes[code]
    return kept


def _compiled(kernel: str) -> re.Pattern[str]:
    try:
        return expression_of(kernel)
    except ValueError as error:
        literal = shlex.quote(re.escape(kernel))
        advice = "To find the text as it stands, use "
        advice += f"{literal}." if len(literal) <= _LONGEST else "re.escape of Python."
        problem = f"--kernel {quoted(kernel)} is not a regular expression: {error}"
        raise FilterError(f"{problem}. {advice}") from error


def _nvtx_test(nvtx: str) -> Callable[[str], bool]:
    pattern = pattern_of(nvtx)

    def test(path: str) -> bool:
        parts = [one for part in path.split(";") for one in (part, *part.split("/"))]
        # A range may be named without its domain.
        plain = [part.partition("@")[2] for part in parts if "@" in part]
        return any(pattern.match(text) for text in (path, *parts, *plain))

    return test


def _grid_test(grid: str) -> Callable[[str], bool]:
    parts = [part.strip() for part in grid.split(",")]
    if len(parts) != 3 or not all(part == "*" or part.isdigit() for part in parts):
        raise FilterError(
            f"--grid {grid!r} is not three numbers: write blocks in x, y and z, with * for any, "
            "such as '*,1,1'."
        )

    def test(text: str) -> bool:
        return all(part in ("*", axis) for part, axis in zip(parts, text.split(","), strict=True))

    return test
