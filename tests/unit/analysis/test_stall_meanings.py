"""Every warp state has a meaning, and some mean more in some kinds of kernel."""

from __future__ import annotations

import pytest

from nsightlens.analysis.stall_meanings import BY_KIND, GENERAL, KINDS, kind_of, stall_meaning
from nsightlens.kernels.model import FAMILIES
from nsightlens.tables import STALL_REASONS


def test_every_warp_state_has_a_general_meaning() -> None:
    """And nothing else has."""
    assert set(GENERAL) == set(STALL_REASONS)


def test_what_a_kind_says_is_said_of_a_warp_state_that_exists() -> None:
    """A misspelled state would never be shown."""
    for kind, meanings in BY_KIND.items():
        assert set(meanings) <= set(STALL_REASONS), kind


def test_kinds_are_those_of_families() -> None:
    """A family that does not exist would never have its kind."""
    assert set(KINDS) <= set(FAMILIES)
    assert set(KINDS.values()) <= set(BY_KIND)


@pytest.mark.parametrize(
    ("family", "subtype", "phase", "kind"),
    [
        ("attention", "flash", "prefill", "attention"),
        ("attention", "flash", "decode", "decode"),
        ("attention", "flash_splitkv", None, "decode"),
        ("attention", "splitkv_combine", "decode", "reduction"),
        ("gemm", "dense", None, "gemm"),
        ("gemm", "gemv", None, "gemv"),
        ("other", None, None, None),
        (None, None, None, None),
    ],
)
def test_the_kind_follows_from_family_subtype_and_phase(
    family: str | None, subtype: str | None, phase: str | None, kind: str | None
) -> None:
    """Decode attention waits for other things than prefill, a GEMV for other than a GEMM."""
    assert kind_of(family, subtype, phase) == kind


def test_waiting_for_data_means_keys_and_values_in_decode_and_operands_in_a_gemm() -> None:
    """The same counter, read by what the kernel does."""
    assert "keys and values" in stall_meaning("long_scoreboard", "decode")
    assert "operands" in stall_meaning("long_scoreboard", "gemm")
    assert stall_meaning("long_scoreboard", None) == GENERAL["long_scoreboard"]
    assert stall_meaning("sleeping", "gemm") == GENERAL["sleeping"]
