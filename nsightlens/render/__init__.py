"""A table becomes text: terminal, JSON, CSV, Markdown."""
