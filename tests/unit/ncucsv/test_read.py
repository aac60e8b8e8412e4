"""Tables of ncu to launches: both forms, between other output, ragged, cut, in parts."""

from __future__ import annotations

import math

import pytest

from nsightlens.errors import NotAReportError, ReportFormatError, TruncatedReportError
from nsightlens.ncucsv import Cell, NcuCsvFile, read_ncu_csv

WIDE = """\
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","gpu__time_duration.sum","dram__bytes_read.sum",\
"launch__func_cache_config"
"","","","","","","","","","","","us","Mbyte",""
"0","42","app","127.0.0.1","axpy(int, float)","1","7","(128, 1, 1)","(264, 2, 1)","0","9.0",\
"6.75","1,234.50","CachePreferNone"
"1","42","app","127.0.0.1","axpy(int, float)","1","13","(128, 1, 1)","(264, 2, 1)","1","9.0",\
"7","n/a",""
"""

LONG = """\
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name",\
"Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"
"0","42","app","127.0.0.1","axpy(int)","1","7","(128, 1, 1)","(264, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","Duration","usecond","6.75"
"0","42","app","127.0.0.1","axpy(int)","1","7","(128, 1, 1)","(264, 1, 1)","0","9.0",\
"Memory Workload Analysis","Memory Throughput","Gbyte/second","143.20",
"0","42","app","127.0.0.1","axpy(int)","1","7","(128, 1, 1)","(264, 1, 1)","0","9.0",\
"SpeedOfLight","","","","SOLBottleneck","OPT","Memory is busy:
look there, ""now"".","global","45.14"
"1","42","app","127.0.0.1","copy(int)","1","7","(64, 1, 1)","(8, 1, 1)","0","9.0",\
"GPU Speed Of Light Throughput","Duration","usecond","(!) n/a"
"""


def read(text: str, **options: str) -> NcuCsvFile:
    return read_ncu_csv("x.csv", text, **options)  # type: ignore[arg-type]


def test_a_row_of_the_raw_page_is_a_launch() -> None:
    """Identity, values in base units with their rounding, text, and what has no value."""
    file = read(WIDE)
    first, second = file.launches
    assert (first.process_id, first.process_name, first.host_name) == (42, "app", "127.0.0.1")
    assert (first.grid, first.block) == ((264, 2, 1), (128, 1, 1))
    assert (first.context_id, first.stream_id, second.stream_id) == (1, 7, 13)
    assert (first.device_id, second.device_id, first.compute_capability) == (0, 1, "9.0")
    assert file.metrics == {
        "gpu__time_duration.sum": [Cell(6750.0, 5.0), Cell(7000.0, 500.0)],
        "dram__bytes_read.sum": [Cell(1.2345e9, 5e3), Cell(None)],
        "launch__func_cache_config": [Cell("CachePreferNone"), None],
    }


def test_rows_of_the_details_page_are_gathered_by_launch() -> None:
    """Labels become raw metrics by their section; rows may stop at the value."""
    file = read(LONG)
    assert [launch.kernel_name for launch in file.launches] == ["axpy(int)", "copy(int)"]
    assert file.metrics == {
        "gpu__time_duration.sum": [Cell(6750.0, 5.0), Cell(None)],
        "dram__bytes.sum.per_second": [Cell(143.2e9, 5e6), None],
    }


def test_rows_of_rules_are_messages() -> None:
    """A message may have line ends and quotes in it."""
    (rule,) = read(LONG).rules
    assert rule == (
        0, "SpeedOfLight", "SOLBottleneck", "OPT", 'Memory is busy:\nlook there, "now".',
        "global", 45.14,
    )  # fmt: skip


def test_rows_of_several_launches_may_be_mixed() -> None:
    """A row belongs to the launch that it names, wherever it stands."""
    header, *rows = WIDE_AS_LONG.splitlines()
    mixed = "\n".join([header, rows[0], rows[2], rows[1], rows[3]])
    assert read(mixed).metrics == read(WIDE_AS_LONG).metrics


def _long_rows(*rows: tuple[str, str, str, str]) -> str:
    names = ("ID", "Process ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit",
             "Metric Value")  # fmt: skip
    table = [names, *((launch, "42", "axpy", "S", *rest) for launch, *rest in rows)]
    return "\n".join(",".join(f'"{cell}"' for cell in row) for row in table)


WIDE_AS_LONG = _long_rows(
    ("0", "a__x.sum", "", "1"),
    ("0", "a__y.sum", "", "2"),
    ("1", "a__x.sum", "", "3"),
    ("1", "a__y.sum", "", "4"),
)


def test_other_output_before_and_between_the_rows_is_left_alone() -> None:
    """Lines of ncu and of the application, even quoted ones and ones without an end."""
    header, units, first, second, _ = WIDE.split("\n")
    noisy = "\n".join(
        [
            "\ufeff==PROF== Connected to process 42 (/bin/app)",
            '"Multi", it said, took 5 ms, "and',
            "1,2,3",
            "loss: 0.5" + header,
            units,
            first,
            "==PROF== Disconnected from process 42",
            '"quoted", output',
            "done " + second,
            "==WARNING== Note: Running with unmodified GPU clocks.",
        ]
    )
    assert read(noisy).metrics == read(WIDE).metrics


@pytest.mark.parametrize("end", ["\r\n", "\r", "\r\r\n"])
def test_line_ends_of_any_system_are_taken(end: str) -> None:
    """Also doubled ones, as redirection on Windows makes them."""
    assert read(WIDE.replace("\n", end)).metrics == read(WIDE).metrics


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_taken(delimiter: str) -> None:
    """As a spreadsheet of another country saves the file."""
    assert read(WIDE.replace('","', f'"{delimiter}"')).metrics == read(WIDE).metrics


def test_an_unquoted_export_with_an_index_column_is_read() -> None:
    """What pandas writes of the raw page, values and units untouched."""
    export = (
        ",ID,Process ID,Kernel Name,gpu__time_duration.sum\n"
        "0,,,,us\n"
        '1,0.0,42.0,"axpy(int, float)","1,234.50"\n'
    )
    file = read(export)
    assert file.launches[0].process_id == 42
    assert file.metrics == {"gpu__time_duration.sum": [Cell(1.2345e6, 5.0)]}


def test_a_file_in_parts_is_put_together() -> None:
    """Two prints of one launch add up, and of one value the more exact counts."""
    exact = LONG.replace("usecond", "nsecond").replace('"6.75"', '"6,752"')
    file = read(LONG + exact)
    assert len(file.launches) == 2
    assert file.metrics["gpu__time_duration.sum"] == [Cell(6752), Cell(None)]
    assert file.metrics == read(exact + LONG).metrics


def _only_percentages(*values: str) -> str:
    return _long_rows(*(("0", f"a__x{i}.avg", "%", value) for i, value in enumerate(values)))


def test_an_impossible_percentage_tells_of_a_decimal_comma() -> None:
    """It is a conclusion, which stands among the warnings."""
    file = read(_only_percentages("85,320") + '\n"0","42","axpy","S","a__t.sum","us","1,234"')
    assert file.metrics == {"a__x0.avg": [Cell(85.32, 0.0005)], "a__t.sum": [Cell(1234.0, 0.5)]}
    (warning,) = file.warnings
    assert "read with a decimal comma, because of the percentage '85,320'" in warning
    assert read(_only_percentages("85,320", "12.50")).warnings == []


def test_percentages_that_contradict_each_other_are_refused() -> None:
    """With either decimal sign, one of them is above 1000."""
    with pytest.raises(ReportFormatError, match=r"'85,320' is a percentage .* '1\.250' speaks"):
        read(_only_percentages("85,320", "1.250"))


def test_numbers_of_a_unit_that_is_not_the_metric_s_are_left_out() -> None:
    """Each metric and unit is told once; texts, and what has no value, have no unit."""
    text = _long_rows(
        ("0", "a__x.sum", "minute", "2.50"), ("1", "a__x.sum", "minute", "3.50"),
        ("2", "a__x.sum", "us", "4.50"), ("0", "a__y.sum", "minute", "n/a"),
        ("0", "a__z", "minute", "CachePreferNone"),
    )  # fmt: skip
    file = read_ncu_csv("x.csv", text, is_unit_of=lambda base, _: base == "ns")
    assert file.metrics == {
        "a__x.sum": [Cell(None), Cell(None), Cell(4500.0, 5.0)],
        "a__y.sum": [Cell(None), None, None],
        "a__z": [Cell("CachePreferNone"), None, None],
    }
    (warning,) = file.warnings
    assert warning.startswith("'a__x.sum' is printed in 'minute' (line 2), which is no known unit")
    assert read(text).warnings == []


def test_two_runs_with_equal_names_stay_apart() -> None:
    """In two containers a process may have the same number; its values are others."""
    other = LONG.replace('"6.75"', '"9.00"')
    file = read(LONG + other)
    assert len(file.launches) == 4
    assert file.metrics["gpu__time_duration.sum"][2] == Cell(9000.0, 5.0)
    assert [rule.launch for rule in file.rules] == [0, 2]


def test_a_label_that_is_not_known_keeps_its_name() -> None:
    """Where two sections have the same label, the section tells them apart."""
    text = _long_rows(("0", "Odd Label", "", "1")) + "\n"
    text += '"0","42","axpy","Other","Odd Label","","2"'
    assert read(text).metrics == {"Odd Label": [Cell(1)], "Other: Odd Label": [Cell(2)]}


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("nan", math.nan), ("-nan(ind)", math.nan), ("inf", math.inf), ("-inf", -math.inf),
        ("no data", None), ("n/a", None), ("(!) nan", math.nan), ("(!) 12", 12), ("-3", -3.0),
        ("12 (4; 8)", 12), ("(4; 8)", None), ("18446744073709551616", 2.0**64), ("0,1,2", "0,1,2"),
        ("18446744073709551615", 2**64 - 1),
    ],
)  # fmt: skip
def test_unusual_values_are_what_they_say(printed: str, value: float | str | None) -> None:
    """Marks of doubt and instances are taken off; what is no number is text."""
    (cell,) = read(_long_rows(("0", "a__x.sum", "", printed))).metrics["a__x.sum"]
    assert cell is not None
    assert (type(cell.value), repr(cell.value)) == (type(value), repr(value))


def test_a_list_of_units_is_text_even_where_it_looks_like_a_number() -> None:
    """100,101 are two TPCs, not a hundred thousand."""
    file = read(_long_rows(("0", "launch__tpc_enabled", "", "100,101")))
    assert file.metrics["launch__tpc_enabled"] == [Cell("100,101")]


def test_decimal_commas_hold_for_the_whole_text() -> None:
    """1.234 is a thousand where another number has a decimal comma."""
    file = read(_long_rows(("0", "a__x.sum", "", "1.234"), ("0", "a__y.avg", "", "0,50")))
    assert file.metrics == {"a__x.sum": [Cell(1234)], "a__y.avg": [Cell(0.5, 0.005)]}


def test_numbers_written_in_two_ways_are_refused() -> None:
    """Nobody knows what 1,234 means in such a text."""
    text = _long_rows(("0", "a__x.sum", "", "1,234.5"), ("0", "a__y.avg", "", "1.234,5"))
    with pytest.raises(ReportFormatError, match=r"x\.csv: in line 3: the number '1\.234,5'"):
        read(text)


def test_the_rounding_covers_what_a_float_cannot_hold() -> None:
    """The last printed digit of a large number is finer than a float64."""
    (cell,) = read(_long_rows(("0", "a__x.sum", "", "8,513,297,872.340425"))).metrics["a__x.sum"]
    assert cell is not None
    assert isinstance(cell.value, float)
    assert abs(cell.value - 8513297872.3404255) <= cell.rounding < 2e-6


@pytest.mark.parametrize("end", ['"1","42","app","127.0.0.1","axpy(in', '"1","4', '"1', '"'])
def test_a_raw_page_that_was_cut_is_an_error(end: str) -> None:
    """And with salvage gives the launches before the cut."""
    header, units, first, _, _ = WIDE.split("\n")
    cut = f"{header}\n{units}\n{first}\n{end}"
    with pytest.raises(TruncatedReportError, match="in line 4: the text ends inside a row"):
        read(cut)
    file = read(cut, on_error="salvage")
    assert file.metrics["gpu__time_duration.sum"] == [Cell(6750.0, 5.0)]
    assert file.damage is not None


def test_a_launch_whose_rows_were_cut_is_not_salvaged() -> None:
    """The rows that are left of it would pass for all of it."""
    cut = _long_rows(("0", "a__x.sum", "", "1"), ("1", "a__x.sum", "", "1,2"))
    cut += '\n"1","42","axpy","S","a__y.sum","","1,2'
    file = read(cut, on_error="salvage")
    assert file.metrics == {"a__x.sum": [Cell(1)]}
    with pytest.raises(TruncatedReportError, match="line 4"):
        read(cut.replace('"0","42"', '"1","42"'), on_error="salvage")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n".join(line for i, line in enumerate(WIDE.split("\n")) if i != 1), "row of units"),
        (LONG.replace('"Metric Unit",', ""), "no column 'Metric Unit', and values may be scaled"),
        (LONG.replace("Metric Value", "Average"), "a summary over launches"),
        (LONG.replace("Metric Value", "Value"), "no column 'Metric Value'"),
        (LONG.replace("Kernel Name", "Name"), "no column 'Kernel Name'"),
        (WIDE.partition("\n")[0], "no row of a launch"),
        (WIDE.replace('"n/a",""', '"n/a","","2"'), "15 cells under 14 names"),
        ('"ID","Process ID","Kernel Name"\n"0","1","k"', "without a metric"),
    ],
)
def test_a_table_that_lacks_something_is_refused(text: str, message: str) -> None:
    """Rather than read in part or at the wrong scale."""
    with pytest.raises(ReportFormatError, match=message) as told:
        read(text)
    assert told.value.where[0].startswith("line ")


@pytest.mark.parametrize("rest", ["\0", "\0" * 40 + "\n", "\0" * 512 + '\n"1","42","axpy"'])
def test_a_text_that_was_not_written_whole_is_told_by_its_nul_bytes(rest: str) -> None:
    """With the line in which they begin; the launches before it can be salvaged."""
    told = r"x\.csv: in line 5: NUL bytes follow instead of text: the file was not written whole"
    with pytest.raises(TruncatedReportError, match=told):
        read(WIDE + rest)
    file = read(WIDE + rest, on_error="salvage")
    assert file.metrics == read(WIDE).metrics
    assert file.damage is not None
    with pytest.raises(TruncatedReportError, match="in line 1: NUL bytes"):
        read(WIDE[:30] + rest)


def test_rows_may_be_missing_where_nul_bytes_begin() -> None:
    """The last launch of the details page would pass for all of it."""
    rows = LONG[: LONG.index('"1","42"')] + "\0\0"
    with pytest.raises(TruncatedReportError, match="in line 6: NUL bytes"):
        read(rows, on_error="salvage")
    file = read(LONG + "\0\0", on_error="salvage")
    assert [launch.kernel_name for launch in file.launches] == ["axpy(int)"]


def test_nul_bytes_of_a_program_are_its_output() -> None:
    """A few between other lines are no hole in the file."""
    assert read("a\0\0b\n" + WIDE).metrics == read(WIDE).metrics


def test_an_empty_text_is_no_report() -> None:
    """Also one of blank lines."""
    with pytest.raises(NotAReportError, match="the text is empty"):
        read("\n \n")


def test_nvtx_columns_are_taken_apart_by_the_fields_in_their_names() -> None:
    """A thread's stack, outermost first, and the start/end ranges of the process."""
    header = (
        '"ID","Process ID","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:'
        'Msg","Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",'
        '"Kernel Name","Metric Name","Metric Unit","Metric Value"'
    )
    cells = (
        "17 <default domain>:step:none:none:none:none:none:none\n"
        "17 nsightlens:op v1 name=a:b:none:5:none:none:none:hi"
    )
    row = f'"0","42","{cells}","9:loader:batch:none:none:none:none:none:none","k","a__x.sum","","1"'
    (launch,) = read(f"{header}\n{row}").launches
    assert [(r.domain, r.name, r.thread_id, r.range_id) for r in launch.nvtx] == [
        ("<default domain>", "step", 17, None),
        ("nsightlens", "op v1 name=a:b", 17, None),
        ("loader", "batch", None, 9),
    ]
    assert (launch.nvtx[1].payload, launch.nvtx[1].message) == ("5", "hi")
    (other,) = read(f"{header}\n{row.replace(':none', '')}").launches
    assert other.nvtx == ()
    assert other.nvtx_text is not None


def test_a_header_in_two_delimiters_is_none() -> None:
    """Its names are there, but no cell is called ID: it is told as text without a table."""
    text = '"","ID"\t"Process ID"\t"Process Name"\n"",""\t"1"\t"a"\n'
    with pytest.raises(NotAReportError):
        read_ncu_csv("a.csv", text)
