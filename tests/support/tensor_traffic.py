"""Which tensors an operation reads and writes, as PyTorch's dispatcher sees them.

`TensorTraffic` listens to every operation of PyTorch, and knows between which NVTX ranges it ran.
Of a range it counts every stretch of memory that comes from outside and is read, once, and every
one that is written and read later, once; what an operation makes for itself is left out. It takes
shapes, strides and addresses alone, so that tensors without data (``meta``) do as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["RangeTraffic", "TensorTraffic"]

# What these are given to write into, they do not read.
_ONLY_WRITTEN = {"aten::copy_": 0, "aten::index_copy_": 0, "aten::scatter_": 0}
# Of the first tensor they read no more than they give: rows that are picked.
_PICKING = ("aten::embedding", "aten::index_select", "aten::index")
_ALLOCATING = ("aten::empty", "aten::new_empty", "aten::empty_like", "aten::empty_strided")


class _Stretch(NamedTuple):
    """Memory that a tensor shows: where it is, and its sizes by falling strides."""

    storage: int
    offset: int
    dims: tuple[tuple[int, int], ...]

    def lies_in(self, other: _Stretch) -> bool:
        """Say whether another one, which begins at the same place, covers this one."""
        return (
            self[:2] == other[:2]
            and len(self.dims) == len(other.dims)
            and all(
                stride == other_stride and size <= other_size
                for (stride, size), (other_stride, other_size) in zip(
                    self.dims, other.dims, strict=True
                )
            )
        )


@dataclass
class RangeTraffic:
    """What the operations of one range read and write [B]."""

    name: str
    read: dict[_Stretch, int] = field(default_factory=dict)
    written: dict[_Stretch, int] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)

    @property
    def read_bytes(self) -> int:
        """[B] Of what comes from outside; stretches that lie in others count with them."""
        return sum(
            size
            for one, size in self.read.items()
            if not any(one != other and one.lies_in(other) for other in self.read)
        )

    @property
    def written_bytes(self) -> int:
        """[B] Of what is there before the range, and of what is made in it and used later."""
        return sum(self.written.values()) + sum(self.made.values())


# PyTorch's classes are Any to mypy.
class TensorTraffic(TorchDispatchMode):  # type: ignore[misc]
    """Listens to operations; `begin` and `end` tell of ranges."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[RangeTraffic] = []
        self.outside: list[str] = []
        self._inside: RangeTraffic | None = None
        self._maker: dict[int, RangeTraffic | None] = {}
        self._sizes: dict[int, int] = {}
        self._used: set[int] = set()
        # Addresses of storages are told apart only as long as they live.
        self._kept: list[Any] = []

    def begin(self, name: str) -> None:
        """Enter a range."""
        self._inside = RangeTraffic(name)
        self.ranges.append(self._inside)

    def end(self) -> None:
        """Leave it."""
        self._inside = None

    def finish(self, *results: Any) -> None:
        """Count what was made and used later, the results included."""
        self._used |= {_storage(one) for one in results}
        for one in self.ranges:
            one.made = {
                storage: self._sizes[storage]
                for storage, maker in self._maker.items()
                if maker is one and storage in self._used
            }

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and remember its tensors."""
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = func._schema.name
        given = [one for one in tree_leaves((args, kwargs)) if _is_tensor(one)]
        outputs = [one for one in tree_leaves(out) if _is_tensor(one)]
        self._kept += [*given, *outputs]
        known = {_storage(one) for one in given}
        written = _written(func, args, kwargs)
        if name in _ALLOCATING:
            self._made(outputs, known)
        elif written or any(_storage(one) not in known for one in outputs):
            if self._inside is None:
                self.outside.append(name)
            self._reads(name, given, written, outputs)
            self._made(outputs, known)
        return out

    def _made(self, outputs: list[Any], known: set[int]) -> None:
        for one in outputs:
            if _storage(one) not in known:
                self._maker[_storage(one)] = self._inside
                self._sizes[_storage(one)] = one.numel() * one.element_size()

    def _reads(self, name: str, given: list[Any], written: list[Any], outputs: list[Any]) -> None:
        inside = self._inside
        if inside is None:
            return
        only_written = written if name in _ONLY_WRITTEN or name.endswith(".out") else []
        if written and written[0] is not given[0]:
            only_written = written  # out=
        for place, one in enumerate(given):
            storage = _storage(one)
            is_own = self._maker.get(storage, None) is inside and storage in self._maker
            if any(one is other for other in only_written) or is_own:
                continue
            size = _size(one)
            if name in _PICKING and place == 0:
                size = min(size, sum(_size(other) for other in outputs))
            inside.read[_stretch(one)] = size
            self._used.add(storage)
        for one in written:
            storage = _storage(one)
            if not (storage in self._maker and self._maker[storage] is inside):
                # Of a pool of blocks, the rows that are new.
                is_rows = name == "aten::index_copy_"
                inside.written[_stretch(one)] = _size(given[-1]) if is_rows else _size(one)


def _is_tensor(one: Any) -> bool:
    return hasattr(one, "untyped_storage")


def _storage(one: Any) -> int:
    return int(one.untyped_storage()._cdata)


def _size(one: Any) -> int:
    """Return the bytes of distinct elements: those of an expanded tensor count once."""
    count = 1
    for size, stride in zip(one.shape, one.stride(), strict=True):
        count *= size if stride else 1
    return int(count * one.element_size())


def _stretch(one: Any) -> _Stretch:
    dims = [
        (stride, size)
        for size, stride in zip(one.shape, one.stride(), strict=True)
        if stride and size > 1
    ]
    return _Stretch(_storage(one), int(one.storage_offset()), tuple(sorted(dims, reverse=True)))


def _written(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Return the tensors that an operation is given to write into."""
    found = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            one = args[place] if place < len(args) else kwargs.get(argument.name)
            found += [one] if one is not None else []
    return found
