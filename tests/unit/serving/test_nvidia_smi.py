"""Readings of nvidia-smi have their units in the header, in the values, or in both."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry import dcgm, nvidia_smi
from nsightlens.serving.telemetry.gpu_rows import measured

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part, Samples

QUERY = nvidia_smi.FORMATS[0]
HEADER = (
    "timestamp, name, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], "
    "power.draw [W], clocks.current.sm [MHz], clocks.max.sm [MHz], temperature.gpu, "
    "clocks_event_reasons.active"
)
ROW = (
    "2026/04/29 19:35:{:02}.804, NVIDIA H100 80GB HBM3, {}, {} %, 76935 MiB, 81559 MiB, 512.25 W, "
    "1755 MHz, 1980 MHz, 61, {}"
)


def parts_of(folder: Path, text: str, name: str = "gpu.csv") -> list[Part]:
    """Return the parts of a file, which is claimed."""
    path = folder / name
    path.write_bytes(text.encode())
    file = OpenedFile(path, name)
    assert QUERY.claims(file)
    return QUERY.read(file)


def samples_of(part: Part) -> Samples:
    """Return the samples of a part that has some."""
    assert part.kind == "gpu"
    assert part.samples is not None
    return part.samples


def claimed(folder: Path, text: str) -> bool:
    """Return whether a text is taken for a query of nvidia-smi."""
    path = folder / "gpu.csv"
    path.write_bytes(text.encode())
    return QUERY.claims(OpenedFile(path))


def test_units_in_header_and_values_are_read(tmp_path: Path) -> None:
    """Also what does not change over time, and a total only as a hint: PyTorch sees less."""
    rows = [ROW.format(second, 0, 98, "0x0000000000000004") for second in (1, 2)]
    (part,) = parts_of(tmp_path, "\n".join([HEADER, *rows]) + "\n")
    assert part.values == {
        "device_name": "NVIDIA H100 80GB HBM3",
        "?total_memory_gib": 81559 / 1024,
        "sm_clock_max_mhz": 1980.0,
    }
    samples = samples_of(part)
    assert not samples.begins_with_run
    assert list(np.diff(samples.time_s)) == [1.0]
    assert {name: float(values[0]) for name, values in samples.columns.items()} == {
        "gpu_utilization_pct": 98.0,
        "memory_used_mib": 76935.0,
        "power_w": 512.25,
        "sm_clock_mhz": 1755.0,
        "temperature_c": 61.0,
        "clock_limited": 1.0,
    }


def test_values_without_units_have_those_of_the_header(tmp_path: Path) -> None:
    """``nounits`` leaves the header as it is."""
    text = "timestamp, utilization.gpu [%], memory.used [GiB]\n2026/04/29 19:35:24.804, 98, 75\n"
    columns = samples_of(parts_of(tmp_path, text)[0]).columns
    assert columns["memory_used_mib"][0] == 75 * 1024
    assert columns["gpu_utilization_pct"][0] == 98


def test_a_collector_may_put_its_own_clock_first(tmp_path: Path) -> None:
    """Seconds since the begin of the benchmark, and Active or Not Active for each reason."""
    text = (
        "time [s],uuid, clocks_event_reasons.hw_slowdown, clocks_event_reasons.sw_power_cap, "
        "utilization.gpu [%]\n"
        "0.125,GPU-1, Not Active, Not Active, 0 %\n"
        "1.25,GPU-1, Not Active, Active, 70 %\n"
    )
    samples = samples_of(parts_of(tmp_path, text)[0])
    assert samples.begins_with_run
    assert list(samples.time_s) == [0.125, 1.25]
    assert list(samples.columns["clock_limited"]) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("mask", "limited"),
    [(0x0, 0), (0x1, 0), (0x2, 0), (0x4, 1), (0x8, 1), (0x20, 1), (0x40, 1), (0x80, 1), (0x100, 0)],
)
def test_heat_power_and_hardware_limit_a_clock(tmp_path: Path, mask: int, limited: int) -> None:
    """An idle GPU and a clock that was set by hand are no limits."""
    text = f"{HEADER}\n{ROW.format(1, 0, 98, f'0x{mask:016x}')}\n"
    assert list(samples_of(parts_of(tmp_path, text)[0]).columns["clock_limited"]) == [limited]


def test_a_column_without_values_is_absent(tmp_path: Path) -> None:
    """A card without the field prints a word, which is no zero."""
    text = (
        "timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
        "2026/04/29 19:35:24.804, 98 %, [N/A], [Not Supported]\n"
        "2026/04/29 19:35:25.804, 97 %, [N/A], 301.00 W\n"
    )
    columns = samples_of(parts_of(tmp_path, text)[0]).columns
    assert "memory_used_mib" not in columns
    assert np.isnan(columns["power_w"][0])
    assert columns["power_w"][1] == 301


def test_each_gpu_that_worked_is_a_part(tmp_path: Path) -> None:
    """Rows of several GPUs alternate; those that did nothing are of no server."""
    rows = [ROW.format(s, gpu, 90 if gpu else 0, "0x0") for s in (1, 2) for gpu in (0, 1, 2)]
    parts = parts_of(tmp_path, "\n".join([HEADER, *rows]))
    assert [part.where for part in parts] == ["GPU 1", "GPU 2"]
    assert [samples_of(part).time_s.size for part in parts] == [2, 2]
    assert [note.key for note in parts[0].notes] == ["idle_gpus"]


def test_without_a_header_nothing_says_what_a_column_is(tmp_path: Path) -> None:
    """Such a file is refused, with the option that made it so."""
    for row in (ROW.format(1, 0, 98, "0x0"), "98 %, 76935 MiB", "2026/04/29 19:35:24.804, 98, 7"):
        with pytest.raises(ServingFileError, match="without a header") as caught:
            parts_of(tmp_path, row + "\n")
        assert "noheader" in caught.value.advice


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NVIDIA-SMI has failed because it couldn't communicate with the driver.\n", "has failed"),
        ("+---+\n| NVIDIA-SMI 550.54   Driver Version: 550.54 |\n", "of one moment"),
        ("timestamp, utilization.gpu [%]\n", "no reading has a value"),
        (
            "timestamp, utilization.gpu [%]\n2026/04/29 19:35:24.804, [N/A]\n",
            "no reading has a val",
        ),
    ],
)
def test_what_holds_no_readings_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """The reason is what the file holds instead."""
    with pytest.raises(ServingFileError, match=words):
        parts_of(tmp_path, text)


def test_lines_that_are_no_readings_are_left_out(tmp_path: Path) -> None:
    """Files are joined, cut and written over; a note counts the lines."""
    good = ROW.format(1, 0, 98, "0x0")
    text = "\n".join([HEADER, good, "2026/04/29 19:3", HEADER, good.replace("98 %", "many %"), ""])
    (part,) = parts_of(tmp_path, text)
    assert samples_of(part).time_s.size == 2
    (note,) = part.notes
    assert note.text == "gpu.csv: 2 lines are no readings of its columns and are left out."


def test_readings_without_a_time_are_a_second_apart(tmp_path: Path) -> None:
    """A note says that this is assumed."""
    (part,) = parts_of(tmp_path, "index, utilization.gpu [%]\n0, 98 %\n0, 97 %\n")
    assert list(samples_of(part).time_s) == [0.0, 1.0]
    assert [note.key for note in part.notes] == ["no_clock"]


def test_a_table_that_breaks_is_refused(tmp_path: Path) -> None:
    """A lone return within a row is no table with commas."""
    with pytest.raises(ServingFileError, match="no table with commas"):
        parts_of(tmp_path, "index, utilization.gpu [%]\n0, 98 %\n0,\r97 %\n")


@settings(max_examples=60)
@given(st.data())
def test_damaged_readings_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is cut out or written over, no error but a diagnosis is raised."""
    rows = [ROW.format(second, 0, 98, "0x4") for second in (1, 2, 3)]
    text = "\n".join([HEADER, *rows])
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 60)))
    junk = data.draw(st.sampled_from(["", "9" * 400, "\n", "-1", '"', "\0", "\x0c", ", ", "1e400"]))
    path = tmp_path_factory.mktemp("damaged") / "gpu.csv"
    path.write_text(text[:begin] + junk + text[end:], encoding="utf-8")
    for one in (*nvidia_smi.FORMATS, *dcgm.FORMATS):
        file = OpenedFile(path)
        with suppress(ServingFileError):
            for part in one.read(file) if one.claims(file) else ():
                samples = samples_of(part)
                assert np.isfinite(samples.time_s).all()
                assert (np.diff(samples.time_s) >= 0).all()
                assert all((~(values < 0)).all() for values in samples.columns.values())


@pytest.mark.parametrize(
    "text",
    [
        "time [s],num_requests_running,kv_cache_usage_perc\n0,1,0.5\n",
        "batch,throughput\n1,2\n",
        "model,power.draw,batch\nsmall,300,4\n",
        "just words, and 5 % of them\n",
        '{"timestamp": 1}',
    ],
)
def test_other_tables_are_not_claimed(tmp_path: Path, text: str) -> None:
    """A header must be of names that nvidia-smi has."""
    assert not claimed(tmp_path, text)


@pytest.mark.parametrize("cell", ["1,5", "0x12", "1 parsec", "1e999", "--", "9" * 40])
def test_what_is_no_quantity_is_broken(cell: str) -> None:
    """A cell is a number with a unit that is known, a word for nothing, or broken."""
    assert measured(cell) == (None, True)
