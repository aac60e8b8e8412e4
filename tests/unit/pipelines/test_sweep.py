"""A sweep of many reports is that of all of them together, in the memory of a few."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from support.reports import attention_launch, gemm_launch, write_report

from nsightlens import open_report, sweep
from nsightlens.errors import (
    FilterError,
    NotAReportError,
    ReportNotFoundError,
    SettingsFileError,
    UnknownDeviceError,
)
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.ncurep.write import write_ncu_rep
from nsightlens.pipelines import Filters, sweep_reports
from nsightlens.pipelines import sweep as pipeline
from nsightlens.readers.read import ReadOptions
from nsightlens.sweeps import SweepOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.sweeps import Sweep


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return a report for each of some batch sizes."""
    folder = tmp_path_factory.mktemp("reports")
    paths = [folder / f"batch{batch_size}.ncu-rep" for batch_size in (1, 8, 64, 256)]
    for path in paths:
        batch_size = int(path.stem.removeprefix("batch"))
        write_ncu_rep(path, decode_sweep([batch_size]))
    return paths


def assert_same(one: Sweep, other: Sweep) -> None:
    """Compare as text, in which NaN is NaN."""
    for name in ("rows", "trends", "steps"):
        assert getattr(one, name).schema == getattr(other, name).schema
        assert str(getattr(one, name).to_pylist()) == str(getattr(other, name).to_pylist())
    assert one.verdict == other.verdict
    assert (one.by, one.notes, one.warnings) == (other.by, other.notes, other.warnings)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("by", ["family", "kernel"])
def test_it_is_the_sweep_of_all_reports_together(
    reports: Sequence[Path], jobs: int, by: Any
) -> None:
    """Whichever process reads which of them."""
    options = SweepOptions(by=by, model="opt-1.3b")
    swept = sweep_reports(reports, options, jobs=jobs)
    assert_same(swept.sweep, sweep(open_report(reports), by=by, model="opt-1.3b"))
    assert swept.sources == tuple(map(str, reports))
    assert swept.launch_count == swept.kept_count == len(open_report(reports))
    assert (swept.unread, swept.empty, swept.warnings) == ((), (), ())


def test_a_report_that_is_named_twice_counts_once(reports: Sequence[Path]) -> None:
    """As in every command."""
    twice = sweep_reports([*reports, reports[0]], jobs=1)
    assert_same(twice.sweep, sweep_reports(reports, jobs=1).sweep)


def test_filters_say_which_launches_count(reports: Sequence[Path]) -> None:
    """They are applied to each report where it is read."""
    swept = sweep_reports(reports, filters=Filters(families=("attention",)), jobs=2)
    assert set(swept.sweep.rows["family"].to_pylist()) == {"attention"}
    assert 0 < swept.kept_count < swept.launch_count


def test_filters_that_no_launch_passes_are_an_error(reports: Sequence[Path]) -> None:
    """Which says what was asked for."""
    filters = Filters(kernel=("nosuch",), families=("gemm", "attention"))
    with pytest.raises(
        FilterError,
        match=r"none of \d+ launches passes the filters: kernel nosuch; families gemm, attention",
    ):
        sweep_reports(reports, filters=filters)


def test_what_cannot_be_read_does_not_stop_the_rest(
    tmp_path: Path, reports: Sequence[Path]
) -> None:
    """It is returned, by name and in order."""
    broken = tmp_path / "broken.ncu-rep"
    broken.write_bytes(b"\x01 no report")
    gone = tmp_path / "gone.ncu-rep"
    swept = sweep_reports([broken, *reports, gone], jobs=1)
    assert_same(swept.sweep, sweep(open_report(reports)))
    assert [one.report for one in swept.unread] == [str(broken), str(gone)]
    assert isinstance(swept.unread[0].error, NotAReportError)
    assert isinstance(swept.unread[1].error, ReportNotFoundError)


def test_no_report_makes_an_empty_sweep() -> None:
    """The command says what is missing."""
    swept = sweep_reports([])
    assert len(swept.sweep) == 0
    assert swept.sources == ()


def test_what_is_to_be_known_of_the_reports_comes_along(tmp_path: Path) -> None:
    """GPUs and sessions for the heading, warnings and empty reports for stderr."""
    sound = tmp_path / "sound.ncu-rep"
    write_ncu_rep(sound, decode_sweep([4]))
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(sound.read_bytes()[:-2000])
    empty = write_report(tmp_path, [], name="empty.ncu-rep")
    swept = sweep_reports([sound, cut, empty], on_error="salvage", jobs=1)
    assert swept.unread == ()
    assert swept.empty == (str(empty),)
    assert [str(cut) in text for text in swept.warnings] == [True]
    (gpu,) = open_report(sound).launches["device_name"].unique().to_pylist()
    assert swept.devices == ((str(sound), gpu), (str(cut), gpu))
    by_report = dict(zip(*swept.sessions.select(["report", "clock_control"]).to_pydict().values(),
                         strict=True))  # fmt: skip
    assert by_report[str(sound)] == "base"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (SweepOptions(device="no such GPU"), UnknownDeviceError),
        (SweepOptions(peaks="gone.toml"), SettingsFileError),
        (SweepOptions(kernel_rules="gone.toml"), SettingsFileError),
    ],
)
def test_options_that_cannot_be_used_are_told_once(
    options: SweepOptions, error: type[Exception]
) -> None:
    """Before any report is read, not for each of them."""
    with pytest.raises(error):
        sweep_reports(["gone.ncu-rep"], options)


def test_a_filter_that_cannot_be_understood_is_told_once() -> None:
    """Before any report is read."""
    with pytest.raises(FilterError, match="regular expression"):
        sweep_reports(["gone.ncu-rep"], filters=Filters(kernel=("(",)))


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"on_error": "ignore"}, "on_error must be"),
        ({"reader": "magic"}, "reader must be"),
        ({"jobs": -1}, "jobs must not be negative"),
    ],
)
def test_keywords_are_checked(keywords: dict[str, Any], words: str) -> None:
    """As those of `open_report`."""
    with pytest.raises(ValueError, match=words):
        sweep_reports([], **keywords)


def test_memory_does_not_grow_with_the_number_of_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 reports, at most some dozens of parts are there at any time."""
    paths = [
        write_report(tmp_path, [gemm_launch(), attention_launch()], name=f"{i}.ncu-rep")
        for i in range(3)
    ]
    shares = {str(path): pipeline._share_of(str(path), _how()) for path in paths}
    alive = most = 0

    def fresh(name: str, _: Any) -> Any:
        nonlocal alive, most
        share = shares[name]
        part = type(share.part)(
            **{field: getattr(share.part, field) for field in share.part.__dataclass_fields__}
        )
        alive += 1
        most = max(most, alive)
        weakref.finalize(part, forget)
        return share._replace(part=part)

    def forget() -> None:
        nonlocal alive
        alive -= 1

    monkeypatch.setattr(pipeline, "_share_of", fresh)
    monkeypatch.setattr(pipeline, "distinct", lambda _: [str(path) for path in paths] * 100)
    swept = sweep_reports([], jobs=1)
    gc.collect()
    assert swept.launch_count == 600
    assert most <= 130


def _how() -> Any:
    return pipeline._How(ReadOptions(), Filters(), SweepOptions())
