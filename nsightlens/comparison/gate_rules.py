"""Rules of a gate, which a user writes in a TOML file.

`docs/compare.md` explains them::

[[rule]]
name = "decode attention is no slower"
family = "attention"
phase = "decode"
metric = "duration_ns"
max_increase_pct = 5
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens import tables
from nsightlens.comparison.gate_rule import (
    AGGREGATES,
    BY,
    CHANGES,
    EXPECTED,
    LIMITS,
    MISSING,
    PHASES,
    GateRule,
    metric_units,
)  # fmt: skip
from nsightlens.comparison.limits import LimitError, limit_value
from nsightlens.comparison.noise import NoiseRules
from nsightlens.kernels.model import FAMILIES
from nsightlens.patterns import expression_of, nearest, quoted
from nsightlens.toml_files import TomlEntry, read_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

__all__ = ["FORMAT", "VERSION", "GateRules", "read_gate_rules"]

FORMAT = "nsightlens.gate"
VERSION = 1
_SCOPE = ("family", "kernel", "phase", "batch_size", "nvtx")
_KEYS = ("name", "by", *_SCOPE, "metric", "aggregate", *LIMITS, *CHANGES, *EXPECTED, "missing")


class GateRules(NamedTuple):
    """The rules of a file, and what they take for noise."""

    rules: tuple[GateRule, ...]
    noise: NoiseRules
    path: str


def read_gate_rules(path: str | PathLike[str]) -> GateRules:
    """Read the rules of a gate.

    Parameters
    ----------
    path
        A TOML file with one ``[[rule]]`` for each.

    Raises
    ------
    SettingsFileError
        The file cannot be read, holds no rule, or says something that is not understood.
    """
    shown = str(path)
    table = read_toml(shown)
    top = TomlEntry(shown, "", table)
    for key, only in (("format", FORMAT), ("version", VERSION)):
        found = table.get(key, only)
        # To Python, 1.0 and true are 1.
        if found != only or type(found) is not type(only):
            advice = f"This nsightlens knows {key} = {only!r} for a gate, or none at all."
            raise top.error(f"has the {key} {table[key]!r}", advice)
    top.check_keys(("format", "version", "noise", "rule"))
    entries = table.get("rule", [])
    if not isinstance(entries, list) or not entries:
        advice = "Add one, with name, metric and a limit: a gate without a rule would always pass."
        raise top.error("holds no [[rule]]", advice)
    rules: dict[str, GateRule] = {}
    for i, one in enumerate(entries, 1):
        entry = _Entry(shown, f"[[rule]] {i}", one)
        rule = entry.rule()
        if rule.name in rules:
            raise entry.error(f"name is {rule.name!r}, as of a rule above", "Choose another name.")
        rules[rule.name] = rule
    noise = _Entry(shown, "[noise]", table.get("noise", {})).noise()
    return GateRules(tuple(rules.values()), noise, shown)


class _Entry(TomlEntry):
    """A ``[[rule]]``, or the table ``[noise]``, to be checked."""

    def noise(self) -> NoiseRules:
        if not isinstance(self.table, dict):
            raise self.error("is not a table", "Begin it with [noise].")
        self.check_keys(NoiseRules._fields)
        given = {key: self._number(key) for key in self.table}
        if not 0 < given.get("confidence_pct", 99.0) < 100:
            raise self.error("confidence_pct is not between 0 and 100", "Write such as 99.")
        return NoiseRules(**given)

    def rule(self) -> GateRule:
        if not isinstance(self.table, dict):
            raise self.error("is not a table", "Begin a rule with [[rule]].")
        self.check_keys(_KEYS)
        name = self._text("name")
        if not name:
            raise self.error("has no name", "Add one: it names the rule in every result.")
        by = self._one_of("by", BY, "launch")
        common: dict[str, Any] = {
            "name": name,
            "by": by,
            "families": self._several("family", FAMILIES),
            "kernel": self._expression("kernel"),
            "phases": self._several("phase", PHASES),
            "batch_sizes": self._batch_sizes(),
            "nvtx": self._several("nvtx"),
            "missing": self._one_of("missing", MISSING, "fail"),
        }
        self._check_kind()
        words = [key for key in EXPECTED if key in self.table]
        if words:
            expected = self._several(words[0], EXPECTED[words[0]])
            return GateRule(metric=words[0], expected=expected, **common)
        return self._of_number(common)

    def _of_number(self, common: dict[str, Any]) -> GateRule:
        metric = self._text("metric")
        if not metric:
            raise self.error("has no metric", 'Add one, such as metric = "duration_ns".')
        units = metric_units(common["by"])
        is_change = any(key in self.table for key in CHANGES)
        known = [column.name for column in tables.COMPARED] if is_change else list(units)
        if metric not in known:
            near = nearest(metric, known, 3)
            what = "that is compared" if is_change else f"of a {common['by']}"
            told = (
                f"Did you mean {' or '.join(near)}?" if near else f"Known are {', '.join(known)}."
            )
            raise self.error(f"metric is {metric!r}, which is none {what}", told)
        rule = GateRule(
            metric=metric,
            unit=units[metric],
            aggregate=self._one_of("aggregate", AGGREGATES, "each"),
            most=self._limit("max", units[metric]),
            least=self._limit("min", units[metric]),
            increase_pct=self._percent("max_increase_pct"),
            decrease_pct=self._percent("max_decrease_pct"),
            **common,
        )
        if rule.most is not None and rule.least is not None and rule.least > rule.most:
            problem = f"min is {self.table['min']!r} and max is {self.table['max']!r}"
            raise self.error(problem, "No value is within both: min must not be above max.")
        self._check_aggregate(rule)
        return rule

    def _check_kind(self) -> None:
        """Refuse a rule that limits nothing, or two things at once."""
        kinds = {
            "a limit (max, min)": any(key in self.table for key in LIMITS),
            "a change (max_increase_pct, max_decrease_pct)": any(k in self.table for k in CHANGES),
            **{f"{key}": key in self.table for key in EXPECTED},
        }
        there = [kind for kind, is_there in kinds.items() if is_there]
        if len(there) != 1:
            found = f"has both {there[0]} and {there[1]}" if there else "has no limit"
            advice = f"Give one of: {', '.join(kinds)}."
            raise self.error(found, advice)
        if there[0] in EXPECTED and (extra := {"metric", "aggregate"} & set(self.table)):
            advice = f"It expects that every {there[0]} is as stated, and takes no other key."
            raise self.error(f"has {there[0]} and {' and '.join(sorted(extra))}", advice)

    def _check_aggregate(self, rule: GateRule) -> None:
        if rule.is_change and rule.aggregate not in ("each", "sum"):
            raise self.error(
                f"aggregate is {rule.aggregate!r}, and the rule is about a change",
                "A change is checked for each row, or of the sum.",
            )
        if rule.is_change and rule.aggregate == "sum" and rule.metric != "duration_ns":
            advice = "Only durations are summed for a change; leave aggregate out."
            raise self.error(f"aggregate is 'sum' for the change of {rule.metric}", advice)
        if rule.aggregate == "sum" and not rule.adds_up:
            advice = f"Values in {rule.unit or '1'} do not add up: use mean, max, min or each."
            raise self.error(f"aggregate is 'sum' for {rule.metric}", advice)

    def _text(self, key: str) -> str:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            raise self.error(f"{key} is {value!r}", "Write a text in quotes.")
        if key in self.table and not value.strip():
            raise self.error(f"{key} is empty", "Write what it is, or leave the key out.")
        return value

    def _one_of(self, key: str, known: Sequence[str], default: str) -> str:
        value = self._text(key) or default
        if value not in known:
            raise self.error(f"{key} is {value!r}", _allowed(value, known))
        return value

    def _several(self, key: str, known: Sequence[str] | None = None) -> tuple[str, ...]:
        value = self.table.get(key, [])
        values = [value] if isinstance(value, str) else value
        is_texts = isinstance(values, list) and all(isinstance(x, str) and x for x in values)
        if not is_texts or (key in self.table and not values):
            raise self.error(f"{key} is {value!r}", "Write a text, or several in brackets.")
        for one in values:
            if known is not None and one not in known:
                raise self.error(f"{key} is {one!r}", _allowed(one, known))
        return tuple(values)

    def _expression(self, key: str) -> str:
        value = self._text(key)
        try:
            expression_of(value)
        except ValueError as error:
            advice = "To find a character such as ( or * as it stands, put two backslashes before."
            problem = f"{key} is {quoted(value)}, no regular expression: {error}"
            raise self.error(problem, advice) from error
        return value

    def _batch_sizes(self) -> tuple[int, ...]:
        if "batch_size" not in self.table:
            return ()
        value = self.table["batch_size"]
        values = value if isinstance(value, list) else [value]
        if not values or not all(type(one) is int and one > 0 for one in values):
            advice = "Write a whole number, or several in brackets."
            raise self.error(f"batch_size is {value!r}", advice)
        return tuple(values)

    def _number(self, key: str) -> float:
        value = self.table[key]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < 0:
            raise self.error(f"{key} is {value!r}", "Write a number that is not negative.")
        return float(value)

    def _percent(self, key: str) -> float | None:
        return self._number(key) if key in self.table else None

    def _limit(self, key: str, unit: str) -> float | None:
        if key not in self.table:
            return None
        try:
            return limit_value(self.table[key], unit)
        except LimitError as error:
            problem, advice = error.args
            raise self.error(f"{key} {problem}", advice) from error


def _allowed(found: str, known: Sequence[str]) -> str:
    near = nearest(found, known)
    return f"Did you mean {near[0]}?" if near else f"Allowed are {', '.join(known)}."
