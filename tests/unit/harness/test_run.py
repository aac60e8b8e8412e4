"""A run is kept part by part, goes on where it ended, and says what went wrong."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from support.stand_in import GOOD, StandIn

from nsightlens.errors import (
    ProfilerOptionError,
    ProfilingError,
    ProgramNotFoundError,
    RunFolderMismatchError,
)
from nsightlens.harness import Decode, Listener, Request, Target, planned, profile
from nsightlens.harness.manifest import read_manifest
from nsightlens.harness.options import NcuOptions
from nsightlens.harness.run import perform
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.harness.manifest import RunManifest
    from nsightlens.harness.progress import Progress

MODEL = Decode("opt-1.3b", (1, 8, 64), 500)
PROGRAM = Target(("decode", "--it"))


@pytest.fixture
def ncu(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


@pytest.fixture
def request_(tmp_path: Path, ncu: StandIn) -> Request:
    """A run of a model at three batch sizes, without tables."""
    return Request(
        tmp_path / "run", MODEL, given={"ncu": str(ncu.path)}, makes_tables=False
    )  # fmt: skip


def _manifest(request: Request) -> RunManifest:
    manifest = read_manifest(request.folder)
    assert manifest is not None
    return manifest


def _states(request: Request) -> list[str]:
    return [record.state for record in _manifest(request).parts]


# --- What is kept ---


def test_reports_are_kept_with_how_they_were_made(request_: Request, ncu: StandIn) -> None:
    """The manifest has the command, the checksum, and what the report itself says."""
    run = profile(request_)
    assert [path.name for path in run.reports] == [
        "ncu-batch-0001.ncu-rep", "ncu-batch-0008.ncu-rep", "ncu-batch-0064.ncu-rep",
    ]  # fmt: skip
    assert {path.read_bytes() for path in run.reports} == {ncu.report}
    record = _manifest(request_).parts[1]
    assert (record.state, record.batch_size, record.attempts, record.exit_code) == (
        "finished", 8, 1, 0,
    )  # fmt: skip
    assert record.outputs[0].sha256 == hashlib.sha256(ncu.report).hexdigest()
    assert " ".join(record.argv[1:]) == ncu.commands()[1]
    launches = open_report(run.reports[0]).launches
    assert record.launch_count == launches.num_rows
    assert sum(record.pass_counts.values()) == launches.num_rows
    assert not (request_.folder / ".partial").exists()


def test_the_manifest_says_with_what_and_where(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that change what is measured, and none that may be a secret."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("HF_TOKEN", "secret")
    profile(request_)
    manifest = _manifest(request_)
    assert manifest.tools["ncu"]["version"] == "2025.1.0.0"
    assert manifest.environment["CUDA_VISIBLE_DEVICES"] == "3"
    assert manifest.seed == 0
    assert "secret" not in (request_.folder / "manifest.json").read_text()


def test_what_the_tool_and_the_program_say_is_kept(request_: Request, ncu: StandIn) -> None:
    ncu.does(GOOD + "echo of the target >&2")
    profile(request_)
    logs = request_.folder / "logs"
    assert "100% - 9 passes" in (logs / "ncu-batch-0008.log").read_text()
    assert (logs / "ncu-batch-0008.target.log").read_text() == "of the target\n"


def test_the_program_runs_where_and_with_what_was_asked_for(
    request_: Request, ncu: StandIn, tmp_path: Path
) -> None:
    ncu.does(GOOD + 'echo "$WITH $NSIGHTLENS_RUN"; pwd')
    target = replace(PROGRAM, environment={"WITH": "this"}, folder=str(tmp_path / "bin"))
    profile(replace(request_, work=target))
    *_, said, where = (request_.folder / "logs/ncu-program.log").read_text().split("\n")[:-1]
    assert said == f"this {_manifest(request_).run_id}"
    assert where == str(tmp_path / "bin")


def test_tables_are_made_of_what_is_finished(request_: Request) -> None:
    """They name reports as they lie in the folder, which may be moved."""
    run = profile(replace(request_, makes_tables=True))
    tables = request_.folder / "tables"
    labels = pq.read_table(tables / "labels.parquet")
    assert labels["report"].unique().to_pylist() == [
        f"reports/{path.name}" for path in run.reports
    ]  # fmt: skip
    assert labels.num_rows == sum(record.launch_count or 0 for record in run.manifest.parts)
    assert set(run.manifest.tables) == {path.name for path in tables.iterdir()} == {
        "labels.parquet", "launches.parquet", "sweep.parquet", "sweep_trends.parquet",
        "sweep_steps.parquet",
    }  # fmt: skip


# --- Going on ---


def test_what_is_finished_is_not_run_again(request_: Request, ncu: StandIn) -> None:
    """The second run starts nothing and changes nothing."""
    request = replace(request_, makes_tables=True)
    profile(request)
    ncu.does("exit 1")
    paths = [path for path in request.folder.rglob("*") if path.is_file() and path.name != ".lock"]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
    commands = ncu.commands()
    assert len(profile(request).reports) == 3
    assert ncu.commands() == commands
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}
    manifest = request.folder / "manifest.json"
    assert {**after, manifest: after[manifest][0]} == {**before, manifest: before[manifest][0]}


def test_only_what_is_missing_is_run(request_: Request, ncu: StandIn) -> None:
    """A part that failed is tried again; the others stay, byte for byte."""
    ncu.does(f'case "$*" in *batch_size=8*) exit 1 ;; esac\n{GOOD}')
    run = profile(request_)
    assert len(run.errors) == 1
    assert _states(request_) == ["finished", "failed", "finished"]
    ncu.does(GOOD)
    assert profile(request_).errors == ()
    assert _states(request_) == ["finished"] * 3
    assert _manifest(request_).parts[1].attempts == 2
    assert ["batch_size=8" in command for command in ncu.commands()] == [False, True, False, True]


def test_tables_that_are_gone_are_made_again(request_: Request, ncu: StandIn) -> None:
    request = replace(request_, makes_tables=True)
    profile(request)
    table = request.folder / "tables" / "labels.parquet"
    before = table.read_bytes()
    table.unlink()
    profile(request)
    assert table.read_bytes() == before
    assert len(ncu.commands()) == 3


def test_tables_of_fewer_parts_are_made_again(request_: Request, ncu: StandIn) -> None:
    """Should a run be killed between its last part and the tables."""
    request = replace(request_, makes_tables=True)
    profile(replace(request, work=replace(MODEL, batch_sizes=(1,))))
    assert _manifest(request).tables
    profile(replace(request, makes_tables=False))
    assert not _manifest(request).tables
    run = profile(request)
    assert len(ncu.commands()) == 3
    labels = pq.read_table(request.folder / "tables" / "labels.parquet")
    assert len(labels["report"].unique()) == len(run.reports) == 3


def test_a_run_may_get_another_batch_size(request_: Request, ncu: StandIn) -> None:
    """What it had stays."""
    profile(request_)
    more = replace(request_, work=replace(MODEL, batch_sizes=(8, 512)))
    assert len(profile(more).reports) == 4
    assert len(ncu.commands()) == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"work": replace(MODEL, context=99)}, "context: 500 then, 99 now"),
        (
            {"work": replace(MODEL, model="opt-2.7b")},
            "target: model opt-1.3b then, model opt-2.7b now",
        ),
        ({"work": PROGRAM}, "target: model opt-1.3b then, decode --it now"),
        ({"ncu": NcuOptions(clock_control="base")}, "clock_control: none then, base now"),
    ],
)
def test_another_run_is_refused(
    request_: Request, ncu: StandIn, change: dict[str, Any], said: str
) -> None:
    """With what differs, before anything is run."""
    profile(request_)
    with pytest.raises(RunFolderMismatchError, match=said):
        profile(replace(request_, **change))
    assert len(ncu.commands()) == 3


def test_another_version_of_the_tool_is_refused(request_: Request, ncu: StandIn) -> None:
    profile(request_)
    ncu.path.write_text(ncu.path.read_text().replace("2025.1.0.0", "2025.3.1.0"))
    with pytest.raises(RunFolderMismatchError, match=r"version of ncu: 2025.1.0.0 then, 2025.3"):
        profile(request_)


def test_another_run_takes_the_place_of_the_first_by_force(request_: Request) -> None:
    profile(request_)
    profile(replace(request_, work=PROGRAM, replaces=True))
    assert [path.name for path in (request_.folder / "reports").iterdir()] == [
        "ncu-program.ncu-rep"
    ]
    assert [record.part_id for record in _manifest(request_).parts] == ["ncu-program"]


def test_an_interrupted_part_is_run_again(request_: Request, ncu: StandIn) -> None:
    """The manifest is sound, nothing half made is left, and what was finished is kept."""
    ncu.does(f'case "$*" in *batch_size=8*) : > "$out"; exec sleep 600 ;; esac\n{GOOD}')

    def interrupt(progress: Progress) -> None:
        made = request_.folder / ".partial" / "ncu-batch-0008.ncu-rep"
        if progress.part_id == "ncu-batch-0008" and made.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        profile(request_, Listener(on_progress=interrupt))
    assert _states(request_) == ["finished", "waiting", "waiting"]
    assert not (request_.folder / ".partial").exists()
    ncu.does(GOOD)
    assert len(profile(request_).reports) == 3
    assert len(ncu.commands()) == 4


# --- What is no success ---


@pytest.mark.parametrize(
    "does",
    [
        "exit 0",
        'cp "$folder/empty.ncu-rep" "$out"',
        'head -c 2000 "$folder/ready.ncu-rep" > "$out"',
        f"{GOOD} exit 1",
        f"{GOOD} kill -SEGV $$",
    ],
    ids=["no report", "no launches", "cut", "exit code", "signal"],
)
def test_an_exit_code_alone_is_not_trusted(request_: Request, ncu: StandIn, does: str) -> None:
    """Neither is a report alone: both have to be good."""
    ncu.does(does)
    with pytest.raises(ProfilingError, match=r"ncu-program\.log"):
        profile(replace(request_, work=PROGRAM))
    assert _states(request_) == ["failed"]
    assert list((request_.folder / "reports").iterdir()) == []


def test_a_part_that_takes_too_long_is_ended(request_: Request, ncu: StandIn) -> None:
    ncu.does("exec sleep 600")
    request = replace(request_, work=PROGRAM, timeout_s=0.1)
    run = perform(request)
    assert len(run.errors) == 1
    assert _manifest(request).parts[0].exit_code == -15


def test_a_program_that_falls_silent_is_ended(request_: Request, ncu: StandIn) -> None:
    ncu.does("echo word; exec sleep 600")
    run = perform(replace(request_, work=PROGRAM, idle_timeout_s=0.2))
    assert len(run.errors) == 1


def test_a_tool_that_is_not_there_is_told_before_anything_is_made(request_: Request) -> None:
    with pytest.raises(ProgramNotFoundError):
        profile(replace(request_, given={"ncu": "/no/such/ncu"}))
    assert not request_.folder.exists()


def test_options_that_a_tool_refuses_make_nothing(request_: Request) -> None:
    with pytest.raises(ProfilerOptionError):
        profile(replace(request_, ncu=NcuOptions(launch_count=0)))
    assert not request_.folder.exists()


NOTHING = """\
echo '==PROF== Connected to process 1 (/usr/bin/python)'
case "$*" in
*"--launch-count 100"*) ;;
*) echo '==WARNING== No kernels were profiled.'; exit 0 ;;
esac
"""


def test_a_filter_that_matches_nothing_costs_one_more_look(request_: Request, ncu: StandIn) -> None:
    """The program runs once more for its first launches, without filters, to see its ranges."""
    ncu.does(NOTHING + GOOD)
    options = NcuOptions(nvtx_include=("DecodStep1/",), kernel="regex:gemm")
    run = perform(replace(request_, work=PROGRAM, ncu=options))
    (error,) = run.errors
    assert error.cause == "no_kernels"
    assert "no range that was seen fits the NVTX filter 'DecodStep1/'" in str(error)
    filtered, look = ncu.commands()
    assert "--nvtx-include DecodStep1/" in filtered
    assert "--nvtx-include" not in look
    assert "regex:gemm" not in look
    assert look.endswith("--metrics gpu__time_duration.sum decode --it")


def test_a_program_without_filters_is_not_looked_at(request_: Request, ncu: StandIn) -> None:
    """There would be nothing to see."""
    ncu.does(NOTHING)
    (error,) = perform(replace(request_, work=PROGRAM)).errors
    assert error.cause == "no_kernels"
    assert len(ncu.commands()) == 1


def test_what_every_part_would_meet_stops_the_run(request_: Request, ncu: StandIn) -> None:
    """Nobody waits for the same refusal at every batch size; the rest is left to be done."""
    ncu.does("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1")
    run = perform(request_)
    assert [error.cause for error in run.errors] == ["counters_not_permitted"]
    assert run.skipped == ("ncu-batch-0008", "ncu-batch-0064")
    assert _states(request_) == ["failed", "waiting", "waiting"]
    assert _manifest(request_).parts[0].failure is not None


def test_what_one_part_meets_does_not_stop_the_others(request_: Request, ncu: StandIn) -> None:
    """Such as too little memory at one batch size."""
    ncu.does(
        'case "$*" in *batch_size=8*) '
        "echo '==ERROR== An error was reported by the driver: out of memory'; exit 1 ;; esac\n"
        + GOOD
    )
    run = perform(request_)
    assert [error.cause for error in run.errors] == ["replay_out_of_memory"]
    assert _states(request_) == ["finished", "failed", "finished"]


# --- While it lasts ---


def test_progress_counts_parts_and_launches(request_: Request, ncu: StandIn) -> None:
    """From the second part on the number of launches is that of the first."""
    # Ends when it was seen: a part that is over at once has no progress.
    ncu.does(GOOD + 'while [ ! -e "$out.seen" ]; do sleep 0.01; done; rm "$out.seen"')
    seen: list[Progress] = []

    def see(progress: Progress) -> None:
        if progress.launch_count:
            seen.append(progress)
            part = request_.folder / ".partial" / f"{progress.part_id}.ncu-rep.seen"
            part.touch()

    notes: list[str] = []
    parts: list[str] = []
    run = profile(
        request_,
        Listener(
            on_progress=see,
            on_note=notes.append,
            on_part=lambda record: parts.append(record.part_id),
        ),
    )
    assert parts == [record.part_id for record in run.manifest.parts]
    firsts = {progress.number: progress for progress in reversed(seen)}
    assert [firsts[number].total for number in (1, 2, 3)] == [3, 3, 3]
    assert firsts[1].launch_total is None
    assert firsts[2].launch_total == run.manifest.parts[0].launch_count
    assert firsts[2].pass_count == 9
    assert notes == []


# --- A plan ---


def test_a_plan_needs_no_profiler(
    request_: Request, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It says which one it is for, and makes nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("NSIGHTLENS_NCU", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    plan = planned(replace(request_, given={}), is_dry=True)
    assert [part.argv[0] for part in plan.parts] == ["ncu"] * 3
    assert plan.notes[0] == "ncu is not installed here: a plan for ncu 2024.1 on PATH"
    with pytest.raises(ProgramNotFoundError):
        planned(replace(request_, given={}))
    assert not request_.folder.exists()


def test_a_plan_for_a_tool_that_was_named_needs_it(request_: Request) -> None:
    with pytest.raises(ProgramNotFoundError):
        planned(replace(request_, given={"ncu": "/no/such"}), is_dry=True)
