"""A table fits the terminal: columns give way in order, numbers are never cut."""

from __future__ import annotations

import pytest

from nsightlens.render.grid import GridColumn, arrange, indented, wrap
from nsightlens.render.style import Style, cell_width

NAME = GridColumn("kernel", ["a_rather_long_kernel_name", "b"], 1000, comfortable=12)
TIME = GridColumn("time", ["12.3 us", "1.00 ms"], 90, "right")
SHARE = GridColumn("DRAM\n%", ["91", "4.2"], 50, "right")


def test_everything_is_shown_where_there_is_room() -> None:
    """Headings stand over their columns, words left and numbers right."""
    layout = arrange([NAME, TIME, SHARE], 80)
    lines = [*layout.header(Style()), *(layout.row(i, Style()) for i in range(2))]
    assert lines == [
        "                                    DRAM",
        "kernel                        time     %",
        "a_rather_long_kernel_name  12.3 us    91",
        "b                          1.00 ms   4.2",
    ]


def test_a_name_shrinks_before_a_column_goes() -> None:
    """The middle of a long name is the first to be given up."""
    layout = arrange([NAME, TIME, SHARE], 30)
    assert [column.header for column in layout.columns] == ["kernel", "time", "DRAM\n%"]
    assert layout.row(0, Style()) == "a_rather_…_name  12.3 us    91"


def test_the_least_important_column_goes_first() -> None:
    """What was left out is known, so that the reader can be told."""
    layout = arrange([NAME, TIME, SHARE], 24)
    assert [column.header for column in layout.columns] == ["kernel", "time"]
    assert [column.header for column in layout.left_out] == ["DRAM\n%"]


def test_a_narrow_column_never_takes_the_place_of_a_more_important_one() -> None:
    """The order in which columns go is promised, whatever their widths."""
    wide = GridColumn("limited by", ["tensor_fp16", "DRAM"], importance=60)
    layout = arrange([NAME, wide, SHARE], 24)
    assert [column.header for column in layout.left_out] == ["limited by", "DRAM\n%"]


def test_numbers_are_never_cut() -> None:
    """A column of numbers is shown whole or not at all."""
    for width in range(1, 60):
        layout = arrange([NAME, TIME, SHARE], width)
        for column in layout.columns:
            if column is not NAME:
                assert all(cell in layout.row(i, Style()) for i, cell in enumerate(column.cells))


@pytest.mark.parametrize("width", range(10, 80))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """From the least width of the essential columns on."""
    layout = arrange([NAME, TIME, SHARE], width)
    assert all(cell_width(layout.row(i, Style())) <= width for i in range(2))


def test_a_name_keeps_six_columns_however_narrow_the_terminal() -> None:
    """Less than that says nothing."""
    assert arrange([NAME, TIME, SHARE], 1).widths == (6,)


def test_colours_do_not_change_the_alignment() -> None:
    """Escape sequences take no room."""
    column = GridColumn("bound", ["memory", "unknown"], 1000, styles=["memory", None])
    layout = arrange([column, TIME], 80)
    assert layout.row(0, Style(colour=True)) == "\x1b[1;34mmemory\x1b[0m   12.3 us"
    assert layout.row(1, Style(colour=True)) == "unknown  1.00 ms"


def test_a_line_is_not_broken_between_a_number_and_its_unit() -> None:
    """91 and % stay together, also before a comma."""
    assert wrap("about 91 %, or 1.2 TB/s", 9) == ["about", "91 %, or", "1.2 TB/s"]


def test_a_word_longer_than_the_line_stands_alone() -> None:
    """A path or a command is not cut."""
    assert wrap("see /a/very/long/path now", 8) == ["see", "/a/very/long/path", "now"]


def test_a_word_may_be_broken_where_the_line_ends() -> None:
    """Nothing of it is lost, also where its signs are two columns wide."""
    assert wrap("a 日本語 bcdef", 4, breaks_words=True) == ["a", "日本", "語", "bcde", "f"]
    assert "".join(wrap("日本", 1, breaks_words=True)) == "日本"


def test_names_that_are_cut_stay_different() -> None:
    """The kernel and its combine step begin and end in the same way."""
    names = ["flash_fwd_splitkv_kernel<64, fp16>", "flash_fwd_splitkv_combine_kernel<64, fp16>",
             "gemm_kernel<64x64, fp16>", "gemm_kernel<64x8, fp16>"]  # fmt: skip
    column = GridColumn("kernel", names, 1000, comfortable=12, cut="name")
    for width in range(18, 40):
        layout = arrange([column], width)
        shown = [layout.row(i, Style()) for i in range(4)]
        assert len(set(shown)) == 4
        assert max(map(cell_width, shown)) <= width


def test_a_long_table_measures_each_cell_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at every step of the arrangement, which made long tables slow."""
    measured: list[str] = []

    def counted(text: str) -> int:
        measured.append(text)
        return len(text)

    monkeypatch.setattr("nsightlens.render.grid.cell_width", counted)
    columns = [GridColumn("n", ["x" * 20] * 100, 1000 - i, comfortable=8) for i in range(10)]
    layout = arrange(columns, 100)
    for i in range(100):
        layout.row(i, Style())
    assert len(measured) <= 2 * 10 * 101


def test_an_indented_paragraph_hangs_under_its_first_line() -> None:
    """The label stands in the indent."""
    lines = indented("one two three four five six", Style(width=30), 6, "note:")
    assert lines == ["note: one two three four five", "      six"]


def test_empty_text_has_no_lines() -> None:
    """Nothing to say takes no room."""
    assert indented("", Style(), 4) == []
