"""``nsightlens profile`` as a user types it, with the smallest stand-in for ncu."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.command import CommandLine
from support.stand_in import GOOD, StandIn

from nsightlens.harness.manifest import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.command import Done

    from nsightlens.harness.manifest import RunManifest

    Profile = Callable[..., Done]

USAGE, OUTPUT, FAILED, INTERRUPTED = 2, 6, 7, 130
MODEL = ("--model", "opt-1.3b", "--batch-sizes", "1,8", "--context", "500")
PROGRAM = ("--", "decode", "--it", "--", "-o", "x")


@pytest.fixture
def ncu(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


@pytest.fixture
def profile(
    tmp_path: Path,
    ncu: StandIn,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Profile:
    """Run ``nsightlens profile -o run --ncu ...`` with more words, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    command = CommandLine(capsys)
    return lambda *words: command("profile", "-o", "run", "--ncu", str(ncu.path), *words)


def _manifest() -> RunManifest:
    manifest = read_manifest(Path("run"))
    assert manifest is not None
    return manifest


# --- From a command to a table ---


def test_a_model_becomes_the_table_of_the_sweep(profile: Profile) -> None:
    """What stands on stdout is the answer alone, and nothing is said that need not be."""
    done = profile(*MODEL)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 reports")
    assert "whole steps" in done.out or "batch" in done.out
    assert len(list(Path("run/reports").glob("*.ncu-rep"))) == 2


def test_options_of_the_model_reach_its_program(profile: Profile) -> None:
    """As `kernels_under_test.decode` takes them."""
    more = (
        "--layers", "2", "--dtype", "bf16", "--attention", "eager", "--cache", "paged", "--steps",
        "3", "--warmup", "0", "--device", "cpu", "--cuda-graphs", "--prefill", "--seed", "7",
        "--python", "/env/python",
    )  # fmt: skip
    done = profile(*MODEL, *more, "--dry-run")
    assert done.code == 0
    (_, last) = done.out.splitlines()
    words = shlex.split(last)
    assert words[words.index("/env/python") :] == [
        "/env/python", "-m", "kernels_under_test.decode", "--model", "opt-1.3b", "--batch-sizes",
        "8", "--context", "500", "--seed", "7", "--layers", "2", "--dtype", "bf16", "--attention",
        "eager", "--cache", "paged", "--steps", "3", "--warmup", "0", "--device", "cpu",
        "--cuda-graphs", "--prefill",
    ]  # fmt: skip


@pytest.mark.parametrize("listed", ["1,2,4,...,16", "1:16", "1, 2, 4, 8, 16"])
def test_batch_sizes_are_listed_as_people_do(profile: Profile, listed: str) -> None:
    words = ("--model", "opt-1.3b", "--batch-sizes", listed, "--context", "500", "--dry-run")
    lines = profile(*words).out.splitlines()
    sizes = [line.partition("--batch-sizes ")[2].split()[0] for line in lines]
    assert sizes == ["1", "2", "4", "8", "16"]


def test_everything_behind_the_dashes_is_the_program(profile: Profile, ncu: StandIn) -> None:
    """Also what looks like an option of ours, and more dashes."""
    assert profile("--annotated-steps", *PROGRAM).code == 0
    assert ncu.commands()[0].endswith(" decode --it -- -o x")
    assert "--nvtx-include" in ncu.commands()[0]


def test_a_run_without_tables_says_nothing(profile: Profile) -> None:
    done = profile("--no-tables", *MODEL)
    assert done == (0, "", "")
    assert list(Path("run/tables").iterdir()) == []


def test_who_wants_to_know_is_told_of_every_part(profile: Profile) -> None:
    done = profile("-v", "--no-tables", *MODEL)
    first, second = done.err.splitlines()
    assert first.startswith("nsightlens: part: ncu-batch-0001: 5 launches, ")
    assert second.startswith("nsightlens: part: ncu-batch-0008: 5 launches, ")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal(
    profile: Profile, ncu: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, which is gone in the end."""
    monkeypatch.setattr("nsightlens.cli.terminal._PATIENCE_S", 0)
    monkeypatch.setattr("nsightlens.cli.terminal._INTERVAL_S", 0)
    ncu.does(GOOD + "sleep 0.3")
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert profile("--no-tables", *MODEL).code == 0
    shown = [text.rstrip() for text in terminal.getvalue().split("\r")]
    assert any(
        "part 2 of 2: ncu-batch-0008, 1 of 5 launches, 9 passes each" in one for one in shown
    )
    assert shown[-1] == ""


# --- A plan ---


def test_a_dry_run_prints_what_would_be_run(profile: Profile, ncu: StandIn) -> None:
    """Each line is one for a shell, and nothing is run or made."""
    done = profile("--dry-run", "--", "decode", "two words")
    (line,) = done.out.splitlines()
    assert shlex.split(line)[-2:] == ["decode", "two words"]
    assert shlex.split(line)[0] == str(ncu.path)
    assert ncu.commands() == []
    assert not Path("run").exists()


def test_a_dry_run_is_what_is_run(profile: Profile, ncu: StandIn) -> None:
    """Word by word, also for a GPU that is not known."""
    planned = [shlex.split(line) for line in profile("--dry-run", *MODEL).out.splitlines()]
    profile("--no-tables", *MODEL)
    assert [list(record.argv) for record in _manifest().parts] == planned
    assert [" ".join(words[1:]) for words in planned] == ncu.commands()


def test_a_dry_run_shows_variables_and_exports(profile: Profile) -> None:
    """What the program needs in its environment, and how a trace is exported."""
    done = profile(
        "--dry-run", "--tools", "nsys", "--nvtx-window", "decode@*", "--", "decode"
    )  # fmt: skip
    trace, export = done.out.splitlines()
    assert trace.startswith("NSYS_NVTX_PROFILER_REGISTER_ONLY=0 nsys profile ")
    assert export.startswith("nsys export --type=sqlite ")
    assert "nsys is not installed here" in done.err


def test_a_recipe_fills_in_what_an_engine_needs(profile: Profile) -> None:
    done = profile("--dry-run", "--recipe", "llamacpp-decode", "--", "llama-bench", "-m", "m.gguf")
    assert done.code == 0
    assert done.out.splitlines()[0].endswith("llama-bench -m m.gguf -p 0 -n 32 -r 1 --no-warmup")


def test_recipes_are_listed(profile: Profile) -> None:
    """Each with where it comes from; nothing else need be given."""
    done = profile("--list-recipes")
    assert done.code == 0
    head, *rows = done.out.splitlines()
    assert head.split() == ["recipe", "engine", "tools", "what", "it", "profiles"]
    assert any(row.startswith("vllm-decode ") and "proposed" in row for row in rows)


# --- What cannot be understood ---


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to profile"),
        ((*MODEL, "--", "decode"), "--model and the program decode exclude each other"),
        (("--model", "opt-1.3b", "--context", "9"), "--model needs --batch-sizes"),
        (("--model", "opt-1.3b", "--batch-sizes", "1"), "--model needs --context"),
        (("--layers", "2", "--", "decode"), "--layers is for --model"),
        (("--seed", "2", "--", "decode"), "--seed is for --model"),
        (("--recipe", "vllm", "--", "decode"), "there is no recipe"),
        ((*MODEL, "--recipe", "vllm-decode"), "--model and --recipe exclude each other"),
        (("--model", "opt-13b-or-so", *MODEL[2:]), "opt-13b-or-so"),
        (("--launch-count", "0", "--", "decode"), "0 is less than 1"),
        (("--batch-sizes", "1,x", "--model", "opt-1.3b"), "not a whole number"),
        (("--resume", "--force", *MODEL), "--resume and --force exclude each other"),
    ],
)
def test_a_slip_costs_nothing(
    profile: Profile, ncu: StandIn, words: tuple[str, ...], said: str
) -> None:
    """It is told in one line before anything is run or made."""
    done = profile(*words)
    assert (done.code, done.out) == (USAGE, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert ncu.commands() == []
    assert not Path("run").exists()


def test_a_run_needs_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    done = CommandLine(capsys)("profile", "--", "decode")
    assert done.code == USAGE
    assert "Add -o RUN" in done.err


# --- The run folder ---


def test_the_same_command_goes_on(profile: Profile, ncu: StandIn) -> None:
    """And shows the answer again; --resume says the same in words."""
    ncu.does(f'case "$*" in *batch_size=8*) exit 1 ;; esac\n{GOOD}')
    first = profile(*MODEL)
    assert first.code == FAILED
    assert "ncu-batch-0008" in first.err
    assert first.out.startswith("run/reports/ncu-batch-0001.ncu-rep")
    ncu.does(GOOD)
    assert profile("--resume", *MODEL).code == 0
    assert [record.attempts for record in _manifest().parts] == [1, 2]
    assert profile(*MODEL).code == 0
    assert len(ncu.commands()) == 3


def test_there_is_nothing_to_go_on_with(profile: Profile) -> None:
    done = profile("--resume", *MODEL)
    assert done.code == OUTPUT
    assert "holds no run to go on with" in done.err


def test_another_run_needs_force(profile: Profile) -> None:
    profile("--no-tables", *MODEL)
    done = profile("--no-tables", *PROGRAM)
    assert done.code == OUTPUT
    assert "target: model opt-1.3b then, decode --it -- -o x now" in done.err
    assert profile("--no-tables", "--force", *PROGRAM).code == 0


def test_a_folder_of_something_else_is_left_alone(profile: Profile) -> None:
    """With --force too."""
    Path("run").mkdir()
    Path("run/thesis.tex").write_text("x")
    done = profile("--force", *MODEL)
    assert done.code == OUTPUT
    assert "thesis.tex" in done.err
    assert [path.name for path in Path("run").iterdir()] == ["thesis.tex"]


def test_ctrl_c_leaves_a_run_that_goes_on(
    profile: Profile, ncu: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ncu.does(f'case "$*" in *batch_size=8*) echo ==PROF==; exec sleep 600 ;; esac\n{GOOD}')

    def interrupt(progress: object) -> str:
        if _manifest().parts[1].state == "running":
            raise KeyboardInterrupt
        return str(progress)

    monkeypatch.setattr("nsightlens.harness.progress.progress_text", interrupt)
    done = profile(*MODEL)
    assert (done.code, done.out) == (INTERRUPTED, "")
    assert "what is finished is kept in run: the same command goes on" in done.err
    assert [record.state for record in _manifest().parts] == ["finished", "waiting"]
