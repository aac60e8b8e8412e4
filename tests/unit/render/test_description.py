"""What info says, in words."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.render.description import description_text
from nsightlens.render.style import Style, cell_width

ROW: dict[str, Any] = {
    "report": "a.ncu-rep",
    "size_bytes": 1_234_567,
    "is_text": False,
    "ncu_version": "2025.1.1.0 (build 35528883) (public-release)",
    "cuda_version": "12.8",
    "driver_version": "570.86",
    "clock_control": "none",
    "cache_control": "all",
    "replay_mode": "kernel",
    "created_at": "2025-02-01T12:00:05+00:00",
    "command_line": "python decode.py",
    "profiler_command_line": "ncu --set full python decode.py",
    "devices": [{"device_name": "NVIDIA H100 PCIe", "compute_capability": "9.0"}],
    "processes": [{"process_id": 12, "process_name": "python"}],
    "launch_count": 4,
    "failed_launch_count": 0,
    "duration_ns": 80_500.0,
    "launches_by_kind": {"kernel": 3, "range": 1},
    "launches_by_family": {"attention": 2, "gemm": 2},
    "nvtx_domains": ["<default domain>"],
    "metric_count": 1377,
    "missing_columns": [],
}
MISSING = {
    "column": "dram_bytes",
    "unit": "B",
    "missing_count": 4,
    "is_countable": True,
    "sections": ["MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Chart"],
    "metrics": ["fbpa__dram_read_bytes.sum"],
}


def _said(**changes: Any) -> str:
    return " ".join(description_text({**ROW, **changes}, Style(100)).split())


def test_a_report_is_described_in_a_screen() -> None:
    """File, tool, GPU, clocks, processes, launches."""
    assert description_text(ROW, Style(100)) == (
        "a.ncu-rep\n"
        "  size        1.23 MB\n"
        "  collected   by ncu 2025.1.1, on 2025-02-01 12:00:05 UTC, driver 570.86, CUDA 12.8\n"
        "  GPU         NVIDIA H100 PCIe (compute capability 9.0)\n"
        "  clocks      none\n"
        "  replay      kernel\n"
        "  process     python (id 12)\n"
        "  program     python decode.py\n"
        "  ncu         ncu --set full python decode.py\n"
        "  launches    3 kernel launches, 1 range, 80.5 us in all\n"
        "  families    2 attention, 2 gemm\n"
        "  NVTX        <default domain>\n"
        "  metrics     1377 names\n"
        "\n"
        "  Every measured column of the table launches is filled.\n"
    )


def test_what_is_not_known_is_said_to_be_so() -> None:
    """No line is made up."""
    unknown = dict.fromkeys(
        ("size_bytes", "ncu_version", "cuda_version", "driver_version", "clock_control",
         "replay_mode", "created_at", "command_line", "profiler_command_line", "duration_ns")
    )  # fmt: skip
    text = _said(**unknown, devices=[], processes=[], nvtx_domains=[])
    assert "by an unstated version of ncu" in text
    assert "GPU not stated" in text
    assert "size" not in text
    assert "no range was open" in text


def test_a_column_that_can_be_filled_is_listed_by_the_section_that_fills_it() -> None:
    """With the metrics that do so in fewer replays."""
    text = _said(missing_columns=[MISSING, {**MISSING, "column": "l2_bytes", "missing_count": 1}])
    assert "ncu --section MemoryWorkloadAnalysis adds dram_bytes, l2_bytes (1)" in text
    assert "ncu --metrics fbpa__dram_read_bytes.sum" in text


def test_a_column_that_this_gpu_cannot_count_is_told_from_one_that_was_not_collected() -> None:
    """The user need not look for a section that does not exist."""
    text = _said(
        missing_columns=[{**MISSING, "is_countable": False, "sections": [], "metrics": []}]
    )
    assert "This GPU has no counter for dram_bytes." in text
    assert "cannot fill" not in text


def test_a_column_without_a_section_is_still_listed() -> None:
    """By its metrics."""
    text = _said(missing_columns=[{**MISSING, "sections": []}])
    assert "no section adds (ncu stores it by itself" in text
    assert "have none of it) dram_bytes or, with fewer replays" in text


def test_text_may_only_leave_out_what_was_collected() -> None:
    """The advice is to print more, or to give the file that it was printed from."""
    text = _said(missing_columns=[{**MISSING, "sections": []}], is_text=True)
    assert "no section adds" not in text
    assert "this text does not print (give the .ncu-rep file itself" in text
    assert "--page raw --print-units base) dram_bytes" in text


def test_a_report_of_failed_launches_alone_lacks_everything() -> None:
    """What is missing of a launch that was collected is not the point."""
    text = _said(failed_launch_count=4)
    assert "No launch was collected" in text
    assert "Profile again" in text
    assert "is filled" not in text


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_long_path_does_not_stand_out(width: int) -> None:
    """It is broken where the line ends, and nothing of it is lost."""
    path = "/opt/" + "a-long-folder/" * 12 + "ncu"
    row = {**ROW, "report": path, "profiler_command_line": path, "command_line": path}
    text = description_text(row, Style(width))
    assert max(map(cell_width, text.splitlines())) <= width
    assert "".join(text.split()).count(path) == 3


def test_failed_launches_and_locked_clocks_are_told() -> None:
    """Both change what the numbers mean."""
    text = _said(failed_launch_count=1, clock_control="base")
    assert "1 failed to be collected" in text
    assert "ncu held the SM clock" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Except the list of metrics, which is there to be copied."""
    text = description_text({**ROW, "missing_columns": [MISSING]}, Style(width))
    for line in text.splitlines():
        assert cell_width(line) <= width or "ncu --" in line
