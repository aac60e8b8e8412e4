"""The command line: one module per sub-command; the only place that prints."""
