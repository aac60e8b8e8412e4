"""Reports of every kind become sweeps, whole or in parts."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import A100, aggregates, dram_bytes, launch, parts, with_columns
from support.stores import FAILED, report_of

from nsightlens import open_report, sweep, tables
from nsightlens.errors import PeaksWarning, UnknownDeviceError
from nsightlens.example import path
from nsightlens.report import concat_reports
from nsightlens.steps import StepRules
from nsightlens.sweeps import SweepOptions, part_of, sweep_of_parts

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

SCHEMAS = {"rows": tables.SWEEP, "trends": tables.SWEEP_TRENDS, "steps": tables.SWEEP_STEPS}


def step(batch: int, phase: str = "decode", context: int = 5) -> str:
    """Return the NVTX path of a step."""
    return f"nsightlens@step v1 phase={phase} batch_size={batch} context={context} query=1"


def made(*launches: Any, **columns: list[Any]) -> Report:
    """Return a report of launches that share a name unless columns say so."""
    same = {"kernel_name": ["my_own"] * len(launches)}
    return with_columns(report_of(*launches), **(same | columns))


def rows_of(result: Sweep) -> list[dict[str, Any]]:
    """Return the rows of a sweep."""
    rows: list[dict[str, Any]] = result.rows.to_pylist()
    return rows


@pytest.mark.parametrize("by", ["family", "kernel"])
def test_an_empty_report_is_an_empty_sweep(by: Any) -> None:
    """With every column of its tables."""
    result = sweep(report_of(), by=by)
    for name, columns in SCHEMAS.items():
        assert getattr(result, name).schema.equals(tables.schema_of(columns))
        assert getattr(result, name).num_rows == 0
    assert result.verdict.explanation == "undecided"
    assert (result.notes, result.by) == ((), by)


def test_no_part_at_all_is_an_empty_sweep() -> None:
    """As when every report could not be read."""
    result = sweep_of_parts([])
    assert (len(result), result.trends.num_rows, result.steps.num_rows) == (0, 0, 0)
    assert result.rows.schema.equals(tables.schema_of(tables.SWEEP))


def test_what_is_no_report_is_refused() -> None:
    """With the way to one."""
    with pytest.raises(TypeError, match="open_report"):
        sweep("report.ncu-rep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'family' or 'kernel'"):
        sweep(report_of(), by="launch")  # type: ignore[arg-type]
    with pytest.raises(UnknownDeviceError):
        sweep(report_of(), device="no such GPU")


def test_failed_launches_are_counted_and_left_out() -> None:
    """In their row, in their step and in a note."""
    report = made(launch(parts(dram=90)), FAILED, nvtx_path=[step(8)] * 2,
                  device_name=["H100"] * 2)  # fmt: skip
    result = sweep(report)
    (row,), (whole,) = rows_of(result), result.steps.to_pylist()
    assert (row["launch_count"], row["failed_launch_count"], row["duration_ns"]) == (2, 1, 1e6)
    assert (whole["launch_count"], whole["failed_launch_count"]) == (2, 1)
    assert "Left out of sums: 1 of 2 launches, which failed to be collected." in result.notes


def test_launches_without_a_duration_are_counted_in_a_note() -> None:
    """They were collected, but not timed."""
    report = made(launch(parts(dram=90)), launch(duration_ns=None), nvtx_path=[step(8)] * 2)
    notes = sweep(report).notes
    assert "Left out of sums: 1 of 2 launches, which have no duration." in notes


def test_launches_without_step_are_rows_of_their_own() -> None:
    """Neither batch size nor phase is guessed, and notes count them."""
    report = made(*[launch(parts(dram=90))] * 3, nvtx_path=[step(8), None, None])
    result = sweep(report)
    found = {(row["phase"], row["batch_size"]): row["launch_count"] for row in rows_of(result)}
    assert found == {("decode", 8): 1, (None, None): 2}
    assert any(note.startswith("2 of 3 launches have no batch size") for note in result.notes)
    assert any(note.startswith("No phase is known of 2 of 3 launches") for note in result.notes)


def test_what_the_user_says_of_steps_fills_what_is_lacking() -> None:
    """And the source of the batch size says so."""
    report = made(*[launch(parts(dram=90))] * 2, nvtx_path=[step(8), None])
    result = sweep(report, step_rules=StepRules(batch_size=4))
    assert {(row["batch_size"], row["batch_source"]) for row in rows_of(result)} == {
        (8, "annotation"),
        (4, "batch_size"),
    }


def test_a_context_length_stands_only_where_all_have_it() -> None:
    """The row of two context lengths has none."""
    paths = [step(8, context=5), step(8, context=6), step(16), step(16)]
    result = sweep(made(*[launch(parts(dram=90))] * 4, nvtx_path=paths))
    assert {r["batch_size"]: r["context_length"] for r in rows_of(result)} == {8: None, 16: 5}


def test_gpus_are_rows_of_their_own() -> None:
    """Also where their drivers spell one GPU in two ways, which is one."""
    names = ["NVIDIA H100", "H100", "NVIDIA A100"]
    report = made(launch(parts(dram=90)), launch(parts(dram=90)), launch(A100, parts(dram=90)),
                  nvtx_path=[step(8)] * 3, device_name=names)  # fmt: skip
    result = sweep(report)
    assert [(r["device_name"], r["launch_count"]) for r in rows_of(result)] == [
        ("A100", 1),
        ("H100", 2),
    ]
    assert result.steps["device_name"].to_pylist() == ["A100", "H100"]
    assert all(share == 100.0 for share in result.rows["duration_share_pct"].to_pylist())


def test_phases_are_rows_of_their_own() -> None:
    """Decode first."""
    paths = [step(8, "prefill"), step(8, "mixed"), step(8)]
    result = sweep(made(*[launch(parts(dram=90))] * 3, nvtx_path=paths))
    assert result.rows["phase"].to_pylist() == ["decode", "prefill", "mixed"]


def test_a_kernel_is_a_row_of_its_own_where_asked() -> None:
    """With its name; results that are no kernels with their kind in brackets."""
    report = made(*[launch(parts(dram=90))] * 3, kernel_name=["b", "a", None],
                  kind=["kernel", "kernel", "range"], nvtx_path=[step(8)] * 3)  # fmt: skip
    assert sweep(report, by="kernel").rows["kernel"].to_pylist() == ["(range)", "a", "b"]
    assert sweep(report).rows["kernel"].to_pylist() == [None]


def test_a_launch_without_occupancy_does_not_count_in_its_mean() -> None:
    """Nor where it comes in another part: each column has a weight of its own."""
    one = made(launch(parts(dram=90), {"sm__warps_active.avg.pct_of_peak_sustained_active": 40.0}))
    other = with_columns(made(launch(parts(dram=50), duration_ns=9e6)), report=["b.ncu-rep"])
    (row,) = rows_of(sweep_of_parts([part_of(one), part_of(other)]))
    assert row["achieved_occupancy_pct"] == pytest.approx(40.0)
    assert row["dram_throughput_pct"] == pytest.approx(54.0)
    assert row["report_count"] == 2


def test_the_top_stall_is_that_of_the_longest_launch_of_all_parts() -> None:
    """Of equally long ones the first by name, so that the order of the reports does not matter."""

    def part(stall: str, duration_ns: float) -> Any:
        return part_of(made(launch(parts(dram=90), duration_ns=duration_ns), top_stall=[stall]))

    found = [part("wait", 1e6), part("barrier", 1e6), part("drain", 1e3)]
    for order in (found, found[::-1]):
        assert sweep_of_parts(order).rows["top_stall"].to_pylist() == ["barrier"]


def test_bytes_of_a_row_are_known_only_where_all_of_its_parts_have_them() -> None:
    """Half of the bytes are no intensity."""
    counted = launch(parts(dram=50), dram_bytes(0.5))
    one, other = made(counted), made(launch(parts(dram=50)))
    (alone,) = rows_of(sweep_of_parts([part_of(one)]))
    (both,) = rows_of(sweep_of_parts([part_of(one), part_of(other)]))
    assert alone["dram_bytes"] is not None
    assert alone["dram_read_pct"] == pytest.approx(50.0)
    assert (both["dram_bytes"], both["dram_read_pct"]) == (None, None)


def test_a_part_can_be_pickled_and_is_small() -> None:
    """However many launches it has: a thousand reports are to fit in memory."""
    report = open_report(path())
    part = part_of(report)
    many = concat_reports(
        [with_columns(report, report=[f"{i}.ncu-rep"] * len(report)) for i in range(20)]
    )
    sizes = [len(pickle.dumps(one)) for one in (part, part_of(many))]
    assert sizes[1] < 1.1 * sizes[0] < 1_000_000
    again = pickle.loads(pickle.dumps(part))
    assert sweep_of_parts([again]).rows.equals(sweep(report).rows)


def test_options_can_be_pickled() -> None:
    """They go to other processes beside the reports."""
    options = SweepOptions(by="kernel", step_rules=StepRules(("bs(?P<batch>[0-9]+)",), 4))
    assert pickle.loads(pickle.dumps(options)) == options


def test_parts_may_come_one_at_a_time() -> None:
    """Each is forgotten once it was added."""
    report = open_report(path())
    many = (part_of(with_columns(report, report=[f"{i}"] * len(report))) for i in range(150))
    result = sweep_of_parts(many)
    assert set(result.rows["report_count"].to_pylist()) == {150}
    once = sweep(report)
    for name in ("bound", "regime", "limiter", "evidence", "top_stall"):
        assert result.rows[name].to_pylist() == once.rows[name].to_pylist()
    assert sum(result.rows["launch_count"].to_pylist()) == 150 * len(report)


def test_a_named_device_that_cannot_be_is_warned_of() -> None:
    """As `classify` does; the parts keep it for whoever adds them up."""
    report = open_report(path())
    with pytest.warns(PeaksWarning, match="was named"):
        result = sweep(report, device="A100-SXM4-40GB")
    options = SweepOptions(device="A100-SXM4-40GB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        added = sweep_of_parts([part_of(report, options), part_of(report_of(), options)], options)
    assert added.warnings == result.warnings
    assert len(added.warnings) == 1


def test_ceilings_are_unused_only_if_no_report_has_a_use_for_them(tmp_path: Path) -> None:
    """One of two GPUs that the file does not know is no reason to warn."""
    peaks = tmp_path / "peaks.toml"
    peaks.write_text(
        'format = "nsightlens.peaks"\nversion = 1\n[[device]]\nname = "NVIDIA A100-SXM4-40GB"\n'
        'source = "ours"\n[device.peak_per_s]\ndram = "1.4 TB/s"\n',
        "utf-8",
    )
    options = SweepOptions(peaks=peaks)
    h100, a100 = made(launch(parts(dram=9))), made(launch(A100, parts(dram=9)))
    parts_of = [part_of(one, options) for one in (h100, a100, report_of())]
    assert sweep_of_parts(parts_of, options).warnings == ()
    assert len(sweep_of_parts([parts_of[0], parts_of[2]], options).warnings) == 1


def test_rows_of_annotated_shapes_have_no_measured_work() -> None:
    """Their label is analytic; what was executed and moved is not known."""
    annotated = f"{step(8)}/op v1 name=a flop=1e9 bytes=1.6e9"
    report = made(launch(), nvtx_path=[annotated])
    (row,) = rows_of(sweep(report))
    assert (row["evidence"], row["bound"]) == ("analytic", "memory")
    for name in ("flop_count", "dram_bytes", "arithmetic_intensity_flop_per_byte",
                 "executed_per_useful_flop", "expectation"):  # fmt: skip
        assert row[name] is None, name
    assert row["useful_arithmetic_intensity_flop_per_byte"] == pytest.approx(1e9 / 1.6e9)


def test_a_share_of_annotated_launches_is_no_useful_work_of_a_row() -> None:
    """One of two launches says nothing: the row does not either."""
    paths = [f"{step(8)}/op v1 name=a flop=1e9 bytes=1.6e9", f"{step(8)}/op v1 name=b"]
    (row,) = rows_of(sweep(made(*[launch(parts(dram=50))] * 2, nvtx_path=paths)))
    assert (row["useful_flop_count"], row["useful_source"]) == (None, None)


def test_a_report_of_throughputs_alone_has_labels_and_no_work() -> None:
    """As with --section SpeedOfLight."""
    (row,) = rows_of(sweep(made(launch(aggregates(sm=20, memory=80, dram=80)))))
    assert (row["bound"], row["flop_count"]) == ("memory", None)


def sessions(**columns: list[str | None]) -> pa.Table:
    """Return a table of sessions that say only this."""
    count = len(next(iter(columns.values())))
    return tables.table_of(tables.schema_of(tables.SESSIONS), columns, count)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("clock_control", ["base", "none"], "Clock control differs: base (1 session), none (1"),
        ("cache_control", ["all", "none"], "Cache control differs: all (1 session), none (1"),
        ("replay_mode", ["kernel", "range"], "Replay mode differs: kernel (1 session), range (1"),
    ],
)
def test_what_differs_in_how_reports_were_collected_is_said(
    column: str, values: list[str | None], words: str
) -> None:
    """Also across parts; a session that does not say it differs from none."""
    from dataclasses import replace

    plain = made(launch(parts(dram=90)))
    whole = replace(plain, sessions=sessions(**{column: [*values, None]}))
    assert any(note.startswith(words) for note in sweep(whole).notes)
    single = [replace(plain, sessions=sessions(**{column: [value, None]})) for value in values]
    assert not [note for note in sweep(single[0]).notes if "differs" in note]
    added = sweep_of_parts([part_of(one) for one in single])
    assert any(note.startswith(words) for note in added.notes)
