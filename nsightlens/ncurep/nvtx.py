"""NVTX: the ranges that were open when a launch was made.

A state holds the push/pop stacks of every thread of the process; those of the launching thread are
the launch's. Start/end ranges belong to the process. Called by `nsightlens.ncurep.results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.ncurep.model import NvtxDomainState, NvtxRange
from nsightlens.ncurep.wire import BYTES, FIXED32, FIXED64, VARINT, Message

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_nvtx"]

# NvtxState
_DOMAINS, _THREADS, _START_END_DOMAINS = 1, 2, 3


def read_nvtx(state: Message, thread_id: int | None) -> tuple[NvtxDomainState, ...]:
    """Return the state of every domain, in file order.

    Parameters
    ----------
    state
        The ``NvtxState`` of a result.
    thread_id
        The launching thread, whose stacks count; None gives no push/pop range.

    Raises
    ------
    WireFault
        Where the bytes are damaged, or a range lacks its name or id.
    """
    names = {domain.uint64(1) or 0: domain.text(2) or "" for domain in state.messages(_DOMAINS)}
    push_pop: dict[int, list[NvtxRange]] = {}
    start_end: dict[int, list[NvtxRange]] = {}
    for thread in state.messages(_THREADS):
        if thread_id is not None and thread.uint32(1) == thread_id:
            for domain in thread.messages(2):
                push_pop.setdefault(domain.uint64(1) or 0, []).extend(
                    _push_pop_range(found) for found in domain.messages(3)
                )
    for domain in state.messages(_START_END_DOMAINS):
        start_end.setdefault(domain.uint64(1) or 0, []).extend(
            _start_end_range(found) for found in domain.messages(3)
        )
    # A domain that only a stack mentions has no name, and still is one.
    identifiers = dict.fromkeys([*names, *push_pop, *start_end])
    return tuple(
        NvtxDomainState(
            identifier,
            names.get(identifier, ""),
            tuple(push_pop.get(identifier, ())),
            tuple(start_end.get(identifier, ())),
        )
        for identifier in identifiers
    )


def _push_pop_range(found: Message) -> NvtxRange:
    name = found.text(1)
    if name is None:
        raise found.missing("NVTX range name")
    return _with_attributes(name, found.message(2), None, None)


def _start_end_range(found: Message) -> NvtxRange:
    identifier, name = found.uint64(1), found.text(2)
    if identifier is None or name is None:
        raise found.missing("NVTX range id" if identifier is None else "NVTX range name")
    return _with_attributes(name, found.message(3), identifier, found.uint32(5))


def _with_attributes(
    name: str, attributes: Message | None, range_id: int | None, thread_id: int | None
) -> NvtxRange:
    if attributes is None:
        return NvtxRange(name, range_id=range_id, thread_id=thread_id)
    color, payload, message = (attributes.message(number) for number in (3, 4, 5))
    return NvtxRange(
        name,
        category=attributes.uint32(2) or None,  # 0 is NVTX's word for none
        color=color.uint32(2) if color is not None else None,
        payload=_payload(payload) if payload is not None else None,
        message=message.text(2) if message is not None else None,
        range_id=range_id,
        thread_id=thread_id,
    )


# Payload: field number, wire type, and how to read it. Field 1 is the type, which repeats what
# the presence of one of these says.
_PAYLOADS: tuple[tuple[int, int, Callable[[Message, int], int | float | str | None]], ...] = (
    (2, VARINT, Message.uint64),
    (3, VARINT, Message.int64),
    (4, FIXED64, Message.double),
    (5, VARINT, Message.uint32),
    (6, VARINT, Message.int32),
    (7, FIXED32, Message.single),
    (8, BYTES, Message.text),
)


def _payload(payload: Message) -> int | float | str | None:
    """Return the payload, or None where none of its values is set."""
    found = (
        read(payload, number)
        for number, wire_type, read in _PAYLOADS
        if payload.last(number, wire_type) is not None
    )
    return next(found, None)
