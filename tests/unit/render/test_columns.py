"""Columns of a table of labels appear where they say something."""

from __future__ import annotations

from support.labels import GEMM, ROW, UNKNOWN, labels_of, sweep, three_launches

from nsightlens.render.columns import IMPORTANCE_ORDER, LEGEND, label_columns


def _headers(rows: dict[str, list[object]], by: str = "launch") -> list[str]:
    return [" ".join(column.header.split()) for column in label_columns(rows, by)]


def test_a_launch_is_named_by_its_number_and_a_group_by_its_family() -> None:
    """Each kind of row begins with what identifies it."""
    assert _headers(three_launches().to_pydict())[:3] == ["#", "kernel", "family"]
    assert _headers(sweep().to_pydict(), "family")[:3] == ["family", "phase", "batch"]
    assert _headers(sweep().to_pydict(), "kernel")[:2] == ["kernel", "family"]


def test_a_column_without_any_value_is_not_shown() -> None:
    """A report without batch sizes has no column of dashes."""
    assert "batch" in _headers(three_launches().to_pydict())
    assert "batch" not in _headers(labels_of(UNKNOWN).to_pydict())


def test_evidence_and_confidence_are_shown_only_where_they_are_not_the_best() -> None:
    """What is the same for every row and good is not worth a column."""
    assert not {"evidence", "confidence"} & set(_headers(labels_of({}).to_pydict()))
    assert {"evidence", "confidence"} <= set(_headers(three_launches().to_pydict()))


def test_the_limiter_stands_with_its_fraction_of_peak() -> None:
    """In the words of a person."""
    columns = {c.header: c for c in label_columns(three_launches().to_pydict(), "launch")}
    assert columns["limited by"].cells == ["DRAM 91%", "tensor fp16 62%", "-"]
    assert columns["bound"].cells == columns["bound"].styles


def test_full_names_replace_the_short_ones_where_they_are_known() -> None:
    """A launch without a demangled name keeps the short one."""
    rows = labels_of({}, {"kernel": "k", "kernel_demangled_name": None}).to_pydict()
    name = next(c for c in label_columns(rows, "launch", full_names=True) if c.header == "kernel")
    assert name.cells == [ROW["kernel_demangled_name"], "k"]


def test_what_is_no_kernel_is_named_by_its_kind() -> None:
    """And a kernel whose name is a blank does not look like an empty cell."""
    unnamed = {"kernel": None, "kernel_demangled_name": None}
    rows = labels_of(
        {**unnamed, "kind": "range"}, {**unnamed, "kind": "graph"}, unnamed, {"kernel": " "}
    ).to_pydict()
    name = next(c for c in label_columns(rows, "launch") if c.header == "kernel")
    assert name.cells == ["(range)", "(graph)", "-", '" "']


def test_gpus_and_processes_are_shown_where_one_report_has_several() -> None:
    """The heading of a report names its GPU; two spellings of it are one."""
    both = [{}, {"device_name": "H100 PCIe", "device_id": 1, "process_id": 99}]
    found = _headers(labels_of(*both).to_pydict())
    assert {"device", "process"} <= set(found)
    assert "GPU" not in found
    apart = [both[0], {**both[1], "report": "other.ncu-rep"}]
    assert not {"device", "process"} & set(_headers(labels_of(*apart).to_pydict()))
    assert "GPU" in _headers(labels_of({}, {"device_name": "L4"}).to_pydict())
    failed = {"device_name": None, "device_id": None, "process_id": None}
    assert not {"GPU", "device", "process"} & set(_headers(labels_of({}, failed).to_pydict()))


def test_sorted_launches_of_several_reports_show_their_gpus() -> None:
    """They stand below one heading."""
    here: dict[str, object] = {}
    there = {"report": "other.ncu-rep", "device_name": "NVIDIA L4"}
    rows = labels_of(here, there, here).to_pydict()
    column = next(c for c in label_columns(rows, "launch") if c.header == "GPU")
    assert column.cells == ["H100 PCIe", "L4", "H100 PCIe"]


def test_names_from_a_report_cannot_steer_the_terminal() -> None:
    """An escape sequence in a kernel name is shown as a question mark."""
    rows = labels_of({**GEMM, "kernel": "evil\x1b[2J"}).to_pydict()
    assert label_columns(rows, "launch")[1].cells == ["evil?[2J"]


def test_the_order_of_importance_names_every_column_once() -> None:
    """The reference page lists them all."""
    assert len(IMPORTANCE_ORDER) == len(set(IMPORTANCE_ORDER))
    assert {" ".join(header.split()) for header in LEGEND} <= set(IMPORTANCE_ORDER)


def test_what_a_launch_is_stays_longer_than_the_step_it_is_of() -> None:
    """Family before batch, both before the numbers; the regime is part of the label."""
    order = list(IMPORTANCE_ORDER)
    wanted = ["bound", "limited by", "time", "family", "batch", "regime", "FLOP per B", "DRAM %"]
    assert [name for name in order if name in wanted] == wanted
