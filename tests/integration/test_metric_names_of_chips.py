"""Every metric name that we ask for exists on its chip, by NVIDIA's own library."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from support.known_metrics import unknown_metrics

from nsightlens.harness.ncu_metrics import smallest
from nsightlens.metrics.catalog import MEASURED, minimal_metrics, peak_metrics
from nsightlens.metrics.tensor import tensor_paths_of
from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
from nsightlens.ncurep.write import write_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.ncu_report,
    pytest.mark.skipif(
        find_spec("ncu_report") is None,
        reason="NVIDIA's reader is not installed (pip install nsightlens[ncu])",
    ),
]

CHIPS = {
    "7.5": 0x164, "8.0": 0x170, "8.6": 0x172, "8.7": 0x17B, "8.9": 0x192, "9.0": 0x180,
    "10.0": 0x1A0, "10.3": 0x1A4, "11.0": 0x1AB, "12.0": 0x1B2, "12.1": 0x1BB,
}  # fmt: skip
"""Chip of each compute capability. The library knows no instruction counters of Volta any more."""

STATES = ("", "_sparsity_off", "_sparsity_on")


def unknown_of(folder: Path, compute_capability: str, names: set[str]) -> list[str]:
    """Return the names that the chip of a compute capability does not have."""
    major, minor = map(int, compute_capability.split("."))
    chip = CHIPS[compute_capability]
    device = {
        "device__attribute_compute_capability_major": major,
        "device__attribute_compute_capability_minor": minor,
        "device__attribute_architecture": chip & ~0xF,
        "device__attribute_implementation": chip,
        "device__attribute_chip": chip,
    }
    launch = LaunchSpec(metrics=device | dict.fromkeys(sorted(names), 1.0))
    path = write_ncu_rep(folder / "names.ncu-rep", ReportSpec(launches=[launch]), overwrite=True)
    return unknown_metrics(path)


@pytest.mark.parametrize("architecture", CHIPS)
def test_what_a_user_is_told_to_collect_exists(architecture: str, tmp_path: Path) -> None:
    """A name that the chip does not have is an error of ncu's for the whole kernel."""
    asked = {name for column in MEASURED for name in minimal_metrics(column, architecture)}
    asked |= {*peak_metrics(architecture), *smallest(architecture, (2025, 1))}
    counters = {name for name in asked if not name.startswith(("breakdown:", "regex:"))}
    assert unknown_of(tmp_path, architecture, counters) == []


@pytest.mark.parametrize("architecture", CHIPS)
def test_every_tensor_counter_of_the_table_exists(architecture: str, tmp_path: Path) -> None:
    """Totals, instructions and the pairs of both by sparsity."""
    names = set()
    for path in tensor_paths_of(architecture):
        for bases, has_sparsity in (
            (path.bases, path.has_sparsity),
            *((one.bases, one.has_sparsity) for one in path.instructions),
        ):
            states = STATES if has_sparsity else STATES[:1]
            names |= {f"{base}{state}.sum" for base in bases for state in states}
    assert unknown_of(tmp_path, architecture, names) == []


def test_a_name_of_another_chip_is_found_out(tmp_path: Path) -> None:
    """B300 has no int8 by tcgen05 and counts FP8 apart, unlike B200."""
    names = {
        "sm__ops_path_tensor_op_utcimma_src_int8.sum",
        "sm__ops_path_tensor_src_fp8_dst_fp32.sum",
    }
    assert len(unknown_of(tmp_path, "10.3", names)) == 1
    assert len(unknown_of(tmp_path, "10.0", names)) == 1
