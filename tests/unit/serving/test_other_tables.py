"""Tables of single requests are refused, so that nobody takes a request for a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.tabular.other_tables import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

(REQUESTS,) = FORMATS


def _file(folder: Path, text: str) -> OpenedFile:
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return OpenedFile(path, path.name)


@pytest.mark.parametrize("name", ["request_id", "Request ID", "req_id", "x-request-id"])
def test_a_table_with_a_row_per_request_is_refused(tmp_path: Path, name: str) -> None:
    """Its latencies look like those of runs."""
    file = _file(tmp_path, f"{name},batch,itl_ms\na,1,3\nb,1,4\n")
    assert REQUESTS.claims(file)
    with pytest.raises(ServingFileError, match="a row per request, not per run"):
        REQUESTS.read(file)


def test_counts_of_requests_are_no_requests(tmp_path: Path) -> None:
    """A table of runs says how many there were."""
    assert not REQUESTS.claims(_file(tmp_path, "num_requests,batch,itl_ms\n9,1,3\n"))
