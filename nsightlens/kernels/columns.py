"""Kernel names as Arrow columns: each distinct name is parsed once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.kernels.engine import parse_kernel_name

__all__ = ["parse_kernel_names", "parse_launch_kernels"]

_FIELDS = ("short_name", "family", "subtype", "phase", "dtypes", "rule")


def parse_kernel_names(names: Any) -> pa.Table:
    """Parse a column of kernel names.

    Parameters
    ----------
    names
        String or dictionary column, as `pyarrow.Array` or `pyarrow.ChunkedArray`.

    Returns
    -------
    pyarrow.Table
        One row per input, with dictionary columns ``short_name``, ``family``, ``subtype``,
        ``phase``, ``dtypes`` (joined by ``,``) and ``rule``; null where the name is null.
    """
    column = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    parsed = [
        None if name is None else parse_kernel_name(name) for name in column.dictionary.to_pylist()
    ]
    return pa.table(
        {
            field: pa.array(
                [None if p is None else _text(getattr(p, field)) for p in parsed], pa.string()
            )
            .take(column.indices)
            .dictionary_encode()
            for field in _FIELDS
        }
    )


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def parse_launch_kernels(demangled: Any, function_name: Any, mangled: Any) -> pa.Table:
    """Parse launches that have up to three spellings, by the most telling one of each.

    Parameters
    ----------
    demangled, function_name, mangled
        Columns of equal length; null where a spelling is missing.

    Returns
    -------
    pyarrow.Table
        As `parse_kernel_names`.
    """
    plain = [column.cast(pa.string()) for column in (demangled, mangled, function_name)]
    return parse_kernel_names(pc.coalesce(*plain))
