"""DCGM gives ratios from 0 to 1 for what its exporter's help calls a percentage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry import dcgm

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part, Samples

(DCGM,) = dcgm.FORMATS
DMON = """\
#Entity   GRACT        SMACT        TENSO        DRAMA        SMCLK
ID
GPU 0     0.990        0.900        0.100        0.625        1755
GPU 1     0.000        0.000        0.000        N/A          345
#Entity   GRACT        SMACT        TENSO        DRAMA        SMCLK
ID
GPU 0     0.990        0.900        0.100        0.500        1750
"""
EXPOSED = """\
# HELP DCGM_FI_PROF_DRAM_ACTIVE Ratio of cycles the device memory interface is active (in %).
# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge
DCGM_FI_PROF_DRAM_ACTIVE{{gpu="0",UUID="GPU-1",modelName="NVIDIA H100"}} {}
DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="GPU-1",modelName="NVIDIA H100"}} 98
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{gpu="0",UUID="GPU-1"}} 4
"""
TABLE = """\
timestamp,gpu,DCGM_FI_DEV_GPU_UTIL,DCGM_FI_PROF_DRAM_ACTIVE,DCGM_FI_DEV_FB_USED
2026-04-29T19:35:24Z,0,98,0.625,70000
2026-04-29T19:35:25Z,0,97,0.5,70000
"""


def parts_of(folder: Path, text: str) -> list[Part]:
    """Return the parts of a file, which is claimed."""
    path = folder / "dcgm.txt"
    path.write_text(text, encoding="utf-8")
    file = OpenedFile(path, "dcgm.txt")
    assert DCGM.claims(file)
    return DCGM.read(file)


def samples_of(part: Part) -> Samples:
    """Return the samples of a part that has some."""
    assert part.samples is not None
    return part.samples


def test_the_text_of_dcgmi_is_read_by_gpu(tmp_path: Path) -> None:
    """What another profiler holds is absent, and ratios become percentages."""
    first, second = parts_of(tmp_path, DMON)
    assert list(samples_of(first).columns["dram_active_pct"]) == [62.5, 50.0]
    assert list(samples_of(first).columns["sm_clock_mhz"]) == [1755.0, 1750.0]
    assert "dram_active_pct" not in samples_of(second).columns
    assert [note.key for note in first.notes] == ["no_clock"]


def test_scrapes_of_the_exporter_follow_one_another(tmp_path: Path) -> None:
    """A field that comes again begins the next; reasons for a slower clock are bits."""
    (part,) = parts_of(
        tmp_path, EXPOSED.format(0.625) + EXPOSED.format("NaN") + EXPOSED.format(0.5)
    )
    columns = samples_of(part).columns
    assert list(columns["clock_limited"]) == [1.0, 1.0, 1.0]
    np.testing.assert_equal(columns["dram_active_pct"], [62.5, np.nan, 50.0])


def test_a_table_has_a_column_per_field(tmp_path: Path) -> None:
    """Its times are dates or numbers, which may be in ms."""
    (part,) = parts_of(tmp_path, TABLE)
    samples = samples_of(part)
    assert list(np.diff(samples.time_s)) == [1.0]
    assert list(samples.columns["dram_active_pct"]) == [62.5, 50.0]
    text = TABLE.replace("2026-04-29T19:35:2", "177749132").replace("Z", "000")
    assert list(np.diff(samples_of(parts_of(tmp_path, text)[0]).time_s)) == [1.0]


def test_columns_may_name_their_gpu(tmp_path: Path) -> None:
    """Dashboards export a column per series."""
    text = (
        'time,"DCGM_FI_PROF_DRAM_ACTIVE{gpu=""0""}","DCGM_FI_PROF_DRAM_ACTIVE{gpu=""1""}"\n'
        "0,0.25,0.75\n1,0.25,\n"
    )
    first, second = parts_of(tmp_path, text)
    assert list(samples_of(first).columns["dram_active_pct"]) == [25.0, 25.0]
    assert list(samples_of(second).columns["dram_active_pct"]) == [75.0]


def test_a_share_that_is_a_percentage_is_kept(tmp_path: Path) -> None:
    """A dashboard may have multiplied: no ratio is above 1."""
    (part,) = parts_of(tmp_path, TABLE.replace("0.625", "62.5").replace("0.5,", "50,"))
    assert list(samples_of(part).columns["dram_active_pct"]) == [62.5, 50.0]


def test_a_list_of_fields_is_refused(tmp_path: Path) -> None:
    """The exporter's configuration names fields and holds no values."""
    text = "# Format\n\nDCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n"
    with pytest.raises(ServingFileError, match="lists the fields"):
        parts_of(tmp_path, text)


def test_a_file_without_readings_is_refused(tmp_path: Path) -> None:
    """A header alone, or values that are all missing."""
    for text in (DMON.split("GPU", 1)[0], "timestamp,DCGM_FI_DEV_GPU_UTIL\n1,\n"):
        with pytest.raises(ServingFileError, match="no reading has a value"):
            parts_of(tmp_path, text)
