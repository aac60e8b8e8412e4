"""Rooflines of the real reports: bytes, roofs and percentages of one path agree, at every level."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsightlens.analysis import classify
from nsightlens.devices import PEAK_SOURCES, peak_rates, rate_of
from nsightlens.devices.columns import first_known, metric, number_column
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from nsightlens.analysis import Classification
    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

PCT = "pct_of_peak_sustained_elapsed"
CYCLES = "l1tex__lsu_writeback_active_mem_{}.sum"


class Corpus:
    """All real reports as one, with their rooflines by level and launch."""

    def __init__(self, report: Report, result: Classification) -> None:
        self.report, self.result = report, result
        keys = report.launches.select(["report", "launch_id"]).to_pylist()
        self.row_of = {(one["report"], one["launch_id"]): i for i, one in enumerate(keys)}
        self.rows = result.rooflines.to_pylist()

    def column(self, level: str, name: str) -> NDArray[np.float64]:
        """Return a column of one level, NaN for launches without it."""
        values = np.full(len(self.report), np.nan)
        for row in self.rows:
            if row["level"] == level and row[name] is not None:
                values[self.row_of[row["report"], row["launch_id"]]] = row[name]
        return values

    def metric(self, *names: str) -> NDArray[np.float64]:
        """Return the first of some metrics that a launch has."""
        return first_known(*(metric(self.report.store, name) for name in names))


@pytest.fixture(scope="module")
def corpus(corpus_reports: list[Path]) -> Corpus:
    report = open_report([str(path) for path in corpus_reports])
    return Corpus(report, classify(report))


def compared(a: NDArray[np.float64], b: NDArray[np.float64], rel: float) -> int:
    """Check that two columns agree wherever both are known; return in how many launches."""
    both = ~np.isnan(a) & ~np.isnan(b)
    assert a[both] == pytest.approx(b[both], rel=rel)
    return int(both.sum())


def test_the_fraction_of_each_path_is_the_percentage_that_ncu_stores(corpus: Corpus) -> None:
    """Bytes over duration over roof, to half a percent of it: L2 look-ups, L1 returns, DRAM."""
    l2 = corpus.metric(f"lts__t_sectors.avg.{PCT}") / 100
    l1 = corpus.metric(*(f"{CYCLES.format(one)}.{PCT}" for one in ("lgds", "lg"))) / 100
    fraction = {level: corpus.column(level, "fraction_of_bandwidth") for level in ("l2", "l1")}
    counts = {
        "l2": compared(fraction["l2"], l2, 0.005),
        "l1": compared(fraction["l1"], l1, 0.005),
    }
    sys.stdout.write(f"fractions of bandwidth: {counts}\n")
    assert counts == {"l2": 46, "l1": 46}


def test_the_roof_of_l1_is_128_bytes_per_sm_and_cycle(corpus: Corpus) -> None:
    """What follows from a count and its percentage is what the architecture says."""
    stored = corpus.column("l1", "peak_bytes_per_s")
    launches = corpus.report.launches
    expected = 128 * number_column(launches, "sm_count") * number_column(launches, "sm_clock_hz")
    assert compared(stored, expected, 0.01) == 46


def test_the_roof_of_l2_is_slices_times_sectors_times_clock(corpus: Corpus) -> None:
    """What follows from a count and its percentage, where L2's clock is stored as well."""
    stored = corpus.column("l2", "peak_bytes_per_s")
    sectors, slices = (
        corpus.metric("lts__t_sectors.avg.peak_sustained"),
        corpus.metric("device__attribute_l2s_count"),
    )
    clock = number_column(corpus.report.launches, "l2_clock_hz")
    assert compared(stored, 32 * sectors * slices * clock, 0.01) == 31
    # Where it is not, the clock that the roof implies is near that of the SMs (A100, A40).
    implied = stored / (32 * sectors * slices)
    ratio = implied / number_column(corpus.report.launches, "sm_clock_hz")
    known = (
        ~np.isnan(ratio)
        & np.isnan(clock)
        & (corpus.report.launches["duration_ns"].to_numpy() > 1e5)
    )
    assert known.sum() > 8
    assert ((ratio[known] > 0.8) & (ratio[known] < 1.1)).all()


def test_rates_of_l2_are_the_peaks_of_one_slice(corpus: Corpus) -> None:
    """Sectors that a slice looks up per cycle; ncu changed its mind about the A100 since 2021."""
    sectors = corpus.metric("lts__t_sectors.avg.peak_sustained").tolist()
    capability = corpus.report.launches["compute_capability"].to_pylist()
    versions = {row["report"]: row["ncu_version"] for row in corpus.report.sessions.to_pylist()}
    reports = corpus.report.launches["report"].to_pylist()
    checked: Counter[str] = Counter()
    for cc, per_slice, name in zip(capability, sectors, reports, strict=True):
        if per_slice > 0:
            is_old = cc == "8.0" and versions[name] < "2022"
            assert 32 * per_slice == (64 if is_old else rate_of(cc, "l2"))
            checked[cc] += 1
    assert set(checked) == {"8.0", "8.6", "9.0"}


def test_no_path_is_busier_than_its_level(corpus: Corpus) -> None:
    """NVIDIA's throughput of L1 and L2 is a maximum over their paths, this one among them."""
    counts = {}
    for level, name in (
        ("l2", f"lts__throughput.avg.{PCT}"),
        ("l1", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    ):
        most, fraction = corpus.metric(name) / 100, corpus.column(level, "fraction_of_bandwidth")
        both = ~np.isnan(most) & ~np.isnan(fraction)
        assert (fraction[both] <= most[both] * 1.005).all()
        counts[level] = int(both.sum())
    assert counts == {"l2": 46, "l1": 46}


def test_the_row_of_dram_says_what_the_label_says(corpus: Corpus) -> None:
    """Intensity, ridge point and classical answer."""
    rows = {(row["report"], row["launch_id"]): row for row in corpus.rows if row["level"] == "dram"}
    checked: Counter[str] = Counter()
    for label in corpus.result.labels.to_pylist():
        row = rows.get((label["report"], label["launch_id"]))
        for name in ("arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte"):
            value = row[name] if row else None
            assert label[name] == (None if value is None else pytest.approx(value))
            checked[name] += value is not None
        assert label["roofline_bound"] == (row["roofline_bound"] if row else "unknown")
    # In 27 launches more it is FP16 that was not counted, and no other operation was done.
    assert checked["arithmetic_intensity_flop_per_byte"] >= 17


def test_one_launch_lies_right_of_the_ridge_of_dram_and_left_of_those_of_caches(
    corpus: Corpus,
) -> None:
    """A search in a tree, in FP64 on an A100: what it reads again and again stays in L2 and L1."""
    rows = {row["level"]: row for row in corpus.rows if "TINYK2" in row["report"]}
    bounds = {name: row["roofline_bound"] for name, row in rows.items()}
    assert bounds == {"dram": "compute", "l2": "memory", "l1": "memory"}
    intensity = {n: row["arithmetic_intensity_flop_per_byte"] for n, row in rows.items()}
    assert intensity["dram"] > intensity["l2"] > intensity["l1"]
    assert rows["l1"]["fraction_of_roof"] == pytest.approx(0.2514, abs=1e-4)


def test_the_busiest_counter_has_the_value_of_the_activity(corpus: Corpus) -> None:
    """Exactly, in every row that names one."""
    checked: Counter[str] = Counter()
    values: dict[str, NDArray[np.float64]] = {}
    for row in corpus.result.resources.to_pylist():
        name = row["busiest_counter"]
        if name is None:
            continue
        value = values.setdefault(name, metric(corpus.report.store, name))
        launch = corpus.row_of[row["report"], row["launch_id"]]
        assert row["fraction_of_peak"] == pytest.approx(value[launch] / 100, rel=1e-9)
        checked[row["resource"]] += 1
    sys.stdout.write(f"busiest counters: {dict(checked)}\n")
    assert min(checked[name] for name in ("issue", "l1", "l2")) == 227


def test_a_cache_that_limits_is_what_an_expert_would_name(corpus: Corpus) -> None:
    """Every launch that L1 or L2 limits, by the counter that makes it so."""
    named = {
        (row["report"], row["launch_id"], row["resource"]): row["busiest_counter"]
        for row in corpus.result.resources.to_pylist()
    }
    found: Counter[tuple[str, str]] = Counter()
    for label in corpus.result.labels.to_pylist():
        if label["limiter"] in ("l1", "l2"):
            counter = named[label["report"], label["launch_id"], label["limiter"]]
            found[label["limiter"], counter.partition(".")[0]] += 1
    assert found == {
        ("l1", "l1tex__data_pipe_lsu_wavefronts"): 9,
        ("l1", "sm__inst_executed_pipe_lsu"): 14,
        ("l2", "lts__lts2xbar_cycles_active"): 4,
        # Short, with a DRAM percentage of a clock that is too low.
        ("l2", "lts__t_sectors"): 3,
        ("l2", "lts__t_tag_requests"): 19,
    }


def test_every_level_has_a_peak_with_a_source(corpus: Corpus) -> None:
    """Where bytes were counted, the report itself has the roof."""
    counts: Counter[tuple[Any, ...]] = Counter(
        (row["level"], row["bytes_counted"], row["peak_bytes_source"]) for row in corpus.rows
    )
    assert counts["l2", "looked_up", "report"] == counts["l1", "returned", "report"] == 46
    peaks = peak_rates(corpus.report, ["l1_returned"])
    assert (peaks.source["l1_returned"] == PEAK_SOURCES.index("report")).sum() == 46
