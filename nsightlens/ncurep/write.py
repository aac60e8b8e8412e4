"""Writes .ncu-rep files from plain Python data: the other direction of `nsightlens.ncurep.read`.

NVIDIA's reader and ours find in the file exactly what the `ReportSpec` says. Field numbers and the
order of blocks and entries are those of the documented format (Nsight Compute Customization
Guide, "Report File Format"). The messages of one result are in `nsightlens.ncurep.write_result`.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.files import write_bytes
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.model import MAGIC, NcuRepFile, SessionInfo
from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec, report_spec_of
from nsightlens.ncurep.write_result import encode_metrics, encode_result, metric_specs, value_field

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.ncurep.model import Kind, ProcessInfo

__all__ = ["encode_ncu_rep", "write_ncu_rep"]

# BlockHeader: the field that counts the results of each kind, in the order of the payload.
_COUNT_FIELD: dict[Kind, int] = {"kernel": 2, "range": 7, "cmdlist": 8, "graph": 9}
_PAYLOAD_ORDER = tuple(_COUNT_FIELD)


def encode_ncu_rep(
    report: ReportSpec | NcuRepFile | Iterable[LaunchSpec], layout: Layout | None = None
) -> bytes:
    r"""Return a report as the bytes of an .ncu-rep file.

    Parameters
    ----------
    report
        A specification, just its launches, or what the reader returned.
    layout
        How to lay it out in blocks; as ncu does, one result per block, by default.

    Raises
    ------
    ValueError
        An integer does not fit its field, or a text holds what UTF-8 cannot say.

    Examples
    --------
    >>> from nsightlens.ncurep.spec import LaunchSpec
    >>> encode_ncu_rep([LaunchSpec(name="axpy", metrics={"gpu__time_duration.sum": 2048.0})])[:4]
    b'NVR\x00'
    """
    return b"".join(_chunks(_report_spec(report), layout or Layout()))


def write_ncu_rep(
    path: str | os.PathLike[str],
    report: ReportSpec | NcuRepFile | Iterable[LaunchSpec],
    layout: Layout | None = None,
    *,
    overwrite: bool = False,
) -> Path:
    """Write a report as an .ncu-rep file and return its path.

    The file appears complete or not at all: it is written beside its place and then renamed.

    Parameters
    ----------
    path
        Where to write; its folder must exist.
    report, layout
        See `encode_ncu_rep`.
    overwrite
        Replace a file that is there.

    Raises
    ------
    OutputExistsError
        The file is there already and ``overwrite`` was not given.
    OutputError
        The file system refuses.
    ValueError
        See `encode_ncu_rep`.

    Examples
    --------
    >>> import tempfile
    >>> from nsightlens.ncurep.spec import LaunchSpec
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_ncu_rep(folder + "/axpy.ncu-rep", [LaunchSpec(name="axpy")])
    ...     path.name
    'axpy.ncu-rep'
    """
    target = Path(path)
    chunks = _chunks(_report_spec(report), layout or Layout())
    write_bytes(target, chunks, force=overwrite, remedy="say overwrite=True")
    return target


def _report_spec(report: ReportSpec | NcuRepFile | Iterable[LaunchSpec]) -> ReportSpec:
    if isinstance(report, ReportSpec):
        return report
    if isinstance(report, NcuRepFile):
        return report_spec_of(report)
    return ReportSpec(launches=list(report))


class _StringTable:
    """Names of metrics by index, and which of them no block has defined yet."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._undefined: list[str] = []

    def index(self, name: str) -> int:
        found = self._index.get(name)
        if found is None:
            found = self._index[name] = len(self._index)
            self._undefined.append(name)
        return found

    def define(self) -> list[str]:
        names, self._undefined = self._undefined, []
        return names


def _chunks(report: ReportSpec, layout: Layout) -> Iterator[bytes]:
    """Yield the file piece by piece: header, then one block at a time."""
    yield MAGIC
    yield length_prefixed(uint_field(1, layout.version))
    sessions = _sessions(report)
    for session in sessions:
        yield _session_block(session, _opening_details(session, report.comments))
    if not sessions and not report.launches:
        # A file without any block cannot be told from one that was cut there.
        yield _block(report.process)
    sources = [_source(reference, layout) for reference in range(1, layout.source_count + 1)]
    if not layout.are_sources_beside_results:
        for source in sources:
            yield _block(report.process, sources=[source])
        sources = []
    table = _StringTable()
    if layout.strings == "first_block":
        for metric in (metric for launch in report.launches for metric in metric_specs(launch)):
            table.index(metric.name)
    for first, last in _block_bounds(report, layout):
        launches = report.launches[first:last]
        process = (launches[0].process if launches else None) or report.process
        yield _result_block(launches, process, layout, table, sources)
        sources = []
    yield from (_block(report.process, sources=[source]) for source in sources)
    if names := table.define():
        yield _block(report.process, strings=names)
    for session in sessions:
        yield from (_session_block(session, details) for details in _closing_details(session))


def _block_bounds(report: ReportSpec, layout: Layout) -> Iterator[tuple[int, int]]:
    """Yield the first and one past the last launch of each block."""
    sizes = layout.results_per_block
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    if not sizes or min(sizes) < 0 or sizes[-1] == 0:
        raise ValueError("results_per_block must be sizes, none negative and the last not zero")
    first, launches = 0, report.launches
    for turn in count():
        if first == len(launches):
            return
        last = end = min(first + sizes[min(turn, len(sizes) - 1)], len(launches))
        for i in range(first + 1, end):
            if not _may_share_block(launches[i - 1], launches[i], layout):
                last = i
                break
        yield first, last
        first = last


def _may_share_block(before: LaunchSpec, after: LaunchSpec, layout: Layout) -> bool:
    if before.process != after.process:
        return False
    order = _PAYLOAD_ORDER.index
    return before.kind == after.kind or (
        layout.may_mix_kinds and order(before.kind) < order(after.kind)
    )


def _result_block(
    launches: Sequence[LaunchSpec],
    process: ProcessInfo | None,
    layout: Layout,
    table: _StringTable,
    sources: Sequence[bytes],
) -> bytes:
    results = [
        encode_result(
            launch, encode_metrics(launch.kind, metric_specs(launch), table.index), layout
        )
        for launch in launches
    ]
    return _block(
        process,
        sources=sources,
        results=results,
        kinds=[launch.kind for launch in launches],
        strings=table.define() if layout.strings != "last_block" else (),
    )


def _block(
    process: ProcessInfo | None,
    *,
    sources: Sequence[bytes] = (),
    results: Sequence[bytes] = (),
    kinds: Sequence[Kind] = (),
    strings: Sequence[str] = (),
    details: bytes | None = None,
) -> bytes:
    """Return a block: its header behind its size, then every entry behind its size."""
    payload = b"".join(length_prefixed(entry) for entry in (*sources, *results))
    other_kinds = [kind for kind in _PAYLOAD_ORDER[1:] if kind in kinds]
    header = [
        uint_field(1, len(sources)),
        uint_field(2, kinds.count("kernel")),
        b"" if details is None else message_field(3, details),
        message_field(4, *(text_field(1, name) for name in strings)),
        uint_field(5, len(payload)),
        b"" if process is None else _process(process),
        *(uint_field(_COUNT_FIELD[kind], kinds.count(kind)) for kind in other_kinds),
    ]
    return length_prefixed(b"".join(header)) + payload


def _process(process: ProcessInfo) -> bytes:
    return message_field(
        6,
        uint_field(1, process.process_id),
        text_field(2, process.host_name),
        text_field(3, process.process_name),
    )


def _source(reference: int, layout: Layout) -> bytes:
    return uint_field(1, reference) + message_field(4, bytes(layout.source_bytes))


def _sessions(report: ReportSpec) -> Sequence[SessionInfo]:
    if report.sessions or report.comments is None:
        return report.sessions
    return [SessionInfo(process=report.process)]


def _session_block(session: SessionInfo, details: bytes) -> bytes:
    return _block(session.process, details=details)


def _opening_details(session: SessionInfo, comments: str | None) -> bytes:
    system = text_field(1, session.operating_system) + text_field(5, session.computer_name)
    return b"".join(
        (
            uint_field(1, session.process.process_id if session.process else None),
            uint_field(2, session.creation_time),
            message_field(3, system) if system else b"",
            message_field(4, system) if system else b"",
            text_field(7, comments),
        )
    )


def _closing_details(session: SessionInfo) -> Iterator[bytes]:
    """Yield what ncu writes after the first result, in a block for each piece as ncu does."""
    names = _device_names(session)
    for device in dict.fromkeys([*names, *session.device_attributes]):
        yield message_field(
            6,
            uint_field(1, device),
            text_field(2, names.get(device)),
            *(
                message_field(3, text_field(1, name), value_field(2, value))
                for name, value in session.device_attributes.get(device, {}).items()
            ),
        )
    for provider, version in session.versions.items():
        yield message_field(8, text_field(1, provider), text_field(2, version))
    started = (session.executable, session.working_directory, session.command_line)
    if started != (None, None, None):
        # The path is required: without it NVIDIA's reader gives a report without results.
        executable, *others = started
        texts = [executable or "", *others]
        yield message_field(9, *(text_field(i, text) for i, text in enumerate(texts, 1)))
    profiler = text_field(8, session.clock_control) + text_field(11, session.replay_mode)
    if profiler:
        yield message_field(10, profiler)
    if session.profiler_command_line is not None:
        yield text_field(11, session.profiler_command_line)


def _device_names(session: SessionInfo) -> dict[int, str]:
    """Return names by device id: they are in the order of the attributes, further ones behind."""
    ids = list(session.device_attributes)
    unused = (i for i in count() if i not in session.device_attributes)
    ids += [next(unused) for _ in session.device_names[len(ids) :]]
    return dict(zip(ids, session.device_names, strict=False))
