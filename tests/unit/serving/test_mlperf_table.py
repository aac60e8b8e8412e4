"""Tables of MLPerf are known, and refused for what they lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.mlperf_table import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

(MLPERF,) = FORMATS
FLAT = (
    "Public ID\tOrganization\tSystem Name (click + for details)\tAccelerator\tScenario\tUnits\t"
    "Avg. Result at System Name\n9.9-0001\tUs\tBox\tGPU\tOffline\tTokens/s\t100\n"
)
PIVOT = (
    ",,,,Benchmark / Model / Scenario,\n,,,,Inference,\n,,,,model,\n,,,,Offline,Server\n"
    "Public ID,Organization,System Name (click + for details),Accelerator,Tokens/s,Tokens/s\n"
    "9.9-0001,Us,Box,GPU,100,90\n"
)


def _file(folder: Path, data: bytes) -> OpenedFile:
    path = folder / "mlperf.csv"
    path.write_bytes(data)
    return OpenedFile(path, path.name)


@pytest.mark.parametrize("data", [FLAT.encode("utf-16"), FLAT.encode(), PIVOT.encode()])
def test_both_exports_are_refused_with_the_reason(tmp_path: Path, data: bytes) -> None:
    """In UTF-16 with tabs, and with rows of pivot headers."""
    file = _file(tmp_path, data)
    assert MLPERF.claims(file)
    with pytest.raises(ServingFileError, match="one throughput per system, no batch size"):
        MLPERF.read(file)


@pytest.mark.parametrize(
    "data", [b"public id,batch,itl_ms\n1,2,3\n", b'{"public id": 1}', b"Public ID \0\1"]
)
def test_other_files_are_not_claimed(tmp_path: Path, data: bytes) -> None:
    """One word is not enough."""
    assert not MLPERF.claims(_file(tmp_path, data))
