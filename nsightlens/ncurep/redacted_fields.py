"""What becomes of each field of a report that is to be shared: the table that `redact` follows.

The documented messages of Nsight Compute's report format, field by field. A field that is not
listed, or has another wire type than it should, is removed: what nobody has described cannot be
known to be harmless. Two parts are kept whole, with what is not documented in them, because they
are what the report is for and their tables and charts are not described here: section definitions
and rule results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CONTEXT_NAME",
    "FIELDS",
    "KERNEL_NAME",
    "KERNEL_NAME_METRIC",
    "KERNEL_NAME_METRICS",
    "METRIC",
    "NVTX_NAME",
    "SOURCE",
    "UNDOCUMENTED",
    "FieldRule",
    "TextPath",
]

TextPath = tuple[int, ...]
"""Field numbers that lead from a field down to a text in it; ``()`` is the field itself."""

KERNEL_NAME, NVTX_NAME, CONTEXT_NAME = "kernel name", "NVTX name", "context or stream name"
SOURCE, UNDOCUMENTED = "source", "undocumented field"


class FieldRule(NamedTuple):
    """What becomes of one field.

    Parameters
    ----------
    kind
        What it is, in words for the listing; empty where it says nothing of anyone.
    fate
        ``keep`` it byte for byte, ``mask`` the names of users in the paths that it holds, keep some
        of its own fields (``inside``), ``empty`` it because the format requires it, put something
        ``neutral`` in its place, or ``remove`` it.
    fields
        Rules of its own fields, where it is kept ``inside``.
    others
        What its other fields are.
    texts
        Where in it the texts lie that name something.
    is_number
        Whether it is a number and not a text or a message.
    """

    kind: str = ""
    fate: str = "keep"
    fields: Mapping[int, FieldRule] | None = None
    others: str = UNDOCUMENTED
    texts: tuple[TextPath, ...] = ()
    is_number: bool = False

    @property
    def is_telling(self) -> bool:
        """Whether there is anything to change or to list."""
        return self.fate != "keep" or bool(self.texts)


def _kept(kind: str = "", *texts: TextPath) -> FieldRule:
    return FieldRule(kind, texts=texts)


def _gone(kind: str, *texts: TextPath) -> FieldRule:
    return FieldRule(kind, "remove", texts=texts)


def _emptied(kind: str, *texts: TextPath) -> FieldRule:
    return FieldRule(kind, "empty", texts=texts)


def _inside(
    fields: Mapping[int, FieldRule], *, others: str = UNDOCUMENTED, kind: str = ""
) -> FieldRule:
    return FieldRule(kind, "inside", fields, others)


_NUMBER = FieldRule(is_number=True)
_SELF: TextPath = ()

# 2 is the build of the system: who builds a kernel of Linux is often named in it.
# 5 is the name of the computer; 7, not documented, lists the addresses of its network cards.
_SYSTEM = _inside(
    {
        1: _kept(), 2: _kept("operating system build", _SELF), 3: _kept(), 4: _kept(),
        5: _gone("host name", _SELF), 6: _NUMBER, 7: _gone("network address", (1,)),
    }
)  # fmt: skip
_PROCESS = _inside(
    {1: _NUMBER, 2: _gone("host name", _SELF), 3: _gone("process name", _SELF)},
)
# NVIDIA's reader refuses a session with settings of an executable that name none.
_EXECUTABLE = _inside(
    {
        1: _emptied("executable", _SELF),
        2: _emptied("working directory", _SELF),
        3: _emptied("command line", _SELF),
        4: _emptied("environment", _SELF),
    }
)
_VALUE = _inside({1: _kept(), 2: _NUMBER, 3: _NUMBER, 4: _NUMBER, 5: _NUMBER})
_DEVICE = FieldRule(
    "device name",
    "inside",
    {1: _NUMBER, 2: _kept(), 3: _inside({1: _kept(), 2: _VALUE})},
    texts=((2,),),
)
_SESSION = _inside(
    {
        1: _NUMBER,
        2: _NUMBER,
        3: _SYSTEM,
        4: _SYSTEM,
        5: _gone("device property", (1, 2)),
        6: _DEVICE,
        7: _gone("comment", _SELF),
        8: _inside({1: _kept(), 2: _kept()}),
        9: _EXECUTABLE,
        # Clock control and replay mode; the others hold filters and names of files.
        10: _inside({8: _kept(), 11: _kept()}, others="profiler setting"),
        11: FieldRule("profiler command line", "neutral", texts=(_SELF,)),
    },
    kind="session",
)

# Name, then message and payload of the attributes, of a range on a stack and of a start/end range.
_STACK_TEXTS: tuple[TextPath, ...] = ((2, 3, 1), (2, 3, 2, 5, 2), (2, 3, 2, 4, 8))
_START_END_TEXTS: tuple[TextPath, ...] = ((3, 2), (3, 3, 5, 2), (3, 3, 4, 8))
_ATTRIBUTES = _inside(
    {
        1: _NUMBER,
        2: _NUMBER,
        3: _inside({1: _NUMBER, 2: _NUMBER}),
        4: _inside({**dict.fromkeys(range(1, 8), _NUMBER), 8: _kept()}),
        5: _inside({1: _NUMBER, 2: _kept(), 3: _NUMBER}),
    }
)
_STACK = _inside({1: _kept(), 2: _ATTRIBUTES, 3: _NUMBER})
_START_END = _inside({1: _NUMBER, 2: _kept(), 3: _ATTRIBUTES, 4: _NUMBER, 5: _NUMBER})
_NVTX = FieldRule(
    NVTX_NAME,
    "inside",
    {
        # A domain lists all strings and names that the program registered: of no launch alone.
        1: _inside({1: _NUMBER, 2: _kept()}, others="registered NVTX name"),
        2: _inside({1: _NUMBER, 2: _inside({1: _NUMBER, 3: _STACK})}),
        3: _inside({1: _NUMBER, 2: _START_END}),
        4: _NUMBER,
    },
    texts=(
        (1, 2),
        *((2, *path) for path in _STACK_TEXTS),
        *((3, *path) for path in _START_END_TEXTS),
    ),
)
METRIC = _inside(
    {1: _NUMBER, 2: _VALUE, 3: _inside({1: _VALUE, 2: _VALUE}), 4: _NUMBER}, kind="metric"
)
_NAME_VALUE = _inside(
    {1: FieldRule(KERNEL_NAME, texts=(_SELF,)), 2: _NUMBER, 3: _NUMBER, 4: _NUMBER, 5: _NUMBER}
)
KERNEL_NAME_METRIC = _inside(
    {1: _NUMBER, 2: _NAME_VALUE, 3: _inside({1: _NAME_VALUE, 2: _NAME_VALUE}), 4: _NUMBER},
    kind="metric",
)
"""A metric whose texts are names of kernels, where these are replaced."""

KERNEL_NAME_METRICS = frozenset(["launch__kernel_name"])
# The message of a rule that failed shows where it lies: often in the home folder of the user.
_SECTION, _RULE = FieldRule("section definition", "mask"), FieldRule("rule", "mask")
_DIMENSIONS = _inside({1: _NUMBER, 2: _NUMBER, 3: _NUMBER})
_CLOCK_STATUS = _inside({1: _NUMBER, 2: _NUMBER})
_REFERENCE = _gone("source reference")
_CALL_STACK = _gone("call stack", (1, 1), (1, 3), (1, 4))
_COMMENT = _gone("comment", _SELF)
_SECTION_COMMENT = _gone("section comment", (3,))
_CONTEXT_NAME = _kept(CONTEXT_NAME, _SELF)

_RANGE = {
    1: _NUMBER, 2: _NUMBER, 3: _COMMENT, 4: METRIC, 5: _NUMBER, 6: _NUMBER, 7: _SECTION,
    9: _NUMBER, 10: _NVTX, 11: _NUMBER,
}  # fmt: skip
_GRAPH = {
    **_RANGE, 12: _NUMBER, 13: _CLOCK_STATUS, 14: _CONTEXT_NAME, 15: _CONTEXT_NAME,
    16: _CALL_STACK, 17: _REFERENCE,
}  # fmt: skip

FIELDS: dict[str, Mapping[int, FieldRule]] = {
    "header": {
        1: _NUMBER, 2: _NUMBER, 3: _SESSION, 4: _inside({1: _kept()}, kind="metric names"),
        5: _NUMBER, 6: _PROCESS, 7: _NUMBER, 8: _NUMBER, 9: _NUMBER,
    },
    "kernel": {
        1: _NUMBER, 2: _NUMBER, 3: _NUMBER, 4: _NUMBER,
        5: _kept(KERNEL_NAME, _SELF), 6: _kept(KERNEL_NAME, _SELF), 7: _kept(KERNEL_NAME, _SELF),
        8: _NUMBER, 9: _DIMENSIONS, 10: _DIMENSIONS, 11: _DIMENSIONS, 12: _COMMENT, 13: METRIC,
        14: _NUMBER, 15: _emptied("source reference"), 16: _NUMBER, 17: _SECTION,
        18: _SECTION_COMMENT, 19: _RULE, 20: _NUMBER, 21: _NVTX, 22: _NUMBER, 23: _NUMBER,
        24: _gone("profile series"), 25: _CLOCK_STATUS, 26: _CONTEXT_NAME, 27: _CONTEXT_NAME,
        28: _CALL_STACK, 29: _NUMBER, 30: _NUMBER,
    },
    "range": {
        **_RANGE, 12: _CLOCK_STATUS, 13: _CONTEXT_NAME, 14: _CALL_STACK, 15: _REFERENCE,
        16: _NUMBER,
    },
    "graph": {**_GRAPH, 18: _NUMBER},
    "cmdlist": {
        **_GRAPH, 18: _kept(KERNEL_NAME, _SELF), 19: _NUMBER,
        20: _inside({1: _DIMENSIONS, 2: _DIMENSIONS}), 21: _RULE,
    },
}  # fmt: skip
"""Rules of the fields of a block header and of each kind of result, by message."""
