"""The trace of the benchmark is a sound one, so that its figures mean something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import nsightlens
from benchmarks.traces import attribution_s, decode_run, write_export

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["trace.sqlite", "trace_pqtdir"])
def test_every_kernel_of_the_benchmark_is_in_its_ranges(tmp_path: Path, name: str) -> None:
    """Step, layer and operation, which nest; nothing is to be said of the trace."""
    path = tmp_path / name
    write_export(decode_run(640), path)
    trace = nsightlens.open_trace(path)
    assert trace.warnings == ()
    paths = trace.kernels["nvtx_path"].to_pylist()
    assert paths[0] == "decode_step bs=32 ctx=500/layer 0/op 0"
    assert paths[-1] == "decode_step bs=32 ctx=500/layer 31/op 9"
    assert {one.count("/") for one in paths} == {2}
    assert set(attribution_s(path)) == {"calls", "stacks", "paths"}
