"""A slice says of its launches what the whole report says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.contents import contents
from support.handmade import DAMAGED_INSIDE, block, file_of, kernel, metric, write_bytes
from support.parity import Parity, compare_report
from support.reports import attention_launch, everything, report_of

from nsightlens.errors import (
    FilterError,
    OutputError,
    OutputExistsError,
    ReportFormatError,
    StringIndexError,
    TruncatedReportError,
)
from nsightlens.ncurep import read_ncu_rep, slice_ncu_rep, write_ncu_rep
from nsightlens.ncurep.encode import message_field, text_field, uint_field
from nsightlens.ncurep.model import ProcessInfo
from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec

if TYPE_CHECKING:
    from pathlib import Path

LAYOUTS = {
    "one_result_per_block": Layout(),
    "three_results_per_block": Layout(results_per_block=3),
    "all_in_one_block": Layout(results_per_block=99),
    "strings_where_first_used": Layout(strings="first_use"),
    "strings_in_the_last_block": Layout(strings="last_block", results_per_block=2),
    "sources_beside_results": Layout(
        source_count=3, source_bytes=500, are_sources_beside_results=True, results_per_block=2
    ),
    "sources_in_blocks_of_their_own": Layout(source_count=3, source_bytes=500),
    "kinds_in_one_block": Layout(may_mix_kinds=True, results_per_block=99),
    "sections": Layout(section_count=3, sections_bytes=400),
}


def mixed_report() -> ReportSpec:
    """Return launches of every kind and of two processes."""
    other = ProcessInfo(77, "elsewhere", "/opt/other")
    launches = [
        *everything(),
        LaunchSpec(kind="range", metrics={"m": 1, "own_to_range": 2.0}),
        LaunchSpec(kind="cmdlist", name="list", metrics={"m": 3}),
        LaunchSpec(kind="graph", metrics={"m": 4, "text": "a"}),
        replace(attention_launch(), process=other),
    ]
    return report_of(launches)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("chosen", [[0], [8], [1, 5, 7], [2, 3], list(range(9))])
def test_the_launches_of_a_slice_are_those_of_the_report(
    tmp_path: Path, layout: Layout, chosen: list[int]
) -> None:
    """Whatever the layout, with their process, and all sessions and names of metrics."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", mixed_report(), layout)
    before = read_ncu_rep(whole, instances=True)
    after = read_ncu_rep(slice_ncu_rep(whole, tmp_path / "s.ncu-rep", chosen), instances=True)
    assert contents(after) == [contents(before)[launch] for launch in chosen]
    assert after.strings == before.strings
    kept = {result.process for result in after.results}
    assert [s for s in after.sessions if s.process in kept] == [
        s for s in before.sessions if s.process in kept
    ]


@pytest.mark.ncu_report
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_ncu_report_reads_a_slice_as_we_do(tmp_path: Path, layout: Layout) -> None:
    """Kernels alone where kinds share a block: of such a block it sees only the first kind."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", mixed_report(), layout)
    chosen = [1, 4] if layout.may_mix_kinds else [1, 4, 5, 6, 7, 8]
    parity = Parity()
    compare_report(slice_ncu_rep(whole, tmp_path / "s.ncu-rep", chosen), parity)
    assert parity.differences == {}
    assert parity.compared["launches"] == len(chosen)


def test_results_are_copied_byte_for_byte(tmp_path: Path) -> None:
    """Also fields that nobody has documented."""
    results = [
        kernel(metric(0, uint_field(9, i)), text_field(60, f"unknown {i}")) for i in range(3)
    ]
    whole = write_bytes(tmp_path, file_of(block(results, strings=["m"])))
    path = slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [2, 0])
    assert path.read_bytes() == file_of(block([results[0], results[2]], strings=["m"]))


def test_a_slice_of_all_launches_is_the_report(tmp_path: Path) -> None:
    """No byte of it changes, nor does it in a slice of the slice."""
    layout = Layout(results_per_block=2, source_count=1, source_bytes=99)
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", report_of(everything()), layout)
    path = slice_ncu_rep(whole, tmp_path / "s.ncu-rep", range(5))
    assert path.read_bytes() == whole.read_bytes()


def source(reference: int) -> bytes:
    return uint_field(1, reference) + message_field(4, b"code %d" % reference)


def test_only_the_sources_that_the_launches_refer_to_are_kept(tmp_path: Path) -> None:
    """By the reference of a kernel, and by those of a range, packed or not."""
    kernels = [kernel(message_field(15, uint_field(1, i))) for i in (1, 2)]
    ranges = [uint_field(1, 5) + refs for refs in (
        uint_field(15, 3) + uint_field(15, 4), message_field(15, b"\x05\x86\x01"))]  # fmt: skip
    content = file_of(
        *(block(sources=[source(reference)]) for reference in (1, 2, 3, 4, 5, 134)),
        block(kernels, strings=["m"]),
    ) + b"".join(_block_of_range(one) for one in ranges)
    whole = write_bytes(tmp_path, content)
    assert read_ncu_rep(whole).source_count == 6
    for launch, kept in enumerate([{1}, {2}, {3, 4}, {5, 134}]):
        path = slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [launch], overwrite=True)
        data = path.read_bytes()
        found = {ref for ref in (1, 2, 3, 4, 5, 134) if message_field(4, b"code %d" % ref) in data}
        assert found == kept
        assert read_ncu_rep(path).source_count == len(kept)


@pytest.mark.parametrize("reference", [message_field(15), message_field(15, b"\xfe")])
def test_a_damaged_source_is_left_out(reference: bytes, tmp_path: Path) -> None:
    """Readers step over sources, and over what a launch says of its own: the report is sound."""
    path = write_bytes(tmp_path, file_of(block([kernel(reference)], sources=[b"a"])))
    sliced = slice_ncu_rep(path, tmp_path / "s.ncu-rep", [0])
    file = read_ncu_rep(sliced)
    assert (len(file.results), file.source_count) == (1, 0)


def _block_of_range(result: bytes) -> bytes:
    entry = len(result).to_bytes(4, "little") + result
    header = uint_field(7, 1) + uint_field(5, len(entry))
    return len(header).to_bytes(4, "little") + header + entry


def test_padding_between_blocks_does_not_matter(tmp_path: Path) -> None:
    """Four zero bytes are a block that says nothing."""
    blocks = [block([kernel()], strings=["m"]), bytes(8), block([kernel()]), bytes(4)]
    whole = write_bytes(tmp_path, file_of(*blocks))
    assert len(read_ncu_rep(slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [1])).results) == 1


def test_the_order_of_the_ids_does_not_matter(tmp_path: Path) -> None:
    """Launches stay in the order of the report, each once."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    path = slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [3, 1, 3])
    before = contents(read_ncu_rep(whole))
    assert contents(read_ncu_rep(path)) == [before[1], before[3]]


@pytest.mark.parametrize(
    ("launches", "said"),
    [
        ([], "no launch was chosen: the report has launches 0 to 4"),
        ([1, 5], "there is no launch 5: the report has launches 0 to 4"),
        ([-1], "there is no launch -1"),
    ],
)
def test_a_choice_of_nothing_says_what_there_was(
    tmp_path: Path, launches: list[int], said: str
) -> None:
    """And nothing is written."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    with pytest.raises(FilterError, match=said):
        slice_ncu_rep(whole, tmp_path / "s.ncu-rep", launches)
    assert not (tmp_path / "s.ncu-rep").exists()


def test_a_report_without_launches_has_nothing_to_choose(tmp_path: Path) -> None:
    """Which the error says."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", report_of([]))
    with pytest.raises(FilterError, match="the report has no launch"):
        slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [0])


@pytest.mark.parametrize("layout", [Layout(), Layout(results_per_block=99)])
def test_what_lies_before_damage_can_be_salvaged(tmp_path: Path, layout: Layout) -> None:
    """Damage is an error, and with "salvage" the launches before it can be chosen."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything(), layout)
    data = whole.read_bytes()
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(data[: len(data) * 9 // 10])
    sound = read_ncu_rep(cut, on_error="salvage")
    count = len(sound.results)
    assert 1 < count < 5
    with pytest.raises(TruncatedReportError):
        slice_ncu_rep(cut, tmp_path / "s.ncu-rep", [0])
    with pytest.raises(FilterError, match=f"launches 0 to {count - 1} before its damage"):
        slice_ncu_rep(cut, tmp_path / "s.ncu-rep", [4], on_error="salvage")
    path = slice_ncu_rep(cut, tmp_path / "s.ncu-rep", range(count), on_error="salvage")
    assert contents(read_ncu_rep(path)) == contents(sound)


@pytest.mark.parametrize("field", DAMAGED_INSIDE.values(), ids=DAMAGED_INSIDE)
@pytest.mark.parametrize("chosen", [0, 1])
def test_damage_inside_a_launch_is_not_copied(tmp_path: Path, field: bytes, chosen: int) -> None:
    """It is an error, whichever launches are chosen; those before it can be salvaged."""
    content = file_of(block([kernel(metric(0)), kernel(field), kernel()], strings=["m"]))
    whole, place = write_bytes(tmp_path, content), tmp_path / "s.ncu-rep"
    with pytest.raises(ReportFormatError, match=r"kernel 1.*--salvage"):
        slice_ncu_rep(whole, place, [chosen])
    assert not place.exists()
    with pytest.raises(FilterError, match="only launch 0 before its damage"):
        slice_ncu_rep(whole, place, [0, 1], on_error="salvage")
    slice_ncu_rep(whole, place, [0], on_error="salvage")
    assert len(read_ncu_rep(place).results) == 1


@pytest.mark.parametrize("launch", ["0", 1.0, None])
def test_a_launch_is_named_by_a_whole_number(tmp_path: Path, launch: object) -> None:
    """Also one of NumPy; anything else is told."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    with pytest.raises(FilterError, match=f"whole.ncu-rep: {launch!r} is no launch id"):
        slice_ncu_rep(whole, tmp_path / "s.ncu-rep", [launch])  # type: ignore[list-item]
    path = slice_ncu_rep(whole, tmp_path / "s.ncu-rep", np.array([1, 2]))
    assert len(read_ncu_rep(path).results) == 2


def test_names_that_were_lost_with_the_end_of_the_file_are_made_up(tmp_path: Path) -> None:
    """NVIDIA's reader and ours need one for each metric."""
    layout = Layout(strings="last_block")
    launches = [LaunchSpec(metrics={"a": 1, "b": 2.5}), LaunchSpec(metrics={"c": 3})]
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", launches, layout)
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(whole.read_bytes()[:-3])
    path = slice_ncu_rep(cut, tmp_path / "s.ncu-rep", [0], on_error="salvage")
    file = read_ncu_rep(path)
    assert file.strings == ["lost_name_0", "lost_name_1"]
    assert list(file.scalars.value) == [1.0, 2.5]


def test_a_name_id_beyond_reason_is_no_lost_name(tmp_path: Path) -> None:
    """A damaged file cannot ask for billions of names."""
    content = file_of(block([kernel(metric(2**31))], strings=["m"]), block([kernel()]))
    cut = write_bytes(tmp_path, content[:-3])
    with pytest.raises(StringIndexError, match="name id 2147483648"):
        slice_ncu_rep(cut, tmp_path / "s.ncu-rep", [0], on_error="salvage")


def test_on_error_takes_two_words(tmp_path: Path) -> None:
    """A third is told at once."""
    with pytest.raises(ValueError, match="'raise' or 'salvage'"):
        slice_ncu_rep("a", tmp_path / "b", [0], on_error="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_the_report_itself_is_never_written(tmp_path: Path, link: str) -> None:
    """Not through a link either, and not with overwrite."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    data = whole.read_bytes()
    getattr(tmp_path / "link.ncu-rep", link)(whole)
    for place in (whole, tmp_path / "link.ncu-rep"):
        with pytest.raises(OutputError, match="is one of the files that are read"):
            slice_ncu_rep(whole, place, [0], overwrite=True)
    assert whole.read_bytes() == data


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    """And with overwrite it is."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    place = tmp_path / "s.ncu-rep"
    place.write_bytes(b"mine")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        slice_ncu_rep(whole, place, [0])
    assert place.read_bytes() == b"mine"
    slice_ncu_rep(whole, place, [0], overwrite=True)
    assert len(read_ncu_rep(place).results) == 1
