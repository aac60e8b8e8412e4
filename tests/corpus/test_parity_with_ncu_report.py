"""Every real report says the same to us as to NVIDIA's own reader, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.parity import Parity, compare_report, import_ncu_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.corpus, pytest.mark.ncu_report]


@pytest.fixture(scope="module")
def parity(corpus_ncu: Path, request: pytest.FixtureRequest) -> Iterator[Parity]:
    """Return the comparison of all real reports, made once; tell the counts at the end."""
    import_ncu_report()
    found = Parity()
    for path in sorted(corpus_ncu.glob("*.ncu-rep")):
        compare_report(path, found)
    yield found
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        counts = ", ".join(f"{count:,} {aspect}" for aspect, count in found.compared.items())
        reporter.write_line(f"\ncompared with ncu_report: {counts}")


# Least number to have compared, so that an empty comparison cannot pass.
@pytest.mark.parametrize(
    ("aspect", "least"),
    [
        ("launches", 200),
        ("kinds", 200),
        ("names", 600),
        ("metric names", 90_000),
        ("scalar values", 90_000),
        ("instance counts", 90_000),
        ("instance values", 500_000),
        ("correlation ids", 500_000),
        ("NVTX states", 200),
        ("rule messages", 600),
        ("speed-ups", 100),
    ],
)
def test_every_real_report_reads_as_in_ncu_report(parity: Parity, aspect: str, least: int) -> None:
    """All files of the corpus agree with NVIDIA's reader in this aspect."""
    assert parity.differences.get(aspect, []) == []
    assert parity.compared[aspect] >= least
