"""The messages of one result, outwards: names, metrics, NVTX state, rule results.

Used by `nsightlens.ncurep.write`, which puts results into blocks. Field numbers are those of
ProfileResult, RangeResult, CmdlistResult, GraphResult and the messages inside them.
"""

from __future__ import annotations

import operator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncurep.encode import (
    double_field,
    float_field,
    int_field,
    message_field,
    text_field,
    uint_field,
)
from nsightlens.ncurep.model import DEFAULT_DOMAIN
from nsightlens.ncurep.spec import Float32, FocusedRuleMessage, MetricSpec, Uint32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nsightlens.ncurep.model import Kind, NvtxDomainState, NvtxRange, RuleMessage
    from nsightlens.ncurep.spec import LaunchSpec, Layout, Value

__all__ = ["encode_metrics", "encode_result", "metric_specs", "value_field"]

_METRICS_FIELD: dict[Kind, int] = {"kernel": 13, "range": 4, "cmdlist": 4, "graph": 4}
_UINT32_MAX = 2**32 - 1


def metric_specs(launch: LaunchSpec) -> list[MetricSpec]:
    """Return the metrics of a launch in the order in which they are stored."""
    given = launch.metrics
    pairs: Iterable[tuple[str, Value] | MetricSpec]
    pairs = given if not hasattr(given, "items") else given.items()
    specs = [pair if isinstance(pair, MetricSpec) else MetricSpec(*pair) for pair in pairs]
    last = {spec.name: i for i, spec in enumerate(specs)}
    for name, instances in launch.instances.items():
        if name in last:
            specs[last[name]] = MetricSpec(name, specs[last[name]].value, instances)
        else:
            specs.append(MetricSpec(name, None, instances))
    return specs


def encode_metrics(
    kind: Kind, metrics: Sequence[MetricSpec], index: Callable[[str], int]
) -> list[bytes]:
    """Return the metric fields of a result; ``index`` gives the string index of a name."""
    number = _METRICS_FIELD[kind]
    return [
        message_field(
            number,
            uint_field(1, index(metric.name)),
            value_field(2, metric.value),
            *(
                # The element is a required field, so a missing one is an empty message.
                message_field(3, value_field(1, key), value_field(2, value) or message_field(2))
                for key, value in metric.instances
            ),
        )
        for metric in metrics
    ]


def value_field(number: int, value: Value) -> bytes:
    """Return a MetricValue as a field, ``b""`` for ``None``.

    Raises
    ------
    ValueError
        An integer is negative or too large for its type.
    """
    if value is None:
        return b""
    if isinstance(value, float):
        return message_field(number, double_field(3, value))
    if isinstance(value, str):
        return message_field(number, text_field(1, value))
    if isinstance(value, Float32):
        return message_field(number, float_field(2, value.value))
    if isinstance(value, Uint32):
        if value.value > _UINT32_MAX:
            raise ValueError(f"{value.value} is not an unsigned 32-bit integer")
        return message_field(number, uint_field(4, value.value))
    return message_field(number, uint_field(5, operator.index(value)))


def encode_result(launch: LaunchSpec, metrics: Iterable[bytes], layout: Layout) -> bytes:
    """Return the message of one result."""
    if launch.kind == "kernel":
        return b"".join(_kernel(launch, metrics, layout))
    return b"".join(_range_like(launch, metrics))


def _kernel(launch: LaunchSpec, metrics: Iterable[bytes], layout: Layout) -> list[bytes]:
    reference = uint_field(1, 1 if layout.source_count else None)
    return [
        uint_field(1, launch.thread_id or 0),
        uint_field(2, launch.api_call_id or 0),
        uint_field(3, 0),
        uint_field(4, 0),
        text_field(5, launch.name if launch.mangled_name is None else launch.mangled_name),
        text_field(6, launch.name),
        text_field(7, launch.name if launch.demangled_name is None else launch.demangled_name),
        uint_field(8, 3),
        message_field(9),
        _extent(10, launch.grid),
        _extent(11, launch.block),
        *metrics,
        uint_field(14, launch.creation_time),
        message_field(15, reference),
        *_filler_sections(layout),
        *_rule_results(19, launch.rules),
        _flag(20, launch.is_unsupported_device),
        _nvtx_state(21, launch),
        uint_field(22, launch.context_id),
        uint_field(23, launch.stream_id),
        _clock_status(25, launch.is_clock_locked),
        text_field(26, launch.context_name),
        text_field(27, launch.stream_name),
    ]


class _Fields(NamedTuple):
    """Field numbers in which results other than kernels differ; None where there is no field."""

    stream_id: int | None
    clock_status: int
    context_name: int
    stream_name: int | None


_FIELDS: dict[Kind, _Fields] = {
    "range": _Fields(stream_id=None, clock_status=12, context_name=13, stream_name=None),
    "graph": _Fields(stream_id=12, clock_status=13, context_name=14, stream_name=15),
    "cmdlist": _Fields(stream_id=12, clock_status=13, context_name=14, stream_name=15),
}


def _range_like(launch: LaunchSpec, metrics: Iterable[bytes]) -> list[bytes]:
    fields = _FIELDS[launch.kind]
    parts = [
        uint_field(1, launch.thread_id),
        uint_field(2, launch.api_call_id),
        *metrics,
        uint_field(5, launch.creation_time),
        _flag(9, launch.is_unsupported_device),
        _nvtx_state(10, launch),
        uint_field(11, launch.context_id),
        uint_field(fields.stream_id, launch.stream_id) if fields.stream_id else b"",
        _clock_status(fields.clock_status, launch.is_clock_locked),
        text_field(fields.context_name, launch.context_name),
        text_field(fields.stream_name, launch.stream_name) if fields.stream_name else b"",
    ]
    if launch.kind == "cmdlist":
        extents = _extent(1, launch.grid) + _extent(2, launch.block)
        parts += [text_field(18, launch.name), uint_field(19, 3), message_field(20, extents)]
        parts += _rule_results(21, launch.rules)
    return parts


def _flag(number: int, is_set: bool) -> bytes:
    return uint_field(number, 1 if is_set else None)


def _clock_status(number: int, is_locked: bool | None) -> bytes:
    if is_locked is None:
        return b""
    return message_field(number, uint_field(1, is_locked), uint_field(2, is_locked))


def _extent(number: int, extent: tuple[int, int, int]) -> bytes:
    return message_field(number, *(uint_field(axis, n) for axis, n in enumerate(extent, 1)))


def _filler_sections(layout: Layout) -> list[bytes]:
    """Return section definitions of the size that was asked for, with nothing in them."""
    if not layout.section_count:
        return []
    size, rest = divmod(layout.sections_bytes, layout.section_count)
    return [
        message_field(
            17,
            text_field(1, f"Filler{i}"),
            text_field(2, f"Filler {i}"),
            text_field(7, "." * (size + (i < rest))),
        )
        for i in range(layout.section_count)
    ]


def _rule_results(number: int, rules: Sequence[RuleMessage]) -> list[bytes]:
    groups = groupby(rules, key=lambda message: (message.rule, message.rule_name, message.section))
    return [
        message_field(
            number,
            text_field(1, rule),
            text_field(2, rule_name),
            message_field(3, *(_rule_item(i, message) for i, message in enumerate(messages, 1))),
            text_field(4, section),
        )
        for (rule, rule_name, section), messages in groups
    ]


def _rule_item(message_id: int, message: RuleMessage) -> bytes:
    focus = message.focus if isinstance(message, FocusedRuleMessage) else ()
    has_speedup = message.speedup_pct is not None or message.speedup_scope is not None
    speedup = int_field(1, message.speedup_scope) + double_field(2, message.speedup_pct)
    return message_field(
        1,
        message_field(
            1,
            text_field(1, message.message),
            int_field(2, message.severity),
            uint_field(3, message_id),
            text_field(4, message.title),
        ),
        *(
            message_field(
                8,
                uint_field(1, message_id),
                text_field(2, metric.metric),
                double_field(3, metric.value),
                uint_field(4, metric.severity),
                text_field(5, metric.info),
            )
            for metric in focus
        ),
        message_field(10, speedup) if has_speedup else b"",
    )


def _nvtx_state(number: int, launch: LaunchSpec) -> bytes:
    """Return the NVTX state: names of all domains, stacks by thread, start/end ranges."""
    if launch.nvtx is None:
        return b""
    stacks = dict(launch.nvtx_other_threads)
    if launch.thread_id is not None:
        stacks[launch.thread_id] = launch.nvtx
    # Domains are known by the order of their names here: that of the launch, whose names count too.
    states = [launch.nvtx, *stacks.values(), launch.nvtx]
    domains = {domain.domain_id: domain.name for state in states for domain in state}
    default = next((i for i, name in domains.items() if name == DEFAULT_DOMAIN), None)
    return message_field(
        number,
        *(
            message_field(1, uint_field(1, domain_id), text_field(2, name))
            for domain_id, name in domains.items()
        ),
        *(_thread(thread_id, state) for thread_id, state in sorted(stacks.items())),
        *(_start_end_domain(domain) for domain in launch.nvtx if domain.start_end),
        uint_field(4, default),
    )


def _thread(thread_id: int, state: Sequence[NvtxDomainState]) -> bytes:
    stacks = (
        message_field(
            2,
            uint_field(1, domain.domain_id),
            *(
                message_field(3, text_field(1, open_range.name), _attributes(2, open_range))
                for open_range in domain.push_pop
            ),
        )
        for domain in state
    )
    return message_field(2, uint_field(1, thread_id), *stacks)


def _start_end_domain(domain: NvtxDomainState) -> bytes:
    ranges = (
        message_field(
            3,
            uint_field(1, open_range.range_id or 0),
            text_field(2, open_range.name),
            _attributes(3, open_range),
            uint_field(5, open_range.thread_id),
        )
        for open_range in domain.start_end
    )
    return message_field(3, uint_field(1, domain.domain_id), *ranges)


def _attributes(number: int, of: NvtxRange) -> bytes:
    """Return the attributes of a range, ``b""`` where it has none.

    The format wants category, colour, payload and message together, so a missing category is
    stored as 0 (NVTX's word for none), the others as being of unknown type and without a value.
    """
    if (of.category, of.color, of.payload, of.message) == (None, None, None, None):
        return b""
    # NVTX's own numbers: colour type 0 is unknown and 1 ARGB, message type 0 unknown and 1 text.
    color = uint_field(1, int(of.color is not None)) + uint_field(2, of.color)
    text = uint_field(1, int(of.message is not None)) + text_field(2, of.message)
    return message_field(
        number,
        uint_field(1, 3),
        uint_field(2, of.category or 0),
        message_field(3, color),
        _payload(4, of.payload),
        message_field(5, text),
    )


def _payload(number: int, payload: int | float | str | None) -> bytes:
    if payload is None:
        return message_field(number, uint_field(1, 0))
    if isinstance(payload, str):
        return message_field(number, uint_field(1, 0), text_field(8, payload))
    if isinstance(payload, float):
        return message_field(number, uint_field(1, 3), double_field(4, payload))
    if payload < 0:
        return message_field(number, uint_field(1, 2), int_field(3, payload))
    return message_field(number, uint_field(1, 1), uint_field(2, payload))
