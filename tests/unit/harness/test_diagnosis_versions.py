"""Which ncu knows which GPU: by its own list, else by what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.hosts import script

from nsightlens.harness.diagnosis_versions import chips_of, is_gpu_known

if TYPE_CHECKING:
    from pathlib import Path

HOPPER = ("gv100", "tu102", "tu116", "ga100", "ga102", "ga10b", "ad102", "gh100")


@pytest.mark.parametrize(
    ("version", "capability", "chips", "expected"),
    [
        ((2024, 1, 1, 0), "9.0", HOPPER, True),
        ((2024, 1, 1, 0), "7.5", HOPPER, True),
        ((2021, 1), "9.0", ("gv100", "ga100"), False),
        ((2026, 1), "7.0", ("ga100", "gh100"), False),  # a list is believed about old chips too
        ((2024, 1), "10.0", HOPPER, False),
        ((2026, 1), "10.0", HOPPER, None),
        ((2024, 3), "9.0", (), True),
        ((2022, 1), "9.0", (), None),
        ((2022, 1), "12.0", (), False),
        ((2025, 1), "6.1", (), False),
        ((2025, 1), None, (), None),
        ((), "9.0", (), None),
    ],
)
def test_a_gpu_is_known_by_the_list_or_by_what_was_seen(
    version: tuple[int, ...], capability: str | None, chips: tuple[str, ...], expected: bool | None
) -> None:
    """What neither tells is left open: only trying does."""
    assert is_gpu_known(version, capability, chips) is expected


def test_the_list_of_chips_is_asked_for(tmp_path: Path) -> None:
    """Words that are no chips are left out; a tool that does not answer lists none."""
    ncu = script(tmp_path / "ncu", "echo 'gv100, tu102, ga10b ad102 gh100 and more'")
    assert chips_of(str(ncu)) == ("gv100", "tu102", "ga10b", "ad102", "gh100")
    assert chips_of(str(script(tmp_path / "old", "exit 1"))) == ()
    assert chips_of(str(tmp_path / "none")) == ()
