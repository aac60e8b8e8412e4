"""The smallest collection: enough for every label, on every architecture, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.architectures import CHIPS, configured, counters, peak, throughput, work, work_done
from support.fake_counters import asked, universe
from support.rooflines import label_of
from support.stores import report_of

from nsightlens.analysis.lacking import lacking
from nsightlens.devices.tensor_peaks import resource_of_column
from nsightlens.example.layer import decode_layer
from nsightlens.harness.ncu_metrics import SECTIONS, TENSOR_SECTION, collection, is_known, smallest
from nsightlens.metrics import launches_schema
from nsightlens.metrics.catalog import CATALOG, UNIFIED_MEMORY
from nsightlens.metrics.formula import metrics_of
from nsightlens.metrics.stalls import cycles_metric
from nsightlens.metrics.tensor import TENSOR_PATHS, tensor_paths_of

if TYPE_CHECKING:
    from support.architectures import Work
    from support.rooflines import Metrics

NOW = (2025, 1, 0, 0)
ARCHITECTURES = sorted({cc for path in TENSOR_PATHS for cc in path.compute_capabilities})
CLOCK = "sm__cycles_elapsed.avg.per_second"
ALWAYS = ("device__", "launch__", "profiler__", "sm__maximum_warps_")
SAME = ("bound", "limiter", "roofline_bound", "regime", "evidence", "confidence", "top_stall")


def whole(cc: str, done: Work, tensor: int) -> Metrics:
    """Return what every metric of a report would say of a launch, in all spellings at once."""
    paths = [
        path
        for path in tensor_paths_of(cc)
        if peak(cc, resource_of_column(path.column)) > 0 and path.column != "tensor_fp64_flop_count"
    ]
    path = paths[tensor % len(paths)] if paths else None
    metrics = configured(cc) | throughput(done, cc, has_parts=True) | counters(done, cc, path)
    clock = float(metrics[CLOCK])  # type: ignore[arg-type]
    for one in tensor_paths_of(cc):
        total = work(cc, resource_of_column(one.column), done.needed["tensor"])
        for instruction in one.instructions:
            metrics |= {f"{base}.sum": 0.0 for base in instruction.bases}
        if one is path and len(one.instructions) > 1:
            metrics[f"{one.instructions[0].bases[-1]}.sum"] = total
        rate = peak(cc, resource_of_column(one.column)) / clock
        formulas = [each.dense_peak_formula for each in one.instructions]
        metrics |= dict.fromkeys(metrics_of(formulas), rate)
        if not formulas:
            suffix = "_sparsity_off" if one.has_sparsity else ""
            metrics[f"{one.bases[-1]}{suffix}.sum.peak_sustained"] = rate
    for name, letter, operations in (("fp32", "f", 2), ("fp64", "d", 2), ("fp16", "h", 4)):
        roof = f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"
        metrics[roof] = peak(cc, name) / clock / operations
    if cc not in UNIFIED_MEMORY:
        state = "op_" if cc.startswith("12") else ""
        for way in ("read", "write"):
            metrics[f"fbpa__dram_{way}_bytes.sum"] = metrics[f"dram__bytes_{state}{way}.sum"]
    others = dict.fromkeys(smallest(cc, NOW), 1.0)
    states: Metrics = {name: 1.0 for name in others if "_issue_stalled_" in name}
    states[cycles_metric("long_scoreboard")] = 20.0
    latency: Metrics = {"smsp__average_warp_latency_per_inst_issued.ratio": 19.0 + len(states)}
    return {**others, **metrics, **states, **latency}


def collected(metrics: Metrics, names: tuple[str, ...]) -> Metrics:
    """Return what is left of them when exactly these are collected."""
    lists = [str(metrics[name]) for name in names if name.startswith("breakdown:")]
    kept = {*names, *(part.strip() for text in lists for part in text.split(","))}
    return {n: v for n, v in metrics.items() if n in kept or n.startswith(ALWAYS)}


@pytest.mark.parametrize("cc", CHIPS)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(data=st.data())
def test_the_smallest_list_labels_as_well_as_everything(cc: str, data: st.DataObject) -> None:
    """Every label is that of a full report, and `explain` misses nothing that a full one has."""
    metrics = whole(cc, data.draw(work_done(cc)), data.draw(st.integers(0, 9)))
    few = collected(metrics, smallest(cc, NOW))
    by_all, by_few = label_of(metrics), label_of(few)
    assert {name: by_few[name] for name in SAME} == {name: by_all[name] for name in SAME}
    assert by_few["bound_ratio"] == pytest.approx(by_all["bound_ratio"], nan_ok=True)
    assert by_few["top_stall"] == "long_scoreboard"
    # What no list gives: the peak of a path or of a memory that nobody knows.
    lacks = {lack.aspect for lack in lacking(report_of(few), by_few)}
    assert lacks <= {"counters", "label"}
    if lacks:
        assert lacks <= {lack.aspect for lack in lacking(report_of(metrics), by_all)}


@pytest.mark.parametrize("cc", CHIPS)
def test_every_column_that_the_architecture_can_count_is_filled(cc: str) -> None:
    """Also the columns that are not asked for, because they follow from others."""
    metrics = {name: 1.0 for name in smallest(cc, NOW) if not name.startswith("breakdown:")}
    launches = report_of(configured(cc) | metrics).launches
    empty = {
        entry.column
        for entry in CATALOG
        if entry.sections and launches[entry.column].null_count == launches.num_rows
    }
    uncountable = {
        column
        for column in empty
        if column.startswith(("tensor_", "dram_")) or column == "l2_memory_bytes"
    }
    assert empty == uncountable
    assert bool({one for one in empty if one.startswith("dram_")}) == (cc in UNIFIED_MEMORY)
    assert launches_schema().names == launches.schema.names


@pytest.mark.parametrize("cc", ARCHITECTURES)
def test_the_list_holds_only_names_of_the_architecture(cc: str) -> None:
    """No DRAM counter where memory is the CPU's, and only the states that are counted there."""
    names = smallest(cc, NOW)
    assert len(set(names)) == len(names)
    has_dram = any(name.startswith(("dram__", "fbpa__", "gpu__dram")) for name in names)
    assert has_dram == (cc not in UNIFIED_MEMORY)
    assert (cycles_metric("gmma") in names) == (cc == "9.0")
    assert (cycles_metric("imc_miss") in names) == (float(cc) < 10)
    assert not any(name.startswith(("regex:", "group:")) for name in names)


def test_ranges_get_no_counter_that_needs_patched_instructions() -> None:
    """The real tool refuses them: 'is not supported in range replay'."""
    ranges = smallest("9.0", NOW, is_of_launches=False)
    assert ranges
    assert not any("__sass_" in name for name in ranges)
    assert set(smallest("9.0", NOW)) - set(ranges) == {
        name for name in smallest("9.0", NOW) if "__sass_" in name
    }


@pytest.mark.parametrize(
    ("cc", "version"), [(None, NOW), ("99.0", NOW), ("13.0", NOW), ("9.0", (2023, 3, 1, 1))]
)
def test_sections_stand_in_where_names_are_not_known(
    cc: str | None, version: tuple[int, ...]
) -> None:
    """An unknown metric is an error for the whole launch, one of a section a warning."""
    assert smallest(cc, version) == ()
    assert collection(cc, version) == ((), (*SECTIONS, TENSOR_SECTION))
    assert is_known(cc) == (cc == "9.0")


def test_the_fake_of_a_h100_has_every_metric_of_the_list() -> None:
    """What tests of the whole way collect is the same list."""
    for kernel in decode_layer(1, 500):
        chosen, unknown = asked(universe(kernel), (), smallest("9.0", NOW), has_suffixes=False)
        assert unknown == []
        assert "gpu__time_duration.sum" in chosen
