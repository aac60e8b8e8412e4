"""Which reports a folder stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.reports import write_empty_report

from nsightlens.errors import ReportNotFoundError
from nsightlens.readers import find_reports

if TYPE_CHECKING:
    from pathlib import Path


def test_a_report_that_is_being_written_is_none_yet(tmp_path: Path) -> None:
    """A run folder may be read while it is made."""
    run = tmp_path / "run"
    for folder in ("reports", ".partial"):
        (run / folder).mkdir(parents=True)
        write_empty_report(run / folder)
    assert find_reports([run]) == [run / "reports" / "empty.ncu-rep"]
    assert find_reports([tmp_path]) == [run / "reports" / "empty.ncu-rep"]
    assert find_reports([run / ".partial"]) == [run / ".partial" / "empty.ncu-rep"]
    (run / "reports" / "empty.ncu-rep").unlink()
    with pytest.raises(ReportNotFoundError, match=r"holds no \.ncu-rep file"):
        find_reports([run])
