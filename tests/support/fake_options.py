"""Command lines as NVIDIA's profilers take them: options up to the name of the program.

Refuses what the real ones refuse, in their words where these are known; see `FakeOptions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class OptionError(ValueError):
    """The command line is none that the tool takes; the text is what it says."""


class Option(NamedTuple):
    """An option that takes a value, one of some, or none."""

    name: str
    choices: tuple[str, ...] = ()
    """Empty for any text."""
    is_flag: bool = False
    short: str = ""
    is_number: bool = False
    may_repeat: bool = False
    since: tuple[int, int] = (0, 0)
    """First version of the tool that has it."""


@dataclass
class Parsed:
    """What a command line said."""

    values: dict[str, list[str]] = field(default_factory=dict)
    program: list[str] = field(default_factory=list)

    def last(self, name: str, default: str = "") -> str:
        """Return the value of an option; of several the last."""
        return self.values.get(name, [default])[-1]

    def every(self, name: str) -> list[str]:
        """Return the values of an option that may be there several times."""
        return self.values.get(name, [])

    def has(self, name: str) -> bool:
        """Return whether an option is there."""
        return name in self.values


class Words(NamedTuple):
    """What a tool says of a command line that it does not take."""

    unknown: str
    invalid: str
    missing: str
    twice: str


def parse(
    argv: Sequence[str], options: Mapping[str, Option], version: tuple[int, int], words: Words
) -> Parsed:
    """Read a command line up to the name of the program.

    Raises
    ------
    OptionError
        An option is unknown, has a bad value or none, or is there twice.
    """
    names = {f"--{o.name}": o for o in options.values() if o.since <= version}
    names |= {f"-{o.short}": o for o in options.values() if o.short and o.since <= version}
    parsed = Parsed()
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        name, has_value, value = word.partition("=")
        if len(name) > 2 and not name.startswith("--"):  # -c5
            name, has_value, value = name[:2], "=", word[2:]
        option = names.get(name)
        if option is None:
            raise OptionError(words.unknown.format(name))
        if not option.is_flag and not has_value:
            if not rest:
                raise OptionError(words.missing.format(f"--{option.name}"))
            value = rest.pop(0)
        _check(option, value, words)
        if option.name in parsed.values and not option.may_repeat:
            raise OptionError(words.twice.format(f"--{option.name}"))
        parsed.values.setdefault(option.name, []).append(value)
    parsed.program = rest
    return parsed


def _check(option: Option, value: str, words: Words) -> None:
    is_bad = bool(option.choices) and value not in option.choices
    is_bad = is_bad or (option.is_number and not value.isdigit())
    if is_bad and not option.is_flag:
        raise OptionError(words.invalid.format(value, f"--{option.name}"))
