"""What a launch is, and the key that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.rooflines import launch, with_columns
from support.stores import report_of

from nsightlens.analysis.identity import identify, numbered_keys
from nsightlens.report import concat_reports

if TYPE_CHECKING:
    from nsightlens.report import Report

STEP = "nsightlens@step v1 phase=prefill batch_size=4/op v1 name=a flop=10 bytes=20"


def named(*names: str | None, **columns: list[Any]) -> Report:
    """Return a report of launches with these names on a grid of 8,2,1."""
    grid_and_block = {"grid_x": 8, "grid_y": 2, "block_x": 64}
    grid_and_block |= dict.fromkeys(("grid_z", "block_y", "block_z"), 1)
    values: dict[str, list[Any]] = {name: [n] * len(names) for name, n in grid_and_block.items()}
    return with_columns(
        report_of(*(launch() for _ in names)),
        **{"kernel_name": list(names), **values, **columns},
    )


def keys_of(report: Report) -> list[str]:
    """Return the keys of all launches."""
    keys: list[str] = numbered_keys(report, identify(report)).to_pylist()
    return keys


def test_equal_launches_are_numbered_in_file_order() -> None:
    """Kernel, grid, block, and the how-manieth of them it is."""
    assert keys_of(named("my_own", "other_own", "my_own", "my_own")) == [
        "my_own|8,2,1|64,1,1|0",
        "other_own|8,2,1|64,1,1|0",
        "my_own|8,2,1|64,1,1|1",
        "my_own|8,2,1|64,1,1|2",
    ]


def test_another_grid_is_another_launch() -> None:
    """The same kernel in prefill and decode does not share a key."""
    report = named("my_own", "my_own", grid_x=[8, 16])
    assert keys_of(report) == ["my_own|8,2,1|64,1,1|0", "my_own|16,2,1|64,1,1|0"]


def test_what_is_not_known_is_a_question_mark() -> None:
    """A failed collection has no grid, and it may have no name."""
    report = named(None, grid_x=[None])
    assert keys_of(report) == ["?|?|64,1,1|0"]


def test_a_result_that_is_no_kernel_is_named_by_its_kind() -> None:
    """Ranges and graphs have no kernel; they are told apart and counted."""
    kinds = ["range", "graph", "range"]
    report = named(None, None, None, kind=kinds, grid_x=[None] * 3, block_x=[None] * 3)
    assert keys_of(report) == ["(range)|?|?|0", "(graph)|?|?|0", "(range)|?|?|1"]
    assert identify(report)["kernel"].to_pylist() == [None] * 3


def test_a_blank_name_is_a_name_all_the_same() -> None:
    """It is kept as it stands, and so is one that is only the beginning of a mangled name."""
    assert identify(named(" ", "_Z"))["kernel"].to_pylist() == [" ", "_Z"]


def test_two_reports_of_a_program_give_the_same_keys() -> None:
    """Numbers count within a report, wherever it stands among others."""
    first = named("my_own", "my_own")
    second = with_columns(named("other_own", "my_own"), report=["b.ncu-rep", "b.ncu-rep"])
    assert keys_of(concat_reports([first, second])) == [*keys_of(first), *keys_of(second)]


def test_a_report_without_launches_has_no_keys() -> None:
    """And the identity has its columns all the same."""
    report = report_of()
    assert keys_of(report) == []
    assert identify(report).num_rows == 0


def test_the_phase_of_an_annotation_wins_over_that_of_a_name() -> None:
    """The name says decode, the range around it prefill."""
    report = named(
        "flash_fwd_splitkv_kernel",
        "flash_fwd_splitkv_kernel",
        "my_own",
        nvtx_path=[STEP, None, None],
    )
    identity = identify(report)
    by_name = identity["phase"].to_pylist()[1]
    assert identity["phase"].to_pylist() == ["prefill", by_name, None]
    assert by_name in ("decode", None)
    assert identity["batch_size"].to_pylist() == [4, None, None]
    assert identity["operation_flop"].to_pylist() == [10.0, None, None]


def test_a_kernel_has_a_short_name_and_a_family() -> None:
    """The family of an unknown kernel is other, its subtype null."""
    identity = identify(named("flash_fwd_kernel", "my_own_thing")).to_pylist()
    assert identity[0]["family"] == "attention"
    assert (identity[1]["kernel"], identity[1]["family"], identity[1]["subtype"]) == (
        "my_own_thing",
        "other",
        None,
    )
