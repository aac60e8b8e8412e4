"""The tables beside the curve: the servers that fit, what steps cost, shares of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.advice_words import batch_words
from nsightlens.render.grid import GridColumn
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.advisor.answers import Advice, StepCosts, Why

__all__ = ["cost_columns", "replica_columns", "share_columns"]

Row = dict[str, Any]


def replica_columns(advice: Advice) -> list[GridColumn]:
    """Return the table of servers on one GPU; no columns where there are no rows."""
    if advice.replicas is None or not advice.replicas.rows.num_rows:
        return []
    rows: list[Row] = advice.replicas.rows.to_pylist()
    return [
        _counts("servers", rows, "replicas"),
        _counts("batch", rows, "batch_size"),
        _flag("MPS", rows, "mps"),
        _number("memory share", rows, "gpu_memory_utilization"),
        _number("KV pool GiB", rows, "kv_pool_gib"),
        _counts("blocks", rows, "kv_block_count"),
        _counts("needed", rows, "kv_blocks_needed"),
        _flag("fits", rows, "fits"),
        _right("origin", [plain(row["origin"] or numbers.MISSING) for row in rows]),
        _number("gain", rows, "gain"),
        _number("bound", rows, "gain_bound"),
        _number("token/s", rows, "throughput_tok_s"),
        _number("ITL ms", rows, "itl_ms"),
        _flag("within limit", rows, "meets_slo"),
        GridColumn("note", [plain(row["note"] or "") for row in rows]),
    ]


def _number(header: str, rows: Sequence[Row], name: str) -> GridColumn:
    return _right(header, [numbers.significant(row[name]) for row in rows])


def _counts(header: str, rows: Sequence[Row], name: str) -> GridColumn:
    return _right(header, [batch_words(row[name]) for row in rows])


def _right(header: str, cells: Sequence[str]) -> GridColumn:
    return GridColumn(header, cells, align="right")


def _flag(header: str, rows: Sequence[Row], name: str) -> GridColumn:
    words = {True: "yes", False: "no", None: numbers.MISSING}
    return GridColumn(header, [words[row[name]] for row in rows])


def cost_columns(costs: Sequence[StepCosts]) -> list[GridColumn]:
    """Return the table of what steps spend beside their work; no columns where nothing is known."""
    pairs = [(step, one) for step in costs for one in step.costs]
    if not pairs:
        return []
    return [
        GridColumn("batch", [batch_words(step.batch_size) for step, _ in pairs]),
        _right("cost", [one.key.replace("_", " ") for _, one in pairs]),
        GridColumn("per step", [numbers.duration(one.per_step_us * 1e3) for _, one in pairs]),
        _right("% of step", [numbers.percent(one.share_of_step_pct) for _, one in pairs]),
        _right("could save", [numbers.duration(one.saving_us * 1e3) for _, one in pairs]),
        _right("worth acting", ["yes" if one.is_worth_acting else "no" for _, one in pairs]),
        GridColumn("why", [plain(one.text) for _, one in pairs]),
    ]


def share_columns(why: Why) -> list[GridColumn]:
    """Return the table of time shares; no columns where nothing is known."""
    if not why.shares:
        return []
    heads = ("attention %", "matmul %", "other %", "host %")
    return [
        GridColumn("batch", [batch_words(row[0]) for row in why.shares]),
        *(
            _right(head, [numbers.percent(row[i]) for row in why.shares])
            for i, head in enumerate(heads, start=1)
        ),
    ]
