"""The order of the rows of a sweep: the same whatever the order of the reports was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.kernels.model import FAMILIES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["order_of"]

_PHASES = ("decode", "prefill", "mixed", "capture")
_RANK = {
    "phase": {name: i for i, name in enumerate(_PHASES)},
    "family": {name: i for i, name in enumerate(FAMILIES)},
}


def order_of(keys: pa.Table) -> NDArray[np.intp]:
    """Return the positions of rows by GPU, phase, family, subtype, kernel and batch size.

    What is null comes last.

    Parameters
    ----------
    keys
        The columns of `nsightlens.sweeps.part.KEYS`.
    """
    names = ("device_name", "phase", "family", "subtype", "kernel")
    columns = [keys[name].to_pylist() for name in names]
    columns.append([None if text is None else int(text) for text in keys["batch_size"].to_pylist()])
    ranks = [_RANK.get(name, {}) for name in (*names, "batch_size")]

    def place(i: int) -> list[tuple[bool, int, str | int]]:
        values = [column[i] for column in columns]
        return [
            (value is None, rank.get(value, len(rank)), "" if value is None else value)
            for value, rank in zip(values, ranks, strict=True)
        ]

    return np.array(sorted(range(keys.num_rows), key=place), dtype=np.intp)
