"""A light reading of Itanium-mangled names: enough to see the identifiers and plain types.

Reports cut mangled names too, so this is one pass over the text that never fails: what cannot be
read is skipped. Substitutions (``S1_``) and template parameters (``T_``) are left out, because the
first mention of a type is always spelled in full. `spelling` uses the result like a printed name.

The grammar is that of the Itanium C++ ABI, section 5.1
(https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling).
"""

from __future__ import annotations

import re
from functools import cache

__all__ = ["MangledFrames", "demangled"]

_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long",
    "x": "long long", "y": "unsigned long long", "f": "float", "d": "double", "Dh": "_Float16",
    "DF16b": "__bf16",
}  # fmt: skip

# Long names carry their families early; what lies beyond is more of the same template.
_LONGEST = 6000


@cache
def _token() -> re.Pattern[str]:
    return re.compile(
        r"(?P<length>[1-9]\d*|0(?=E))"
        r"|L[a-z](?P<literal>n?\d+)E"
        r"|(?P<enum>L)"
        r"|(?P<substitution>S[0-9A-Z]*_|S[tasbiod])"
        r"|(?P<opening>Ul|N[rVK]*[RO]?|[IZJXF])"
        r"|(?P<closing>E)"
        r"|(?P<builtin>DF16b|Dh|[vbcahstijlmxyfd])"
        r"|T\d*_|A\d*_|Ut\d*_|D[pnaoct0-9]|__\d+_|_\d|."
    )


def demangled(name: str) -> str:
    """Spell a mangled name as ``namespace::identifier<arguments>(parameters)``.

    Parameters
    ----------
    name
        A name that begins with ``_Z``; it may be cut anywhere.

    Returns
    -------
    str
        The readable part; types that repeat an earlier one are missing.

    Examples
    --------
    >>> demangled("_ZN5flash10fwd_kernelILi128EEEvPf")
    'flash::fwd_kernel<128>(void, float'
    """
    scanner = _Scanner()
    mangled = name[2:_LONGEST]
    match = _token().match
    position, end = 0, len(mangled)
    while position < end:
        found = match(mangled, position)
        if found is None:
            break
        position = found.end()
        position = scanner.take(mangled, position, found.lastgroup or "", found.group())
    return "".join(scanner.pieces)


class _Scanner:
    """What is open at this place of the mangled text, and the readable pieces so far."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._open: list[str] = []
        self._in_parameters = False

    def take(self, mangled: str, position: int, kind: str, token: str) -> int:
        """Use one token and return where the next one begins."""
        top = self._open[-1] if self._open else ""
        if kind == "length" and top != "L=":
            # Of more digits than that Python makes no number, and no name is as long.
            stop = position + int(token) if len(token) < 6 else _LONGEST
            self._name(mangled[position:stop])
            return stop
        if kind == "length":
            self.pieces.append("=" + token)
        elif kind == "literal":
            self._item(token[2:-1].replace("n", "-"))
        elif kind == "substitution" and top == "L":
            self._open[-1] = "L="
        elif kind == "enum":
            self._open.append("L")
        elif kind == "opening":
            self._opening(token)
        elif kind == "closing":
            return self._closing(mangled, position)
        elif kind == "builtin" and top[:1] != "N":
            # Directly inside a nested name such letters belong to operators and constructors.
            self._item(_BUILTIN[token])
        return position

    def _item(self, piece: str) -> None:
        self._begin_parameters()
        if self.pieces and self.pieces[-1][-1] not in "<(":
            self.pieces.append(", ")
        self.pieces.append(piece)

    def _begin_parameters(self) -> None:
        # At depth 0 the first thing is the kernel's name; whatever follows is its parameter list.
        if self.pieces and not self._open and not self._in_parameters:
            self._in_parameters = True
            self.pieces.append("(")

    def _name(self, name: str) -> None:
        if not name or name.startswith("_GLOBAL__N"):
            return
        top = self._open[-1] if self._open else ""
        if top == "N:":
            self.pieces.append("::" + name)
            return
        self._item(name)
        if top == "N":
            self._open[-1] = "N:"
        elif top == "L":
            self._open[-1] = "L="

    def _opening(self, token: str) -> None:
        if token == "I":
            self.pieces.append("<")
        elif token == "Ul":
            self._item("lambda(")
        else:
            self._begin_parameters()
        self._open.append("N" if token[0] == "N" else token)

    def _closing(self, mangled: str, position: int) -> int:
        closed = self._open.pop() if self._open else ""
        if closed == "I":
            self.pieces.append(">")
        elif closed == "Ul":
            self.pieces.append(")")
            while position < len(mangled) and mangled[position].isdigit():
                position += 1
            position += mangled[position : position + 1] == "_"
        elif closed[:1] == "N" and self._open and self._open[-1] == "L":
            self._open[-1] = "L="
        return position


# A number that no name has, with its place at the end.
_MARK = "27182818284590452353"
_MARKED = _MARK + r"(\d{5})"
_MOST_FRAMES = 4096


@cache
def _literal() -> re.Pattern[str]:
    return re.compile(r"(?:(?<=L[a-z])|(?<=L[a-z]n))(\d+)(?=E)")


class MangledFrames:
    """Demangles names that differ only in literals, such as ``Li128E``, once for all of them."""

    def __init__(self) -> None:
        self._formats: dict[str, str | None] = {}

    def demangled(self, name: str) -> str:
        """Return the same as the function of this name.

        Parameters
        ----------
        name
            A name that begins with ``_Z``.
        """
        pieces = _literal().split(name)
        # A literal is one whatever its digits, so a text with zeros stands for one frame only.
        frame, literals = "0".join(pieces[::2]), tuple(pieces[1::2])
        if frame in self._formats:
            form = self._formats[frame]
            return demangled(name) if form is None else form % literals
        text = demangled(name)
        if len(self._formats) >= _MOST_FRAMES:
            self._formats.clear()
        self._formats[frame] = _format(pieces, literals, text)
        return text


def _format(pieces: list[str], literals: tuple[str, ...], text: str) -> str | None:
    """Return a demangled text with ``%s`` for each literal, or None where it holds other ones.

    What looks like a literal may be part of an identifier, whose length is then another one than
    its prefix says, so that the text comes out differently.
    """
    marked = list(pieces)
    marked[1::2] = [f"{_MARK}{i:05d}" for i in range(len(literals))]
    name = "".join(marked)
    if len(name) > _LONGEST:
        return None
    shown = re.split(_MARKED, demangled(name))
    form = "%s".join(piece.replace("%", "%%") for piece in shown[::2])
    is_whole = [int(place) for place in shown[1::2]] == list(range(len(literals)))
    return form if is_whole and form % literals == text else None
