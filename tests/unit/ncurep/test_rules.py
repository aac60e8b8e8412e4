"""Rule messages: one per body item that says something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.ncurep.encode import double_field, message_field, text_field, uint_field
from nsightlens.ncurep.rules import read_rules
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from nsightlens.ncurep.model import RuleMessage


def read(*fields: bytes) -> tuple[RuleMessage, ...]:
    content = b"".join(fields)
    return read_rules([Message.at(padded(content), 0, len(content))])


def item(text: str, severity: int, *parts: bytes, title: str | None = None) -> bytes:
    said = message_field(1, text_field(1, text), uint_field(2, severity), text_field(4, title))
    return message_field(1, said, *parts)


NAMED = text_field(1, "SOLBottleneck") + text_field(2, "Bottleneck")


def test_every_item_with_a_message_becomes_one() -> None:
    """An item that holds a table or a chart is not a message."""
    table = message_field(1, message_field(2, b""))
    body = message_field(3, item("first", 1), table, item("second", 4, title="Latency"))
    first, second = read(NAMED, body, text_field(4, "SpeedOfLight"))
    assert (first.rule, first.rule_name, first.section) == (
        "SOLBottleneck",
        "Bottleneck",
        "SpeedOfLight",
    )
    assert (first.message, first.severity, first.title) == ("first", 1, None)
    assert (second.message, second.severity, second.title) == ("second", 4, "Latency")


def test_a_speed_up_belongs_to_the_message_of_its_item() -> None:
    """The item before it has none."""
    speedup = message_field(10, uint_field(1, 2), double_field(2, 12.5))
    first, second = read(NAMED, message_field(3, item("first", 2), item("second", 4, speedup)))
    assert (first.speedup_pct, first.speedup_scope) == (None, None)
    assert (second.speedup_pct, second.speedup_scope) == (12.5, 2)


def test_a_rule_that_said_nothing_gives_no_message() -> None:
    """A rule result without a body is a rule that ran and found nothing."""
    assert read(NAMED) == ()


def test_a_message_without_a_section_says_so() -> None:
    """Rules may belong to no section."""
    (only,) = read(NAMED, message_field(3, item("first", 1)))
    assert only.section is None


@pytest.mark.parametrize(
    ("fields", "missing"),
    [([text_field(2, "x")], "rule identifier"), ([text_field(1, "x")], "rule display name")],
)
def test_a_rule_without_a_name_is_damage(fields: list[bytes], missing: str) -> None:
    """The format requires both names of a rule."""
    with pytest.raises(WireFault, match=missing):
        read(*fields)
