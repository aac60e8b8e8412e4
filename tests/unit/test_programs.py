"""Programs are run to their end, or ended with everything that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.programs import end_marked, run_quietly, run_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nsightlens.programs import Watched

ROOT = Path(__file__).parents[2]
MARK = "NSIGHTLENS_TEST_MARK"
SH = "/bin/sh"


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A variable of this test alone; what still has it afterwards is ended."""
    value = f"{os.getpid()}-{tmp_path.name}"
    yield MARK, value
    end_marked(MARK, value, grace_s=0)


def _watched(tmp_path: Path, text: str, **options: Any) -> tuple[Watched, str, str]:
    out, err = tmp_path / "out", tmp_path / "err"
    ended = run_watched([SH, "-c", text], stdout=out, stderr=err, **options)
    return ended, out.read_text(), err.read_text()


def _fail_when(file: Path) -> Callable[[str], None]:
    """Return a listener that fails as soon as a file is written."""

    def listen(_: str) -> None:
        if file.exists() and file.read_text().endswith("\n"):
            raise ZeroDivisionError

    return listen


def _is_alive(number: int) -> bool:
    try:
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def _wait_for(path: Path) -> str:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.005)
    return path.read_text()


# --- What a program says ---


def test_what_a_program_says_goes_into_files(tmp_path: Path) -> None:
    """Each of its two streams into its own, and its exit code is returned."""
    ended, out, err = _watched(tmp_path, "echo one; echo two >&2; exit 3")
    assert (out, err) == ("one\n", "two\n")
    assert (ended.return_code, ended.over) == (3, "")


def test_what_a_program_says_is_passed_on_while_it_runs(tmp_path: Path) -> None:
    """Also half a line, and the file that lets the program end is made on hearing it."""
    heard: list[str] = []

    def listen(text: str) -> None:
        heard.append(text)
        if "0%" in "".join(heard):
            (tmp_path / "go").touch()

    text = f"printf '0%%'; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; printf '\\r100%%\\n'"
    _watched(tmp_path, text, on_text=listen, timeout_s=60)
    assert "".join(heard) == "0%\r100%\n"


def test_a_character_that_comes_in_two_pieces_is_one(tmp_path: Path) -> None:
    heard: list[str] = []

    def listen(text: str) -> None:
        heard.append(text)
        (tmp_path / "go").touch()

    text = f"printf '\\303'; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; printf '\\251'"
    _watched(tmp_path, text, on_text=listen, timeout_s=60)
    assert "".join(heard) == "é"


def test_variables_and_folder_are_those_that_were_asked_for(
    tmp_path: Path, mark: tuple[str, str]
) -> None:
    (tmp_path / "here").mkdir()
    environment = {"PATH": os.environ["PATH"], "ONE": "1"}
    _, out, _ = _watched(
        tmp_path, f"pwd; echo $ONE ${MARK}", environment=environment, mark=mark,
        folder=tmp_path / "here",
    )  # fmt: skip
    assert out.split() == [str(tmp_path / "here"), "1", mark[1]]


def test_a_program_that_does_not_exist_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_watched(["/no/such"], stdout=tmp_path / "o", stderr=tmp_path / "e")


# --- Ending it ---


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    ended, _, _ = _watched(tmp_path, "exec sleep 600", timeout_s=0.05)
    assert (ended.over, ended.return_code) == ("total", -signal.SIGTERM)


def test_a_program_that_falls_silent_is_ended(tmp_path: Path) -> None:
    """Its total time is not what ends it."""
    ended, _, _ = _watched(tmp_path, "exec sleep 600", idle_timeout_s=0.05, timeout_s=500)
    assert ended.over == "idle"


def test_a_program_that_refuses_to_end_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "child"
    text = f"trap '' TERM; echo $$ > {file}; while :; do sleep 0.01; done"
    with pytest.raises(ZeroDivisionError):
        _watched(tmp_path, text, on_text=_fail_when(file), grace_s=0.1)
    assert not _is_alive(int(file.read_text()))


CHILD = "setsid sh -c 'echo $$ > {file}; exec sleep 600' &"
"""Starts a process in a session of its own, which outlives its parent."""


def test_an_error_of_the_caller_ends_the_program_and_what_left_its_session(
    tmp_path: Path, mark: tuple[str, str]
) -> None:
    """Such as a worker of a serving engine, which would keep the GPU's memory."""
    file = tmp_path / "child"
    text = f"{CHILD.format(file=file)} exec sleep 600"
    with pytest.raises(ZeroDivisionError):
        _watched(tmp_path, text, on_text=_fail_when(file), mark=mark)
    assert not _is_alive(int(file.read_text()))


def test_a_child_without_the_mark_is_found_by_its_parents(tmp_path: Path) -> None:
    """Programs that set their title write over the variables that /proc shows."""
    file = tmp_path / "child"
    with pytest.raises(ZeroDivisionError):
        _watched(tmp_path, f"{CHILD.format(file=file)} exec sleep 600", on_text=_fail_when(file))
    assert not _is_alive(int(file.read_text()))


def test_what_outlives_a_program_is_ended_after_it(tmp_path: Path, mark: tuple[str, str]) -> None:
    """Its parent is gone, so that only the variable tells whose it was."""
    file = tmp_path / "child"
    text = f"{CHILD.format(file=file)} while [ ! -s {file} ]; do sleep 0.01; done"
    ended, _, _ = _watched(tmp_path, text, mark=mark)
    assert ended.return_code == 0
    assert not _is_alive(int(_wait_for(file)))


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    """It goes to this process alone: the program is in a session of its own."""
    file = tmp_path / "child"

    def interrupt(_: str) -> None:
        if file.exists():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _watched(tmp_path, f"echo $$ > {file}; exec sleep 600", on_text=interrupt)
    assert not _is_alive(int(_wait_for(file)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_this_process_ends_the_program_first(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As from `timeout`, a batch system or a terminal that is closed."""
    file = tmp_path / "child"
    code = (
        "import sys; from pathlib import Path; from nsightlens.programs import run_watched\n"
        f"run_watched(['{SH}', '-c', 'echo $$ > {file}; exec sleep 600'], "
        f"stdout=Path('{tmp_path}/out'), stderr=Path('{tmp_path}/err'))"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as process:
        child = int(_wait_for(file))
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert not _is_alive(child)


def test_a_signal_while_the_program_is_started_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is there already, and nobody could end it yet."""
    file = tmp_path / "child"
    genuine = subprocess.Popen

    def started(*args: Any, **kwargs: Any) -> Any:
        process = genuine(*args, **kwargs)
        _wait_for(file)
        signal.raise_signal(signal.SIGTERM)
        return process

    monkeypatch.setattr("nsightlens.programs.subprocess.Popen", started)
    with pytest.raises(SystemExit) as leave:
        _watched(tmp_path, f"echo $$ > {file}; exec sleep 600")
    assert leave.value.code == 128 + signal.SIGTERM
    assert not _is_alive(int(_wait_for(file)))


def test_handlers_of_signals_are_as_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    _watched(tmp_path, "exit 0")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_thread_can_run_a_program_too(tmp_path: Path) -> None:
    """There, no handlers of signals can be installed."""
    codes = []
    thread = threading.Thread(
        target=lambda: codes.append(_watched(tmp_path, "exit 4")[0].return_code)
    )
    thread.start()
    thread.join()
    assert codes == [4]


# --- After a kill ---


def test_what_a_killed_run_left_is_found_by_its_mark(tmp_path: Path, mark: tuple[str, str]) -> None:
    file = tmp_path / "child"
    code = (
        "import sys; from pathlib import Path; from nsightlens.programs import run_watched\n"
        f"run_watched(['{SH}', '-c', 'echo $$ > {file}; exec sleep 600'], mark={mark!r}, "
        f"stdout=Path('{tmp_path}/out'), stderr=Path('{tmp_path}/err'))"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as process:
        child = int(_wait_for(file))
        process.kill()
        process.wait()
    assert _is_alive(child)
    assert end_marked(*mark) == 1
    assert not _is_alive(child)
    assert end_marked(*mark) == 0


def test_a_mark_of_another_value_is_left_alone(mark: tuple[str, str]) -> None:
    with subprocess.Popen(["sleep", "600"], env={**os.environ, mark[0]: f"{mark[1]}0"}) as process:
        assert end_marked(*mark, grace_s=0) == 0
        assert process.poll() is None
        process.kill()


# --- Programs that say little ---


def test_a_quiet_program_says_all_at_once() -> None:
    said = run_quietly([SH, "-c", "echo a; echo b >&2; exit 2"], timeout_s=60)
    assert (said.stdout, said.stderr, said.return_code) == ("a\n", "b\n", 2)
    assert not said.has_timed_out


def test_a_quiet_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "child"
    text = f"sh -c 'echo $$ > {file}; exec sleep 600' & echo said; exec sleep 600"
    said = run_quietly([SH, "-c", text], timeout_s=0.5)
    assert said.has_timed_out
    assert not file.exists() or not _is_alive(int(file.read_text() or "0"))
