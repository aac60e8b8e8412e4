"""A target under a fake profiler: runs it with the recording stubs and follows what it notes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from support.fake_records import Records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from support.fake_records import Event

STUBS = Path(__file__).resolve().parents[1] / "fakes" / "stubs"
_LISTENER = "NVTX_INJECTION64_PATH"


class FakeTarget:
    """A program that runs, to be used with ``with``; leaves no file behind."""

    def __init__(self, argv: Sequence[str], more: Mapping[str, str]) -> None:
        self._records = Records()
        self._folder = tempfile.mkdtemp(prefix="fake_profiler_")
        self._file = Path(self._folder, "records")
        self._file.touch()
        self._rest = b""
        ahead = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            **more,
            "FAKE_PROFILER_RECORDS": str(self._file),
            "PYTHONPATH": os.pathsep.join([str(STUBS), *([ahead] if ahead else [])]),
            # What the real tools set, and older versions of nvtx look for.
            _LISTENER: "/nonexistent/libToolsInjection64.so",
        }
        self._process = subprocess.Popen(list(argv), env=environment)
        self._lines = self._file.open("rb")

    def __enter__(self) -> FakeTarget:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()
        self._lines.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def process_id(self) -> int:
        """Id of the process that was started."""
        return self._process.pid

    def events(self) -> Iterator[Event]:
        """Yield what happens, while the target runs and to its end."""
        is_over = False
        while True:
            lines = self._more()
            yield from self._records.events(lines)
            if is_over and not lines:
                return
            if not lines:
                is_over = self._process.poll() is not None
                if not is_over:
                    time.sleep(0.005)

    def _more(self) -> list[str]:
        *whole, self._rest = (self._rest + self._lines.read()).split(b"\n")
        return [line.decode() for line in whole]

    def wait(self) -> int:
        """Wait for its end and return its exit status."""
        return self._process.wait()

    def end(self) -> None:
        """End it, where it still runs."""
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def program_of(argv: Sequence[str]) -> str | None:
    """Return the program of a command line, None where there is none to be run."""
    return shutil.which(argv[0])
