"""A program beside this one: run to its end or ended with all that it started.

The one place that starts foreign programs: profilers, their targets, ``nvidia-smi``. Each runs in
a session of its own, so that what it started can be ended with it. What left that session is found
too where there is ``/proc`` (Linux): by its parents, and by a variable that everything below a
program inherits, also after this process was killed. Starting programs is not for Windows.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

__all__ = ["Ended", "Watched", "end_marked", "end_tree", "run_quietly", "run_watched"]

GRACE_S = 5.0
"""[s] Time between the polite signal and the one that cannot be refused."""
_LOOK_S = 0.1
"""[s] Between two looks at what a program wrote."""
_SETTLE_S = 1.0
"""[s] Time for what a program started to follow it by itself."""
_SNAPSHOT_S = 2.0
"""[s] Between two looks at what it started, which may leave it later."""
_PROC = Path("/proc")
_FORWARDED = ("SIGTERM", "SIGHUP")
"""Signals that end this process, and what it started first."""


class Ended(NamedTuple):
    """How a program ended, and what it said."""

    argv: tuple[str, ...]
    return_code: int
    """Negative: the number of the signal that ended it."""
    stdout: str
    stderr: str
    duration_s: float
    has_timed_out: bool
    """True where we ended it because its time was over."""


class Watched(NamedTuple):
    """How a program ended whose words went into files."""

    argv: tuple[str, ...]
    return_code: int
    """Negative: the number of the signal that ended it."""
    duration_s: float
    over: str
    """Which time was over, so that we ended it: ``total``, ``idle``, or empty for none."""


class _Limits(NamedTuple):
    """When a program began [s], and how long it may take, in all and without a word [s]."""

    began: float
    total_s: float | None
    idle_s: float | None


class _Process(NamedTuple):
    """One process of the system; its number alone is given to others again."""

    number: int
    started: int
    """[clock tick] Since the system started."""


class _Row(NamedTuple):
    """What ``/proc`` says of a process."""

    process: _Process
    parent: int
    session: int
    is_dead: bool
    """Ended, and nobody has asked yet how."""


def run_quietly(
    argv: Sequence[str],
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ended:
    r"""Run a program that says little, and return what it said.

    Parameters
    ----------
    argv
        Program and arguments; no shell looks at them.
    timeout_s
        [s] After that long it is ended, with everything that it started.
    environment
        Its whole environment; None for that of this process.
    folder
        Where it runs; None for the working directory of this process.

    Raises
    ------
    OSError
        There is no such program, or it cannot be run.

    Examples
    --------
    >>> import sys
    >>> run_quietly([sys.executable, "-c", "print(1)"], timeout_s=60).stdout
    '1\n'
    """
    began = time.monotonic()
    with subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=None if environment is None else dict(environment),
        cwd=folder,
        start_new_session=True,
    ) as process:
        has_timed_out = False
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            has_timed_out = True
            end_tree(process)
            stdout, stderr = process.communicate()
        except BaseException:
            end_tree(process)
            raise
    return Ended(
        tuple(argv), process.returncode, stdout, stderr, time.monotonic() - began, has_timed_out
    )


def run_watched(
    argv: Sequence[str],
    *,
    stdout: Path,
    stderr: Path,
    timeout_s: float | None = None,
    idle_timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
    mark: tuple[str, str] | None = None,
    folder: Path | None = None,
    on_text: Callable[[str], None] | None = None,
    grace_s: float = GRACE_S,
) -> Watched:
    r"""Run a program that takes long, with its words in files, and look at it while it runs.

    Whatever ends the wait, an error, a signal or Ctrl-C, first ends the program and everything
    that it started; so does its own end, for what outlives it would disturb the next one.

    Parameters
    ----------
    argv
        Program and arguments; no shell looks at them.
    stdout, stderr
        Files for what it says; what they held is lost.
    timeout_s
        [s] After that long it is ended; None for never.
    idle_timeout_s
        [s] It is ended after that long without a word; None for never.
    environment
        Its whole environment; None for that of this process.
    mark
        Name and value of a variable that is added, by which `end_marked` finds what it started.
    folder
        Where it runs; None for the working directory of this process.
    on_text
        Called with what came to ``stdout``, ten times a second, and with ``""`` where nothing did.
    grace_s
        [s] Time to end by itself after the polite signal.

    Raises
    ------
    OSError
        There is no such program, it cannot be run, or a file cannot be written.
    SystemExit
        A signal that ends this process came while the program ran.

    Examples
    --------
    >>> import sys, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out, err = Path(folder, "out"), Path(folder, "err")
    ...     ended = run_watched([sys.executable, "-c", "print(1)"], stdout=out, stderr=err)
    ...     ended.return_code, out.read_text()
    (0, '1\n')
    """
    variables = dict(os.environ if environment is None else environment)
    if mark is not None:
        variables[mark[0]] = mark[1]
    began = time.monotonic()
    with _signals_as_exits() as exits, stdout.open("wb") as out, stderr.open("wb") as err:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=variables,
            cwd=folder,
            start_new_session=True,
        )
        family = _Family(process, mark)
        try:
            exits.let()
            with stdout.open("rb") as said:
                watch = _Watch(said, stderr, on_text)
                limits = _Limits(began, timeout_s, idle_timeout_s)
                over = _wait(process, family, watch, limits)
                family.end(grace_s if over else 0.0)
                watch.look()
        except BaseException:
            family.end(grace_s)
            raise
    return Watched(tuple(argv), process.returncode, time.monotonic() - began, over)


class _Watch:
    """What a program writes, as it comes."""

    def __init__(self, said: object, stderr: Path, on_text: Callable[[str], None] | None) -> None:
        self._said = said
        self._stderr = stderr
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._err_bytes = 0

    def look(self) -> bool:
        """Pass on what is new; return whether anything is."""
        data: bytes = self._said.read()  # type: ignore[attr-defined]
        if self._on_text is not None:
            self._on_text(self._decoder.decode(data))
        before, self._err_bytes = self._err_bytes, self._stderr.stat().st_size
        return bool(data) or before != self._err_bytes


def _wait(
    process: subprocess.Popen[bytes],
    family: _Family,
    watch: _Watch,
    limits: _Limits,
) -> str:
    """Wait for the end of a program; return which of its times was over, empty for none."""
    heard = snapshot = limits.began
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_S)
            return ""
        now = time.monotonic()
        if watch.look():
            heard = now
        if now - snapshot >= _SNAPSHOT_S:
            family.look()
            snapshot = now
        if limits.total_s is not None and now - limits.began >= limits.total_s:
            return "total"
        if limits.idle_s is not None and now - heard >= limits.idle_s:
            return "idle"


class _Exits:
    """Signals as exits: held back until there is something that can be cleaned up.

    A signal that came while the program is started would leave it behind.
    """

    def __init__(self) -> None:
        self._is_let = False
        self._held: int | None = None

    def take(self, number: int, _: FrameType | None) -> None:
        """Exit because of a signal, now or when it is let."""
        if self._is_let:
            raise SystemExit(128 + number)
        self._held = number

    def let(self) -> None:
        """Exit from now on, and at once where a signal came before."""
        self._is_let = True
        if self._held is not None:
            raise SystemExit(128 + self._held)


@contextlib.contextmanager
def _signals_as_exits() -> Iterator[_Exits]:
    """Turn signals that would end this process into an exit that lets it clean up."""
    exits = _Exits()
    if threading.current_thread() is not threading.main_thread():
        yield exits  # only the main thread may install handlers
        return
    former = {}
    for name in _FORWARDED:
        number = getattr(signal, name, None)
        # One that is ignored, as under nohup, stays so; a handler of the caller's does too.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            former[number] = signal.signal(number, exits.take)
    try:
        yield exits
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


# --- Ending all of it ---


def end_tree(
    process: subprocess.Popen[str] | subprocess.Popen[bytes], *, grace_s: float = GRACE_S
) -> None:
    """End a program that leads its session, and everything that it started.

    Parameters
    ----------
    process
        Started with ``start_new_session=True``.
    grace_s
        [s] How long it may take to end by itself after the polite signal.
    """
    _Family(process, None).end(grace_s)


def end_marked(name: str, value: str, *, grace_s: float = GRACE_S) -> int:
    """End the processes that inherited a variable from a program of an earlier run.

    Parameters
    ----------
    name, value
        The variable, as `run_watched` added it. This process is never ended.
    grace_s
        [s] How long they may take to end by themselves after the polite signal.

    Returns
    -------
    int
        How many there were; 0 also where the system does not say (there is no ``/proc``).
    """
    found = _marked(name, value)
    _signal(found, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := _marked(name, value)) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal(left, _KILL)
    return len(found)


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class _Family:
    """A program that leads a session, and what it started, wherever that went."""

    def __init__(
        self,
        process: subprocess.Popen[str] | subprocess.Popen[bytes],
        mark: tuple[str, str] | None,
    ) -> None:
        self._process = process
        self._mark = mark
        self._known: set[_Process] = set()

    def look(self) -> set[_Process]:
        """Return those that run now, but for the program itself; remember them."""
        rows = {row.process.number: row for row in _rows()}
        leader = self._process.pid
        number_of = {process.number for process in self._known}
        found = set()
        for row in rows.values():
            if row.is_dead or row.process.number in (leader, os.getpid()):
                continue
            if (
                row.process in self._known
                or row.session == leader
                or _has_ancestor(row, rows, {leader, *number_of})
            ):
                found.add(row.process)
        if self._mark is not None:
            found |= {one for one in _marked(*self._mark) if one.number != leader}
        self._known |= found
        return found

    def end(self, grace_s: float) -> None:
        """End all of them, and wait for it.

        ``grace_s`` [s] is for the program; what outlives it has `GRACE_S`.
        """
        try:
            if self._process.poll() is None:
                self.look()
                self._end_politely(grace_s)
            else:
                self._wait_for_rest(_SETTLE_S)
            left = self.look()
            if left:
                _signal(left, signal.SIGTERM)
                self._wait_for_rest(GRACE_S)
        finally:
            # A second Ctrl-C shortens the grace, and leaves nothing behind either.
            self._kill()

    def _end_politely(self, grace_s: float) -> None:
        _signal_group(self._process.pid, signal.SIGTERM)
        _signal(self.look(), signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)

    def _wait_for_rest(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        while self.look() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _kill(self) -> None:
        # Also where the leader is gone: what it started may have stayed.
        _signal_group(self._process.pid, _KILL)
        _signal(self.look(), _KILL)
        self._process.wait()


def _signal_group(leader: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _signal(processes: set[_Process], number: int) -> None:
    for process in processes:
        # Another one may have got the number since.
        row = _row(process.number)
        if row is not None and row.process == process:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.number, number)


# --- What /proc says ---


def _rows() -> Iterator[_Row]:
    """Yield the processes of the system; none where it does not say."""
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - pathlib makes an object of each
    except OSError:
        return
    for name in names:
        if name.isdecimal() and (row := _row(int(name))) is not None:
            yield row


def _row(number: int) -> _Row | None:
    try:
        text = Path(_PROC, str(number), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program stands in brackets and may hold any character: proc_pid_stat(5).
    words = text.rpartition(")")[2].split()
    if len(words) < 20:  # it ended while we read
        return None
    return _Row(
        _Process(number, int(words[19])), int(words[1]), int(words[3]), words[0] in ("Z", "X")
    )


def _has_ancestor(row: _Row, rows: Mapping[int, _Row], wanted: set[int]) -> bool:
    seen = set()
    while row.parent and row.parent not in seen:
        if row.parent in wanted:
            return True
        seen.add(row.parent)
        above = rows.get(row.parent)
        if above is None:
            return False
        row = above
    return False


def _marked(name: str, value: str) -> set[_Process]:
    """Return the processes that have a variable, but for this one."""
    wanted = f"{name}={value}".encode()
    return {
        row.process
        for row in _rows()
        if not row.is_dead
        and row.process.number != os.getpid()
        and wanted in _environment_of(row.process.number)
    }


def _environment_of(number: int) -> list[bytes]:
    try:
        return Path(_PROC, str(number), "environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or it has ended
        return []
