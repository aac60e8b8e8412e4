"""The page about models lists what is taken for a key that is missing, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nsightlens.models.architectures import ARCHITECTURES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| (`[^|]+) \| ([\d, ]+) \|$", re.MULTILINE)


def test_the_defaults_of_the_page_are_those_that_are_taken() -> None:
    found: dict[str, dict[str, Any]] = {name: {} for name in ARCHITECTURES}
    for names, about, values in ROW.findall(PAGE.read_text(encoding="utf-8")):
        keys = re.findall(r"`(\w+)`", about.partition(", which")[0])
        taken = dict(zip(keys, map(int, values.split(", ")), strict=True))
        for name in re.findall(r"`(\w+)`", names):
            found[name].update(taken)
    assert found == {name: known.defaults for name, known in ARCHITECTURES.items()}


def test_every_known_key_that_must_be_stated_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for known in ARCHITECTURES.values():
        assert all(f"`{key}`" in text for key in known.stated)
