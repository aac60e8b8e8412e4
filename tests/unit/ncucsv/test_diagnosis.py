"""A text without a table of ncu is told what it is, and what to do about it."""

from __future__ import annotations

import pytest

from nsightlens.errors import NotAReportError
from nsightlens.ncucsv import read_ncu_csv

CONNECTED = "==PROF== Connected to process 1 (/bin/app)\n"


def told(text: str) -> str:
    with pytest.raises(NotAReportError) as caught:
        read_ncu_csv("x.txt", text)
    return str(caught.value)


NO_PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU"
    " Performance Counters on the target device 0.\n"
)
APPLICATION_FAILED = "==ERROR== The application returned an error code (11).\n"
NO_KERNELS = "==WARNING== No kernels were profiled.\n"
DETAILS_TEXT = (
    "  axpy(int) (8, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 8.6\n"
    "    Section: GPU Speed Of Light Throughput\n"
)


@pytest.mark.parametrize(
    ("text", "found", "advice"),
    [
        (NO_PERMISSION + NO_KERNELS, "'No kernels were profiled'", "NVreg_RestrictProfilingTo"),
        (APPLICATION_FAILED + NO_KERNELS, "error code (11)' and 'No kernels", "ends with 0"),
        (NO_KERNELS, "'No kernels were profiled'", "filters of ncu"),
        ("==ERROR== File a.ncu-rep already exists. Use '-f'", "already exists", "with -f"),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", "unavailable",
         "dcgmi profile --pause"),
        ("==ERROR== LaunchFailed", "'LaunchFailed'", "runs without ncu"),
        ("==ERROR== unrecognised option '--x'.", "unrecognised option", "command line of ncu"),
        ("==ERROR== Nsight Compute failed to connect to the CUDA driver", "failed to connect",
         "whose driver"),
        ("==ERROR== Something new.", "'Something new'", "profile again"),
        ("==PROF== Disconnected from process 1", "a console log of ncu", "--page raw"),
    ],
)  # fmt: skip
def test_a_console_log_is_told_by_its_most_telling_line(text: str, found: str, advice: str) -> None:
    """Errors before warnings, with what helps against each."""
    message = told(CONNECTED + text)
    assert "this is a console log of ncu, not a table" in message
    assert found in message
    assert advice in message


def test_a_log_that_names_its_report_leads_to_it() -> None:
    """The launches are there, even if the application failed afterwards."""
    log = CONNECTED + "==ERROR== The application returned an error code (1).\n"
    assert "Give the report that it names, /a/b.ncu-rep." in told(
        log + "==PROF== Report: /a/b.ncu-rep"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DETAILS_TEXT, "in line 1: this is the text that ncu prints without --csv"),
        ("Time (%),Total Time (ns),Instances,Name\n24.9,12,3,k\n", "output of nsys"),
        ("Start (ns),Duration (ns),CorrId,Name\n1,2,3,k\n", "output of nsys"),
        (" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n", "output of nsys"),
        ("==12== NVPROF is profiling process 12\n", "output of nvprof"),
        ("kernel_id,classification\nk1,memory_bound\n",
         "a table with the columns 'kernel_id', 'classification'"),
        ("a;b;c;d;e;f;g;h\n1;2;3;4;5;6;7;8\n", "'f' and 2 more"),
        ('"#","Address","Source"\n"0","0x1","MOV"\n', "the source page of ncu"),
        ('"Kernel Name","axpy(float*)"\n"#","Source","Samples"\n"0","MOV","3"\n',
         "in line 2: this is the source page of ncu (--page source)"),
        ('"Device Attributes","Value"\n"display_name","NVIDIA H100"\n',
         "this is the session page of ncu (--page session), which has no launches"),
        ("[77] app@127.0.0.1\n  Launch Details\n  Device Name  NVIDIA H100\n",
         "in line 2: this is the session page of ncu"),
        ('{"launches": []}', "this is JSON"),
        ("Dear all,\nplease find attached", "it begins with 'Dear all,'"),
        ("bell\a and escape\x1b[0m", "begins with 'bell? and escape?[0m'"),
    ],
)  # fmt: skip
def test_other_text_is_told_by_what_it_is(text: str, found: str) -> None:
    """With the columns of a table, or the beginning of anything else."""
    message = told(text)
    assert found in message
    assert "Give the .ncu-rep" in message
    assert message.isprintable()
