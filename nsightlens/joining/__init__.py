"""Counters of ncu beside the times of nsys: launches matched with the kernels of a trace.

- `nsightlens.joining.joined`: `join`, and what it returns.
- `nsightlens.joining.sides`: launches and kernels by the same keys.
- `nsightlens.joining.families`: sums by family and batch size, and the notes.
"""

from __future__ import annotations

from nsightlens.joining.joined import Joined, join

__all__ = ["Joined", "join"]
