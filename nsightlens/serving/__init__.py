"""Serving results -> ``serving_runs``: benchmarks, server logs and telemetry, read as they are.

- `nsightlens.serving.part`: what one place of a file says of one run.
- `nsightlens.serving.opened`: a file, looked at once and by every reader.
- `nsightlens.serving.formats`: the readers, in the order in which they are asked. They lie in
  `nsightlens.serving.benchmarks`, `nsightlens.serving.logs`, `nsightlens.serving.telemetry` and
  `nsightlens.serving.tabular`.
- `nsightlens.serving.folder`: which files there are. `nsightlens.serving.path_hints`: what names
  say.
- `nsightlens.serving.reading`: files become parts.
- `nsightlens.serving.grouping`: which log belongs to which result. `nsightlens.serving.run`,
  `nsightlens.serving.windows`, `nsightlens.serving.clients`, `nsightlens.serving.assembly`: the
  parts of one run together.
- `nsightlens.serving.serving`: `open_serving`, `Serving`.
"""
