"""What ``ncu --import REPORT --csv`` would print of a report: the raw page and the details page.

Values are scaled to units of readable size or printed in base units, with six decimals on the raw
page and two on the details page, thousands grouped, and without decimals where the (scaled) value
has none, as in the files of real users.
"""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nsightlens.metric_store import MetricKind
from nsightlens.ncucsv.labels import METRICS
from nsightlens.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.report import Report

Page = Literal["raw", "details"]

NVTX_COLUMNS = (
    "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
)

# Which label shows a metric: the first of the table.
_LABELS: dict[str, tuple[str, str]] = {}
for _section, _labels in METRICS.items():
    for _label, _metric in _labels.items():
        _LABELS.setdefault(_metric, (_section, _label))

_RULE_KINDS = {"none": "INF", "ok": "INF", "optimization": "OPT", "warning": "WRN", "error": "ERR"}


class Locale(NamedTuple):
    """How the machine of ncu writes numbers."""

    decimal: str = "."
    group: str = ","


def ncu_csv(
    report: Report,
    page: Page = "raw",
    *,
    base_units: bool = False,
    locale: Locale = Locale(),  # noqa: B008 - immutable
    old_units: bool = False,
) -> str:
    """Print the launches of a report.

    Parameters
    ----------
    report
        Any report.
    page
        ``raw``: wide. ``details``: long, with the rows of rules.
    base_units
        As with ``--print-units base``.
    locale
        How numbers are written.
    old_units
        ``nsecond`` and ``byte/second`` of older versions instead of ``ns`` and ``byte/s``.
    """
    printer = _Printer(report, base_units, locale, old_units)
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(printer.raw() if page == "raw" else printer.details())
    return out.getvalue()


def printed_message(message: str) -> str:
    """Return a rule's message as ncu prints it: links are replaced by what they show."""
    message = re.sub(r"@url:([^:@]*):([^@]*)@", r"\1 (\2)", message)
    return re.sub(r"@(?:section|source|table):[^:@]*:([^@]*)@", r"\1", message)


class _Printer:
    def __init__(self, report: Report, base_units: bool, locale: Locale, old_units: bool) -> None:
        self.launches: list[dict[str, Any]] = report.launches.to_pylist()
        self.sessions: list[dict[str, Any]] = report.sessions.to_pylist()
        self.rules: list[dict[str, Any]] = report.rules.to_pylist()
        self.nvtx: list[dict[str, Any]] = report.nvtx.to_pylist()
        self.names = report.store.names
        self.columns = {name: report.store.column(name).to_pylist() for name in self.names}
        self.kinds = {name: report.store.kind(name).tolist() for name in self.names}
        self.base_units = base_units
        self.locale = locale
        self.old_units = old_units

    def raw(self) -> Iterator[list[str]]:
        identity = self._identity_names()
        yield [*identity, *self.names]
        scales = {
            name: self._scale(name, max((abs(v) for v in column if _is_finite(v)), default=0.0))
            for name, column in self.columns.items()
        }
        yield [""] * len(identity) + [scales[name][0] for name in self.names]
        for row, launch in enumerate(self.launches):
            cells = [self._printed(name, row, scales[name][1], 6) for name in self.names]
            yield [*self._identity(row, launch), *cells]

    def details(self) -> Iterator[list[str]]:
        rules = [
            "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type",
            "Estimated Speedup",
        ]  # fmt: skip
        metric = ["Section Name", "Metric Name", "Metric Unit", "Metric Value"]
        yield [*self._identity_names(), *metric, *(rules if self.rules else [])]
        for row, launch in enumerate(self.launches):
            identity = self._identity(row, launch)
            for name in self.names:
                if self.kinds[name][row] == MetricKind.ABSENT:
                    continue
                value = self.columns[name][row]
                section, label = _LABELS.get(name, ("Command line profiler metrics", name))
                unit, factor = self._scale(name, abs(value) if _is_finite(value) else 0.0)
                printed = self._printed(name, row, factor, 2)
                # Rows of metrics stop here, whatever the header says.
                yield [*identity, section, label, unit, printed]
            for rule in self.rules:
                if rule["launch_id"] == row:
                    yield [*identity, rule["section"] or "", "", "", "", *self._rule(rule)]

    def _rule(self, rule: dict[str, Any]) -> list[str]:
        speedup = rule["estimated_speedup_pct"]
        scope = rule["speedup_scope"]
        return [
            rule["rule"],
            _RULE_KINDS[rule["severity"]],
            printed_message(rule["message"]),
            scope if scope is not None and scope != "unknown" else "",
            "" if speedup is None else f"{speedup:.2f}",
        ]

    def _identity_names(self) -> list[str]:
        return [
            "ID", "Process ID", "Process Name", "Host Name", *(NVTX_COLUMNS if self.nvtx else ()),
            "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
        ]  # fmt: skip

    def _identity(self, row: int, launch: dict[str, Any]) -> list[str]:
        host = next(
            (
                one["host_name"]
                for one in self.sessions
                if one["process_id"] == launch["process_id"]
                and one["process_name"] == launch["process_name"]
            ),
            None,
        )
        extents = [
            "({}, {}, {})".format(*(launch[f"{name}_{axis}"] or 0 for axis in "xyz"))
            for name in ("block", "grid")
        ]
        texts = [row, launch["process_id"], launch["process_name"], host]
        texts += self._nvtx(row) if self.nvtx else []
        texts += [launch["kernel_demangled_name"], launch["context_id"], launch["stream_id"]]
        texts += [*extents, launch["device_id"], launch["compute_capability"]]
        return ["" if text is None else str(text) for text in texts]

    def _nvtx(self, row: int) -> list[str]:
        cells = []
        for kind, mark, separator in (
            ("push_pop", "thread_id", " "), ("start_end", "range_id", ":"),
        ):  # fmt: skip
            ranges = [r for r in self.nvtx if r["launch_id"] == row and r["range_kind"] == kind]
            cells.append(
                "\n".join(
                    f"{r[mark]}{separator}{r['domain']}:{r['name']}:none:{r['payload'] or 'none'}"
                    f":none:none:none:{r['message'] or 'none'}"
                    for r in ranges
                )
            )
        return cells

    def _scale(self, name: str, largest: float) -> tuple[str, int]:
        """Return the unit that is printed for a value of this size, and what to divide by."""
        base = unit_of(name) or ""
        counted, _, per = base.partition("/")
        per_second = per == "s" or base == "Hz"
        # ncu prints no unit where it stores kHz.
        words = {"B": "byte", "Hz": "hz", "kHz": "", "ns": "nsecond" if self.old_units else "ns"}
        word = words.get(counted, counted)
        tail = {"": "", "s": "/second" if self.old_units else "/s"}.get(per, f"/{per}")
        if self.base_units or not largest:
            return word + tail, 1
        if base == "ns":
            steps = ("ns", "us", "ms", "s")
            old = ("nsecond", "usecond", "msecond", "second")
            step = min(int(math.log10(largest) // 3) if largest >= 1 else 0, 3)
            return (old if self.old_units else steps)[step], 1000**step
        if counted == "B" or per_second:
            step = min(max(int(math.log10(largest) // 3), 0), 4)
            return f"{('', 'K', 'M', 'G', 'T')[step]}{word}{tail}", 1000**step
        return word + tail, 1

    def _printed(self, name: str, row: int, factor: int, decimals: int) -> str:
        kind, value = self.kinds[name][row], self.columns[name][row]
        if kind == MetricKind.ABSENT:
            return ""
        if kind == MetricKind.NULL:
            return "n/a"
        if isinstance(value, str):
            return value
        if value is None:
            raise AssertionError(f"{name} holds text and numbers")
        if not math.isfinite(value):
            return str(value)
        scaled = value if factor == 1 else value / factor
        digits = 0 if scaled == int(scaled) else decimals
        text = f"{int(scaled):,d}" if digits == 0 else f"{scaled:,.{digits}f}"
        return text.translate({ord("."): self.locale.decimal, ord(","): self.locale.group})


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
