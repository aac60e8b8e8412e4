"""Real reports survive being read and written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.contents import contents, read_back

from nsightlens.ncurep import read_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def test_every_real_report_can_be_written_again(corpus_reports: list[Path], tmp_path: Path) -> None:
    """Results, metrics, instances, NVTX states, rules and sessions are equal after a round trip."""
    for path in corpus_reports:
        read = read_ncu_rep(path, instances=True)
        again = read_back(tmp_path, read)
        assert contents(again) == contents(read), path.name
        assert again.sessions == read.sessions, path.name
