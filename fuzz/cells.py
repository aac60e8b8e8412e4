"""Changes to a comma-separated text that leave it nearly one: rows, columns and cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["mutated"]

_CELLS = (
    b"", b'""', b'"', b"0", b"-1", b'"1,234.5"', b'"1.234,5"', b"1e999", b"nan", b"inf", b"n/a",
    b"(!) 3", b"(1, 2, 3)", b"(1, 2", b'"a\nb"', b"4; 5 (6)", b"1 (2; 3)", b"9" * 400, b"\xff",
    b"byte/second", b"Gbyte/s", b"msecond", b"%", b"hz", b"ID", b"Kernel Name", b"Metric Value",
)  # fmt: skip
_LINES = (b"==PROF== Disconnected", b"", b'"', b",,,", b"==ERROR== failed", b"output of a program")


def mutated(
    data: bytes, chance: random.Random, most_bytes: int, change: Callable[[bytes], bytes]
) -> bytes:
    """Return a changed text; the parameters are those of `fuzz.structure.mutated`."""
    if chance.random() < 0.2:
        return change(data)[:most_bytes]
    lines = data.split(b"\n")
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        chance.choice(_CHANGES)(lines, chance, change)
    return b"\n".join(lines)[:most_bytes]


def _change_cell(
    lines: list[bytes], chance: random.Random, change: Callable[[bytes], bytes]
) -> None:
    if lines:
        i = chance.randrange(len(lines))
        parts = lines[i].split(b",")
        j = chance.randrange(len(parts))
        new = chance.choice((chance.choice(_CELLS), chance.choice(parts), change(parts[j] or b"a")))
        parts[j] = new
        lines[i] = b",".join(parts)


def _change_column(lines: list[bytes], chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    """Take a column out of every line, or put one in."""
    rows = [line.split(b",") for line in lines]
    j = chance.randrange(max((len(row) for row in rows), default=0) + 1)
    cell = chance.choice(_CELLS) if chance.random() < 0.5 else None
    for row in rows:
        if cell is None:
            del row[j : j + 1]
        else:
            row.insert(j, cell)
    lines[:] = [b",".join(row) for row in rows]


def _change_lines(lines: list[bytes], chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    at, source = chance.randint(0, len(lines)), chance.randint(0, len(lines))
    count = chance.choice((1, 1, 2, 5))
    choice = chance.randrange(4)
    if choice == 0:
        del lines[at : at + count]
    elif choice == 1:
        lines[at:at] = lines[source : source + count]
    elif choice == 2:
        lines[at:at] = [chance.choice(_LINES)] * count
    else:
        lines[at : at + 1] = [line[: chance.randint(0, len(line))] for line in lines[at : at + 1]]


def _change_format(lines: list[bytes], chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    """Change every line in the same way, as another machine or tool would."""
    old, new = chance.choice(
        ((b",", b";"), (b",", b"\t"), (b".", b","), (b'"', b""), (b"", b"\r"), (b"(", b"["))
    )
    lines[:] = [line.replace(old, new) if old else line + new for line in lines]


_CHANGES = (_change_cell, _change_cell, _change_cell, _change_column, _change_lines, _change_format)
