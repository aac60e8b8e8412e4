"""Rules for kernel names that a user writes, in a TOML file or in Python.

They are asked before every built-in rule, in their order; `docs/kernel-names.md` explains them::

    [[rule]]
    id = "router"
    name = "fused_.*_router(_v[0-9]+)?"
    family = "moe_routing"
"""

from __future__ import annotations

import re
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from nsightlens.errors import SettingsFileError
from nsightlens.kernels.fields import type_of_spelling
from nsightlens.kernels.grammars import ALL_RULES
from nsightlens.kernels.learned import NameReader
from nsightlens.kernels.model import FAMILIES, PHASES, USER_RULE
from nsightlens.kernels.rule import Rule
from nsightlens.kernels.rulebook import FirstRule, Rulebook
from nsightlens.kernels.shorten import SHORT_NAME_FIELDS
from nsightlens.kernels.words import words_of
from nsightlens.patterns import expression_of, nearest, quoted
from nsightlens.toml_files import TomlEntry, read_toml

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "FORMAT",
    "VERSION",
    "KernelRules",
    "UserRules",
    "as_user_rules",
    "read_user_rules",
    "user_rules_of",
]

FORMAT = "nsightlens.kernel_rules"
VERSION = 1

_TOP_KEYS = ("format", "version", "rule")
_TEXTS = (
    "id", "name", "words", "family", "subtype", "phase", "shape", "within", "carries", "library",
    "arch", "note", "short",
)  # fmt: skip
_LISTS = ("reads", "dtypes", "also")
_KEYS = (*_TEXTS, *_LISTS, "types")
_OF_WORDS = ("shape", "within", "carries")
_ID = re.compile(r"[\w.-]+")
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_TYPE = re.compile(r"((u?int|m?x?fp|nvfp|bf|tf|nf|mxint|complex)\d{1,3}(_e\dm\d\w*)?|bool)")
"""A data type: others than those that the built-in rules know may be met."""
_READ_TYPES = re.compile(r"\(\?P<dtype2?>(?:([\w|]+)|\[(\w+)\])\)")
"""A group of types that lists its spellings: words with ``|`` between, or letters."""


class UserRules:
    """Rules of a user's, ready to be asked.

    Parameters
    ----------
    rules
        In the order in which they are asked.

    Examples
    --------
    >>> from nsightlens.kernels import parse_kernel_name
    >>> rules = user_rules_of([{"id": "mine", "name": "step_[0-9]+", "family": "norm"}])
    >>> parse_kernel_name("step_12", rules)[2], parse_kernel_name("step_12", rules).rule
    ('norm', 'user.mine')
    """

    def __init__(self, rules: Sequence[FirstRule]) -> None:
        self.rules = tuple(rules)

    def __reduce__(self) -> tuple[type[UserRules], tuple[Any, ...]]:
        # Another process reads by these rules, and learns for itself.
        return UserRules, (self.rules,)

    def __repr__(self) -> str:
        return f"<UserRules: {', '.join(one.rule.id for one in self.rules)}>"

    @cached_property
    def reader(self) -> NameReader:
        """What reads names by these rules first, and remembers nothing of other rules."""
        return NameReader(Rulebook(ALL_RULES, self.rules))


KernelRules = UserRules | str | PathLike[str]
"""Rules of a user's, or the file in which they stand."""


def as_user_rules(rules: KernelRules | None) -> UserRules | None:
    """Return the rules, read from their file where it is the file that was given.

    Raises
    ------
    SettingsFileError
        See `read_user_rules`.
    """
    return rules if rules is None or isinstance(rules, UserRules) else read_user_rules(rules)


def read_user_rules(path: str | PathLike[str]) -> UserRules:
    """Read a file of rules for kernel names.

    Parameters
    ----------
    path
        A TOML file with one ``[[rule]]`` for each.

    Returns
    -------
    UserRules
        For `nsightlens.kernels.parse_kernel_name` and `nsightlens.classify`.

    Raises
    ------
    SettingsFileError
        The file cannot be read, or says something that is not understood.
    """
    shown = str(path)
    table = read_toml(shown)
    for key, only in (("format", FORMAT), ("version", VERSION)):
        found = table.get(key, only)
        # To Python, 1.0 and true are 1.
        if found != only or type(found) is not type(only):
            raise SettingsFileError(
                shown,
                f"has the {key} {table[key]!r}",
                f"This nsightlens knows {key} = {only!r} for kernel rules, or none at all.",
            )
    TomlEntry(shown, "", table).check_keys(_TOP_KEYS)
    entries = table.get("rule", [])
    if not isinstance(entries, list) or not entries:
        raise SettingsFileError(
            shown, "holds no [[rule]]", "Add one, with id, family, and name or words."
        )
    return user_rules_of(entries, path=shown)


def user_rules_of(entries: Sequence[Mapping[str, Any]], *, path: str = "kernel rules") -> UserRules:
    """Make rules of the entries of such a file.

    Parameters
    ----------
    entries
        One for each rule, with the keys that the file may have.
    path
        What messages call it.

    Raises
    ------
    SettingsFileError
        An entry says something that is not understood.
    """
    rules: list[FirstRule] = []
    places: dict[str, str] = {}
    for i, table in enumerate(entries, 1):
        entry = _Entry(path, f"[[rule]] {i}", table)
        rule = entry.rule()
        if rule.rule.id in places:
            name = table["id"]
            raise entry.error(f"id is {name!r}, as in {places[rule.rule.id]}", "Choose another id.")
        places[rule.rule.id] = entry.where
        rules.append(rule)
    return UserRules(rules)


class _Entry(TomlEntry):
    """One ``[[rule]]`` of a file, to be checked."""

    def rule(self) -> FirstRule:
        if not isinstance(self.table, dict):
            raise self.error("is not a table", "Begin a rule with [[rule]].")
        self.check_keys(_KEYS)
        texts = {key: self._text(key) for key in _TEXTS if key in self.table}
        lists = {key: self._list(key) for key in _LISTS if key in self.table}
        self._check_id(texts)
        self._check_meaning(texts, lists)
        self._check_what_is_asked(texts)
        expressions = [texts.get(key, "") for key in ("name", "shape", "carries")]
        keyed = [*zip(("name", "shape", "carries"), expressions, strict=True)]
        keyed += [("reads", pattern) for pattern in lists.get("reads", ())]
        groups = {group for key, pattern in keyed for group in self._groups(key, pattern)}
        self._check_short(texts.get("short", ""), groups)
        types = self._types()
        for kind in (*lists.get("dtypes", ()), *types.values()):
            self._check_type(kind)
        for key, pattern in keyed:
            self._check_read_types(key, pattern, types)
        name = texts.pop("name", "")
        texts["id"] = USER_RULE + texts["id"]
        texts.setdefault("words", "")
        fields: dict[str, Any] = {**texts, **lists, "types": types}
        return FirstRule(Rule(**fields), name)

    def _text(self, key: str) -> str:
        value = self.table[key]
        if not isinstance(value, str):
            raise self.error(f"{key} is {value!r}", "Write a text in quotes.")
        if not value.strip():
            raise self.error(f"{key} is empty", "Write what it is, or leave the key out.")
        return value

    def _list(self, key: str) -> tuple[str, ...]:
        value = self.table[key]
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            advice = f'Write texts in brackets: {key} = ["..."].'
            raise self.error(f"{key} is {value!r}", advice)
        return tuple(value)

    def _types(self) -> dict[str, str]:
        value = self.table.get("types", {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            advice = 'Write a spelling and what it means: types = { h = "fp16" }.'
            raise self.error(f"types is {value!r}", advice)
        return value

    def _check_id(self, texts: Mapping[str, str]) -> None:
        if "id" not in texts:
            raise self.error("has no id", "Add one: it names the rule in every result.")
        if not _ID.fullmatch(texts["id"]):
            advice = "Letters, digits, '_', '-' and '.' may stand there."
            raise self.error(f"id is {texts['id']!r}", advice)

    def _check_meaning(
        self, texts: Mapping[str, str], lists: Mapping[str, tuple[str, ...]]
    ) -> None:
        if "family" not in texts:
            raise self.error("has no family", f"Allowed are {', '.join(FAMILIES)}.")
        for key, family in (
            ("family", texts["family"]),
            *(("also", one) for one in lists.get("also", ())),
        ):
            if family not in FAMILIES:
                raise self.error(f"{key} is {family!r}", _allowed(family, FAMILIES))
        if "phase" in texts:
            is_attention = texts["family"] == "attention"
            phases = [phase for phase in PHASES if (phase != "n/a") is is_attention]
            if texts["phase"] not in phases:
                about = f"For the family {texts['family']}: "
                advice = about + _allowed(texts["phase"], phases)
                raise self.error(f"phase is {texts['phase']!r}", advice)

    def _check_what_is_asked(self, texts: Mapping[str, str]) -> None:
        if ("name" in texts) == ("words" in texts):
            found = "has both name and words" if "name" in texts else "has neither name nor words"
            raise self.error(
                found,
                "Give one: name, a regular expression on the whole name, or words, "
                "a pattern on the words of the kernel's identifier.",
            )
        for key in _OF_WORDS:
            if key in texts and "name" in texts:
                raise self.error(f"has both name and {key}", f"{key} goes with words only.")
        for key in ("words", "within"):
            self._check_words(key, texts.get(key, ""))

    def _check_words(self, key: str, pattern: str) -> None:
        parts = pattern.split()
        if parts and all(part.startswith("-") for part in parts):
            advice = "At least one word must be there; a '-' in front forbids words."
            raise self.error(f"{key} is {pattern!r}", advice)
        for word in (word for part in parts for word in part.removeprefix("-").split("|")):
            if word not in words_of(word):
                read = " ".join(words_of(word)) or "no word"
                raise self.error(
                    f"{key} has {word!r}, which no identifier holds as one word",
                    f"It is read as: {read}. Words are in lower case, 'a b' needs both, 'a|b' one.",
                )

    def _groups(self, key: str, pattern: str) -> set[str]:
        """Return the named groups of a regular expression."""
        try:
            return set(expression_of(pattern).groupindex)
        except ValueError as error:
            advice = "To find a character such as ( or * as it stands, put two backslashes before."
            problem = f"{key} is {quoted(pattern)}, no regular expression: {error}"
            raise self.error(problem, advice) from error

    def _check_short(self, short: str, groups: Collection[str]) -> None:
        known = sorted({*groups, *SHORT_NAME_FIELDS})
        for name in _PLACEHOLDER.findall(short):
            if name not in known:
                raise self.error(f"short has {{{name}}}", _allowed(name, known))
        if set("{}") & set(_PLACEHOLDER.sub("", short)):
            advice = "Braces stand around the name of a field or group alone, as in {tile}."
            raise self.error(f"short is {quoted(short)}", advice)

    def _check_type(self, kind: str) -> None:
        if not _TYPE.fullmatch(kind):
            meant = type_of_spelling(kind)
            advice = f"Write {meant}." if meant else "Types are such as bf16, fp8_e4m3 and int8."
            raise self.error(f"{quoted(kind)} is no data type", advice)

    def _check_read_types(self, key: str, pattern: str, types: Mapping[str, str]) -> None:
        """Refuse spellings that a group of types reads and nothing explains.

        Only those that the group lists: of a wider one it is not known what it will meet.
        """
        for listed, letters in _READ_TYPES.findall(pattern):
            for text in (*listed.split("|"), *letters):
                if text and text not in types and not type_of_spelling(text):
                    problem = f"{key} reads {text!r} as a data type, which types does not explain"
                    raise self.error(problem, f'Add it: types = {{ {text} = "fp16" }}.')


def _allowed(found: str, known: Sequence[str]) -> str:
    near = nearest(found, known)
    return f"Did you mean {near[0]}?" if near else f"Allowed are {', '.join(known)}."
