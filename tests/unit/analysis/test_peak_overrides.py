"""classify with peaks that the user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import dram_bytes, flop_counts, launch, parts
from support.stores import report_of

from nsightlens import classify
from nsightlens.errors import PeaksWarning, UnknownDeviceError

if TYPE_CHECKING:
    from pathlib import Path

FP32_OF_H100 = 132 * 256 * 1.5e9 * 1e-3


def peaks_file(folder: Path, name: str = "NVIDIA H100 80GB HBM3", **peaks: float) -> Path:
    """Write a file of ceilings measured at 1.5 GHz."""
    path = folder / "peaks.toml"
    lines = [
        'format = "nsightlens.peaks"', "version = 1", "[[device]]", f'name = "{name}"',
        "sm_clock_hz = 1.5e9", 'source = "measured"', "[device.peak_per_s]",
        *(f"{resource} = {value!r}" for resource, value in peaks.items()),
    ]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def label_of(*groups: Any, **options: Any) -> dict[str, Any]:
    """Return the label of one launch."""
    (label,) = classify(report_of(launch(*groups)), **options).labels.to_pylist()
    row: dict[str, Any] = label
    return row


def test_a_ceiling_that_a_launch_reaches_makes_it_saturated(tmp_path: Path) -> None:
    """70 % of the data sheet is 97 % of what a GEMM of our own reached, and no contradiction."""
    work = (parts(fma=70.0, dram=10.0), flop_counts(fp32=0.7 * FP32_OF_H100), dram_bytes(0.1))
    plain = label_of(*work)
    label = label_of(*work, peaks=peaks_file(tmp_path, fp32=0.72 * 132 * 256 * 1.5e9))
    assert label["limiter_fraction"] == pytest.approx(plain["limiter_fraction"] / 0.72)
    assert label["confidence"] == plain["confidence"] == "high"
    assert label["peak_source"] == "measured_ceiling+report"


def test_a_ceiling_moves_the_ridge_point(tmp_path: Path) -> None:
    """A launch right of the ridge of the data sheet is left of it with less bandwidth measured."""
    work = (
        parts(fma=55.0, dram=50.0),
        flop_counts(fp32=0.55 * FP32_OF_H100),
        dram_bytes(0.5),
    )
    assert label_of(*work)["roofline_bound"] == "compute"
    label = label_of(*work, peaks=peaks_file(tmp_path, dram=2.5e12))
    assert label["roofline_bound"] == "memory"
    assert label["ridge_point_flop_per_byte"] == pytest.approx(132 * 256 * 1.5e9 / 2.5e12)


def test_more_than_a_ceiling_cannot_be(tmp_path: Path) -> None:
    """The check that finds a wrong peak finds a wrong ceiling too."""
    work = (parts(dram=90.0, fma=1.0), flop_counts(), dram_bytes(0.9))
    label = label_of(*work, peaks=peaks_file(tmp_path, dram=2e12))
    assert label["confidence"] == "low"
    assert "DRAM at 151 % of its peak" in label["reason"]
    assert "its percentage" not in label["reason"]


def test_the_table_of_rooflines_has_the_same_roofs(tmp_path: Path) -> None:
    """The slanted roof of DRAM is the ceiling, and says so."""
    work = launch(parts(dram=90.0, fma=1.0), flop_counts(), dram_bytes(0.9))
    result = classify(report_of(work), peaks=peaks_file(tmp_path, dram=3.1e12))
    dram = next(row for row in result.rooflines.to_pylist() if row["level"] == "dram")
    assert (dram["peak_bytes_per_s"], dram["peak_bytes_source"]) == (3.1e12, "measured_ceiling")


def test_a_group_keeps_the_source_of_its_members(tmp_path: Path) -> None:
    """By family, the sums rest on the same ceilings."""
    work = launch(parts(dram=90.0, fma=1.0), flop_counts(), dram_bytes(0.9))
    path = peaks_file(tmp_path, dram=3.1e12)
    (label,) = classify(report_of(work, work), by="kernel", peaks=path).labels.to_pylist()
    assert "measured_ceiling" in label["peak_source"]


def test_an_entry_that_fits_no_launch_is_a_warning(tmp_path: Path) -> None:
    """It is in the result as well, and changes nothing."""
    report = report_of(launch(parts(dram=90.0), dram_bytes(0.9)))
    path = peaks_file(tmp_path, name="NVIDIA B200", dram=7e12)
    with pytest.warns(PeaksWarning, match="no launch ran on 'NVIDIA B200'"):
        result = classify(report, peaks=path)
    assert len(result.warnings) == 1
    assert result.labels == classify(report).labels


def test_an_unknown_device_is_an_error() -> None:
    """Before anything is computed."""
    with pytest.raises(UnknownDeviceError):
        classify(report_of(launch()), device="NVIDIA H900")
