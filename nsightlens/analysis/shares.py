"""Shares of the duration, anew where rows were left out."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

__all__ = ["with_shares"]


def with_shares(labels: Any) -> Any:
    """Return labels with the share that each row has of the duration of these rows.

    Parameters
    ----------
    labels
        A table with the columns ``duration_ns`` [ns] and ``duration_share_pct`` [%], such as
        some of the rows that `nsightlens.classify` gave.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels = pa.table({"duration_ns": [1.0, 3.0], "duration_share_pct": [10.0, 30.0]})
    >>> with_shares(labels)["duration_share_pct"].to_pylist()
    [25.0, 75.0]
    """
    name = "duration_share_pct"
    total = pc.sum(labels["duration_ns"])
    share = pc.multiply(pc.divide(labels["duration_ns"], total), 100.0)
    return labels.set_column(labels.schema.get_field_index(name), labels.field(name), share)
