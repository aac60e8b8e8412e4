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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_an_interrupt_leaves_no_half_file(tmp_path: Path) -> None:
    """And no traceback."""
    fifo = tmp_path / "never.ncu-rep"
    os.mkfifo(fifo)
    # The program waits for the fifo, which nobody writes to.
    with subprocess.Popen(
        [*COMMAND, "-v", "classify", str(fifo), "-o", str(tmp_path / "a.json")],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "reading" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
        assert process.wait() in {130, 3, 4}
    assert [path.name for path in tmp_path.iterdir()] == ["never.ncu-rep"]


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


def test_classify_loads_neither_pandas_nor_parquet(tmp_path: Path) -> None:
    """Pyarrow would load pandas, where it is installed, only to ask what a list is."""
    report = write_report(tmp_path, everything())
    code = (
        "import sys\nfrom nsightlens.cli.main import main\n"
        f"sys.argv = ['nsightlens', 'classify', {str(report)!r}]\n"
        "code = main()\n"
        "heavy = {'pandas', 'pyarrow.parquet', 'pyarrow.dataset', 'matplotlib', 'rich'}\n"
        "sys.exit(f'loaded {heavy & set(sys.modules)}' if heavy & set(sys.modules) else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_encoding_of_the_terminal_is_no_error(tmp_path: Path) -> None:
    """What it cannot show is replaced, in tables and in data."""
    report = write_report(tmp_path, everything())
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = _run("classify", str(report), "--width", "60", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
