"""Comparisons of real reports: of themselves, of versions of one program, of what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens import compare, open_report

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.comparison import Comparison

pytestmark = pytest.mark.corpus


def _pair(folder: Path, base: str, new: str) -> Comparison:
    return compare(*(open_report(folder / f"{name}.ncu-rep") for name in (base, new)))


def test_every_report_is_equal_to_itself(corpus_reports: list[Path]) -> None:
    """Nothing is added or removed; what has a duration is indistinguishable."""
    for path in corpus_reports:
        report = open_report(path)
        for by in ("launch", "kernel", "family"):
            rows = compare(report, report, by=by).rows.to_pylist()
            for row in rows:
                known = row["base_duration_ns"] is not None
                assert row["verdict"] == ("indistinguishable" if known else "not_comparable"), path
                assert row["duration_change_pct"] in (0.0, None), path
            assert len({row["key"] for row in rows}) == len(rows), path


def test_a_kernel_that_two_commits_share_did_not_change(corpus_ncu: Path) -> None:
    """Two matrix multiplications are in both profiles, and within 0.5 percent."""
    name = "AveryClapp__ESMM-Research__profile_at_"
    total = _pair(corpus_ncu, f"{name}71fb9e58", f"{name}be34af6f").total
    assert total.row_counts == {
        "improved": 0, "regressed": 0, "indistinguishable": 2, "not_comparable": 0, "added": 4,
        "removed": 2,
    }  # fmt: skip
    assert total.duration_change_pct == pytest.approx(-0.35, abs=0.01)


def test_an_algorithm_with_a_cache_is_six_times_as_fast(corpus_ncu: Path) -> None:
    """The kernel's template differs, its name does not."""
    name = "bobschreiner__NuKEXC__profile"
    comparison = _pair(corpus_ncu, f"{name}_at_67005662", name)
    assert comparison.rows["matched_by"].to_pylist() == ["kernel"]
    assert comparison.total.verdict == "improved"
    assert comparison.total.duration_change_pct == pytest.approx(-83.6, abs=0.1)


def test_two_block_sizes_of_one_kernel_are_indistinguishable(corpus_ncu: Path) -> None:
    """Seven launches, from 4 us to 2.6 ms, each within 1.5 percent."""
    name = "pytorch-labs__applied-ai__dev_sr_philox7"
    comparison = _pair(corpus_ncu, f"{name}vec4curand4", f"{name}_2vec4curand4")
    assert comparison.rows["verdict"].to_pylist() == ["indistinguishable"] * 7
    changes = [abs(x) for x in comparison.rows["duration_change_pct"].to_pylist()]
    assert max(changes) < 1.51


def test_a_faster_version_is_found_though_its_launches_take_5_us(corpus_ncu: Path) -> None:
    """Their scatter widens the noise to 15 percent, which is still less than the change."""
    name = "pytorch-labs__applied-ai__dev_sr_base2"
    comparison = _pair(corpus_ncu, name, f"{name}2")
    assert comparison.rows["verdict"].to_pylist() == ["improved"] * 5
    assert set(comparison.rows["noise_source"].to_pylist()) == {"equal_launches"}


def test_programs_with_nothing_in_common_have_no_row_in_common(corpus_ncu: Path) -> None:
    """On GPUs of other kinds, too."""
    total = _pair(
        corpus_ncu,
        "puzzlef__vector-sum-cuda__prof_report",
        "pytorch-labs__applied-ai__dev_sr_base2",
    ).total
    assert (total.row_counts["added"], total.row_counts["removed"]) == (5, 144)
    assert total.headline.startswith("Nothing is on both sides.")


def test_what_one_set_of_metrics_lacks_is_named(corpus_ncu: Path) -> None:
    """The durations can be compared all the same."""
    name = "bwd29__self-join-MiSTIC__profile"
    rows = _pair(corpus_ncu, f"{name}.out", f"{name}6.out").rows.to_pylist()
    assert {row["verdict"] for row in rows} == {"improved"}
    assert {row["not_compared"] for row in rows} == {"dram_bytes, flop_count, stalled_for_data_pct"}


def test_the_same_kernel_on_another_gpu_is_not_comparable(corpus_ncu: Path) -> None:
    """Launches of one name, on an A100 in one report and renamed to another GPU in the other."""
    report = open_report(corpus_ncu / "bwd29__self-join-MiSTIC__profile.out.ncu-rep")
    from dataclasses import replace

    import pyarrow as pa

    launches = report.launches
    at = launches.schema.get_field_index("device_name")
    other = pa.array(["NVIDIA H100 PCIe"] * len(report), pa.string()).dictionary_encode()
    moved = replace(report, launches=launches.set_column(at, launches.field(at), other))
    comparison = compare(report, moved)
    assert set(comparison.rows["verdict"].to_pylist()) == {"not_comparable"}
    assert comparison.total.headline.startswith("Not comparable: another GPU: A100-PCIE-40GB in")
