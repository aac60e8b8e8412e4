"""Tables of runs with named columns -> parts of runs, a row each.

- `plain_table`: anybody's table, by `plain_names`, `plain_aliases` and the other ``plain_*``.
- `argonne`: a published collection. `mlperf_table`, `other_tables`: refused, with the reason.
- ``table_*``: text and cells, their layout, numbers, units and times.
"""
