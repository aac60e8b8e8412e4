"""Rules: what NVIDIA's own rules said about a launch when it was profiled.

A rule result is a list of body items, and each item may hold a message, a speed-up, a table or
other things. One item with a message becomes one `RuleMessage`. Called by
`nsightlens.ncurep.results`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.ncurep.model import RuleMessage

if TYPE_CHECKING:
    from nsightlens.ncurep.wire import Message

__all__ = ["read_rules"]

# RuleResult
_IDENTIFIER, _DISPLAY_NAME, _BODY, _SECTION = 1, 2, 3, 4
# RuleResult.Body.Item
_MESSAGE, _SPEEDUP = 1, 10


def read_rules(rules: list[Message]) -> tuple[RuleMessage, ...]:
    """Return every message of the ``RuleResult`` messages of a result, in file order.

    Raises
    ------
    WireFault
        Where the bytes are damaged, or a rule lacks its identifier or display name.
    """
    return tuple(message for rule in rules for message in _messages(rule))


def _messages(rule: Message) -> list[RuleMessage]:
    identifier, display_name = rule.text(_IDENTIFIER), rule.text(_DISPLAY_NAME)
    if identifier is None or display_name is None:
        raise rule.missing("rule identifier" if identifier is None else "rule display name")
    section = rule.text(_SECTION)  # once: its items share it
    body = rule.message(_BODY)
    found = []
    for item in body.messages(1) if body is not None else ():
        message = item.message(_MESSAGE)
        if message is None:
            continue
        speedup = item.message(_SPEEDUP)
        found.append(
            RuleMessage(
                rule=identifier,
                rule_name=display_name,
                section=section,
                severity=message.int32(2) or 0,
                title=message.text(4),
                message=message.text(1) or "",
                speedup_pct=speedup.double(2) if speedup is not None else None,
                speedup_scope=speedup.int32(1) or 0 if speedup is not None else None,
            )
        )
    return found
