"""Parts of a sweep add up in any order; slopes and crossings are those of the laws behind them."""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rooflines import (
    A100,
    DRAM_PEAK,
    FP32_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
    with_columns,
)
from support.stores import FAILED, report_of

from nsightlens.report import concat_reports
from nsightlens.sweeps import SweepOptions, part_of, sweep, sweep_of_parts
from nsightlens.sweeps.crossover import analytic_crossing, crossing, interpolation_tolerance
from nsightlens.sweeps.slopes import slope_of

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.report import Report

ATTENTION = "flash_fwd_splitkv_kernel"
KERNELS = (ATTENTION, "flash_fwd_splitkv_combine_kernel", "nvjet_hsh_64x8_64x16", "my_own")


def counted(dram: float, fp32: float, duration_ns: float) -> dict[str, Any]:
    """Return a launch of which everything is counted."""
    work = flop_counts(fp32=fp32 * FP32_PEAK * duration_ns * 1e-9) | tensor_counts()
    moved = dram_bytes(dram, duration_ns)
    busy = parts(dram=100 * dram, fma=100 * fp32)
    return launch(busy, moved, work, duration_ns=duration_ns)


durations = st.sampled_from([1e3, 2e3, 5e4, 1e6])
fractions = st.floats(0.01, 0.99)
launches = st.one_of(
    st.builds(counted, fractions, fractions, durations),
    st.builds(lambda s, m, d: launch(aggregates(sm=s, memory=m), duration_ns=d),
              st.floats(1, 99), st.floats(1, 99), durations),
    st.builds(lambda d: launch(A100, parts(dram=d)), st.floats(1, 99)),
    st.builds(lambda d: launch(duration_ns=d), durations),
    st.just(launch(duration_ns=None)),
    st.just(FAILED),
)  # fmt: skip
names = st.tuples(
    st.sampled_from(KERNELS),
    st.sampled_from([None, "wait", "long_scoreboard", "barrier"]),
    st.sampled_from([
        None,
        "nsightlens@step v1 phase=decode batch_size=1 context=5 query=1",
        "nsightlens@step v1 phase=decode batch_size=8 context=5/op v1 name=a flop=7 bytes=9",
        "nsightlens@step v1 phase=decode batch_size=8 context=6 query=1",
        "nsightlens@step v1 phase=prefill batch_size=8",
    ]),
)  # fmt: skip


@st.composite
def reports(draw: st.DrawFn) -> list[Report]:
    """Return a few reports of a few launches each, under names of their own."""
    found = []
    for i in range(draw(st.integers(1, 4))):
        metrics = draw(st.lists(launches, min_size=0, max_size=5))
        said = [draw(names) for _ in metrics]
        report = with_columns(
            report_of(*metrics),
            report=[f"{i}.ncu-rep"] * len(metrics),
            kernel_name=[name for name, _, _ in said],
            top_stall=[stall for _, stall, _ in said],
            nvtx_path=[path for _, _, path in said],
        )
        found.append(report)
    return found


def same(one: pa.Table, other: pa.Table) -> None:
    """Hold two tables equal, numbers to what rounding may change."""
    assert one.schema == other.schema
    assert one.num_rows == other.num_rows
    for left, right in zip(one.to_pylist(), other.to_pylist(), strict=True):
        for name, value in left.items():
            if isinstance(value, float) and right[name] is not None:
                assert value == pytest.approx(right[name], rel=1e-12, abs=1e-300), name
            else:
                assert value == right[name], name


@settings(max_examples=20)
@given(st.data(), reports(), st.sampled_from(["family", "kernel"]))
def test_a_sweep_is_the_sum_of_its_parts_in_any_order(
    data: st.DataObject, several: list[Report], by: Any
) -> None:
    """Also if each part has been in another process in between."""
    options = SweepOptions(by=by)
    whole = sweep(concat_reports(several), by=by)
    found = [pickle.loads(pickle.dumps(part_of(one, options))) for one in several]
    added = sweep_of_parts(data.draw(st.permutations(found)), options)
    same(whole.rows, added.rows)
    same(whole.steps, added.steps)
    assert sorted(whole.notes) == sorted(added.notes)
    assert whole.verdict == added.verdict


@settings(max_examples=20)
@given(reports(), st.integers(1, 3))
def test_parts_that_were_added_can_be_added_again(several: list[Report], cut: int) -> None:
    """The grouping does not matter either."""
    from nsightlens.sweeps.part import added_parts

    found = [part_of(one) for one in several]
    pieces = [added_parts(half) for half in (found[:cut], found[cut:]) if half]
    same(sweep_of_parts(found).rows, sweep_of_parts(pieces).rows)


@settings(max_examples=20)
@given(reports())
def test_no_column_of_a_sweep_holds_what_is_no_number(several: list[Report]) -> None:
    """Shares of a step add up to 100 % where any duration is known."""
    result = sweep(concat_reports(several))
    for table in (result.rows, result.trends, result.steps):
        for row in table.to_pylist():
            assert all(math.isfinite(v) for v in row.values() if isinstance(v, float)), row
    names = ("attention_share_pct", "matmul_share_pct", "other_share_pct")
    for step in result.steps.to_pylist():
        if step["duration_ns"] is None:
            assert all(step[name] is None for name in names)
        else:
            known = [step[name] for name in names if step[name] is not None]
            assert sum(known) == pytest.approx(100.0)


exponents = st.floats(-2, 2)
scales = st.floats(1e-3, 1e6)
batches = st.lists(st.integers(1, 10_000), min_size=3, max_size=12, unique=True)


@given(batches, exponents, scales)
def test_the_slope_of_a_power_law_is_its_exponent(
    sizes: list[int], exponent: float, scale: float
) -> None:
    """Without scatter there is no error, and every local slope is the same."""
    x = np.array(sizes, dtype=float)
    slope = slope_of(x, scale * x**exponent)
    assert slope.value == pytest.approx(exponent, abs=1e-6)
    assert slope.stderr == pytest.approx(0.0, abs=1e-6)
    assert slope.low - 1e-6 <= slope.value <= slope.high + 1e-6


@given(batches, st.lists(st.floats(0.5, 2.0), min_size=12, max_size=12))
def test_the_slope_and_its_error_are_those_of_the_textbook(
    sizes: list[int], noise: list[float]
) -> None:
    """By the matrix of the normal equations, which the product does not use."""
    x = np.array(sorted(sizes), dtype=float)
    y = x * np.array(noise[: len(x)])
    slope = slope_of(x, y)
    design = np.stack([np.ones(len(x)), np.log(x)], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    best = inverse @ design.T @ np.log(y)
    rest = np.log(y) - design @ best
    error = math.sqrt(rest @ rest / (len(x) - 2) * inverse[1, 1])
    assert slope.value == pytest.approx(best[1], abs=1e-8)
    assert slope.stderr == pytest.approx(error, rel=1e-5, abs=1e-8)


def linear_layer(batch: float, inputs: int, outputs: int, weight_bytes: float) -> float:
    """Return the intensity of a linear layer [FLOP/B], as facts/paper.md has it."""
    moved = weight_bytes * inputs * outputs + 2.0 * batch * (inputs + outputs)
    return 2.0 * batch * inputs * outputs / moved


layers = st.tuples(
    st.integers(64, 32768), st.integers(64, 32768), st.sampled_from([0.5, 1.0, 2.0, 4.0])
)


@given(layers, batches, st.floats(1.0, 2000.0))
def test_the_analytic_crossing_of_a_linear_layer_is_exact(
    layer: tuple[int, int, float], sizes: list[int], ridge: float
) -> None:
    """Its intensity there is the ridge point; there is none where it never gets there."""
    inputs, outputs, weight_bytes = layer
    batch = np.array(sizes, dtype=float)
    intensity = np.array([linear_layer(b, *layer) for b in sizes])
    found = analytic_crossing(batch, intensity, ridge)
    most = inputs * outputs / (inputs + outputs)
    solved = weight_bytes * inputs * outputs * ridge / 2.0
    solved /= inputs * outputs - ridge * (inputs + outputs) or math.nan
    if abs(most / ridge - 1.0) < 0.01 or 0.99 < solved < 1.01:
        return
    if ridge > most or solved < 1.0:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(solved, rel=1e-4)
        assert linear_layer(found, *layer) == pytest.approx(ridge, rel=1e-4)


@given(layers, st.floats(1.0, 4096.0), st.sampled_from([1.5, 2.0, 4.0]), st.floats(0.01, 0.99))
def test_an_interpolated_crossing_is_too_large_by_no_more_than_its_tolerance(
    layer: tuple[int, int, float], low: float, spacing: float, share: float
) -> None:
    """The chord of a concave law lies below it."""
    high = low * spacing
    true = low * spacing**share
    ridge = linear_layer(true, *layer)
    ratios = tuple(linear_layer(b, *layer) / ridge for b in (low, high))
    found = crossing((low, high), (ratios[0], ratios[1]))
    assert true * (1 - 1e-9) <= found <= true * interpolation_tolerance(spacing) * (1 + 1e-9)


def test_the_peak_of_the_hand_made_gpu_is_what_these_tests_take_it_for() -> None:
    """Else the launches above would not be counted ones."""
    row = sweep(report_of(counted(0.5, 0.1, 1e6))).rows.to_pylist()[0]
    assert row["peak_bytes_per_s"] == pytest.approx(DRAM_PEAK)
    assert row["evidence"] == "counters"
