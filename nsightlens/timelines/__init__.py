"""A trace becomes an answer: what each step spent its time on, and what could be gained.

- `nsightlens.timelines.timeline`: `timeline`, and what it returns.
- `nsightlens.timelines.activities`: everything that devices did, as one list.
- `nsightlens.timelines.steps_of`: which ranges are steps, and which activity belongs to which.
- `nsightlens.timelines.intervals`: unions, gaps and overlaps of intervals.
- `nsightlens.timelines.spans`, `nsightlens.timelines.gaps`, `nsightlens.timelines.copies`,
  `nsightlens.timelines.runs`: the tables.
- `nsightlens.timelines.advice`: what could be gained.
"""

from __future__ import annotations

from nsightlens.timelines.timeline import Timeline

__all__ = ["Timeline"]
