"""`make bench`: the reports that it writes are sound, and a short run prints the table."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.compute as pc
import pytest

import nsightlens
from benchmarks.names import distinct_names
from benchmarks.results import NamesMeasured
from benchmarks.targets import names_verdict
from nsightlens.kernels import parse_kernel_name
from nsightlens.readers import open_each

ROOT = Path(__file__).resolve().parents[2]


def _python(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_launch_of_a_benchmark_report_has_all_metrics_and_its_own_values(
    tmp_path: Path,
) -> None:
    """A report is as heavy as it says, and no launch can be mistaken for another."""
    path = tmp_path / "basic.ncu-rep"
    _python("benchmarks.reports", "basic-2000", str(path), "--launches", "50")
    report = nsightlens.open_report(path)
    assert (len(report), len(report.metric_names)) == (50, 513)
    table = report.metric_columns(["lts__t_bytes.sum", "gpu__time_duration.sum"])
    assert pc.count_distinct(table["gpu__time_duration.sum"]).as_py() == 50
    assert table["lts__t_bytes.sum"].null_count == 0
    assert report.rules.num_rows == 4 * 50


def test_many_reports_are_sound_and_as_many_as_asked_for_are_broken(tmp_path: Path) -> None:
    """Each has a batch size, some are compressed, and no two are the same."""
    _python("benchmarks.many", str(tmp_path), "--reports", "11", "--broken", "2")
    paths = sorted(tmp_path.rglob("*.ncu-rep*"))
    assert len({path.read_bytes() for path in paths}) == 11
    assert sum(path.suffix == ".gz" for path in paths) == 1
    outcomes = list(open_each(paths))
    sound = [one for one in outcomes if isinstance(one, nsightlens.Report)]
    assert len(sound) == 9
    labels = [nsightlens.classify(report).labels for report in sound]
    for table, report in zip(labels, sound, strict=True):
        assert table["batch_size"].null_count == 0
        assert len(report) % 11 == 0


def test_the_values_of_a_launch_stay_plausible(tmp_path: Path) -> None:
    """What a kernel or the device fixes is the same in every launch, and labels can be given."""
    path = tmp_path / "metrics.ncu-rep"
    _python("benchmarks.reports", "metrics-20000", str(path), "--launches", "44")
    report = nsightlens.open_report(path)
    constant = "device__attribute_multiprocessor_count"
    column = report.metric_columns([constant])[constant]
    assert column.unique().to_pylist() == [132]
    bounds = set(nsightlens.classify(report).labels["bound"].to_pylist())
    assert bounds & {"memory", "compute"}


def test_the_names_of_the_benchmark_are_distinct_and_few_are_other() -> None:
    """They are as many as were asked for, of all families that a decode step has."""
    names = distinct_names(2000)
    assert len(set(names)) == 2000
    families = Counter(parse_kernel_name(name).family for name in names)
    assert families["other"] == 0
    assert {"attention", "gemm", "norm", "rope", "activation", "kv_cache"} <= set(families)


def test_kernel_names_have_targets_where_there_are_a_million() -> None:
    """A try with fewer says nothing of it."""
    assert list(names_verdict(NamesMeasured(1000, 1.0, 1.0))) == []
    met, missed = names_verdict(NamesMeasured(1_000_000, 19.0, 1.0))
    assert met.endswith(" met")
    assert missed.endswith("NOT MET")


@pytest.mark.slow
def test_a_short_benchmark_prints_a_row_for_each_reader_and_the_targets() -> None:
    """The whole run works, with as few launches as it can have."""
    text = _python("benchmarks", "--quick", "--launches", "2", "--only", "basic-2000")
    assert "basic-2000: --set basic, 2 launches x 513 metrics" in text
    for row in ("all metrics   nsightlens, pure", "every table", "classify      ", "--help"):
        assert row in text
    assert "basic-2000, memory with heavier sections and sources" in text
    if importlib.util.find_spec("ncu_report"):
        assert "values of three launches are the ones that ncu_report finds" in text
        assert "basic-2000, 40 metrics: time of ncu_report / ours" in text
    else:
        assert "ncu_report is not installed" in text


@pytest.mark.slow
def test_commands_over_many_reports_are_measured() -> None:
    """Each of them runs, also beside a program that reads all reports first."""
    text = _python("benchmarks.many_reports", "--reports", "2")
    rows = [line.split("  ")[0] for line in text.splitlines() if line.endswith("MB")]
    assert rows == ["sweep", "sweep, jobs 1", "export", "all at once"]
