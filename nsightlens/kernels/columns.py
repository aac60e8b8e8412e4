"""Kernel names as Arrow columns: each distinct name is parsed once.

The only module of this package that needs Arrow; `analysis` and the command line call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.kernels.model import USER_RULE
from nsightlens.kernels.parallel import read_texts

if TYPE_CHECKING:
    from nsightlens.kernels.user_rules import UserRules

__all__ = ["parse_kernel_names", "parse_launch_kernels"]

_FIELDS = ("short_name", "family", "subtype", "phase", "dtypes", "rule")


def parse_kernel_names(names: Any, rules: UserRules | None = None) -> pa.Table:
    """Parse a column of kernel names.

    Parameters
    ----------
    names
        Strings: a column as `pyarrow.Array` or `pyarrow.ChunkedArray`, also of a dictionary, or
        any sequence of texts, such as a list, a NumPy array or a column of pandas.
    rules
        Rules to be asked before the built-in ones; see `nsightlens.kernels.read_user_rules`.

    Returns
    -------
    pyarrow.Table
        One row per input, with dictionary columns ``short_name``, ``family``, ``subtype``,
        ``phase``, ``dtypes`` (joined by ``,``) and ``rule``; null where the name is null.

    Raises
    ------
    TypeError
        There are no texts in it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parse_kernel_names(pa.array(["rms_norm_kernel"]))["family"].to_pylist()
    ['norm']
    """
    column = _encoded(names)
    distinct = column.dictionary
    texts = read_texts(distinct.drop_null().to_pylist(), _FIELDS, rules)
    is_name = distinct.is_valid()
    table = {}
    for field, found in zip(_FIELDS, texts, strict=True):
        told = pa.array(found, pa.string())
        if distinct.null_count:
            told = pc.replace_with_mask(pa.nulls(len(distinct), pa.string()), is_name, told)
        told = told.dictionary_encode()
        table[field] = pa.DictionaryArray.from_arrays(
            told.indices.take(column.indices), told.dictionary
        )
    return pa.table(table)


def _encoded(names: Any) -> Any:
    if not isinstance(names, (pa.Array, pa.ChunkedArray)):
        names = _column(names)
    if isinstance(names, pa.ChunkedArray):
        names = names.unify_dictionaries().combine_chunks()
    kind = names.type.value_type if pa.types.is_dictionary(names.type) else names.type
    if pa.types.is_null(kind):
        names = names.cast(pa.string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TypeError(f"names of kernels are texts, not a column of {kind}")
    return names if pa.types.is_dictionary(names.type) else names.dictionary_encode()


def _column(names: Any) -> Any:
    # A text is a sequence of texts too, of its letters.
    if isinstance(names, str):
        raise TypeError("names of kernels are a sequence: parse_kernel_name takes a single one")
    try:
        return pa.array(list(names), pa.string())
    except (TypeError, pa.ArrowException) as error:
        kind = type(names).__name__
        raise TypeError(f"names of kernels are a sequence of texts or None, not {kind}") from error


def parse_launch_kernels(
    demangled: Any, function_name: Any, mangled: Any, *, rules: UserRules | None = None
) -> pa.Table:
    """Parse launches that have up to three spellings, by the most telling one of each.

    The demangled name comes first: a function name such as ``Kernel2`` says nothing without its
    template arguments. Where the first spelling says nothing, the others are asked. A rule of the
    user's counts for whichever spelling it fits.

    Parameters
    ----------
    demangled, function_name, mangled
        Columns of equal length; null where a spelling is missing.
    rules
        Rules to be asked before the built-in ones.

    Returns
    -------
    pyarrow.Table
        As `parse_kernel_names`, but the family is ``other`` where there is no name at all, as in
        a profiled range.
    """
    spellings = [column.cast(pa.string()) for column in (demangled, mangled, function_name)]
    best = parse_kernel_names(pc.coalesce(*spellings), rules)
    for spelling in spellings[1:]:
        unknown = _is(best, "family", "other")
        asked = unknown if rules is None else pc.invert(_is_by_user(best))
        if not pc.any(asked).as_py():
            break
        other = parse_kernel_names(pc.if_else(asked, spelling, None), rules)
        tells = pc.and_(unknown, _is_other_than(other, "family", "other"))
        if rules is not None:
            tells = pc.or_(tells, _is_by_user(other))
        best = _replaced(best, other, pc.and_(asked, tells))
    return _with_family(best)


def _is(table: pa.Table, column: str, text: str) -> Any:
    return pc.fill_null(pc.equal(table[column].cast(pa.string()), text), False)


def _is_other_than(table: pa.Table, column: str, text: str) -> Any:
    return pc.fill_null(pc.not_equal(table[column].cast(pa.string()), text), False)


def _is_by_user(table: pa.Table) -> Any:
    rule = table["rule"].cast(pa.string())
    return pc.fill_null(pc.starts_with(rule, pattern=USER_RULE), False)


def _with_family(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index("family")
    family = pc.fill_null(table["family"].cast(pa.string()), "other").dictionary_encode()
    return table.set_column(place, "family", family)


def _replaced(table: pa.Table, other: pa.Table, where: Any) -> pa.Table:
    if not pc.any(where).as_py():
        return table
    columns = {
        name: pc.if_else(
            where, other[name].cast(pa.string()), table[name].cast(pa.string())
        ).dictionary_encode()
        for name in table.column_names
    }
    return pa.table(columns)
