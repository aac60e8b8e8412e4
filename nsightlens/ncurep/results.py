"""Results: one launch, range, graph or command list, without its metrics.

`nsightlens.ncurep.scan` takes the metrics out of an entry and leaves the other fields, which
become a `Result` here, with the help of `nsightlens.ncurep.nvtx` and `nsightlens.ncurep.rules`.

Messages: ``ProfileResult``, ``RangeResult``, ``GraphResult`` and ``CmdlistResult`` of Nsight
Compute's report format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncurep.model import Kind, Result
from nsightlens.ncurep.nvtx import read_nvtx
from nsightlens.ncurep.rules import read_rules

if TYPE_CHECKING:
    from nsightlens.ncurep.wire import Message

__all__ = ["Layout", "layout_of", "read_result"]


class Layout(NamedTuple):
    """Field numbers that differ between the kinds of result; 0 where a kind has no such field."""

    metrics: int
    creation_time: int
    unsupported_device: int
    nvtx: int
    rules: int
    context_id: int
    stream_id: int
    clock_status: int
    context_name: int
    stream_name: int
    required: tuple[tuple[int, int, str], ...]
    """Number, wire type and name of every field without which the result is not one."""


_LAYOUTS: dict[Kind, Layout] = {
    "kernel": Layout(
        13, 14, 20, 21, 19, 22, 23, 25, 26, 27,
        (
            (1, 0, "thread id"), (2, 0, "API call id"), (3, 0, "program handle"),
            (4, 0, "kernel id"), (5, 2, "mangled name"), (6, 2, "function name"),
            (7, 2, "demangled name"), (8, 0, "number of work dimensions"),
            (9, 2, "global work offset"), (10, 2, "grid size"), (11, 2, "block size"),
            (15, 2, "source reference"),
        ),
    ),
    "range": Layout(4, 5, 9, 10, 0, 11, 0, 12, 13, 0, ()),
    "graph": Layout(4, 5, 9, 10, 0, 11, 12, 13, 14, 15, ()),
    "cmdlist": Layout(4, 5, 9, 10, 21, 11, 12, 13, 14, 15, ()),
}  # fmt: skip


def layout_of(kind: Kind) -> Layout:
    """Return where the fields of a kind of result lie."""
    return _LAYOUTS[kind]


def read_result(
    message: Message, kind: Kind, layout: Layout, *, has_side_tables: bool = True
) -> Result:
    """Return a result without its metrics.

    Parameters
    ----------
    message
        The fields of the result that are not metrics.
    kind
        Which kind of result it is.
    layout
        Its `layout_of`.
    has_side_tables
        Read its NVTX state and its rules.

    Raises
    ------
    WireFault
        Where a field is damaged or one that every result must have is missing.
    """
    for number, wire_type, name in layout.required:
        if message.last(number, wire_type) is None:
            raise message.missing(name)
    thread_id = message.uint32(1)
    result = Result(
        kind=kind,
        thread_id=thread_id,
        api_call_id=message.uint64(2),
        context_id=message.uint32(layout.context_id),
        stream_id=message.uint32(layout.stream_id),
        context_name=message.text(layout.context_name) or None,
        stream_name=message.text(layout.stream_name) or None,
        creation_time=message.uint64(layout.creation_time),
        is_unsupported_device=bool(message.uint64(layout.unsupported_device)),
        is_clock_locked=_is_clock_locked(message.message(layout.clock_status)),
    )
    if kind == "kernel":
        _read_names(result, message)
        result.grid, result.block = _extent(message, 10), _extent(message, 11)
    elif kind == "cmdlist":
        result.function_name = message.text(18) or None
    if not has_side_tables:
        return result
    nvtx = message.message(layout.nvtx)
    if nvtx is not None:
        result.nvtx = read_nvtx(nvtx, thread_id)
    result.rules = read_rules(message.messages(layout.rules))
    return result


def _is_clock_locked(status: Message | None) -> bool | None:
    """Tell whether ncu held the clocks during the launch; None where it does not say."""
    executed = None if status is None else status.uint64(2)
    return None if executed is None else bool(executed)


def _read_names(result: Result, message: Message) -> None:
    """Fill the three names; an empty one is taken from the others.

    NVIDIA's reader takes an empty function or demangled name from the mangled one, as here, and
    leaves it empty where that is empty too; here the third name stands in.
    """
    mangled, function, demangled = (message.text(number) or None for number in (5, 6, 7))
    result.function_name = function or mangled or demangled
    result.mangled_name = mangled or function or demangled
    result.demangled_name = demangled or mangled or function


def _extent(message: Message, number: int) -> tuple[int, int, int] | None:
    found = message.message(number)
    if found is None:
        return None
    return found.uint64(1) or 0, found.uint64(2) or 0, found.uint64(3) or 0
