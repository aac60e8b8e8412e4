"""Memory does not grow with what is stepped over in a report, whichever scanner reads."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nsightlens.ncurep import LaunchSpec, Layout, pages, write_ncu_rep
from nsightlens.ncurep.scanner import compiled_scanner

if TYPE_CHECKING:
    from pathlib import Path

_PEAK = """
import resource, sys
from nsightlens.ncurep import read_columns
read_columns(sys.argv[1], scanner=sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_mib(path: Path, scanner: str) -> float:
    """Return the peak memory of a process that reads a file."""
    argv = [sys.executable, "-c", _PEAK, str(path), scanner]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return int(printed) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak is that of Linux")
@pytest.mark.parametrize("scanner", ["c", "python"])
def test_sections_do_not_stay_in_memory(scanner: str, tmp_path: Path) -> None:
    """Of 200 MB of section definitions, a small part is mapped at a time."""
    if scanner == "c" and compiled_scanner() is None:
        pytest.skip("this installation has no compiled scanner")
    launches = [LaunchSpec(name=f"k{i}", metrics={"a": i}) for i in range(200)]
    light = write_ncu_rep(tmp_path / "light.ncu-rep", launches)
    heavy = write_ncu_rep(
        tmp_path / "heavy.ncu-rep", launches, Layout(section_count=8, sections_bytes=1_000_000)
    )
    assert heavy.stat().st_size > 200_000_000
    assert peak_mib(heavy, scanner) < peak_mib(light, scanner) + 2 * pages.WINDOW / 2**20


def test_what_is_not_mapped_has_nothing_to_give_back() -> None:
    """Bytes in memory are read by the same code."""
    releaser = pages.PageReleaser(bytes(10), 0)
    releaser.read_up_to(2 * pages.WINDOW)
