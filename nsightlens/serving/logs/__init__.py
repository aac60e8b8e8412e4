"""Logs of serving engines -> settings, memory, load and preemptions.

- `server_log` reads a log; `log_patterns` is the table of all lines that are known, `log_text`
  finds them, and each other module reads one kind of them.
"""
