"""The page about peaks: its example of measured ceilings is understood, with the roofs it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.rooflines import launch
from support.stores import report_of

from nsightlens.devices import PEAK_SOURCES, PeakOverrides, peak_rates
from nsightlens.devices.ceilings import CEILING_RESOURCES, read_ceilings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "devices.md"


def test_the_worked_example_has_the_roofs_that_the_page_reckons(tmp_path: Path) -> None:
    """An H100 at 1.5 GHz: 3.05 TB/s, 625 TFLOP/s, a ridge of 205 FLOP/B."""
    (example,) = re.findall(
        r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    path = tmp_path / "peaks.toml"
    path.write_text(example, encoding="utf-8")
    overrides = PeakOverrides(ceilings=read_ceilings(path))
    peaks = peak_rates(report_of(launch()), ["dram", "tensor_bf16", "fp64"], overrides)
    dram, bf16 = float(peaks.rate["dram"][0]), float(peaks.rate["tensor_bf16"][0])
    assert dram == pytest.approx(3.05e12)
    assert bf16 == pytest.approx(625e12, rel=0.001)
    assert bf16 / dram == pytest.approx(205, abs=0.5)
    assert peaks.source["fp64"][0] != PEAK_SOURCES.index("measured_ceiling")


def test_the_page_names_every_source_and_resource() -> None:
    """Nothing that a row or a file may say is left out."""
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| ", text.split("## Naming")[0], re.MULTILINE) == [
        "peak_source",
        *PEAK_SOURCES,
        "percent_of_peak",
    ]
    named = [name for name in CEILING_RESOURCES if not name.startswith("tensor_")]
    assert all(f"`{name}`" in text for name in named)
