"""Headers of tables that people write -> columns of ``serving_runs``, with what to multiply by.

Every column of ``serving_runs`` has its own name. Beside these, a header is taken apart into a
quantity, a statistic and a unit: ``ITL p99 [us]``, ``mean_itl_ms``, ``tpot_s``. A latency without a
unit means nothing: nobody knows whether 0.03 is of seconds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nsightlens.serving.tabular.plain_aliases import (
    ALIASES,
    BATCHES,
    LATENCIES,
    MEMORIES,
    SHARES,
    STATISTICS,
)
from nsightlens.serving.tabular.table_units import Unit, unit_of
from nsightlens.tables import SERVING_RUNS

__all__ = ["BATCH", "UNCLEAR_RATE", "Meaning", "meaning_of"]

BATCH = "?batch"
"""A batch size of which the header does not say whether a scheduler filled it."""

UNCLEAR_RATE = "?tok_per_s"
"""Tokens per second, of which the header does not say which tokens."""

_OWN = {column.name: column for column in SERVING_RUNS}
_RATE_WORDS = {
    **dict.fromkeys(("tok", "toks", "token", "tokens"), "tok"),
    **dict.fromkeys(("req", "reqs", "request", "requests", "query", "queries"), "req"),
    **dict.fromkeys(("output", "out", "generation", "generated", "gen"), "output"),
    **dict.fromkeys(("input", "in", "prompt"), "input"),
    **dict.fromkeys(("total", "overall", "sum"), "total"),
    **dict.fromkeys(("decode", "decoding"), "decode"),
    **dict.fromkeys(("throughput", "tput", "thpt", "rate", "speed"), "rate"),
    **dict.fromkeys(("per", "s", "sec", "second", "seconds", "tps", "system"), ""),
    **dict.fromkeys(("mean", "avg", "average"), ""),
}
_RATES = {
    frozenset({"output"}): "output_tok_per_s",
    frozenset({"total"}): "total_tok_per_s",
    frozenset({"input", "output"}): "total_tok_per_s",
    frozenset({"total", "input", "output"}): "total_tok_per_s",
    frozenset({"total", "output"}): "output_tok_per_s",
    frozenset({"decode"}): "decode_tok_per_s",
    frozenset({"decode", "output"}): "decode_tok_per_s",
    frozenset(): UNCLEAR_RATE,
}


class Meaning(NamedTuple):
    """What a header says.

    Parameters
    ----------
    column
        Of ``serving_runs``, or `BATCH`, or `UNCLEAR_RATE`.
    factor
        What to multiply a cell by; None where the unit is missing: cells must state it.
    kind
        Of the unit, as in `table_units.Unit`; "" where the column has none.
    rank
        Where several headers mean the same column, the lowest counts.
    how
        How a cell becomes the value: ``plain``, ``largest`` or ``smallest`` of a list in it, or
        ``happened``: whether there was any.
    better
        Header to write, where the unit is missing.
    remark
        Key of what a person must know of it: ``gb_as_gib``, ``latency_is_e2e``; "" for nothing.
    """

    column: str
    factor: float | None = 1.0
    kind: str = ""
    rank: int = 0
    how: str = "plain"
    better: str = ""
    remark: str = ""


def meaning_of(header: str, row_unit: str = "") -> Meaning | None:
    """Return what a header means; None where it is none that is known.

    Parameters
    ----------
    header
        As it stands in the table.
    row_unit
        Unit from a second row of header.

    Examples
    --------
    >>> meaning_of("ITL p99 [us]").column, meaning_of("ITL p99 [us]").factor
    ('p99_itl_ms', 0.001)
    >>> meaning_of("itl").factor is None, meaning_of("itl").better
    (True, 'mean_itl_ms')
    >>> meaning_of("out_tok_s").column, meaning_of("lunch") is None
    ('output_tok_per_s', True)
    """
    name = header.strip()
    own = _OWN.get(name.lower())
    under = unit_of(row_unit.strip("[]() "))
    if own is not None and name.lower() != "run":
        if own.unit == "ms" and under is not None and (under.kind, under.size) != ("time", 1.0):
            return None  # two units, of which nobody knows the right one
        return Meaning(
            own.name, 1.0, {"ms": "time", "%": "share", "GiB": "memory"}.get(own.unit, "")
        )
    base, unit, qualifiers = _taken_apart(name)
    unit = under or unit
    words = _words(f"{base} {qualifiers}")
    if not words:
        return None
    found = _alias(words, unit) or _latency(words, unit) or _rate(words, unit)
    found = found or _memory(words, unit) or _share(words, unit)
    if found is None and qualifiers and "_".join(_words(base)) == "preempted":
        # Whatever stands behind it, the statement is the same.
        column, how, rank = ALIASES["preempted"]
        return Meaning(column, how=how, rank=rank)
    return found


def _taken_apart(name: str) -> tuple[str, Unit | None, str]:
    """Return a name without what stands in brackets, the unit there, and what else stands there."""
    unit: Unit | None = None
    others: list[str] = []
    for inside in re.findall(r"[\[(]([^\])]*)[\])]", name):
        for one in inside.split(","):
            known = unit_of(one)
            if known is not None and unit is None:
                unit = known
            else:
                others.append(one)
    return re.sub(r"[\[(][^\])]*[\])]", " ", name), unit, " ".join(others)


def _words(name: str) -> tuple[str, ...]:
    text = re.sub(r"(?<=[a-z\d])(?=[A-Z][a-z])", "_", name)
    text = text.lower().replace("%", " pct ").replace("/", " per ").replace("#", " num ")
    return tuple(word for word in re.split(r"[^a-z0-9\u00b5\u03bc.]+", text) if word)


def _alias(words: tuple[str, ...], unit: Unit | None) -> Meaning | None:
    key = "_".join(words)
    if key in BATCHES:
        return Meaning(BATCH, rank=BATCHES[key])
    if key not in ALIASES:
        return None
    column, how, rank = ALIASES[key]
    factor = 1.0
    if how == "fraction":
        how, factor = "plain", 100.0
    if unit is not None and unit.kind != "other":
        if unit.kind == "share" and column == "gpu_memory_utilization":
            factor = unit.size / 100.0
        elif unit.kind in {"tokens_per_s", "requests_per_s"} and column.endswith("_per_s"):
            factor = unit.size
        else:
            return None
    return Meaning(column, factor, "", rank, how)


def _last_unit(words: tuple[str, ...], unit: Unit | None) -> tuple[tuple[str, ...], Unit | None]:
    """Return words without a unit at their end, and the unit: ``itl_ms``, ``itl_ms_mean``."""
    if unit is not None:
        return words, unit
    for index in range(len(words) - 1, 0, -1):
        known = unit_of(words[index])
        if known is not None and known.kind in {"time", "memory", "share"}:
            return (*words[:index], *words[index + 1 :]), known
    return words, None


def _latency(words: tuple[str, ...], unit: Unit | None) -> Meaning | None:
    statistics = [STATISTICS[word] for word in words if word in STATISTICS]
    rest, unit = _last_unit(tuple(one for one in words if one not in STATISTICS), unit)
    key = "_".join(rest)
    if key in {"duration", "elapsed", "total_time", "run_time", "runtime", "elapsed_time",
               "benchmark_duration", "wall_time", "makespan"}:  # fmt: skip
        if statistics:
            return None
        return _with_unit("duration_s", unit, "time", "duration_s", scale=1e-3)
    if key not in LATENCIES or len(statistics) > 1:
        return None
    metric, remark = LATENCIES[key]
    if unit is None and remark == "step_is_itl":
        return None  # the number of a step
    if unit is not None and unit.is_per_token and metric in {"e2e", "ttft"}:
        if key != "latency":
            return None
        metric, remark = "tpot", ""
    column = f"{statistics[0] if statistics else 'mean'}_{metric}_ms"
    found = _with_unit(column, unit, "time", column)
    return found and found._replace(remark=remark, rank=1 if statistics else 2)


def _with_unit(
    column: str, unit: Unit | None, kind: str, better: str, scale: float = 1.0
) -> Meaning | None:
    if unit is None:
        return Meaning(column, None, kind, better=better)
    if unit.kind != kind:
        return None
    remark = "gb_as_gib" if unit.is_decimal_by_name else ""
    return Meaning(column, unit.size * scale, kind, remark=remark)


def _rate(words: tuple[str, ...], unit: Unit | None) -> Meaning | None:
    """Return the meaning of a throughput; None where a word is not understood, such as ``user``."""
    parts = [_RATE_WORDS.get(word) for word in words]
    if any(part is None for part in parts):
        return None
    kinds = {part for part in parts if part}
    if unit is not None and unit.kind not in {"tokens_per_s", "requests_per_s"}:
        return None
    # `total_s` is a time: what is counted must be said, or that it is a throughput.
    per_second = "rate" in kinds or words[-1] in {"s", "sec", "second", "seconds"}
    is_rate = bool(
        unit is not None
        or (per_second and kinds & {"tok", "req"})
        or set(words) & {"tps", "throughput", "tput", "thpt"}
    )
    if not is_rate:
        return None
    factor = unit.size if unit is not None else 1.0
    if "req" in kinds or (unit is not None and unit.kind == "requests_per_s"):
        # Tokens per second and request are what one user sees, not what the server does.
        good = kinds <= {"req", "rate", "total"} and "tok" not in kinds
        return Meaning("requests_per_s", factor) if good else None
    column = _RATES.get(frozenset(kinds - {"tok", "rate"}))
    return Meaning(column, factor) if column else None


def _memory(words: tuple[str, ...], unit: Unit | None) -> Meaning | None:
    rest, unit = _last_unit(words, unit)
    key = "_".join(rest)
    # A single word without a unit, such as `total` or `host`, may mean anything.
    if key not in MEMORIES or (unit is None and len(rest) == 1):
        return None
    return _with_unit(MEMORIES[key], unit, "memory", MEMORIES[key])


def _share(words: tuple[str, ...], unit: Unit | None) -> Meaning | None:
    rest, unit = _last_unit(words, unit)
    found = SHARES.get("_".join(rest))
    if found is None or (unit is None and len(rest) == 1):
        return None
    column, how, rank = found
    meaning = _with_unit(column, unit, "share", column)
    return meaning and meaning._replace(how=how, rank=rank)
