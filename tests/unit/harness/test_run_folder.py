"""A run folder is sound at every moment, and belongs to one run at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.errors import OutputError, RunFolderBusyError, RunFolderMismatchError
from nsightlens.harness.manifest import (
    FORMAT,
    Failure,
    Output,
    PartRecord,
    RunManifest,
    differences,
    read_manifest,
    write_manifest,
)
from nsightlens.harness.run_folder import RUN_VARIABLE, opened

if TYPE_CHECKING:
    from nsightlens.harness.run_folder import RunFolder

ROOT = Path(__file__).parents[3]
PATH = "reports/ncu-program.ncu-rep"


def _record(folder: Path, **more: Any) -> PartRecord:
    made = folder / ".partial" / "ncu-program.ncu-rep"
    values: dict[str, Any] = {
        "part_id": "ncu-program",
        "tool": "ncu",
        "work": "program",
        "batch_size": None,
        "state": "waiting",
        "argv": ("/opt/ncu", "-o", str(made), "app"),
        "made": (str(made),),
        **more,
    }
    return PartRecord(**values)


def _manifest(folder: Path, **more: Any) -> RunManifest:
    values: dict[str, Any] = {
        "run_id": "0123",
        "created_at": "2026-01-01T00:00:00+00:00",
        "nsightlens_version": "1",
        "request": {"target": ["app"], "ncu": {"metric_set": "smallest"}, "nsys": {}},
        "tools": {"ncu": {"path": "/opt/ncu", "version": "2025.1", "found_by": "PATH"}},
        "host": {"gpus": [{"name": "NVIDIA H100"}]},
        "environment": {"CUDA_VISIBLE_DEVICES": "0"},
        "seed": None,
        "parts": (_record(folder),),
        **more,
    }
    return RunManifest(**values)


def _begun(folder: RunFolder, manifest: RunManifest, *, replaces: bool = False) -> list[str]:
    notes: list[str] = []
    folder.begin(manifest, replaces=replaces, on_note=notes.append)
    return notes


def _finished(path: Path, content: bytes = b"report") -> RunManifest:
    """Finish the one part of a run."""
    with opened(path) as folder:
        _begun(folder, _manifest(path))
        _finish(folder, content)
        return folder.written


def _finish(folder: RunFolder, content: bytes = b"report") -> None:
    made = folder.partial / "ncu-program.ncu-rep"
    made.write_bytes(content)
    record = folder.written.parts[0]
    folder.finish(replace(record, outputs=(folder.output(PATH, made),), launch_count=3))


# --- The manifest ---


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = _record(
        tmp_path,
        state="failed",
        environment={"A": "é"},
        outputs=(Output(PATH, 3, "ab"),),
        pass_counts={"9": 4},
        failure=Failure("oom", "why", ("one", "two"), stops_run=True),
    )
    manifest = _manifest(tmp_path, parts=(record,), tables={"labels.parquet": 3})
    write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ("{}", "damaged"),
        ('{"format": "webpack"}', "something else"),
        (f'{{"format": "{FORMAT}", "version": 99}}', "version 99"),
        (f'{{"format": "{FORMAT}", "version": 1}}', "damaged"),
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """So is its folder: what it holds is not known."""
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(OutputError, match=said), opened(tmp_path):
        pass
    assert (tmp_path / "manifest.json").read_text() == text


@pytest.mark.parametrize("path", ["../x", "/etc/x", "reports/../x", "reports/a/b", "x"])
def test_an_output_outside_of_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    """A manifest from elsewhere shall not make us move or remove other files."""
    record = _record(tmp_path, outputs=(Output(path, 1, ""),))
    write_manifest(tmp_path, _manifest(tmp_path, parts=(record,)))
    with pytest.raises(OutputError, match="damaged"):
        read_manifest(tmp_path)


# --- Whose folder it is ---


def test_a_folder_is_made_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one"
    _finished(path)
    assert (path / PATH).read_bytes() == b"report"


def test_nothing_is_left_where_nothing_was_begun(tmp_path: Path) -> None:
    with opened(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """And is left exactly as it was, --force or not."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match=r"holds other files \(thesis.tex\)"), opened(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    with pytest.raises(OutputError, match="is a file"), opened(tmp_path / "run"):
        pass


def test_outputs_without_a_manifest_are_refused(tmp_path: Path) -> None:
    _finished(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(OutputError, match="has lost its manifest"), opened(tmp_path):
        pass
    assert (tmp_path / PATH).exists()


def test_two_runs_exclude_each_other(tmp_path: Path) -> None:
    """The second one is told who the first one is, and waits for nothing."""
    with (
        opened(tmp_path / "run"),
        pytest.raises(RunFolderBusyError, match=f"process {os.getpid()} on "),
        opened(tmp_path / "run"),
    ):
        pass


def test_a_program_that_was_started_does_not_keep_the_folder(tmp_path: Path) -> None:
    """Should it outlive a run that was killed."""
    with opened(tmp_path / "run"):
        program = subprocess.Popen(["sleep", "600"], close_fds=False)
    with program:
        with opened(tmp_path / "run"):
            pass
        program.kill()


def test_a_killed_run_lets_go_of_the_folder(tmp_path: Path) -> None:
    code = (
        "import os; from pathlib import Path; from nsightlens.harness.run_folder import opened\n"
        f"with opened(Path({str(tmp_path / 'run')!r})): os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT)
    assert done.returncode == -9
    with opened(tmp_path / "run") as folder:
        assert _begun(folder, _manifest(tmp_path / "run")) == []


# --- What a killed run left ---


def test_a_finished_part_stays_as_it_is(tmp_path: Path) -> None:
    manifest = _finished(tmp_path)
    with opened(tmp_path) as folder:
        assert _begun(folder, _manifest(tmp_path)) == []
        assert folder.written == manifest
        assert folder.written.parts[0].is_finished


@pytest.mark.parametrize("is_moved", [False, True], ids=["made", "moved"])
def test_a_part_that_was_checked_is_finished(tmp_path: Path, is_moved: bool) -> None:
    """Whether it was killed before its output was moved to its place, or after."""
    manifest = _finished(tmp_path)
    (record,) = manifest.parts
    write_manifest(tmp_path, manifest.with_part(replace(record, state="checked")))
    if not is_moved:
        (tmp_path / ".partial").mkdir()
        (tmp_path / PATH).rename(tmp_path / ".partial" / "ncu-program.ncu-rep")
    with opened(tmp_path) as folder:
        _begun(folder, _manifest(tmp_path))
        assert folder.written == manifest
    assert (tmp_path / PATH).read_bytes() == b"report"


def test_a_part_that_was_checked_and_is_gone_runs_again(tmp_path: Path) -> None:
    manifest = _finished(tmp_path)
    write_manifest(tmp_path, manifest.with_part(replace(manifest.parts[0], state="checked")))
    (tmp_path / PATH).unlink()
    with opened(tmp_path) as folder:
        _begun(folder, _manifest(tmp_path))
        assert (folder.written.parts[0].state, folder.written.parts[0].outputs) == ("waiting", ())


def test_a_part_that_was_running_runs_again(tmp_path: Path) -> None:
    """What it had made by then is removed; how often it was begun is remembered."""
    running = _record(tmp_path, state="running", attempts=2)
    with opened(tmp_path) as folder:
        _begun(folder, _manifest(tmp_path, parts=(running,)))
        (folder.partial / "ncu-program.ncu-rep").write_bytes(b"half")
        (folder.partial / "more").mkdir()
        (tmp_path / ".manifest.json.4711.new").touch()
    with opened(tmp_path) as folder:
        _begun(folder, _manifest(tmp_path))
        assert (folder.written.parts[0].state, folder.written.parts[0].attempts) == ("waiting", 2)
        assert list(folder.partial.iterdir()) == []
    assert not (tmp_path / ".manifest.json.4711.new").exists()


def test_a_finished_output_that_is_gone_is_made_again(tmp_path: Path) -> None:
    _finished(tmp_path)
    (tmp_path / PATH).unlink()
    with opened(tmp_path) as folder:
        assert _begun(folder, _manifest(tmp_path)) == [f"{PATH} is gone, and is made again"]
        assert folder.written.parts[0].state == "waiting"


def test_a_finished_output_that_has_changed_is_an_error(tmp_path: Path) -> None:
    """It may be somebody's work, and is left as it is."""
    _finished(tmp_path)
    (tmp_path / PATH).write_bytes(b"REPORT")
    with (
        opened(tmp_path) as folder,
        pytest.raises(RunFolderMismatchError, match="has changed since it was made"),
    ):
        _begun(folder, _manifest(tmp_path))
    assert (tmp_path / PATH).read_bytes() == b"REPORT"


def test_what_a_killed_run_left_running_is_ended(tmp_path: Path) -> None:
    manifest = _manifest(tmp_path, run_id=f"test-{os.getpid()}-{tmp_path.name}")
    with opened(tmp_path) as folder:
        _begun(folder, manifest)
    variables = {**os.environ, RUN_VARIABLE: manifest.run_id}
    with subprocess.Popen(["sleep", "600"], env=variables) as left, opened(tmp_path) as folder:
        notes = _begun(folder, _manifest(tmp_path))
        assert left.wait(60) < 0
    assert notes == ["an interrupted run had left 1 process running; ended"]


# --- Is it the same run? ---


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"request": {"target": ["other"]}}, "target: app then, other now"),
        (
            {"request": {"target": ["app"], "ncu": {"metric_set": "full"}}},
            "ncu: metric_set: smallest then, full now",
        ),
        ({"tools": {"ncu": {"version": "2024.3"}}}, "version of ncu: 2025.1 then, 2024.3 now"),
        ({"host": {"gpus": [{"name": "NVIDIA L4"}]}}, "GPU: NVIDIA H100 then, NVIDIA L4 now"),
        ({"environment": {}}, "environment variable CUDA_VISIBLE_DEVICES: 0 then, none now"),
    ],
)
def test_another_run_is_refused_with_what_differs(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    _finished(tmp_path)
    with opened(tmp_path) as folder, pytest.raises(RunFolderMismatchError, match=said):
        _begun(folder, _manifest(tmp_path, **change))
    assert (tmp_path / PATH).exists()


def test_another_command_of_a_part_is_another_run(tmp_path: Path) -> None:
    """As of another version of nsightlens, which collects other metrics."""
    record = _record(tmp_path)
    other = replace(record, argv=(*record.argv[:-1], "--metrics", "a", "app"))
    before, now = (_manifest(tmp_path, parts=(one,)) for one in (record, other))
    assert differences(before, before) == ()
    assert differences(before, now) == (
        "command of ncu-program: (other order) then, --metrics a now",
    )


def test_a_run_may_get_more_parts(tmp_path: Path) -> None:
    """Another batch size or the other tool, whose options count from then on only."""
    _finished(tmp_path)
    more = _record(tmp_path, part_id="nsys-program", tool="nsys")
    asked = _manifest(
        tmp_path,
        tools={"nsys": {"path": "/opt/nsys", "version": "2025.1", "found_by": "PATH"}},
        request={"target": ["app"], "ncu": {"metric_set": "full"}, "nsys": {"trace": ["cuda"]}},
        parts=(more,),
    )
    with opened(tmp_path) as folder:
        _begun(folder, asked)
        assert [record.state for record in folder.written.parts] == ["finished", "waiting"]
        assert set(folder.written.tools) == {"ncu", "nsys"}


# --- Beginning anew ---


def test_force_replaces_what_a_run_made_and_nothing_else(tmp_path: Path) -> None:
    _finished(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "reports" / "mine.ncu-rep").write_text("mine")
    (tmp_path / "logs" / "ncu-program.log").write_text("log")
    with opened(tmp_path) as folder:
        _begun(folder, _manifest(tmp_path, request={"target": ["other"]}), replaces=True)
        assert folder.written.request == {"target": ["other"]}
    assert not (tmp_path / PATH).exists()
    assert not (tmp_path / "logs" / "ncu-program.log").exists()
    assert (tmp_path / "notes.txt").exists()
    assert (tmp_path / "reports" / "mine.ncu-rep").exists()


def test_a_folder_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot be written"), opened(tmp_path / "file" / "run"):
        pass


def test_the_lock_says_who_holds_it(tmp_path: Path) -> None:
    with opened(tmp_path / "run"):
        holder = json.loads((tmp_path / "run" / ".lock").read_text())
    assert holder["process"] == os.getpid()
