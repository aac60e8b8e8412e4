"""Our columns against what NVIDIA's own rules say inside the real reports, to the printed digit."""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsightlens.analysis import classify
from nsightlens.analysis.measure import measure_usage
from nsightlens.analysis.usage import INDEX
from nsightlens.devices import peak_rates
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

LIMIT_IN_WORDS = {
    "registers": "the number of required registers",
    "shared_mem": "the required amount of shared memory",
    "warps": "the number of warps within each block",
}
NOT_LIMITED = "not impacted by any block limit"
# The rule itself failed, on a launch that was not collected.
FAILED = re.compile(r"returned an error|returned a result with an exception|division by zero")


class Corpus:
    """Every rule message of the reports, with the row of its launch."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.launches = report.launches.to_pylist()
        self._row = {(one["report"], one["launch_id"]): i for i, one in enumerate(self.launches)}

    def messages(self, *rules: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the messages of some rules, each with the row of its launch."""
        for rule in self.report.rules.to_pylist():
            if rule["rule"] in rules:
                yield self._row[rule["report"], rule["launch_id"]], rule

    @cached_property
    def percent_of_peak(self) -> dict[str, NDArray[np.float64]]:
        """FLOPs over duration over peak, per launch, for fp32 and fp64."""
        seconds = np.asarray(self.report.launches["duration_ns"].to_numpy()) / 1e9
        peaks = peak_rates(self.report, ["fp32", "fp64"])
        return {
            kind: 100
            * self.report.launches[f"{kind}_flop_count"].to_numpy()
            / seconds
            / peaks.rate[kind]
            for kind in ("fp32", "fp64")
        }


@pytest.fixture(scope="module")
def corpus(corpus_reports: list[Path]) -> Corpus:
    return Corpus(open_report(corpus_reports))


def compare(
    corpus: Corpus, rules: tuple[str, ...], check: Callable[[int, dict[str, Any]], str]
) -> Counter[str]:
    """Check every message of some rules; count the messages by what was compared."""
    counts = Counter(check(row, rule) for row, rule in corpus.messages(*rules))
    sys.stdout.write(f"{' '.join(rules)}: {dict(counts)}\n")
    return counts


def is_uncollected(launch: dict[str, Any], columns: tuple[str, ...]) -> bool:
    return launch["is_failed_collection"] and all(launch[name] is None for name in columns)


def test_fp32_and_fp64_percent_of_peak_equal_the_roofline_rule(corpus: Corpus) -> None:
    """What SOLFPRoofline prints is FLOPs over duration over peak, from our columns."""

    def check(row: int, rule: dict[str, Any]) -> str:
        text = rule["message"]
        if FAILED.search(text):
            assert is_uncollected(
                corpus.launches[row], ("fp32_flop_count", "fp64_flop_count", "duration_ns")
            )
            return "rule failed"
        found = re.search(
            r"device is (\d+):1\. The kernel achieved +(.+?)% of this device's fp32 peak"
            r" performance and +(.+?)% of its fp64 peak",
            text,
        )
        assert found, text
        kind = "figures"
        for name, printed in zip(("fp32", "fp64"), found.groups()[1:], strict=True):
            percent = corpus.percent_of_peak[name][row]
            if printed == "close to 0":
                assert 0 < percent < 0.5
                kind = "close to 0"
            elif printed == "0":
                assert percent == 0
            else:
                assert f"{percent:.0f}" == printed
        return kind

    counts = compare(corpus, ("SOLFPRoofline",), check)
    assert counts == {"figures": 45, "close to 0": 1, "rule failed": 2}


def test_labels_rest_on_the_percentages_of_the_roofline_rule(corpus: Corpus) -> None:
    """The roofline times of FP32 and FP64 are those percentages of the duration.

    So are their fractions in the table of resources, but where the pipe was active for longer than
    its operations need: seven FP64 launches do more than multiply-adds.
    """
    usage = measure_usage(corpus.report)
    resources = {
        (one["report"], one["launch_id"], one["resource"]): one
        for one in classify(corpus.report).resources.to_pylist()
    }
    counts: Counter[tuple[str, str]] = Counter()
    for row, rule in corpus.messages("SOLFPRoofline"):
        for name in ("fp32", "fp64"):
            percent = 100 * usage.flop_ns[INDEX[name], row] / usage.duration_ns[row]
            if FAILED.search(rule["message"]):
                assert np.isnan(percent)
                continue
            assert percent == pytest.approx(corpus.percent_of_peak[name][row], rel=1e-12)
            one = resources[rule["report"], rule["launch_id"], name]
            counts[name, one["measured_by"]] += 1
            if one["measured_by"] == "counter":
                assert 100 * one["fraction_of_peak"] == pytest.approx(percent, rel=1e-12)
            else:
                assert 100 * one["fraction_of_peak"] > percent
    assert counts == {("fp32", "counter"): 46, ("fp64", "counter"): 39, ("fp64", "activity"): 7}


def test_the_ratio_of_fp32_to_fp64_peak_equals_the_roofline_rule(corpus: Corpus) -> None:
    """The two peaks have the ratio that SOLFPRoofline prints."""
    peaks = peak_rates(corpus.report, ["fp32", "fp64"])

    def check(row: int, rule: dict[str, Any]) -> str:
        found = re.search(r"device is (\d+):1", rule["message"])
        if not found:
            return "rule failed"
        ratio = peaks.rate["fp32"][row] / peaks.rate["fp64"][row]
        assert f"{ratio:.0f}" == found[1]
        return "ratio"

    assert compare(corpus, ("SOLFPRoofline",), check) == {"ratio": 46, "rule failed": 2}


def test_occupancy_and_its_limiters_equal_the_occupancy_rules(corpus: Corpus) -> None:
    """Theoretical and achieved occupancy and every named limiter are those of three rules."""

    def check(row: int, rule: dict[str, Any]) -> str:
        text, launch = rule["message"], corpus.launches[row]
        theoretical, achieved = (
            launch["theoretical_occupancy_pct"],
            launch["achieved_occupancy_pct"],
        )
        if FAILED.search(text):
            assert is_uncollected(
                launch,
                ("theoretical_occupancy_pct", "achieved_occupancy_pct", "occupancy_limiter"),
            )
            return "rule failed"
        parts = []
        for printed in re.findall(r"theoretical(?: occupancy)? \((.+?)%\)", text):
            assert f"{theoretical:.1f}" == printed
            parts = ["theoretical"]
        for printed in re.findall(r"measured achieved occupancy \((.+?)%\)", text):
            assert f"{achieved:.1f}" == printed
            parts.append("achieved")
        for printed, most in re.findall(r"The (\S+) theoretical warps.* maximum of (\d+)", text):
            assert f"{theoretical / 100 * int(most):.2f}" == printed
            parts.append("warps")
        if NOT_LIMITED in text:
            assert theoretical == 100
            assert launch["occupancy_limiter"] == "none"
            parts.append("no limiter")
        named = {limit for limit, words in LIMIT_IN_WORDS.items() if words in text}
        if named:
            assert set(launch["occupancy_limiter"].split("+")) == named
            parts.append("limiter")
        assert parts, text
        return " + ".join(parts)

    counts = compare(corpus, ("Occupancy",), check)
    assert counts == {
        "theoretical + limiter": 16,
        "theoretical + achieved + limiter": 3,
        "theoretical + achieved + no limiter": 10,
        "no limiter": 9,
        "rule failed": 8,
    }
    assert compare(corpus, ("AchievedOccupancy",), check) == {"theoretical + achieved": 32}
    counts = compare(corpus, ("TheoreticalOccupancy",), check)
    assert counts == {"theoretical + warps + limiter": 8}


def test_the_top_stall_its_cycles_and_its_share_equal_the_stall_rules(corpus: Corpus) -> None:
    """What CPIStall names is our top stall, with the same cycles, share and latency."""

    def check(row: int, rule: dict[str, Any]) -> str:
        text, launch = rule["message"], corpus.launches[row]
        found = re.search(
            r"spends (\S+) cycles .* about (\S+)% of the total average of (\S+) cycles", text
        )
        if not found:
            assert text.startswith("Check the @section:SourceCounters")
            return "pointer without figures"
        assert launch["top_stall"] == _stall_reason(rule)
        ours = (
            launch["top_stall_cycles_per_issue"],
            launch["top_stall_pct"],
            launch["warp_cycles_per_issue"],
        )
        assert tuple(f"{number:.1f}" for number in ours) == found.groups()
        return "figures"

    counts = compare(corpus, ("CPIStall",), check)
    assert counts == {"figures": 36, "pointer without figures": 36}
    # Older versions have a rule per state.
    older = ("CPIStallLongScoreboard", "CPIStallBarrier")
    assert compare(corpus, older, check) == {"figures": 3}


def test_issue_rate_and_warps_equal_the_issue_slot_rule(corpus: Corpus) -> None:
    """Cycles per issue, active and eligible warps are those of IssueSlotUtilization."""

    def check(row: int, rule: dict[str, Any]) -> str:
        launch = corpus.launches[row]
        found = re.search(
            r"an instruction every (\S+) cycles.*average of (\S+) active warps per scheduler, but"
            r" only an average of (\S+) warps were eligible",
            rule["message"],
        )
        if not found:
            assert "theoretical warps per scheduler" in rule["message"]
            return "theoretical warps only"
        every, active, eligible = found.groups()
        assert f"{100 / launch['issue_active_pct']:.1f}" == every
        assert f"{launch['active_warps_per_scheduler']:.2f}" == active
        assert f"{launch['eligible_warps_per_scheduler']:.2f}" == eligible
        return "figures"

    counts = compare(corpus, ("IssueSlotUtilization",), check)
    assert counts == {"figures": 46, "theoretical warps only": 3}


def test_grid_and_waves_equal_the_rules_on_small_grids(corpus: Corpus) -> None:
    """Blocks, multiprocessors and waves are those of LaunchConfiguration and SOLBottleneck."""

    def check(row: int, rule: dict[str, Any]) -> str:
        launch = corpus.launches[row]
        if waves := re.search(r"resulting in only (\S+) full waves", rule["message"]):
            assert f"{launch['waves_per_multiprocessor']:.1f}" == waves[1]
            return "waves"
        grid = re.search(r"only (\S+) blocks, .* GPU's (\d+) multiprocessors", rule["message"])
        if grid:
            assert str(launch["grid_block_count"]) == grid[1]
            assert str(launch["sm_count"]) == grid[2]
            return "blocks"
        return "other"

    assert compare(corpus, ("LaunchConfiguration",), check)["blocks"] == 18
    assert compare(corpus, ("SOLBottleneck",), check)["waves"] == 33


def test_the_stall_table_says_the_same_as_the_launches(corpus: Corpus) -> None:
    """The row of the top stall in ``stalls`` has the cycles and the share of ``launches``."""
    stalls = {
        (one["report"], one["launch_id"], one["stall_reason"]): one
        for one in corpus.report.stalls.to_pylist()
    }
    with_stall = [one for one in corpus.launches if one["top_stall"] is not None]
    for launch in with_stall:
        row = stalls[launch["report"], launch["launch_id"], launch["top_stall"]]
        assert row["cycles_per_issue"] == launch["top_stall_cycles_per_issue"]
        assert row["share_of_warp_latency_pct"] == launch["top_stall_pct"]
    assert len(with_stall) == 46


def _stall_reason(rule: dict[str, Any]) -> str:
    """Return the state that a message is about, from its title or, in older ones, its rule."""
    title: str = rule["title"] or re.sub("(?<!^)(?=[A-Z])", "_", rule["rule"][len("CPIStall") :])
    return title.lower().removesuffix(" stalls").replace(" ", "_")
