"""A dataset of real reports gives back every table of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.datasets import values_of

import nsightlens
from nsightlens.pipelines import export_reports

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus


def test_every_table_of_every_report_reads_back_equal(
    corpus_reports: list[Path], tmp_path: Path
) -> None:
    """On all GPUs and from all versions of ncu in one dataset."""
    summary = export_reports(corpus_reports, tmp_path / "ds")
    assert len(summary.added) == len(corpus_reports)
    dataset = nsightlens.open_dataset(tmp_path / "ds")
    written = {name: dataset.table(name) for name in dataset.tables}
    for row in dataset.reports.to_pylist():
        report = nsightlens.open_report(row["report"])
        result = nsightlens.classify(report)
        for name, table in written.items():
            if name == "reports":
                continue
            of_labels = name in ("labels", "resources", "rooflines")
            expected = getattr(result if of_labels else report, name)
            is_mine = pc.equal(table["report_id"].cast(pa.string()), row["report_id"])
            found = table.filter(is_mine).drop_columns(["report_id"])
            assert values_of(found).equals(values_of(expected)), (row["report"], name)
