"""What sizes are measured, and which SM clock belongs to which measurement."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kernels_under_test import ceilings
from kernels_under_test.ceilings_clock import ClockSample, clock_within, sampled_clocks

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
NOON = datetime(2026, 12, 1, 12)

needs_posix = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")


def _gpu(*, free: int, l2: int) -> Any:
    """Return what stands for PyTorch with a GPU of this free memory and L2 [B]."""
    cuda = SimpleNamespace(
        mem_get_info=lambda _: (free, 2 * free),
        get_device_properties=lambda _: SimpleNamespace(L2_cache_size=l2),
    )
    return SimpleNamespace(cuda=cuda)


def _smi(tmp_path: Path, body: str) -> str:
    """Write a program that stands for nvidia-smi, and notes how it was called."""
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"#!{sys.executable}\n"
        "import datetime, pathlib, sys, time\n"
        f"pathlib.Path({str(tmp_path / 'argv')!r}).write_text(' '.join(sys.argv[1:]))\n" + body
    )
    program.chmod(0o755)
    return str(program)


def test_a_copy_is_much_larger_than_l2() -> None:
    """Of the sizes that there are, those that also fit into the free memory."""
    shapes = ceilings._shapes(_gpu(free=100 << 30, l2=50 * MIB), "copy", "float32", "cuda:0")
    assert [4 * one["elements"] for one in shapes] == [1 << 30, 1 << 32]


def test_a_copy_takes_what_there_is_where_that_is_still_enough() -> None:
    """Less than the smallest size, and more than eight times L2."""
    shapes = ceilings._shapes(_gpu(free=500 * MIB, l2=4 * MIB), "copy", "float32", "cuda:0")
    assert [4 * one["elements"] for one in shapes] == [100 * MIB]


def test_a_copy_that_l2_would_hold_is_not_measured() -> None:
    """It would show the rate of L2 as that of DRAM."""
    assert ceilings._shapes(_gpu(free=500 * MIB, l2=50 * MIB), "copy", "float32", "cuda:0") == []


def test_a_gemm_fits_into_the_free_memory() -> None:
    """Three matrices; the largest not in FP32 and FP64, which are many times slower."""
    large, small = _gpu(free=100 << 30, l2=MIB), _gpu(free=600 * MIB, l2=MIB)
    assert [one["m"] for one in ceilings._shapes(large, "gemm", "bfloat16", "cuda:0")] == [
        4096, 8192, 16384,
    ]  # fmt: skip
    assert [one["m"] for one in ceilings._shapes(large, "gemm", "float64", "cuda:0")] == [
        4096, 8192,
    ]  # fmt: skip
    assert [one["m"] for one in ceilings._shapes(small, "gemm", "bfloat16", "cuda:0")] == [4096]


def test_a_clock_is_the_median_of_a_measurement_without_its_warm_up() -> None:
    """What was read before, in its first fifth or after it is not of it."""
    clocks = {-1: 3e8, 1: 4e8, 3: 1.7e9, 6: 1.8e9, 9: 1.9e9, 11: 5e8}
    samples = [ClockSample(NOON + timedelta(seconds=at), hz) for at, hz in clocks.items()]
    assert clock_within(samples, NOON, NOON + timedelta(seconds=10)) == 1.8e9
    assert clock_within(samples[:2], NOON, NOON + timedelta(seconds=10)) is None


@needs_posix
def test_clocks_are_read_of_the_gpu_that_is_measured(tmp_path: Path) -> None:
    """By its identity; lines that are no sample are left out."""
    program = _smi(
        tmp_path,
        "while True:\n"
        "    now = datetime.datetime.now().strftime('%Y/%m/%d %H:%M:%S.%f')[:-3]\n"
        "    print(f'{now}, 1755\\n{now}, [N/A]\\n2026/', flush=True)\n"
        "    time.sleep(0.01)\n",
    )
    with sampled_clocks("00000000-1111", program) as samples:
        begin = datetime.now()
        assert samples == []
        time.sleep(0.1)
        end = datetime.now()
    assert clock_within(samples, begin, end) == 1.755e9
    argv = (tmp_path / "argv").read_text()
    assert argv.startswith("-i GPU-00000000-1111 --query-gpu=timestamp,clocks.sm ")


@needs_posix
def test_a_program_that_cannot_tell_a_clock_is_not_waited_for(tmp_path: Path) -> None:
    """As nvidia-smi for a part of a GPU: it ends, and the measurement goes on."""
    program = _smi(tmp_path, "sys.exit('No devices were found')\n")
    with sampled_clocks("00000000-1111", program) as samples:
        pass
    assert samples == []


def test_without_nvidia_smi_or_an_identity_there_are_no_clocks(tmp_path: Path) -> None:
    """Rather none than those of another GPU."""
    with sampled_clocks("00000000-1111", str(tmp_path / "nvidia-smi")) as samples:
        pass
    with sampled_clocks(None) as others:
        pass
    assert samples == others == []
