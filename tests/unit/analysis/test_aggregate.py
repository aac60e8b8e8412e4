"""Groups of launches, with sums worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.rooflines import (
    DRAM_PEAK,
    FP32_PEAK,
    TENSOR_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
    with_columns,
)
from support.stores import FAILED, report_of

from nsightlens.analysis import classify
from nsightlens.analysis.aggregate import group_by

if TYPE_CHECKING:
    from support.rooflines import Metrics


def counted(dram: float, fp32: float, duration_ns: float, **busy: float) -> Metrics:
    """Return a launch of that duration with DRAM and FP32 at these fractions, all counted."""
    work = flop_counts(fp32=fp32 * FP32_PEAK * duration_ns * 1e-9) | tensor_counts()
    percent = {"dram": 100 * dram, "fma": 100 * fp32, **busy}
    return launch(parts(**percent), dram_bytes(dram, duration_ns), work, duration_ns=duration_ns)


def families(*launches: Metrics, **columns: list[Any]) -> list[dict[str, Any]]:
    """Return the labels of the families of launches that share a name unless columns say so."""
    same = {"kernel_name": ["my_own"] * len(launches), "device_name": ["GPU"] * len(launches)}
    columns = same | columns
    report = with_columns(report_of(*launches), **columns)
    rows: list[dict[str, Any]] = classify(report, by="family").labels.to_pylist()
    return rows


def test_durations_work_and_times_add_up() -> None:
    """90 % of 1 ms and 10 % of 3 ms are 1.2 of 4 ms, or 30 %."""
    (group,) = families(counted(0.9, 0.02, 1e6), counted(0.1, 0.04, 3e6))
    assert group["duration_ns"] == 4e6
    assert group["launch_count"] == 2
    assert (group["bound"], group["limiter"]) == ("memory", "dram")
    assert group["limiter_fraction"] == pytest.approx(0.3)
    flop = FP32_PEAK * (0.02e-3 + 0.12e-3)
    assert group["arithmetic_intensity_flop_per_byte"] == pytest.approx(flop / (DRAM_PEAK * 1.2e-3))
    assert group["bound_ratio"] == pytest.approx(0.14 / 1.2)
    assert group["ridge_point_flop_per_byte"] == pytest.approx(FP32_PEAK / DRAM_PEAK)
    assert (group["evidence"], group["duration_share_pct"]) == ("counters", 100.0)


def test_the_ridge_of_a_group_is_that_of_its_own_mix() -> None:
    """1 ms of wgmma at 90 % and 4 ms of mma.sync, whose peak is 2/3, at 20 %: 1.7 ms of time."""
    share = {"hgmma": (0.9, 1.0, 1e6), "hmma": (0.2, 2 / 3, 4e6)}
    launches = []
    for one, (fraction, of_peak, duration_ns) in share.items():
        work = fraction * of_peak * TENSOR_PEAK * duration_ns * 1e-9
        split = {
            f"sm__ops_path_tensor_op_{name}_src_bf16_dst_fp32_sparsity_{state}.sum": (
                work if (name, state) == (one, "off") else 0.0
            )
            for name in share
            for state in ("off", "on")
        }
        counts = flop_counts() | tensor_counts(bf16=work) | split | dram_bytes(0.5, duration_ns)
        busy = parts(tensor=100 * fraction, dram=50)
        launches.append(launch(busy, counts, duration_ns=duration_ns))
    (group,) = families(*launches)
    done = 0.9 + 0.2 * 4 * 2 / 3
    ridge = done / 1.7 * TENSOR_PEAK / DRAM_PEAK
    assert group["bound_ratio"] == pytest.approx(1.7 / 2.5)
    assert group["ridge_point_flop_per_byte"] == pytest.approx(ridge)
    intensity = group["arithmetic_intensity_flop_per_byte"]
    assert intensity / ridge == pytest.approx(group["bound_ratio"])


def test_ranges_and_graphs_are_groups_of_their_own_by_kernel() -> None:
    """They have no kernel's name; as families they are all among the others."""
    report = with_columns(
        report_of(*[counted(0.9, 0.02, 1e6)] * 3),
        kernel_name=[None, None, "my_own"],
        kind=["range", "graph", "kernel"],
        device_id=[0, 0, 1],
        process_id=[7, 7, 7],
    )
    columns = ["kernel", "kind", "family", "device_id", "process_id"]
    rows = classify(report, by="kernel").labels.select(columns).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (None, "range", "other", 0, 7),
        (None, "graph", "other", 0, 7),
        ("my_own", "kernel", "other", 1, 7),
    ]
    (row,) = classify(report, by="family").labels.select(columns).to_pylist()
    assert tuple(row.values()) == (None, None, "other", None, 7)


def test_two_spellings_of_one_gpu_are_one_group() -> None:
    """Drivers of 2021 and later put the vendor in front."""
    names = ["A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB", "NVIDIA H100"]
    rows = families(*[counted(0.9, 0.02, 1e6)] * 3, device_name=names)
    assert [(row["device_name"], row["launch_count"]) for row in rows] == [
        ("A100-PCIE-40GB", 2),
        ("NVIDIA H100", 1),
    ]


def test_the_sum_may_have_another_limiter_than_its_parts() -> None:
    """L1 limits one launch and issue slots the other; DRAM, second in both, the sum."""
    (group,) = families(
        counted(0.5, 0.0, 1e6, l1=60.0, issue=10.0), counted(0.5, 0.0, 1e6, l1=10.0, issue=60.0)
    )
    assert (group["limiter"], group["limiter_fraction"]) == ("dram", pytest.approx(0.5))


def test_failed_launches_are_counted_and_left_out_of_sums() -> None:
    """The group has the label of the launch that was collected."""
    (group,) = families(counted(0.9, 0.02, 1e6), FAILED)
    assert (group["launch_count"], group["failed_launch_count"]) == (2, 1)
    assert (group["bound"], group["duration_ns"]) == ("memory", 1e6)
    assert group["limiter_fraction"] == pytest.approx(0.9)
    assert "1 of 2 launches failed and are left out" in group["reason"]
    assert (group["evidence"], group["confidence"]) == ("counters", "high")


def test_a_group_of_failed_launches_says_so() -> None:
    """There is nothing else to say of it."""
    (group,) = families(FAILED, FAILED)
    assert (group["bound"], group["failed_launch_count"], group["duration_ns"]) == (
        "unknown",
        2,
        None,
    )
    assert "cut this launch short" in group["reason"]


def test_one_launch_without_metrics_leaves_the_group_open() -> None:
    """Its second millisecond may have been anything, so that 90 % of the first decides nothing."""
    (group,) = families(counted(0.9, 0.02, 1e6), launch())
    assert group["bound"] == "unknown"
    assert group["arithmetic_intensity_flop_per_byte"] is None


def test_a_short_launch_without_metrics_does_not_hide_the_label_of_the_rest() -> None:
    """Whatever it did in 2 % of the time, 90 % of the rest is more than the compute side had."""
    (group,) = families(counted(0.9, 0.02, 9.8e5), launch(duration_ns=2e4))
    assert (group["bound"], group["limiter"]) == ("memory", "dram")
    assert group["limiter_fraction"] == pytest.approx(0.9 * 0.98)
    assert group["confidence"] == "medium"
    (group,) = families(counted(0.9, 0.02, 8e5), launch(duration_ns=2e5))
    assert (group["bound"], group["confidence"]) == ("memory", "low")
    assert "20 % of the time was not measured" in group["reason"]


def test_a_group_with_too_much_unmeasured_time_says_how_much() -> None:
    """Half of the time is enough to turn the label round."""
    (group,) = families(counted(0.9, 0.02, 1e6), launch(duration_ns=1e6))
    assert "in 50 % of the time it was not measured" in group["reason"]


def test_launches_on_two_gpus_are_two_groups() -> None:
    """Their peaks differ, and so may their labels."""
    groups = families(*(launch(parts(dram=50)),) * 2, device_name=["A100", "H100"])
    assert [group["device_name"] for group in groups] == ["A100", "H100"]


def test_the_ceiling_of_a_launch_may_be_too_low_to_matter() -> None:
    """Of the second launch only maxima are known: 20 % of the SM at most, less than its memory."""
    (group,) = families(counted(0.9, 0.02, 1e6), launch(aggregates(sm=20, memory=50, dram=50)))
    assert (group["bound"], group["limiter"]) == ("memory", "dram")
    assert group["limiter_fraction"] == pytest.approx(0.7)
    assert group["evidence"] == "throughput"


def test_launches_busy_with_different_parts_of_a_side_do_not_hide_the_other_side() -> None:
    """DRAM is busy in one and L1 in the other: neither for as long as FP32 is in both."""
    (group,) = families(
        counted(0.6, 0.5, 1e6, l1=5), counted(0.05, 0.5, 1e6, l1=60), counted(0.05, 0.1, 1e6, l1=5)
    )
    assert (group["bound"], group["limiter"]) == ("compute", "fp32")
    assert group["limiter_fraction"] == pytest.approx(1.1 / 3)


def test_parts_of_a_side_that_were_not_measured_in_one_launch_may_be_those_of_another() -> None:
    """Of the second launch only maxima are known: its 60 % of memory may be DRAM."""
    (group,) = families(counted(0.6, 0.5, 1e6), launch(aggregates(sm=50, memory=60)))
    assert group["bound"] == "unknown"


def test_percentages_of_a_group_are_means_over_its_duration() -> None:
    """80 % for 1 ms and 40 % for 3 ms are 50 %; what one launch lacks is left out."""
    (group,) = families(
        launch(parts(dram=80), duration_ns=1e6), launch(parts(dram=40), duration_ns=3e6)
    )
    assert group["dram_throughput_pct"] == pytest.approx(50.0)
    (group,) = families(launch(parts(dram=80), duration_ns=1e6), launch(duration_ns=3e6))
    assert group["dram_throughput_pct"] == pytest.approx(80.0)


def test_the_top_stall_of_a_group_is_that_of_its_longest_launch() -> None:
    """Among those for which it is known."""
    report = with_columns(
        report_of(*(launch(parts(dram=50), duration_ns=d) for d in (1e6, 3e6, 9e6))),
        kernel_name=["a", "a", "a"],
        top_stall=["wait", "long_scoreboard", None],
    )
    (group,) = classify(report, by="family").labels.to_pylist()
    assert group["top_stall"] == "long_scoreboard"


def test_of_equally_long_launches_the_stall_that_comes_first_by_name_counts() -> None:
    """So that the order of launches and reports does not matter."""
    for stalls in (["wait", "barrier", "drain"], ["drain", "barrier", "wait"]):
        report = with_columns(
            report_of(*[launch(parts(dram=50))] * 3), kernel_name=["a"] * 3, top_stall=stalls
        )
        (group,) = classify(report, by="family").labels.to_pylist()
        assert group["top_stall"] == "barrier"


def step(phase: str, batch: int) -> str:
    """Return the NVTX path of a step."""
    return f"nsightlens@step v1 phase={phase} batch_size={batch}"


def test_launches_group_by_family_phase_and_batch_size() -> None:
    """In the order of their first launch; a null batch size is a group of its own."""
    paths = [step("decode", 8), step("decode", 64), step("prefill", 8), step("decode", 8), None]
    groups = families(*(launch(parts(dram=50)) for _ in paths), nvtx_path=paths)
    assert [group["key"] for group in groups] == [
        "other|-|decode|8|GPU",
        "other|-|decode|64|GPU",
        "other|-|prefill|8|GPU",
        "other|-|-|-|GPU",
    ]
    assert [group["launch_count"] for group in groups] == [2, 1, 1, 1]
    assert [group["batch_size"] for group in groups] == [8, 64, 8, None]
    assert all(group["kernel"] is None for group in groups)


def test_a_kernel_is_a_group_of_its_own_where_asked() -> None:
    """With its name; the demangled one where all launches share it."""
    report = with_columns(
        report_of(*(launch(parts(dram=50)) for _ in range(3))),
        kernel_name=["my_own", "other_own", "my_own"],
        kernel_demangled_name=["my_own()", "other_own()", "my_own()"],
    )
    groups = classify(report, by="kernel").labels.to_pylist()
    assert [(group["kernel"], group["launch_count"]) for group in groups] == [
        ("my_own", 2),
        ("other_own", 1),
    ]
    assert groups[0]["kernel_demangled_name"] == "my_own()"


def test_a_group_over_two_reports_names_neither() -> None:
    """It names the GPU, on which all of its launches ran."""
    one, two = (
        with_columns(report_of(launch(parts(dram=50))), kernel_name=["a"]) for _ in range(2)
    )
    other = with_columns(two, report=["b.ncu-rep"])
    from nsightlens.report import concat_reports

    (group,) = classify(concat_reports([one, other]), by="family").labels.to_pylist()
    assert (group["report"], group["device_name"]) == (None, "NVIDIA H100 80GB HBM3")
    (group,) = classify(concat_reports([one, two]), by="family").labels.to_pylist()
    assert (group["report"], group["device_name"]) == ("a.ncu-rep", "NVIDIA H100 80GB HBM3")


@pytest.mark.parametrize("by", ["kernel", "family"])
def test_no_launches_make_no_groups(by: Any) -> None:
    """An empty report gives an empty table."""
    assert len(classify(report_of(), by=by)) == 0


def test_groups_keep_their_launches_in_order() -> None:
    """Order and starts describe the groups; null equals null."""
    import pyarrow as pa

    groups = group_by([pa.array(["b", "a", "b", None, None]), pa.array(["1", "1", "1", "1", "2"])])
    assert groups.order.tolist() == [0, 2, 1, 3, 4]
    assert groups.starts.tolist() == [0, 2, 3, 4]
    assert groups.first.tolist() == [0, 1, 3, 4]
    assert groups.sum(np.arange(5)).tolist() == [2, 1, 3, 4]
