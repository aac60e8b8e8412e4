"""Texts of several rows in one: each once, in the order of the alphabet, joined by ``+``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from nsightlens.analysis.aggregate import Groups

__all__ = ["joined_by_group"]


def joined_by_group(column: Any, groups: Groups) -> pa.Array:
    """Join the distinct texts of each group; null where there is none.

    Parameters
    ----------
    column
        Text column, whose texts may have been joined before.
    groups
        Which rows belong together.

    Examples
    --------
    >>> from nsightlens.analysis.aggregate import group_by
    >>> groups = group_by([pa.array(["a", "a", "b"])])
    >>> joined_by_group(pa.array(["vllm", "sglang+vllm", None]), groups).to_pylist()
    ['sglang+vllm', None]
    """
    code, texts = text_column({"text": column}, "text")
    count = len(groups.starts)
    lengths = np.diff(np.append(groups.starts, len(code)))
    pairs = np.repeat(np.arange(count), lengths) * len(texts) + code[groups.order]
    found: list[set[str]] = [set() for _ in range(count)]
    # A few distinct texts in each group, whatever the number of rows.
    for pair in np.unique(pairs).tolist():
        text = texts[pair % len(texts)]
        if text is not None:
            found[pair // len(texts)] |= set(text.split("+"))
    return pa.array(["+".join(sorted(one)) if one else None for one in found], pa.string())
