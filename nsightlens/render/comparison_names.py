"""Names of kernels in a comparison: one where both sides agree, else both with an arrow.

Whatever is cut shows it. Of two names each keeps the word in which it differs from the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.columns import kernel_words
from nsightlens.render.grid import GridColumn
from nsightlens.render.style import cell_width, shorten_end, shorten_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ARROW", "KernelColumn", "kernel_column", "kernel_texts", "shorten_marked"]

ARROW = " -> "
_COMFORTABLE = 26
"""[character] For a name."""
_COMFORTABLE_PAIR = 34
"""[character] For two and an arrow."""
_LEAST_PAIR = 16
"""[character] With less room two names say nothing."""
_LETTERS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class KernelColumn(GridColumn):
    """A column of names, of which some are pairs.

    Parameters
    ----------
    pairs
        The two names of each cell that has two.
    """

    pairs: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def shown(self, width: int, ellipsis: str) -> Sequence[str]:
        """Return the cells at a width; see `GridColumn.shown`."""
        if width >= self.natural_width:
            return self.cells
        cells = dict.fromkeys(self.cells)
        short = shorten_marked((one for one in cells if one not in self.pairs), width, ellipsis)
        for cell, (base, new) in self.pairs.items():
            short[cell] = cell
            if cell_width(cell) > width:
                short[cell] = _shorten_pair(base, new, width, ellipsis)
        return [short[cell] for cell in self.cells]


def kernel_column(rows: Mapping[str, Sequence[Any]], *, is_whole: bool) -> GridColumn:
    """Return the column of the names of kernels.

    Parameters
    ----------
    rows
        With ``base_kernel`` and ``new_kernel``.
    is_whole
        Whether none may be cut.
    """
    names = _names(rows)
    cells = [ARROW.join(one) or numbers.MISSING for one in names]
    if is_whole:
        return GridColumn("kernel", cells, 1000)
    pairs = {cell: (one[0], one[1]) for cell, one in zip(cells, names, strict=True) if one[1:]}
    comfortable = _COMFORTABLE_PAIR if pairs else _COMFORTABLE
    return KernelColumn("kernel", cells, 1000, comfortable=comfortable, cut="name", pairs=pairs)


def kernel_texts(rows: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the names of kernels, whole."""
    return [ARROW.join(one) or numbers.MISSING for one in _names(rows)]


def _names(rows: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    pairs = zip(rows["base_kernel"], rows["new_kernel"], strict=True)
    words = [[kernel_words(one, None) for one in pair if one is not None] for pair in pairs]
    return [list(dict.fromkeys(one)) for one in words]


def shorten_marked(names: Iterable[str], width: int, ellipsis: str = "…") -> dict[str, str]:
    """Return each name of a kernel as it fits, with an ellipsis wherever something is left out.

    Parameters
    ----------
    names
        Distinct names.
    width
        [character] Room for each.
    ellipsis
        What stands for what is cut.

    Examples
    --------
    >>> list(shorten_marked(["axpy", "flash_fwd_kernel<64, fp16>"], 18).values())
    ['axpy', 'flash_fwd_kernel…']
    """
    known = list(names)
    room = width - cell_width(ellipsis)
    short = shorten_names([one for one in known if cell_width(one) > width], room, ellipsis)
    return {name: _marked(name, short.get(name, name), ellipsis) for name in known}


def _marked(name: str, short: str, ellipsis: str) -> str:
    # What stands in brackets and the word kernel are left out without a sign.
    is_plain = short == name or not name.startswith(short)
    return short if is_plain or short.endswith(ellipsis) else short + ellipsis


def _shorten_pair(base: str, new: str, width: int, ellipsis: str) -> str:
    room = width - len(ARROW)
    if width < _LEAST_PAIR:
        return shorten_end(f"{base}{ARROW}{new}", width, ellipsis)
    first = min(cell_width(base), max(room // 2, room - cell_width(new)))
    start = len(commonprefix([base, new]))  # noqa: RUF071 - by characters is what is meant
    cut = (_around(base, start, first, ellipsis), _around(new, start, room - first, ellipsis))
    return ARROW.join(cut)


def _around(name: str, at: int, width: int, ellipsis: str) -> str:
    """Return a name that fits and shows the word at a position."""
    if cell_width(name) <= width:
        return name
    short = shorten_marked([name], width, ellipsis)[name]
    beginning = shorten_end(name, width, ellipsis)
    word = next((one for one in _LETTERS.finditer(name) if one.end() > at), None)
    if word is None or word.group() in short:
        return short
    if word.group() in beginning or word.start() == 0:
        return beginning
    # More than half of the room for what tells the names apart.
    head = shorten_end(name[: word.start()], width * 2 // 5, "")
    room = width - cell_width(head) - cell_width(ellipsis)
    return f"{head}{ellipsis}{shorten_end(name[word.start() :], room, ellipsis)}"
