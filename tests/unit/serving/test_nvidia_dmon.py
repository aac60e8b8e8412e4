"""Rows of ``nvidia-smi dmon`` lie below headers that come again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry import nvidia_dmon

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

(DMON,) = nvidia_dmon.FORMATS
TEXT = """\
# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol
# Idx      W      C      C      %      %    MHz    MHz      %   bool
    0    512     61      -     98     80   2619   1755      0      0
    0    514     62      -     97     80   2619   1620     12      0
# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol
# Idx      W      C      C      %      %    MHz    MHz      %   bool
    0    516     63      -     96     80   2619   1500      0      1
"""
TIMED = """\
#Date       Time        gpu     sm   pclk
#YYYYMMDD   HH:MM:SS    Idx      %    MHz
 20260429   19:35:24      0     98   1755
 20260429   19:35:26      0     97   1755
"""
TABLE = """\
gpu,pwr,gtemp,mtemp,sm,mem,enc,dec,jpg,ofa,mclk,pclk,pviol,tviol,rxpci,txpci
Idx,W,C,C,%,%,%,%,%,%,MHz,MHz,%,bool,MB/s,MB/s
0,512,61,-,98,80,0,0,0,0,2619,1755,0,0,100,20
1,90,40,-,0,0,0,0,0,0,2619,345,0,0,0,0
"""


def parts_of(folder: Path, text: str) -> list[Part]:
    """Return the parts of a file, which is claimed."""
    path = folder / "dmon.txt"
    path.write_text(text, encoding="utf-8")
    file = OpenedFile(path, "dmon.txt")
    assert DMON.claims(file)
    return DMON.read(file)


def test_headers_are_passed_over_wherever_they_stand(tmp_path: Path) -> None:
    """A dash is nothing, and heat or power held the clock down where they say more than 0."""
    (part,) = parts_of(tmp_path, TEXT)
    assert part.samples is not None
    columns = part.samples.columns
    assert list(columns["sm_clock_mhz"]) == [1755.0, 1620.0, 1500.0]
    assert list(columns["clock_limited"]) == [0.0, 1.0, 1.0]
    assert list(columns["gpu_utilization_pct"]) == [98.0, 97.0, 96.0]
    assert float(columns["power_w"][0]) == 512
    assert list(part.samples.time_s) == [0.0, 1.0, 2.0]
    assert [note.key for note in part.notes] == ["no_clock"]


def test_dates_and_times_are_those_of_a_clock(tmp_path: Path) -> None:
    """``-o DT`` puts both before the GPU."""
    (part,) = parts_of(tmp_path, TIMED)
    assert part.samples is not None
    assert list(np.diff(part.samples.time_s)) == [2.0]
    assert not part.samples.begins_with_run
    assert part.notes == ()


def test_a_table_has_its_units_in_the_second_line(tmp_path: Path) -> None:
    """``--format csv`` has no number sign, and a GPU that did nothing is left out."""
    (part,) = parts_of(tmp_path, TABLE)
    assert part.where == "GPU 0"
    assert part.samples is not None
    assert list(part.samples.columns["sm_clock_mhz"]) == [1755.0]


def test_a_collector_may_put_its_own_clock_first(tmp_path: Path) -> None:
    """Seconds since the begin of the benchmark."""
    lines = TABLE.splitlines()
    text = "\n".join(["time [s]," + lines[0], "s," + lines[1], "0.5," + lines[2]])
    (part,) = parts_of(tmp_path, text)
    assert part.samples is not None
    assert part.samples.begins_with_run
    assert list(part.samples.time_s) == [0.5]


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    """It was stopped before the first reading."""
    with pytest.raises(ServingFileError, match="and no reading"):
        parts_of(tmp_path, "\n".join(TEXT.splitlines()[:2]))


def test_cut_rows_are_left_out(tmp_path: Path) -> None:
    """A note counts them."""
    (part,) = parts_of(tmp_path, TEXT + "    0    51\n    x    1\n")
    assert part.samples is not None
    assert part.samples.time_s.size == 3
    assert "dmon.txt: 2 lines" in part.notes[0].text


@pytest.mark.parametrize(
    "text", ["gpu,mem,throughput\nh100,80,1\n", "# gpu notes\n", "#gpu\n", "", "[]"]
)
def test_other_files_are_not_claimed(tmp_path: Path, text: str) -> None:
    """A table of results may have a column for the GPU."""
    path = tmp_path / "dmon.txt"
    path.write_text(text, encoding="utf-8")
    assert not DMON.claims(OpenedFile(path))
