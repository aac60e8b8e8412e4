"""Names that differ in numbers alone: one frame with a place for each number.

``gemm<(int)128, (int)64>`` and ``gemm<(int)64, (int)8>`` have one frame. Taking a name apart moves
its numbers around but never looks at their digits, so what is done once to a frame whose numbers
are marks tells where the numbers of any other name of that frame end up.

Which numbers the words of a name depend on is decided here too: in ``sm90_q4_0_gemm_64x32`` the
90 and the 4 belong to words that rules know, 64 and 32 to none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.kernels.engine import FAMILY_TEXT, identifiers_in
from nsightlens.kernels.fields import TYPE_SPELLINGS, TYPE_TEXT
from nsightlens.kernels.spelling import parts_of, plain_numbers
from nsightlens.kernels.words import KNOWN_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nsightlens.kernels.rule import Rule
    from nsightlens.kernels.spelling import Spelling

__all__ = [
    "Frame",
    "Template",
    "UnsteadyError",
    "Vocabulary",
    "frame_of",
    "numbers_in",
]

_NUMBER = re.compile(r"\d+")
_TO_SPACE = bytes(code if chr(code).isdecimal() and code < 128 else 32 for code in range(256))
_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")

# A number that no name has, with its place at the end.
_MARK = "31415926535897932384"
_MARKED = re.compile(_MARK + r"(\d{5})")

_PART = re.compile(r"\w+")
_HUMP = re.compile(r"(?:[A-Z]+|[A-Z]?[a-z]+)$")
_NUMBERED_HUMP = re.compile(r"([A-Z]+(?![a-z])|[A-Z]?[a-z]+)?(\d+)")
_BLOCK = re.compile(r"[qQ]\d_$")
_BIT = re.compile(r"_?[bB][iI][tT]")
_SCHEME = re.compile(r"[^A-Za-z\d]*(?:\d|[kK])")
# As in `fields`: what stands before a number that is an architecture.
_ARCHITECTURE = re.compile(r"(?:(?<![A-Za-z])[sS][mM]_?|(?<=[a-z])Sm)$")
_CUTE_TYPE = re.compile(r"tensorptr[a-z]+$")
_NO_NUMBERS: Mapping[str, str] = {}
# The 8 of its name is a number like any other.
_CACHE_TYPE = re.compile(r"Fp0KVCacheDataType\)?=?$")


class UnsteadyError(Exception):
    """What was found for one name of a frame need not hold for the next one."""


def frame_of(text: str) -> bytes:
    """Return a text with ``0`` in place of every number.

    Its numbers are of ASCII digits; names that were read from damaged files may hold surrogates.
    """
    zeros = text.encode("utf-8", "surrogatepass").translate(_TO_ZERO)
    # Twice the last: what the others leave of a run is at most four digits long.
    zeros = zeros.replace(b"00000", b"0").replace(b"000", b"0")
    return zeros.replace(b"00", b"0").replace(b"00", b"0")


def numbers_in(text: str) -> tuple[str, ...]:
    """Return the numbers of a text in order."""
    # Three times as fast as a regular expression.
    spaced = text.encode("utf-8", "surrogatepass").translate(_TO_SPACE)
    return tuple(spaced.decode().split())


class Template(NamedTuple):
    """A part of a frame: its text as a format, and which numbers of the frame go there."""

    format: str
    start: int = 0
    stop: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether there is no number in this part."""
        return self.start == self.stop

    def fill(self, numbers: tuple[str, ...]) -> str:
        """Return the part of the name that has these numbers."""
        return self.format % numbers[self.start : self.stop]


def _template(marked: str) -> Template:
    pieces = _MARKED.split(marked)
    places = [int(place) for place in pieces[1::2]]
    start = places[0] if places else 0
    # Two numbers side by side are one, where something between them was taken out.
    if places != list(range(start, start + len(places))) or not all(pieces[2:-1:2]):
        raise UnsteadyError
    text = "%s".join(piece.replace("%", "%%") for piece in pieces[::2])
    return Template(text, start, start + len(places))


class _Lengths(dict[str, str]):
    """Numbers that matter themselves, and of all others how long they are."""

    def get(self, digits: str, default: str = "") -> str:  # type: ignore[override]
        return super().get(digits, default) or "#" * min(len(digits), 4)


class Vocabulary:
    """The numbers that belong to words which mean something.

    Parameters
    ----------
    rules
        Whose words count.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        patterns = " ".join(f"{rule.words} {rule.within}" for rule in rules)
        # Of a rule's words, code1x16 is none that an identifier can be split into.
        words = [_NUMBERED_HUMP.fullmatch(word) for word in _PART.findall(patterns)]
        known = [found for text in KNOWN_WORDS for found in _NUMBERED_HUMP.finditer(text)]
        types = [found for text in TYPE_SPELLINGS for found in _NUMBERED_HUMP.finditer(text)]
        self._of_types = _by_letters(types)
        self._of_words = _by_letters([*filter(None, words), *known, *types])

    def meant(self, before: str, after: str, *, in_word: bool) -> Mapping[str, str] | None:
        """Return which numbers matter at a place of the identifier or of the template arguments.

        Parameters
        ----------
        before, after
            The text on both sides of the number.
        in_word
            Whether the text is that of an identifier wherever the number stands.

        Returns
        -------
        Mapping or None
            Those that matter, which are none where it is empty; None for all.
        """
        if _CACHE_TYPE.search(before):
            return None
        letters = _letters(before)
        if letters:
            is_type = "q" in letters and len(letters) <= 2 and _SCHEME.match(after)
        else:
            is_type = _BLOCK.search(before) or _BIT.match(after)
        if is_type:
            return None
        numbers = self._of_words.get(letters, _NO_NUMBERS)
        if _is_architecture(before):
            return _Lengths(numbers)
        return numbers if letters or in_word or before.endswith("_") else _NO_NUMBERS

    def meant_as_type(self, before: str) -> Mapping[str, str]:
        """Return which numbers matter at a place of a list of parameters."""
        return self._of_types.get(_letters(before), _NO_NUMBERS)


def _letters(before: str) -> str:
    hump = _HUMP.search(before[-64:])
    return "" if hump is None else hump[0].lower()


def _by_letters(humps: Iterable[re.Match[str]]) -> dict[str, dict[str, str]]:
    known: dict[str, dict[str, str]] = {}
    for hump in humps:
        known.setdefault((hump[1] or "").lower(), {})[hump[2]] = hump[2]
    return known


def _is_architecture(before: str) -> bool:
    """Return whether a number of two or three digits that follows a text is an architecture."""
    return _ARCHITECTURE.search(before) is not None


class Frame:
    """What all names of one frame share.

    Parameters
    ----------
    text
        One of them, from `nsightlens.kernels.spelling.normal_text`.
    numbers
        Its numbers.
    vocabulary
        Of the rules.

    Raises
    ------
    UnsteadyError
        The numbers of this text do not stay in order.
    """

    def __init__(self, text: str, numbers: tuple[str, ...], vocabulary: Vocabulary) -> None:
        places = iter(range(len(numbers)))
        marked = parts_of(_NUMBER.sub(lambda _: f"{_MARK}{next(places):05d}", text))
        spelling = parts_of(text)
        if marked.namespaces == ("cuda",):  # named by the whole text
            raise UnsteadyError
        self.identifier = _template(marked.identifier)
        self.namespaces = tuple(map(_template, marked.namespaces))
        self.arguments = _template(marked.arguments)
        self.plain_arguments = _template(plain_numbers(marked.arguments))
        self.parameters = _template(marked.parameters)
        self._check(spelling, numbers)
        carried = identifiers_in(marked.arguments, len(marked.arguments))
        self.carried = tuple(map(_template, carried))
        self.architectures: list[int] = []
        """Numbers that are an architecture if they are of its length."""
        self._keys = tuple(self._key_places(vocabulary, marked))
        # What stands for the type of the cache moves the place where long arguments are cut.
        self._is_cut_elsewhere = "KVCacheDataType" in text

    def _check(self, spelling: Spelling, numbers: tuple[str, ...]) -> None:
        filled = (
            self.identifier.fill(numbers),
            tuple(part.fill(numbers) for part in self.namespaces),
            self.arguments.fill(numbers),
            self.parameters.fill(numbers),
        )
        plain = self.plain_arguments.fill(numbers)
        if filled != spelling or plain != plain_numbers(spelling.arguments):
            raise UnsteadyError

    def _key_places(
        self, vocabulary: Vocabulary, marked: Spelling
    ) -> Iterator[tuple[int, Mapping[str, str] | None]]:
        """Yield which numbers the words and types of a name depend on, and on which of them."""
        for template in self.namespaces:
            yield from ((i, None) for i in range(template.start, template.stop))
        for part in (marked.identifier, marked.arguments):
            for i, before, after in _surroundings(part):
                meant = vocabulary.meant(before, after, in_word=part is marked.identifier)
                if meant is None or isinstance(meant, _Lengths) or meant:
                    yield i, meant
                if _is_architecture(before):
                    self.architectures.append(i)
        is_cute = marked.namespaces[:1] == ("cutedsl",)
        for i, before, _ in _surroundings(marked.parameters):
            meant = vocabulary.meant_as_type(before)
            if meant or (is_cute and _CUTE_TYPE.search(before)):
                yield i, None if is_cute else meant

    def key(self, numbers: tuple[str, ...], length: int) -> tuple[str | int, ...]:
        """Return what tells the names apart whose words and types may differ.

        Parameters
        ----------
        numbers
            Of the name.
        length
            [character] Of its text.

        Raises
        ------
        UnsteadyError
            The name is long, and is read up to the middle of a number.
        """
        # What is put in for a type of 7 letters has 12.
        if self._is_cut_elsewhere and len(self.arguments.fill(numbers)) > TYPE_TEXT // 2:
            raise UnsteadyError
        if not self._keys and length <= TYPE_TEXT:
            return ()
        key: tuple[str | int, ...] = tuple(
            [numbers[i] if meant is None else meant.get(numbers[i], "") for i, meant in self._keys]
        )
        if length <= TYPE_TEXT:
            return key
        key += tuple([numbers[i] for i in self.architectures])
        for template in (self.arguments, self.parameters):
            for end in (TYPE_TEXT, FAMILY_TEXT):
                key += _cut(template.fill(numbers), end)
        return key


def _surroundings(part: str) -> Iterator[tuple[int, str, str]]:
    """Yield each number of a marked text, with what stands before and after it."""
    for found in _MARKED.finditer(part):
        before = _MARKED.sub("0", part[max(0, found.start() - 200) : found.start()])
        yield int(found[1]), before, part[found.end() : found.end() + 40]


def _cut(text: str, end: int) -> tuple[int, ...]:
    """Return at which place of its frame a text is cut, if it is."""
    if len(text) <= end:
        return ()
    if text[end - 1].isdigit() and text[end].isdigit():
        raise UnsteadyError
    return (end, len(frame_of(text[:end])))
