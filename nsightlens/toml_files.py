"""TOML files that a user writes: measured peaks, rules for kernel names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import SettingsFileError
from nsightlens.patterns import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["TomlEntry", "read_toml"]


class TomlEntry(NamedTuple):
    """A table of such a file, to be checked.

    Parameters
    ----------
    path
        The file.
    where
        Which of its tables, such as ``"[[device]] 2"``; empty for the whole file.
    table
        What stands there: a dict, unless the file is wrong.
    """

    path: str
    where: str
    table: Any

    def error(self, problem: str, advice: str) -> SettingsFileError:
        """Return the error that says what is wrong with this table."""
        return SettingsFileError(self.path, problem, advice, where=self.where)

    def check_keys(self, known: Collection[str]) -> None:
        """Raise `SettingsFileError` for a key that nobody knows."""
        for key in self.table:
            if key not in known:
                near = nearest(key, known)
                advice = f"Did you mean {near[0]}?" if near else f"Known are {', '.join(known)}."
                raise self.error(f"{key} is not a known key", advice)


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    dict
        Its top-level table.

    Raises
    ------
    SettingsFileError
        It cannot be read, or is not TOML.
    """
    # Loaded only here: a command without such a file has no use for a parser.
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415
    else:
        import tomli as tomllib  # noqa: PLC0415

    text = _text_of(path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsFileError(
            str(path), f"is not TOML: {error}", "Texts stand in quotes, and [[x]] begins an entry."
        ) from error
    except RecursionError:
        problem, advice = "has brackets that are nested too deeply", "No setting needs them."
    except ValueError:
        # Whole numbers of thousands of digits are TOML, but Python refuses to read them.
        problem, advice = "holds a number of too many digits", "Write it such as 3.05e12."
    raise SettingsFileError(str(path), problem, advice)


def _text_of(path: str | Path) -> str:
    try:
        # Editors of Windows put a byte order mark in front.
        return Path(path).read_text(encoding="utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        problem = f"is not text in UTF-8, at byte {error.start}"
        raise SettingsFileError(str(path), problem, "TOML is written in UTF-8.") from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise SettingsFileError(str(path), problem, "Check its name.") from error
