"""Files of measured ceilings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.devices.ceilings import CEILING_RESOURCES, read_ceilings
from nsightlens.errors import SettingsFileError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'format = "nsightlens.peaks"\nversion = 1\n'
ENTRY = """
[[device]]
name = "NVIDIA H100 80GB HBM3"
sm_clock_hz = 1.755e9
source = "copy and GEMM of our own"
[device.peak_per_s]
dram = "3.05 TB/s"
tensor_bf16 = 7.3e14
tensor_int8 = "1.4 PO" "P/s"
"""
ENTRY = ENTRY.replace('" "', "")


def written(folder: Path, text: str) -> Path:
    """Return a file with this text."""
    path = folder / "peaks.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_peak_is_a_number_in_base_units_or_a_text_with_its_unit(tmp_path: Path) -> None:
    """3.05 TB/s are 3.05e12 B/s, and 1.4 POP/s are 1.4e15 operations a second."""
    (ceilings,) = read_ceilings(written(tmp_path, HEAD + ENTRY))
    assert ceilings.peak_per_s == {
        "dram": pytest.approx(3.05e12),
        "tensor_bf16": 7.3e14,
        "tensor_int8": pytest.approx(1.4e15),
    }
    assert ceilings.device == "'NVIDIA H100 80GB HBM3'"
    assert ceilings.place.endswith("peaks.toml, [[device]] 1")


def test_every_resource_whose_work_is_counted_may_have_a_ceiling(tmp_path: Path) -> None:
    """All names of the table are taken, each in its own unit."""
    units = {
        name: "B" if name in ("dram", "l2", "l1") else "op" if "int" in name else "FLOP"
        for name in CEILING_RESOURCES
    }
    peaks = "\n".join(f'{name} = "2 T{unit}/s"' for name, unit in units.items())
    head = ENTRY.partition("[device.peak_per_s]")[0]
    (ceilings,) = read_ceilings(written(tmp_path, f"{HEAD}{head}[device.peak_per_s]\n{peaks}\n"))
    assert ceilings.peak_per_s == dict.fromkeys(CEILING_RESOURCES, 2e12)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "[", "is not TOML"),
        ('format = "nsightlens.peaks"', "", "names no format"),
        ("version = 1", "version = 2", "version 2"),
        ("version = 1", "version = true", "version True"),
        ("version = 1", "version = 1.0", "version 1.0"),
        ("version = 1", "", "names no version"),
        ('name = "NVIDIA H100 80GB HBM3"', 'name = " "', "Write what it is"),
        ("tensor_bf16 =", "tensor =", "tensor is not a known resource. Known are dram"),
        ("version = 1", "version = 1\ndevices = 1", "Did you mean device?"),
        (ENTRY, "", "holds no [[device]] entry"),
        ("[[device]]", "[device]", "holds no [[device]] entry"),
        ('name = "NVIDIA H100 80GB HBM3"', "", "names no device"),
        ('name = "NVIDIA H100 80GB HBM3"', "name = 3", "name is 3"),
        ('name = "', 'nome = "', "Did you mean name?"),
        ("name =", 'compute_capability = "90"\nname =', "compute_capability is '90'"),
        ("name =", "sm_count = 1.5\nname =", "sm_count is 1.5"),
        ('source = "copy and GEMM of our own"', "", "has no source"),
        ("sm_clock_hz = 1.755e9", "", "gives tensor_bf16 and no sm_clock_hz"),
        ("1.755e9", "1755", "sm_clock_hz is 1755"),
        ("[device.peak_per_s]", "[device.peaks]", "peaks is not a known key"),
        ("tensor_bf16 =", "tensor_bf61 =", "Did you mean tensor_bf16?"),
        ("3.05 TB/s", "3.05 TFLOP/s", "dram is in FLOP/s"),
        ("3.05 TB/s", "3.05 TB", "dram is '3.05 TB'"),
        ("3.05 TB/s", "3..05 TB/s", "dram is '3..05 TB/s'"),
        ('"3.05 TB/s"', "3050", "no peak of a GPU"),
        ('"3.05 TB/s"', "true", "no peak of a GPU"),
        ('"3.05 TB/s"', "inf", "no peak of a GPU"),
    ],
)
def test_what_is_not_understood_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Each slip is a diagnosis that names the file and what to write instead."""
    text = HEAD + ENTRY
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1) if old else text + new)
    with pytest.raises(SettingsFileError) as caught:
        read_ceilings(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    """Both are the user's to mend."""
    with pytest.raises(SettingsFileError, match="cannot be read"):
        read_ceilings(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsFileError, match="not text in UTF-8, at byte 0"):
        read_ceilings(binary)
