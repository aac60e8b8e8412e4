"""The text of a comparison: nothing is cut, left out or changed unsaid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reports import cuda_core_metrics, dram_metrics, tensor_metrics
from support.sides import report_in, timed

from nsightlens import compare
from nsightlens.render.comparison_families import family_lines
from nsightlens.render.comparison_names import ARROW, kernel_column, shorten_marked
from nsightlens.render.comparison_notes import comparison_notes
from nsightlens.render.style import Style, cell_width

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec

OLD = "cutlass_80_tensorop_f16_s16816gemm_f16_128x64_tn_align8_kernel<Params<64>>"
NEW = "cutlass_80_tensorop_f16_s16816gemm_f16_256x128_tn_align8_kernel<Params<64>>"


def _shown(width: int, base: str, new: str) -> str:
    rows = {"base_kernel": [base], "new_kernel": [new]}
    return kernel_column(rows, is_whole=False).shown(width, "…")[0]


def test_of_two_names_both_are_shown_with_what_tells_them_apart() -> None:
    """One alone would be another statement."""
    assert _shown(40, OLD, NEW) == "cutlass…128x64_tn… -> cutlass…256x128_t…"


def test_a_name_that_fits_leaves_its_room_to_the_other() -> None:
    """On either side."""
    assert _shown(40, "axpy", NEW).startswith("axpy -> cutlass_")
    assert cell_width(_shown(40, "axpy", NEW)) > 30
    assert _shown(40, NEW, "axpy").endswith(" -> axpy")
    assert _shown(40, "axpy", "axpy2") == "axpy -> axpy2"
    tiles = ("nvjet 64x8 hsh TNT splitK", "nvjet 128x8 hsh TNT splitK")
    assert _shown(38, *tiles) == "nvjet 64x8 hsh T… -> nvjet 128x8 hsh …"


NAMES = st.text("ab_<>( -", min_size=1, max_size=60).map(lambda text: f"k{text}k")


@given(NAMES, NAMES, st.integers(16, 70))
def test_a_pair_fits_and_shows_where_it_is_cut(base: str, new: str, width: int) -> None:
    """At every width."""
    whole = base if base == new else f"{base}{ARROW}{new}"
    shown = _shown(width, base, new)
    assert cell_width(shown) <= max(width, 6)
    assert shown == whole or "…" in shown
    if base != new:
        assert ARROW in shown


@given(st.lists(NAMES, unique=True), st.integers(6, 40))
def test_a_name_that_is_cut_has_a_mark(names: list[str], width: int) -> None:
    """Also where only what stands in brackets was left out."""
    for name, short in shorten_marked(names, width).items():
        assert cell_width(short) <= width
        assert (short == name) is ("…" not in short)


@pytest.fixture
def added(tmp_path: Path) -> Any:
    """Return families of which one has a launch in the new report alone."""
    base = report_in(tmp_path, [timed(1e6)], "base.ncu-rep")
    new = report_in(tmp_path, [timed(1e6), timed(2e6, "zzz")], "new.ncu-rep")
    return compare(base, new).families


def test_a_family_that_was_added_says_how_long_it_takes(added: Any) -> None:
    """A row of missing values would say nothing; columns without a value are not there."""
    lines = family_lines(added, Style(width=100))
    assert lines[1].split() == ["family", "verdict", "base", "new", "%", "%", "added"]
    row = next(line for line in lines if line.startswith("other"))
    assert row.endswith("1: 2.00 ms")


def test_columns_of_families_that_are_left_out_are_named(added: Any) -> None:
    """As those of the rows are."""
    assert family_lines(added, Style(width=60))[-1].startswith("not shown: ")
    assert "not shown" not in "\n".join(family_lines(added, Style(width=100)))


def _counted(byte_count: float, ffma: float, name: str = "axpy") -> LaunchSpec:
    half = {
        f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed": 0.0
        for op in ("hfma", "hadd", "hmul")
    }
    metrics = {
        **dram_metrics(1e6, byte_count, 0.0),
        **cuda_core_metrics(ffma=ffma, duration_ns=1e6),
        **tensor_metrics(0.0, 1e6),
        **half,
    }
    return timed(1e6, name, metrics=metrics)


def _notes(tmp_path: Path, base: list[LaunchSpec], new: list[LaunchSpec]) -> list[str]:
    sides = [report_in(tmp_path, one, f"{i}.ncu-rep") for i, one in enumerate((base, new))]
    rows = compare(*sides).rows
    return [one for one in comparison_notes(rows, "launch") if "no repeats" not in one]


def test_bytes_and_operations_that_changed_are_told_in_words(tmp_path: Path) -> None:
    """Their columns may not fit, and the times may not show it."""
    base = [_counted(1e6, 5e5), _counted(1e6, 5e5, "scale"), _counted(1e6, 0.0, "copy")]
    fewer = "fewer in 1 row (-20.0 %: scale)"
    new = [_counted(1.5e6, 5e5), _counted(8e5, 4e5, "scale"), _counted(1.01e6, 5e5, "copy")]
    assert _notes(tmp_path, base, new) == [
        f"{what} changed beyond their noise: more in 1 row ({most}), {fewer}."
        for what, most in (("DRAM bytes", "+50.0 %: axpy"), ("operations", "from 0: copy"))
    ]


def test_nothing_is_told_of_what_did_not_change(tmp_path: Path) -> None:
    """Or changed within its noise."""
    base, new = ([_counted(n, 5e5), _counted(n, 0.0, "copy")] for n in (1e6, 1.01e6))
    assert _notes(tmp_path, base, new) == []


def test_a_label_that_changed_is_named(tmp_path: Path) -> None:
    """With both values, and equal ones once."""
    report = report_in(tmp_path, [timed(1e6), timed(1e6), timed(1e6, "scale")])
    rows = compare(report, report).rows
    for name, values in {
        "is_label_changed": [True, True, False],
        "base_bound": ["memory", "memory", "memory"],
        "new_bound": ["compute", "compute", "memory"],
        "base_regime": ["unknown", "unknown", "latency"],
        "new_regime": ["latency", "latency", "latency"],
    }.items():
        rows = rows.set_column(rows.column_names.index(name), name, [values])
    assert "2 rows changed bound or regime: axpy: bound memory -> compute (2 times)." in [
        *comparison_notes(rows, "launch")
    ]
