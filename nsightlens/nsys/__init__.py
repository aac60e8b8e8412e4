"""The exports of Nsight Systems (SQLite, Arrow, Parquet) as raw tables; nothing of analysis.

- `nsightlens.nsys.opening`: what a user named, as an export; what everything else is.
- `nsightlens.nsys.exporting`: a report that only nsys reads, exported by it.
- `nsightlens.nsys.sqlite`, `nsightlens.nsys.folders`: the formats. `nsightlens.nsys.raw`: what they
  have in common.
- `nsightlens.nsys.correlation`: which API call asked for what a device did.
- `nsightlens.nsys.stacks`, `nsightlens.nsys.paths`: which NVTX ranges were open then.
"""

from __future__ import annotations

from nsightlens.nsys.opening import opened
from nsightlens.nsys.raw import Export

__all__ = ["Export", "opened"]
