"""NVTX states: the ranges of the launching thread and of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.ncurep.encode import (
    double_field,
    float_field,
    message_field,
    text_field,
    uint_field,
)
from nsightlens.ncurep.nvtx import read_nvtx
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from nsightlens.ncurep.model import NvtxDomainState

DEFAULT = message_field(1, uint_field(1, 0), text_field(2, "<default domain>"))
LIBRARY = message_field(1, uint_field(1, 9), text_field(2, "library"))


def read(*fields: bytes, thread_id: int | None = 7) -> tuple[NvtxDomainState, ...]:
    content = b"".join(fields)
    return read_nvtx(Message.at(padded(content), 0, len(content)), thread_id)


def pushed(name: str, *attributes: bytes) -> bytes:
    extra = [message_field(2, *attributes)] if attributes else []
    return message_field(3, text_field(1, name), *extra)


def thread(thread_id: int, domain_id: int, *ranges: bytes) -> bytes:
    return message_field(
        2, uint_field(1, thread_id), message_field(2, uint_field(1, domain_id), *ranges)
    )


def test_only_the_launching_thread_counts() -> None:
    """Other threads had their own ranges open, which are not the launch's."""
    (state,) = read(
        DEFAULT,
        thread(5, 0, pushed("other")),
        thread(7, 0, pushed("outer"), pushed("inner")),
        thread(8, 0, pushed("third")),
    )
    assert [found.name for found in state.push_pop] == ["outer", "inner"]


def test_a_launch_without_a_thread_has_no_stack() -> None:
    """Without a thread nothing says whose ranges they would be."""
    (state,) = read(DEFAULT, thread(0, 0, pushed("other")), thread_id=None)
    assert state.push_pop == ()


def test_every_domain_has_its_own_stack() -> None:
    """Domains are told apart by their ids and keep the order of the file."""
    default, library = read(
        DEFAULT, LIBRARY, thread(7, 9, pushed("in library")), thread(7, 0, pushed("here"))
    )
    assert (default.name, [found.name for found in default.push_pop]) == (
        "<default domain>",
        ["here"],
    )
    assert (library.domain_id, library.name) == (9, "library")
    assert [found.name for found in library.push_pop] == ["in library"]


def test_a_domain_that_only_a_stack_mentions_has_no_name() -> None:
    """Its ranges are not lost."""
    (state,) = read(thread(7, 4, pushed("orphan")))
    assert (state.domain_id, state.name, state.push_pop[0].name) == (4, "", "orphan")


def test_start_end_ranges_belong_to_the_process() -> None:
    """They say their id and the thread that started them, whichever launched."""
    started = message_field(3, uint_field(1, 12), text_field(2, "request"), uint_field(5, 99))
    (state,) = read(DEFAULT, message_field(3, uint_field(1, 0), started))
    (found,) = state.start_end
    assert (found.name, found.range_id, found.thread_id) == ("request", 12, 99)


def test_attributes_read() -> None:
    """Category, colour and message stand beside the name."""
    attributes = [
        uint_field(2, 3),
        message_field(3, uint_field(1, 1), uint_field(2, 0xFF00FF00)),
        message_field(5, uint_field(1, 1), text_field(2, "why")),
    ]
    (state,) = read(DEFAULT, thread(7, 0, pushed("step", *attributes), pushed("plain")))
    step, plain = state.push_pop
    assert (step.category, step.color, step.message) == (3, 0xFF00FF00, "why")
    assert (plain.category, plain.color, plain.message, plain.payload) == (None,) * 4


@pytest.mark.parametrize(
    ("stored", "payload"),
    [
        (uint_field(2, 2**63), 2**63),
        (uint_field(3, 2**64 - 5), -5),
        (double_field(4, 0.1), 0.1),
        (uint_field(5, 7), 7),
        (uint_field(6, 2**64 - 5), -5),
        (float_field(7, 1.5), 1.5),
        (text_field(8, "{}"), "{}"),
        (b"", None),
    ],
)
def test_a_payload_has_the_value_of_its_type(stored: bytes, payload: float | str | None) -> None:
    """Seven types of payload, and one without a value."""
    attributes = message_field(4, uint_field(1, 1), stored)
    (state,) = read(DEFAULT, thread(7, 0, pushed("step", attributes)))
    assert state.push_pop[0].payload == payload


@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ([thread(7, 0, message_field(3))], "range name"),
        ([message_field(3, message_field(3, text_field(2, "x")))], "range id"),
        ([message_field(3, message_field(3, uint_field(1, 1)))], "range name"),
    ],
)
def test_a_range_without_its_name_or_id_is_damage(fields: list[bytes], missing: str) -> None:
    """The format requires both."""
    with pytest.raises(WireFault, match=missing):
        read(DEFAULT, *fields)
