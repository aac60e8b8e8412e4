"""Types of the compiled scanner; `_scanner.c` says what it accepts and lists the columns."""

from typing import Any

# What offers the buffer protocol: bytes, mmap, NumPy arrays and what comes back from here.
# `collections.abc.Buffer` has a name for it from Python 3.12 on only.
_Buffer = Any

def index_blocks(
    buffer: _Buffer, offset: int, limit: int = ..., /
) -> tuple[int, _Buffer, _Buffer]: ...

class Builder:
    def __new__(
        cls,
        buffer: _Buffer,
        launch_count: int,
        canonical: _Buffer,
        wanted: _Buffer,
        options: int,
    ) -> Builder: ...
    def scan(self, first_row: int, kinds: _Buffer, extents: _Buffer, /) -> int: ...
    def finish(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
