"""The container: blocks, payloads and string tables, however they are split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.handmade import block, file_of, kernel, metric, write_bytes

from nsightlens.errors import TrailingBytesError, TruncatedReportError
from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile


def names_of(file: NcuRepFile) -> list[str]:
    return [file.strings[name] for name in file.scalars.name]


def test_a_string_may_be_defined_after_its_use(tmp_path: Path) -> None:
    """Names are looked up in the tables of all blocks together."""
    content = file_of(
        block([kernel(metric(0), metric(2))], strings=["a"]), block(strings=["b", "c"])
    )
    file = read_ncu_rep(write_bytes(tmp_path, content))
    assert file.strings == ["a", "b", "c"]
    assert names_of(file) == ["a", "c"]


def test_sources_are_stepped_over(tmp_path: Path) -> None:
    """What a source holds does not matter, only how long it is."""
    content = file_of(block([kernel()], sources=[b"\xff" * 1000, b""]))
    file = read_ncu_rep(write_bytes(tmp_path, content))
    assert len(file.results) == 1
    assert file.source_count == 2


def test_kinds_of_result_follow_one_another_in_a_payload(tmp_path: Path) -> None:
    """A payload holds kernels, ranges, command lists and graphs, in this order."""
    entries = [kernel(), uint_field(1, 1), uint_field(1, 2), uint_field(1, 3)]
    payload = b"".join(length_prefixed(entry) for entry in entries)
    counts = [uint_field(number, 1) for number in (2, 7, 8, 9)]
    header = b"".join([*counts, uint_field(5, len(payload))])
    file = read_ncu_rep(write_bytes(tmp_path, file_of(length_prefixed(header) + payload)))
    assert [result.kind for result in file.results] == ["kernel", "range", "cmdlist", "graph"]
    assert [result.thread_id for result in file.results] == [77, 1, 2, 3]


def test_a_result_knows_where_it_lies_and_whose_it_is(tmp_path: Path) -> None:
    """The offset points at the bytes of the result; the process is that of its block."""
    process = message_field(6, uint_field(1, 9), text_field(2, "host"), text_field(3, "app"))
    content = file_of(block([kernel()]), block([kernel(uint_field(23, 7))], process))
    first, second = read_ncu_rep(write_bytes(tmp_path, content)).results
    assert first.process is None
    assert second.process is not None
    assert (second.process.process_id, second.process.process_name) == (9, "app")
    assert content[second.offset :] == kernel(uint_field(23, 7))


def test_unknown_fields_of_a_header_are_ignored(tmp_path: Path) -> None:
    """A later version may say more."""
    content = file_of(block([kernel()], uint_field(60, 1), text_field(61, "new")), version=8)
    file = read_ncu_rep(write_bytes(tmp_path, content))
    assert (file.version, len(file.results), file.block_count) == (8, 1, 1)


def test_a_report_without_results_is_a_sound_report(tmp_path: Path) -> None:
    """Nothing was profiled, and nothing is wrong."""
    file = read_ncu_rep(write_bytes(tmp_path, file_of(block())))
    assert file.results == []
    assert file.damage is None


@pytest.mark.parametrize("count", [1, 3, 4, 100, 4096])
def test_padding_with_zeros_is_harmless(tmp_path: Path, count: int) -> None:
    """Zeros behind the last block, as tools pad files with, change nothing."""
    file = read_ncu_rep(write_bytes(tmp_path, file_of(block([kernel()])) + bytes(count)))
    assert len(file.results) == 1
    assert file.block_count == 1


def test_empty_blocks_between_others_are_harmless(tmp_path: Path) -> None:
    """An empty header is a legal block, even right before the size of the next one."""
    content = file_of(block([kernel()]), bytes(12), block([kernel()]))
    assert len(read_ncu_rep(write_bytes(tmp_path, content)).results) == 2


def test_a_hole_of_zeros_is_damage(tmp_path: Path) -> None:
    """More zeros than padding needs mean that the rest was never written."""
    content = file_of(block([kernel()])) + bytes(5000)
    with pytest.raises(TrailingBytesError, match="5000 zero bytes"):
        read_ncu_rep(write_bytes(tmp_path, content))


def test_zeros_where_no_result_came_are_damage(tmp_path: Path) -> None:
    """They could stand where the results were, and nothing shows that they do not."""
    with pytest.raises(TrailingBytesError, match="20 zero bytes"):
        read_ncu_rep(write_bytes(tmp_path, file_of(block()) + bytes(20)))


def test_a_header_alone_is_a_cut_file(tmp_path: Path) -> None:
    """Every report has a block, if only to say who was profiled."""
    with pytest.raises(TruncatedReportError, match="before its first block"):
        read_ncu_rep(write_bytes(tmp_path, file_of()))


def test_progress_counts_the_results(tmp_path: Path) -> None:
    """The last call says that all results are read."""
    calls: list[tuple[int, int]] = []
    path = write_bytes(tmp_path, file_of(*[block([kernel()])] * 70))
    read_ncu_rep(path, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(0, 70), (64, 70), (70, 70)]
