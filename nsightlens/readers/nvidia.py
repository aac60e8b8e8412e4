"""NVIDIA's own reader, `ncu_report`: to cross-check the native one, and for newer containers.

It runs in a worker process: it keeps 1 to 7 MB of each result for good, its cache of metadata
belongs to the process, and a file can end it. What it returns are the same columns as those of
`nsightlens.ncurep.read.read_columns`; processes, threads, contexts and sessions are not in its
interface and stay null. Units are not taken from it: they depend on which chip it met first.
"""

from __future__ import annotations

import mmap
import os
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nsightlens.errors import MissingExtraError, ReaderFailedError
from nsightlens.metric_store import ABSENT, MetricKind, store_of_values
from nsightlens.ncurep.columns import INSTANCES, FileColumns, launches_of, nvtx_of, rules_of
from nsightlens.ncurep.container import KINDS, Container, read_file_header
from nsightlens.ncurep.model import (
    FILE_VERSION,
    NvtxDomainState,
    NvtxRange,
    Result,
    RuleMessage,
)
from nsightlens.patterns import matcher_of
from nsightlens.processors import is_worker
from nsightlens.readers.columns import shown_path
from nsightlens.readers.ncu_rep import report_of_columns
from nsightlens.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nsightlens.metric_store import Absent
    from nsightlens.report import Report

    Value = int | float | str | None

__all__ = ["report_from_ncu_report"]

# Its numbers of the kinds of message, as the file has them.
_SEVERITIES = {0: 0, 1: 1, 3: 2, 4: 3, 2: 4}

_PROC_SELF = "/proc/self/"

_NATIVE = "Read it with --reader native (in Python: reader='native'), which says what is wrong."


def report_from_ncu_report(
    path: str,
    *,
    shown: str,
    instances: bool | Sequence[str] = False,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Read a report with NVIDIA's reader in a process of its own.

    Parameters
    ----------
    path
        A plain .ncu-rep file.
    shown
        What errors and the result call the file.
    instances
        Read instanced values too: True for all, or metric names and ``*`` patterns.
    progress
        Called with the number of results read so far and their total.

    Raises
    ------
    MissingExtraError
        `ncu_report` is not installed.
    ReaderFailedError
        It gives less than the file holds, or its process ended.
    ReportFormatError
        The file is no report, or its container is damaged.
    """
    if find_spec("ncu_report") is None:
        raise MissingExtraError("reader='ncu_report'", package="ncu_report", extra="ncu")
    wanted = instances if isinstance(instances, bool) else tuple(instances)
    if is_worker():  # one of a pool, which takes another for the next file
        return report_of_columns(read_with_ncu_report(path, shown, wanted, progress=progress))
    # The worker's /proc/self is not ours.
    is_ours = path.startswith(_PROC_SELF)
    place = f"/proc/{os.getpid()}/{path.removeprefix(_PROC_SELF)}" if is_ours else path
    try:
        with Worker() as worker:
            columns = worker.call(read_with_ncu_report, place, shown, wanted, progress=progress)
        return report_of_columns(columns)
    except WorkerDiedError as died:
        problem = f"NVIDIA's reader gives nothing: its process {died}"
        raise ReaderFailedError(shown_path(shown), problem, _NATIVE) from died


def read_with_ncu_report(
    path: str,
    shown: str,
    instances: bool | tuple[str, ...],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> FileColumns:
    """Read a report with NVIDIA's reader in this process; see `report_from_ncu_report`."""
    version, claimed = _claimed(path, shown)
    context = _load(path)
    found = [context.range_by_idx(i) for i in range(context.num_ranges())]
    count = sum(one.num_actions() for one in found)
    if claimed is None and not count:
        problem = "NVIDIA's reader finds nothing in it and says not why"
        raise ReaderFailedError(shown, problem, _NATIVE)
    if claimed is not None and count != claimed:
        problem = f"the file holds {claimed} results and NVIDIA's reader gives {count}"
        raise ReaderFailedError(shown, problem, _NATIVE)
    actions = (one.action_by_idx(i) for one in found for i in range(one.num_actions()))
    columns = _Columns(count, shown, _filter(instances))
    for launch, action in enumerate(actions):
        if progress is not None:
            progress(launch, count)
        columns.add(launch, action)
    if progress is not None:
        progress(count, count)
    size = os.stat(path).st_size  # noqa: PTH116 - any name
    return columns.of_file(size, version)


def _claimed(path: str, shown: str) -> tuple[int, int | None]:
    """Return the version of a container and how many results it says to hold, None if unknown.

    NVIDIA's reader answers a file that it cannot read with nothing, and no error.
    """
    with (
        open(path, "rb") as file,  # noqa: PTH123 - any name
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer,
    ):
        version, start = read_file_header(buffer, shown)
        container = Container(buffer, shown, start)
        if container.damage is None:
            return version, len(container.index)
        if version <= FILE_VERSION:
            raise container.damage
        return version, None


def _load(path: str) -> Any:
    with warnings.catch_warnings():
        # Its generated bindings use what newer Pythons deprecate.
        warnings.simplefilter("ignore")
        # An optional library, and only ever in a worker.
        import ncu_report  # noqa: PLC0415
    return ncu_report.load_report(path)


def _filter(instances: bool | tuple[str, ...]) -> Callable[[str], bool]:
    if isinstance(instances, bool):
        return lambda _: instances
    return matcher_of(instances)


class _Columns:
    """What NVIDIA's reader says of each result, as columns.

    Parameters
    ----------
    count
        Number of results.
    shown
        The file, as the caller named it.
    wanted
        Whether to read the instances of a metric.
    """

    def __init__(self, count: int, shown: str, wanted: Callable[[str], bool]) -> None:
        self._count = count
        self._shown = shown
        self._wanted = wanted
        self._results: list[Result] = []
        self._values: dict[str, list[Value | Absent]] = {}
        self._instances: list[tuple[Any, ...]] = []

    def add(self, launch: int, action: Any) -> None:
        """Take the next result."""
        names = list(action.metric_names())
        self._results.append(_result(action, launch, self._shown, is_empty=not names))
        for spelled in names:
            name = _readable(spelled)
            column = self._values.setdefault(name, [ABSENT] * self._count)
            if name != spelled:  # no UTF-8: it gives such a name and does not take it
                column[launch] = None
                continue
            metric = action.metric_by_name(spelled)
            # Without a value of its own it would answer 0.
            column[launch] = _value(metric, metric.kind()) if metric.has_value() else None
            if self._wanted(name):
                self._instances += _instances(metric, launch, name)

    def of_file(self, size_bytes: int, version: int) -> FileColumns:
        """Return all of it."""
        numbered = list(enumerate(self._results))
        found = zip(*self._instances, strict=True) if self._instances else [[] for _ in INSTANCES]
        columns = {
            field.name: pa.array(values, type=field.type)
            for field, values in zip(INSTANCES, found, strict=True)
        }
        return FileColumns(
            path=self._shown,
            size_bytes=size_bytes,
            version=version,
            processes=(),
            sessions=[],
            launches=_without_guesses(launches_of(self._results, [None] * self._count)),
            rules=rules_of(numbered),
            nvtx=nvtx_of(numbered),
            instances=pa.table(columns, schema=INSTANCES),
            store=store_of_values(self._count, self._values),
        )


def _without_guesses(launches: pa.Table) -> pa.Table:
    """Return launches without what a `Result` takes for granted where nothing is said."""
    i = launches.schema.get_field_index("is_unsupported_device")
    return launches.set_column(i, launches.schema.field(i), pa.nulls(len(launches), pa.bool_()))


def _result(action: Any, launch: int, shown: str, *, is_empty: bool) -> Result:
    names = [
        action.name(base)
        for base in (action.NameBase_FUNCTION, action.NameBase_MANGLED, action.NameBase_DEMANGLED)
    ]
    kind = action.workload_type()
    if is_empty and not any(names):
        problem = f"NVIDIA's reader gives result {launch} without a name and without metrics"
        raise ReaderFailedError(shown, problem, _NATIVE)
    if kind >= len(KINDS):
        problem = f"NVIDIA's reader says that result {launch} is of type {kind}, which is not known"
        raise ReaderFailedError(shown, problem, "Update nsightlens.")
    function, mangled, demangled = (_readable(name) or None for name in names)
    return Result(
        kind=KINDS[kind],
        function_name=function,
        mangled_name=mangled,
        demangled_name=demangled,
        nvtx=_nvtx(action.nvtx_state()),
        rules=tuple(_rule(rule) for rule in action.rule_results() if rule.has_rule_message()),
    )


def _readable(text: str | None) -> str:
    """Return text in which bytes that are no UTF-8 are escaped, as the native reader does."""
    return (text or "").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _value(metric: Any, kind: int, *index: int) -> Value:
    """Return the value of a metric, or of one of its instances."""
    if kind in {metric.ValueKind_DOUBLE, metric.ValueKind_FLOAT}:
        return float(metric.as_double(*index))
    if kind in {metric.ValueKind_UINT64, metric.ValueKind_UINT32}:
        return int(metric.as_uint64(*index))
    if kind == metric.ValueKind_STRING:
        return _readable(metric.as_string(*index))
    return None


def _instances(metric: Any, launch: int, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the instances of a metric, in the order of `INSTANCES`."""
    correlated = metric.correlation_ids() if metric.has_correlation_ids() else None
    for i in range(metric.num_instances()):
        correlation = None if correlated is None else _value(correlated, correlated.kind(i), i)
        value = _value(metric, metric.kind(i), i)
        yield (launch, name, i, *_split(correlation), *_split(value))


def _split(value: Value) -> tuple[int, float | None, int | None, str | None]:
    """Return kind, float64, exact integer and text of a value."""
    if isinstance(value, str):
        return MetricKind.TEXT, None, None, value
    if isinstance(value, float):
        return MetricKind.DOUBLE, value, None, None
    if isinstance(value, int):
        return MetricKind.INTEGER, float(value), value, None
    return MetricKind.NULL, None, None, None


def _nvtx(state: Any) -> tuple[NvtxDomainState, ...] | None:
    if state is None:
        return None
    return tuple(_domain(number, state.domain_by_id(number)) for number in state.domains())


def _domain(number: int, domain: Any) -> NvtxDomainState:
    return NvtxDomainState(
        number,
        _readable(domain.name()),
        tuple(_range(domain.push_pop_range(i)) for i in range(len(domain.push_pop_ranges()))),
        tuple(_range(domain.start_end_range(i)) for i in range(len(domain.start_end_ranges()))),
    )


def _range(found: Any) -> NvtxRange:
    if not found.has_attributes():
        return NvtxRange(_readable(found.name()))
    return NvtxRange(
        _readable(found.name()),
        category=found.category(),
        color=found.color(),
        payload=_payload(found),
        message=_readable(found.message()) or None,
    )


def _payload(found: Any) -> int | float | str | None:
    kind = found.payload_type()
    if kind in {found.PayloadType_PAYLOAD_DOUBLE, found.PayloadType_PAYLOAD_FLOAT}:
        return float(found.payload_as_double())
    if kind == found.PayloadType_PAYLOAD_JSON:
        return _readable(found.payload_as_string())
    if kind == found.PayloadType_PAYLOAD_UNKNOWN:
        return None
    return int(found.payload_as_uint64())


def _rule(rule: Any) -> RuleMessage:
    said = rule.rule_message()
    speedup = rule.speedup_estimation() if rule.has_speedup_estimation() else None
    return RuleMessage(
        rule=_readable(rule.rule_identifier()),
        rule_name=_readable(rule.name()),
        section=_readable(rule.section_identifier()) or None,
        severity=_SEVERITIES[said["type"]],
        title=_readable(said["title"]) or None,
        message=_readable(said["message"]),
        speedup_pct=speedup["speedup"] if speedup else None,
        speedup_scope=speedup["type"] if speedup else None,
    )
