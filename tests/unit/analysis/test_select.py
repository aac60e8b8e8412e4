"""Filters over launches."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.labels import three_launches
from support.rooflines import launch, parts, with_columns
from support.stores import report_of

from nsightlens.analysis import classify, select
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from nsightlens.report import Report


def four_launches() -> Report:
    """Return a report of attention, a GEMM, a reduction and a launch without names."""
    return with_columns(
        report_of(*(launch(parts(dram=50)) for _ in range(4))),
        kernel_name=["flash_fwd_splitkv_kernel", "Kernel2", "reduce_kernel", None],
        kernel_demangled_name=[
            "void flash::flash_fwd_splitkv_kernel<Traits<128>>(Params)",
            "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128>(Params)",
            "void at::native::reduce_kernel<512, 1, Op>(Op)",
            None,
        ],
        nvtx_path=["nsightlens@step v1 phase=decode/op v1 name=a", "DecodeStep3/b", "x;y/z", None],
        grid_x=[132, 132, 1, None],
        grid_y=[8, 1, 1, None],
        grid_z=[1, 1, 1, None],
    )


@pytest.mark.parametrize(
    ("kernel", "kept"),
    [
        ("flash", [True, False, False, False]),
        ("s16816gemm", [False, True, False, False]),
        ("^reduce_kernel$", [False, False, True, False]),
        ("kernel", [True, False, True, False]),
        ("(?i)KERNEL", [True, True, True, False]),
        ("at::native", [False, False, True, False]),
        (".", [True, True, True, False]),
    ],
)
def test_a_regular_expression_is_looked_for_in_every_name(kernel: str, kept: list[bool]) -> None:
    """In the plain and the demangled one alike; a launch without names does not pass."""
    assert select(four_launches(), kernel=kernel).tolist() == kept


def test_a_launch_of_any_of_the_families_passes() -> None:
    """Attention and GEMM, and nothing else."""
    report = four_launches()
    assert select(report, families=["attention", "gemm"]).tolist() == [True, True, False, False]
    assert select(report, families=[]).tolist() == [True] * 4


@pytest.mark.parametrize(
    ("nvtx", "kept"),
    [
        ("DecodeStep*", [False, True, False, False]),
        ("DecodeStep?", [False, True, False, False]),
        ("step v1*", [True, False, False, False]),
        ("nsightlens@*", [True, False, False, False]),
        ("op v1 name=a", [True, False, False, False]),
        ("y", [False, False, True, False]),
        ("y/z", [False, False, True, False]),
        ("*", [True, True, True, False]),
        ("decodestep*", [False, False, False, False]),
    ],
)
def test_a_pattern_matches_the_path_or_one_of_its_ranges(nvtx: str, kept: list[bool]) -> None:
    """Whole names only, with or without their domain; without ranges nothing matches."""
    assert select(four_launches(), nvtx=nvtx).tolist() == kept


@pytest.mark.parametrize(
    ("grid", "kept"),
    [
        ("132,8,1", [True, False, False, False]),
        ("132,*,1", [True, True, False, False]),
        (" *, 1 ,*", [False, True, True, False]),
        ("*,*,*", [True, True, True, False]),
    ],
)
def test_a_grid_matches_number_by_number(grid: str, kept: list[bool]) -> None:
    """A star is any number, and a launch without a grid has none."""
    assert select(four_launches(), grid=grid).tolist() == kept


def test_brackets_of_a_range_stand_for_themselves() -> None:
    """As in the name of a layer of a model."""
    names = pa.table({"nvtx_path": ["model/layer[3]/attn", "model/layer3", "layer[31]"]})
    assert select(names, nvtx="layer[3]").tolist() == [True, False, False]
    assert select(names, nvtx="layer[3*]").tolist() == [True, False, True]


def test_any_of_several_values_passes() -> None:
    """Of each filter; all filters together must still pass."""
    report = four_launches()
    assert select(report, kernel=["flash", "reduce"]).tolist() == [True, False, True, False]
    assert select(report, nvtx=["DecodeStep*", "y"]).tolist() == [False, True, True, False]
    assert select(report, grid=["132,8,1", "1,*,*"]).tolist() == [True, False, True, False]
    both = select(report, kernel=["flash", "reduce"], grid=["1,*,*"])
    assert both.tolist() == [False, False, True, False]


def test_all_filters_must_pass() -> None:
    """And no filter keeps everything."""
    report = four_launches()
    assert select(report, kernel="kernel", grid="132,*,*").tolist() == [True, False, False, False]
    assert select(report).tolist() == [True] * 4


def test_labels_and_tables_filter_like_their_report() -> None:
    """A classification, its table of labels, and the table of launches."""
    report = four_launches()
    labels = classify(report)
    for table in (labels, labels.labels, report.launches):
        assert select(table, kernel="flash", grid="132,8,1").tolist() == [True, False, False, False]
    assert select(three_launches(), families=["gemm"]).tolist() == [False, True, False]


@pytest.mark.parametrize("kernel", ["flash(", "*attn", "[a", "it's ("])
def test_a_broken_expression_is_explained(kernel: str) -> None:
    """With the place of the fault and a way to look for the text as it stands."""
    with pytest.raises(FilterError, match="not a regular expression") as error:
        select(four_launches(), kernel=kernel)
    advice = str(error.value).partition("as it stands, use ")[2].removesuffix(".")
    (pattern,) = shlex.split(advice)
    assert re.search(pattern, f"a {kernel} b"), "the advice can be pasted into a shell"


@pytest.mark.parametrize("grid", ["1,2", "a,b,c", "1,2,3,4", "", "-1,1,1"])
def test_a_broken_grid_is_explained(grid: str) -> None:
    """With an example of a good one."""
    with pytest.raises(FilterError, match=r"'\*,1,1'"):
        select(four_launches(), grid=grid)


def test_a_table_without_the_column_cannot_be_filtered_by_it() -> None:
    """The error names what is missing."""
    table = four_launches().launches.select(["report", "launch_id"])
    with pytest.raises(FilterError, match="cannot filter by family"):
        select(table, families=["gemm"])
    with pytest.raises(FilterError, match="cannot filter by nvtx"):
        select(table, nvtx="a")
