"""Every spelling of bytes and tensor work in the real reports is read, or known to be no work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from nsightlens.metrics.catalog import CATALOG
from nsightlens.metrics.formula import formula
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.corpus

WORK = re.compile(
    r"ops_path_tensor|dram__(bytes|sectors)|fbpa__dram|lts__t_(bytes|sectors)|l1tex__t_(bytes|sectors)"
)
NOT_WORK = (
    (r"\.(min|max|avg)(\.|$)", "a statistic over the units, not their sum"),
    (r"\.pct_of_peak_", "a percentage, which activity reads"),
    (r"\.peak_sustained$", "a peak, which devices reads"),
    (r"_lookup_(hit|miss)|_evict_|_srcunit_|_srcnode_|_aperture_", "a part of the sectors"),
    (r"lts__t_sectors_(op|data_ecc)", "a part of the sectors"),
    (r"l1tex__t_sectors_pipe_lsu_mem_dshared", "shared memory of another SM: not in L1"),
    (r"_sector_hit_rate", "a quotient"),
    (r"src_bf16_dst_bf16", "no chip has it: a user asked for it, and ncu stored n/a"),
)  # fmt: skip
"""What is not read as work, and why."""


def test_every_spelling_of_work_is_read(corpus_reports: list[Path]) -> None:
    """A name that the catalog does not know would be work that no column has."""
    read = {name for entry in CATALOG for text in entry.formulas for name in formula(text).metrics}
    names = set(open_report([str(path) for path in corpus_reports]).store.names)
    work = {name for name in names if WORK.search(name)}
    assert len(work) > 100
    left = {name for name in work - read if not any(re.search(p, name) for p, _ in NOT_WORK)}
    assert left == set()


def test_sums_of_bytes_fill_their_columns(corpus_reports: list[Path]) -> None:
    """Wherever a launch has read and written bytes of DRAM, or sectors of L2, it has the column."""
    report = open_report([str(path) for path in corpus_reports])
    for column, needed in (
        ("dram_bytes", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        ("l2_bytes", ("lts__t_sectors.sum",)),
        ("l1_bytes", ("l1tex__t_sectors.sum",)),
        ("l2_memory_bytes", ("lts__t_sectors_aperture_sysmem_lookup_miss.sum",)),
    ):
        values = report.launches[column].to_pylist()
        stored = [report.store.number(name) for name in needed]
        has_all = [
            all(is_number[i] and number[i] == number[i] for number, is_number in stored)
            for i in range(len(report))
        ]
        filled = [value is not None for value in values]
        assert any(has_all) or column == "l1_bytes"
        assert all(is_filled for is_filled, has in zip(filled, has_all, strict=True) if has)
