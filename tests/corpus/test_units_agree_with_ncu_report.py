"""Units by name against those of NVIDIA's library, over every metric of the real reports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from nsightlens.units import unit_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.corpus, pytest.mark.ncu_report, pytest.mark.slow]

# NVIDIA's library keeps the metadata of the first report of a process: one process per report.
READ_UNITS = """
import json, sys, ncu_report
context, units = ncu_report.load_report(sys.argv[1]), {}
for i in range(context.num_ranges()):
    actions = context.range_by_idx(i)
    for j in range(actions.num_actions()):
        action = actions.action_by_idx(j)
        for name in action.metric_names():
            if name not in units:
                units[name] = action.metric_by_name(name).unit()
print(json.dumps(units))
"""

OUR_WORD = {"byte": "B", "hz": "Hz", "sectors": "sector", "branches": "branch"}

# Where NVIDIA names another unit than we do, and why ours is kept.
WE_DIFFER = {
    r"pcsamp_warps_issue_stalled_": "counts of samples, whatever word is in the state's name",
    r"average_warps_issue_stalled_": "cycles per instruction, as NVIDIA's own rules say",
    r"^launch__block_dim": "the dimensions of a block count threads",
    r"memory_l[12]_.*(sectors|wavefronts|tag_requests)": "the name says what is counted",
    r"^derived__pct_occupancy_per_": "a percentage, with one instance per count",
    r"^derived__s.*_pred_on_x2$": "twice a rate per cycle",
    r"^regex:": "the text of a request, which names no metric",
    r"^breakdown:": "a percentage, as the metric that it breaks down",
}


def test_every_unit_that_nvidia_knows_is_known_and_equal(corpus_reports: list[Path]) -> None:
    """Where NVIDIA's library has a unit, ours is the same, or differs for a reason given here."""
    pytest.importorskip("ncu_report")
    theirs: dict[str, str] = {}
    for report in corpus_reports:
        command = [sys.executable, "-c", READ_UNITS, str(report)]
        theirs |= json.loads(subprocess.check_output(command, text=True))
    verdicts = Counter(_verdict(name, unit) for name, unit in theirs.items())
    sys.stdout.write(f"units: {dict(verdicts)}\n")
    wrong = {
        name: (unit, unit_of(name))
        for name, unit in theirs.items()
        if _verdict(name, unit) == "wrong"
    }
    assert wrong == {}
    assert verdicts["equal"] >= 1076
    assert sum(verdicts.values()) == 1456


def _verdict(name: str, theirs: str) -> str:
    ours = unit_of(name)
    words = "/".join(OUR_WORD.get(word, word) for word in theirs.split("/"))
    if ours == words:
        return "equal"
    if not theirs:
        return "only ours" if ours else "neither"
    return "explained" if any(re.search(p, name) for p in WE_DIFFER) else "wrong"
