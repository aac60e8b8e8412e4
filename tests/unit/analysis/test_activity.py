"""Which percent-of-peak counter stands for which resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.rooflines import MEMORY, SM, SUFFIX, parts
from support.stores import store_of

from nsightlens.analysis.activity import measure_activity, part_of

if TYPE_CHECKING:
    from support.rooflines import Metrics


@pytest.mark.parametrize(
    ("counter", "resource"),
    [
        ("sm__issue_active", "issue"),
        ("sm__inst_executed", "issue"),
        ("sm__inst_executed_pipe_adu", "issue"),
        ("sm__inst_executed_pipe_cbu_pred_on_any", "issue"),
        ("sm__pipe_alu_cycles_active", "integer"),
        ("sm__inst_executed_pipe_uniform", "integer"),
        ("sm__inst_executed_pipe_xu", "xu"),
        ("sm__inst_executed_pipe_fp16", "fp16"),
        ("sm__pipe_fp64_cycles_active", "fp64"),
        ("sm__pipe_shared_cycles_active", ""),
        ("sm__pipe_tensor_cycles_active", "tensor"),
        ("sm__pipe_tensor_op_dmma_cycles_active", "tensor_fp64"),
        ("sm__pipe_tensor_subpipe_hmma_cycles_active", "tensor"),
        ("sm__inst_executed_pipe_lsu", "l1"),
        ("sm__inst_executed_pipe_tex", "l1"),
        ("sm__pipe_tma_cycles_active", "l1"),
        ("sm__mio2rf_writeback_active", "mio"),
        ("idc__request_cycles_active", "l1"),
        ("l1tex__data_bank_reads", "l1"),
        ("l1tex__m_xbar2l1tex_read_sectors", "l2"),
        ("l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "l1"),
        ("lts__d_sectors_fill_sysmem", "l2"),
        ("fbpa__dram_sectors", "dram"),
        ("gpu__compute_memory_access_throughput_internal_activity", "memory"),
        ("sm__something_of_tomorrow", "issue"),
        ("hbm__something_of_tomorrow", "memory"),
    ],
)
def test_each_part_belongs_to_a_resource(counter: str, resource: str) -> None:
    """The way to memory is on the memory side; what is new goes by its unit."""
    assert part_of(counter + SUFFIX).resource == resource


def test_a_resource_is_as_busy_as_its_busiest_part() -> None:
    """Three counters of L2; a missing one does not matter."""
    activity = measure_activity(
        store_of(
            {
                f"lts__t_sectors{SUFFIX}": 40.0,
                f"lts__d_sectors{SUFFIX}": 55.0,
                f"lts__t_tag_requests{SUFFIX}": None,
            }
        )
    )
    assert activity.fraction["l2"].tolist() == [0.55]
    assert "dram" not in activity.fraction


def test_a_port_that_pipes_share_says_nothing_new() -> None:
    """FP64, FP16 and tensor pipes share one, and have counters of their own."""
    shared = f"sm__pipe_shared_cycles_active{SUFFIX}"
    assert measure_activity(store_of({f"breakdown:{SM}": shared, shared: 30.0})).fraction == {}


def test_the_list_of_the_report_brings_parts_that_are_not_always_looked_for() -> None:
    """A counter of another version, named in the list of one launch."""
    new = f"sm__pipe_warp_drive_cycles_active{SUFFIX}"
    activity = measure_activity(store_of({f"breakdown:{SM}": f"{new},", new: 12.0}))
    assert activity.fraction["issue"].tolist() == [0.12]


def test_a_side_is_complete_where_every_listed_part_has_a_value() -> None:
    """Lists differ between launches: each launch is held to its own."""
    whole, cut = parts(dram=30), parts(dram=30)
    del cut[f"dram__cycles_active{SUFFIX}"]
    unlisted = {name: value for name, value in parts().items() if not name.startswith("break")}
    activity = measure_activity(store_of(whole, cut, unlisted))
    assert activity.has_all_memory_parts.tolist() == [True, False, False]
    absent = f"sm__warp_drive{SUFFIX}"
    nowhere: Metrics = {f"breakdown:{SM}": absent}
    assert measure_activity(store_of(nowhere)).has_all_compute_parts.tolist() == [False]
    assert activity.has_all_compute_parts.tolist() == [True, True, False]
    other: Metrics = {f"breakdown:{MEMORY}": "", f"dram__cycles_active{SUFFIX}": 3.0}
    assert measure_activity(store_of(other)).has_all_memory_parts.tolist() == [False]


def test_the_fma_pipe_and_its_heavy_half_are_no_resources() -> None:
    """What they were busy with is not theirs to say."""
    pipe = {
        f"sm__pipe_fma_cycles_active{SUFFIX}": 41.4,
        f"sm__pipe_fmaheavy_cycles_active{SUFFIX}": 77.9,
    }
    activity = measure_activity(store_of(pipe))
    assert activity.fraction == {}
    assert (activity.fma.tolist(), activity.fma_heavy.tolist()) == ([0.414], [0.779])


def test_a_report_without_percentages_has_no_activity() -> None:
    """Nothing is measured and nothing is complete."""
    activity = measure_activity(store_of({}, {}))
    assert activity.fraction == {}
    assert not activity.has_all_compute_parts.any()
