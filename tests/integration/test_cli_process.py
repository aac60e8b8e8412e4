"""The command line as a process: pipes, signals, and what it loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.reports import everything, gemm_launch, write_report

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "nsightlens"]


def _run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, encoding="utf-8", env=env
    )


def test_the_module_and_the_program_answer_alike() -> None:
    """`python -m nsightlens` needs no installed script."""
    done = _run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nsightlens ")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`nsightlens ... | head -1` is quiet."""
    report = write_report(tmp_path, [gemm_launch()] * 200)
    with subprocess.Popen(
        [*COMMAND, "metrics", str(report), "--like", "*", "-f", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"report,launch_id")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


_WAITING = """\
import sys, time
import nsightlens.readers
def wait(*_, **__):
    print("reading", file=sys.stderr, flush=True)
    time.sleep(60)
nsightlens.readers.open_each = wait
from nsightlens.__main__ import main
sys.exit(main())
"""
"""The command line, which waits where it would read a report."""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_an_interrupt_leaves_no_half_file(tmp_path: Path) -> None:
    """And no traceback."""
    report = write_report(tmp_path, [gemm_launch()])
    output = tmp_path / "a.json"
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING, "classify", str(report), "-o", str(output)],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "nsightlens: error: interrupted\n"
        assert process.wait() == 130
    assert list(tmp_path.iterdir()) == [report]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_an_interrupt_ends_the_wait_for_a_pipe(tmp_path: Path) -> None:
    """Also where other reports are read side by side."""
    report = write_report(tmp_path, [gemm_launch()])
    pipe = tmp_path / "pipe.ncu-rep"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*COMMAND, "info", str(pipe), str(report), "--jobs", "2"], stderr=subprocess.PIPE, text=True
    ) as process:
        writer = os.open(pipe, os.O_WRONLY)  # waits until the pipe is being read
        try:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(writer)
        assert (process.returncode, told) == (130, "nsightlens: error: interrupted\n")


_SWALLOWING = """\
import os, signal, sys
class Finder:
    # NumPy turns any error at its import into an ImportError, also an interrupt.
    def find_spec(self, name, *_):
        if name == os.environ["MODULE"]:
            os.environ["MODULE"] = ""
            try:
                os.kill(os.getpid(), signal.SIGINT)
                import time; time.sleep(60)
            except BaseException as error:
                if name == "numpy":
                    raise ImportError("numpy could not be imported") from error
                raise
sys.meta_path.insert(0, Finder())
from nsightlens.__main__ import main
sys.exit(main())
"""
"""The command line, interrupted where it imports the module that the environment names."""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
@pytest.mark.parametrize("module", ["argparse", "nsightlens.cli.main", "numpy", "pyarrow"])
def test_an_early_interrupt_is_no_fault(tmp_path: Path, module: str) -> None:
    """Whatever is just being imported, and whatever the import makes of it."""
    report = write_report(tmp_path, [gemm_launch()])
    done = subprocess.run(
        [sys.executable, "-c", _SWALLOWING, "classify", str(report)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MODULE": module},
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "nsightlens: error: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such shell and no such device")
@pytest.mark.parametrize(
    ("words", "place", "code"),
    [
        (words, place, code)
        for words in ("--version", "--help", "info --help", "info --version", "schema", "demo")
        for place, code in ((">/dev/full", 6), (">&-", 6))
    ],
)
def test_an_answer_that_cannot_be_written_is_told(words: str, place: str, code: int) -> None:
    """Also one that needs no report."""
    if place == ">/dev/full" and not os.path.exists("/dev/full"):  # noqa: PTH110
        place = ">&-"
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m nsightlens {words} {place}', sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith("nsightlens: error: stdout ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such shell")
@pytest.mark.parametrize("place", ["2>/dev/full", "2>&-"])
def test_an_error_that_cannot_be_told_keeps_its_exit_code(place: str) -> None:
    """There is nobody to tell it to."""
    for words, code in (("classify gone.ncu-rep", 3), ("classify --nothing", 2), ("", 2)):
        done = subprocess.run(
            ["sh", "-c", f'"$0" -m nsightlens {words} {place}', sys.executable],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize(
    "words",
    [("--help",), ("classify", "--help"), ("--version",), ("schema", "classify"), ("schema",)],
)
def test_an_answer_that_needs_no_report_loads_neither_arrow_nor_numpy(
    words: tuple[str, ...],
) -> None:
    """It comes at once."""
    code = (
        "import sys\nfrom nsightlens.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = {'pyarrow', 'numpy', 'pandas', 'rich', 'logging'}\n"
        "sys.exit(f'loaded {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


_UNNEEDED = {
    "pandas", "pyarrow.parquet", "pyarrow.dataset", "matplotlib", "rich", "numpy.ma", "numpy.char",
    "concurrent.futures", "logging", "multiprocessing", "subprocess", "tempfile", "random",
    "shutil", "bz2", "lzma", "difflib", "zoneinfo", "nsightlens.ncucsv",
    "nsightlens.readers.pool", "nsightlens.readers.nvidia",
}  # fmt: skip


@pytest.mark.parametrize(
    "words", [(), ("--by", "family"), ("--kernel", "."), ("--format", "json"), ("--format", "csv")]
)
def test_classify_loads_no_library_that_it_does_without(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A short command takes about as long as its imports, and some hide behind a plain call.

    Pyarrow loads pandas, where it is installed, to ask what a list is, and numpy.ma to ask what an
    array is.
    """
    report = write_report(tmp_path, everything())
    code = (
        "import sys, numpy, pyarrow, pyarrow.compute\nbefore = set(sys.modules)\n"
        "from nsightlens.cli.main import main\n"
        "sys.argv[0] = 'nsightlens'\n"
        "code = main()\n"
        f"heavy = {_UNNEEDED!r} & (set(sys.modules) - before)\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "classify", str(report), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    # A group by family asks for batch sizes, which not every launch here has.
    notes = [line for line in done.stderr.splitlines() if "have no batch size" in line]
    assert (done.returncode, done.stderr.splitlines()) == (0, notes)


def test_a_narrow_encoding_of_the_terminal_is_no_error(tmp_path: Path) -> None:
    """What it cannot show is replaced, in tables and in data."""
    report = write_report(tmp_path, everything())
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = _run("classify", str(report), "--width", "60", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
