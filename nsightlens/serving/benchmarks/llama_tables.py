"""Tables of llama.cpp's benchmarks in Markdown, between headings and lines of a log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["batched_rows", "has_batched_table", "single_rows"]

_BATCHED = {
    "PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP s": "t_pp", "S_PP t/s": "speed_pp",
    "T_TG s": "t_tg", "S_TG t/s": "speed_tg", "T s": "t", "S t/s": "speed",
}  # fmt: skip
_BATCHED_HEAD = re.compile(r"^\|\s*PP\s*\|\s*TG\s*\|\s*B\s*\|", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(\S[^#]{0,200})")
_NAME = re.compile(r"general\.name\s+(?:str\s+)?=\s*(\S.*)$")
_SHARED = re.compile(r"is_pp_shared\s*=\s*(\d)")
_TEST = re.compile(r"^(?:(pp)(\d+))?\+?(?:(tg)(\d+))?(?:\s*@\s*d(\d+))?$")
_RATE = re.compile(r"^([\d.]+(?:[eE][+-]?\d+)?)(?:\s*±.*)?$")


def has_batched_table(text: str) -> bool:
    """Return whether a text holds the table of ``llama-batched-bench``."""
    return bool(_BATCHED_HEAD.search(text))


def batched_rows(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of tables of ``llama-batched-bench``, with their lines and models.

    The model is the nearest heading above, or the name that the loader printed.
    """
    found = []
    model, shared, header = None, 0, None
    for number, line in enumerate(text.splitlines(), 1):
        named = _HEADING.match(line) or _NAME.search(line)
        if named:
            model, header = named[1].strip(), None
        elif match := _SHARED.search(line):
            shared = int(match[1])
        elif _BATCHED_HEAD.match(line):
            header = [_BATCHED.get(one) for one in _cells(line)]
        elif header and line.lstrip().startswith("|"):
            row = _row(header, _cells(line))
            if row:
                found.append((f"line {number}", {**row, "model": model, "is_pp_shared": shared}))
    return found


def single_rows(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of tables of ``llama-bench``, with their lines, named as in its JSON."""
    return list(_singles(text))


def _singles(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    header: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            header = None
            continue
        cells = _cells(line)
        if cells[0] == "model" and {"test", "t/s"} <= set(cells):
            header = cells
        elif header and len(cells) == len(header) and not set(line) <= set("|-: "):
            named = dict(zip(header, cells, strict=True))
            test, rate = _TEST.match(named["test"]), _RATE.match(named["t/s"])
            if test and rate and (test[1] or test[3]):
                yield f"line {number}", {
                    "model_type": named["model"],
                    "n_prompt": int(test[2] or 0),
                    "n_gen": int(test[4] or 0),
                    "n_depth": int(test[5] or 0),
                    "avg_ts": rate[1],
                    "type_k": named.get("type_k"),
                }  # fmt: skip


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().strip("|").split("|")]


def _row(header: list[str | None], cells: list[str]) -> dict[str, Any] | None:
    """Return the numbers of a row; None for the line of dashes and for a row that was cut."""
    if len(cells) != len(header) or not re.fullmatch(r"\d+", cells[0]):
        return None
    return {name: cell for name, cell in zip(header, cells, strict=True) if name}
