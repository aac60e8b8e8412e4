"""--device and --peaks: what the user says of the GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens import open_dataset

if TYPE_CHECKING:
    from support.command import CommandLine

PEAKS = """
format = "nsightlens.peaks"
version = 1

[[device]]
name = "NVIDIA H100 80GB HBM3"
source = "a copy kernel"
[device.peak_per_s]
dram = "3.1 TB/s"

[[device]]
name = "NVIDIA B200"
source = "a copy kernel"
[device.peak_per_s]
dram = "7 TB/s"
"""
OTHER = PEAKS.replace("NVIDIA H100 80GB HBM3", "NVIDIA A40")
UNUSED = "no launch ran on 'NVIDIA A40' or 'NVIDIA B200', only on NVIDIA H100 80GB HBM3"


@pytest.fixture
def peaks(run: CommandLine) -> str:
    """Write a file of ceilings for the GPU of the reports and for another."""
    assert run is not None  # it changes the folder
    Path("peaks.toml").write_text(PEAKS, encoding="utf-8")
    return "peaks.toml"


def _first_label(run: CommandLine, *words: str) -> tuple[dict[str, Any], str]:
    done = run("classify", "all.ncu-rep", "-f", "json", *words)
    assert done.code == 0, done.err
    row: dict[str, Any] = json.loads(done.out)["rows"][0]
    return row, done.err


def test_measured_ceilings_take_the_place_of_the_peaks_of_the_report(
    run: CommandLine, peaks: str
) -> None:
    """The same bytes are more of a lower roof; that a file is for other GPUs besides is no news."""
    label, err = _first_label(run, "--peaks", peaks)
    plain, _ = _first_label(run)
    assert label["limiter_fraction"] == pytest.approx(plain["limiter_fraction"] * 3352.32 / 3100)
    assert label["peak_source"].split("+")[0] == "measured_ceiling"
    assert err == ""


def test_a_file_that_is_for_none_of_the_gpus_is_told_once(run: CommandLine) -> None:
    """All its entries in one sentence; with --device, that it is not for the named one."""
    Path("other.toml").write_text(OTHER, encoding="utf-8")
    _, err = _first_label(run, "--peaks", "other.toml")
    assert err.count("other.toml") == 1
    assert f"other.toml: its ceilings are not used: {UNUSED}." in err
    _, err = _first_label(run, "--peaks", "other.toml", "--device", "L40S")
    assert "the device that was named is 'L40S', not 'NVIDIA A40' or 'NVIDIA B200'." in err
    assert "no launch ran on" not in err


@pytest.mark.parametrize("option", ["--peaks", "--device", "--kernel-rules"])
def test_an_option_of_which_one_counts_is_not_given_twice(run: CommandLine, option: str) -> None:
    """The first would be dropped without a word."""
    done = run("classify", "all.ncu-rep", option, "a.toml", option, "b.toml")
    assert (done.code, done.out) == (2, "")
    assert f"argument {option}: was given twice" in done.err


def test_a_named_device_takes_the_place_of_that_of_the_report(run: CommandLine) -> None:
    """A label says so, and so does the table of resources that an export holds."""
    label, _ = _first_label(run, "--device", "H200 SXM 141GB")
    assert "named_device" in label["peak_source"]
    done = run("export", "all.ncu-rep", "-o", "tables", "--device", "NVIDIA H200")
    assert done.code == 0, done.err
    sources = open_dataset("tables").table("resources")["peak_source"].to_pylist()
    assert set(sources) == {"named_device", "percent_of_peak"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "H200 PCIe"], "'H200 PCIe' is no known GPU. Near it are"),
        (["--peaks", "none.toml"], "none.toml: cannot be read"),
        (["--peaks", "text.bin"], "text.bin: is not TOML"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error(
    run: CommandLine, words: list[str], said: str
) -> None:
    """Nothing is written, and the exit code is that of a command line that makes no sense."""
    for command in (["classify"], ["export", "-o", "tables"]):
        done = run(*command, "all.ncu-rep", *words)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
    assert not Path("tables").exists()


def test_the_options_stand_in_the_json(run: CommandLine, peaks: str) -> None:
    """Whoever reads the rows learns which peaks they rest on."""
    done = run("classify", "all.ncu-rep", "-f", "json", "--peaks", peaks, "--device", "NVIDIA H200")
    options = json.loads(done.out)["source"]["options"]
    assert (options["peaks"], options["device"]) == ("peaks.toml", "NVIDIA H200")
