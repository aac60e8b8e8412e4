"""The commands that make one report of another."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pyarrow as pa
import pytest
from support.ncu_csv import ncu_csv

import nsightlens
from nsightlens.cli.exit_codes import ExitCode
from nsightlens.ncurep import read_ncu_rep
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine


def names(path: str) -> list[str | None]:
    return [result.function_name for result in read_ncu_rep(path).results]


@pytest.mark.parametrize(
    ("ids", "chosen"),
    [("0", [0]), ("0,3", [0, 3]), ("1-2,4", [1, 2, 4]), ("3-", [3, 4]), ("4,0-1,0", [0, 1, 4])],
)
def test_launches_are_chosen_by_their_ids(run: CommandLine, ids: str, chosen: list[int]) -> None:
    """Numbers, ranges and open ranges, in any order."""
    done = run("slice", "all.ncu-rep", "-o", "s.ncu-rep", "--launch", ids)
    assert (done.code, done.out) == (0, "")
    assert f"s.ncu-rep: {len(chosen)} of 5 launches" in done.err
    every = names("all.ncu-rep")
    assert names("s.ncu-rep") == [every[launch] for launch in chosen]


def test_launches_are_chosen_by_filters(run: CommandLine) -> None:
    """The same as in the other commands; with --launch, those that pass both."""
    run("slice", "all.ncu-rep", "-o", "a.ncu-rep", "--family", "attention")
    assert len(names("a.ncu-rep")) == 2
    run("slice", "all.ncu-rep", "-o", "b.ncu-rep", "--family", "attention", "--launch", "1-")
    assert names("b.ncu-rep") == names("a.ncu-rep")[1:]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "say which launches to keep: --launch, --kernel, or another filter"),
        (["--launch", "5"], 2, "there is no launch 5: the report has launches 0 to 4"),
        (["--launch", "3-9"], 2, "there is no launch 9"),
        (["--launch", "7-"], 2, "there is no launch 7"),
        (["--launch", "4-3"], 2, "'4-3' ends before it begins"),
        (["--launch", "1,x"], 2, "'x' is no launch id"),
        (["--launch", "٣"], 2, "'٣' is no launch id"),
        (["--launch", "9" * 5000], 2, "9...9"),
        (["--launch", "-1"], 2, "--launch"),
        (["--kernel", "none-of-them"], 2, "none of 5 launches passes --kernel none-of-them"),
        (["--launch", "1", "--family", "attention"], 2, "The launches that pass them: 0, 4"),
    ],
)
def test_a_choice_of_nothing_says_what_there_was(
    run: CommandLine, words: list[str], code: int, said: str
) -> None:
    """And writes nothing."""
    done = run("slice", "all.ncu-rep", "-o", "s.ncu-rep", *words)
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert not Path("s.ncu-rep").exists()


def test_launches_can_be_named_more_than_once(run: CommandLine) -> None:
    """All that any --launch names are kept."""
    done = run("slice", "all.ncu-rep", "-o", "a.ncu-rep", "--launch", "1", "--launch", "3,1-2")
    assert done.code == 0
    assert names("a.ncu-rep") == names("all.ncu-rep")[1:4]


def test_a_report_without_launches_cannot_be_sliced(run: CommandLine) -> None:
    """There is nothing to choose from."""
    done = run("slice", "none.ncu-rep", "-o", "s.ncu-rep", "--launch", "0")
    assert done.code == 2
    assert "holds no launch: there is nothing to choose from" in done.err


def test_of_a_cut_report_the_sound_launches_can_be_sliced(run: CommandLine) -> None:
    """With --salvage; without it the damage is the error."""
    words = ("slice", "cut.bin", "-o", "s.ncu-rep", "--launch", "0-")
    assert run(*words).code == 4
    assert not Path("s.ncu-rep").exists()
    done = run(*words, "--salvage")
    assert done.code == 0
    assert "damaged at byte" in done.err
    assert 0 < len(names("s.ncu-rep")) < 5


COMMANDS = [["slice", "--launch", "0"], ["redact"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["slice", "redact"])
def test_no_table_is_made_where_none_is_needed(
    run: CommandLine, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are copied; filters alone need to know what is in them."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("nsightlens.readers.read.report_of", refuse)
    assert run(*command, "all.ncu-rep", "-o", "s.ncu-rep").code == 0
    done = run("slice", "all.ncu-rep", "-o", "t.ncu-rep", "--kernel", "x")
    assert done.code == ExitCode.INTERNAL


@pytest.mark.parametrize("command", COMMANDS, ids=["slice", "redact"])
def test_nothing_of_the_user_is_overwritten(run: CommandLine, command: list[str]) -> None:
    """Not the report, not through a link, and another file only with --force."""
    Path("link.ncu-rep").symlink_to("all.ncu-rep")
    before = Path("all.ncu-rep").read_bytes()
    for place in ("all.ncu-rep", "link.ncu-rep"):
        assert run(*command, "all.ncu-rep", "-o", place, "--force").code == 6
    assert Path("all.ncu-rep").read_bytes() == before
    Path("mine").write_text("mine", encoding="utf-8")
    assert "exists already" in run(*command, "all.ncu-rep", "-o", "mine").err
    assert Path("mine").read_text(encoding="utf-8") == "mine"
    assert run(*command, "all.ncu-rep", "-o", "mine", "--force").code == 0


@pytest.mark.parametrize("command", COMMANDS, ids=["slice", "redact"])
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([".", "-o", "s"], 2, "holds 2 reports: name one of them"),
        (["all.ncu-rep"], 2, "-o"),
        (["all.ncu-rep", "-o", "-"], 2, "a report is a file, not a stream"),
        (["all.ncu-rep", "none.ncu-rep", "-o", "s"], 2, "unrecognized arguments: none.ncu-rep"),
        (["gone.ncu-rep", "-o", "s"], 3, "there is no such file"),
        (["text.bin", "-o", "s"], 4, "text.bin"),
        (["cut.bin", "-o", "s"], 4, "cut.bin: at byte"),
        (["all.ncu-rep", "-o", "no/such/folder"], 6, "does not exist"),
    ],
)
def test_one_report_makes_one_report(
    run: CommandLine, command: list[str], words: list[str], code: int, said: str
) -> None:
    """Anything else is an error of one line."""
    done = run(command[0], *words, *command[1:])
    assert (done.code, len(done.err.splitlines())) == (code, 1)
    assert said in done.err


MAKERS = [("slice", "--launch", "1-2"), ("slice", "--family", "attention"), ("redact",)]


@pytest.mark.parametrize("command", MAKERS)
def test_whatever_a_report_comes_in_makes_the_same_report(
    run: CommandLine, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressed, or standard input: the new one is plain."""
    content = Path("all.ncu-rep").read_bytes()
    Path("a.ncu-rep.gz").write_bytes(gzip.compress(content))
    Path("a.ncu-repz").write_bytes(pa.compress(content, "zstd", asbytes=True))
    assert run(*command, "all.ncu-rep", "-o", "plain.ncu-rep").code == 0
    for name in ("a.ncu-rep.gz", "a.ncu-repz", "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        done = run(*command, name, "-o", "new.ncu-rep", "--force")
        assert (done.code, done.out) == (0, "")
        assert "nsightlens: wrote: new.ncu-rep: " in done.err
        assert Path("new.ncu-rep").read_bytes() == Path("plain.ncu-rep").read_bytes()


@pytest.mark.parametrize("command", MAKERS)
def test_what_is_wrong_with_a_compressed_report_is_told_under_its_name(
    run: CommandLine, command: tuple[str, ...]
) -> None:
    """Not under that of its copy, and the compressed file is an input that stays."""
    Path("cut.gz").write_bytes(gzip.compress(Path("cut.bin").read_bytes()))
    done = run(*command, "cut.gz", "-o", "new.ncu-rep")
    assert done.code == 4
    assert done.err.startswith("nsightlens: error: cut.gz: at byte ")
    done = run(*command, "cut.gz", "-o", "cut.gz", "--force")
    assert done.code == 6
    assert not Path("new.ncu-rep").exists()


def test_the_launches_before_a_cut_of_compressed_data_can_be_sliced(run: CommandLine) -> None:
    """With the warnings of every command that salvages."""
    packed = gzip.compress(Path("all.ncu-rep").read_bytes())
    Path("cut.gz").write_bytes(packed[: len(packed) * 3 // 4])
    done = run("slice", "cut.gz", "-o", "s.ncu-rep", "--launch", "0-", "--salvage")
    assert done.code == 0
    assert "warning: cut.gz: the gzip data ends early" in done.err
    assert 1 <= len(names("s.ncu-rep")) < 5


@pytest.mark.parametrize("command", MAKERS)
def test_what_ncu_printed_is_no_report_to_make_one_of(
    run: CommandLine, command: tuple[str, ...]
) -> None:
    """The report that it was printed from is."""
    Path("all.csv").write_text(ncu_csv(nsightlens.open_report("all.ncu-rep")), encoding="utf-8")
    done = run(*command, "all.csv", "-o", "new.ncu-rep")
    assert done.code == 4
    assert len(done.err.splitlines()) == 1
    assert "all.csv: this is text, such as ncu prints" in done.err
    assert "Give the .ncu-rep file that it was printed from." in done.err


def test_redact_lists_what_it_removed_and_what_is_left(run: CommandLine) -> None:
    """On stderr, for the eye."""
    done = run("redact", "all.ncu-rep", "-o", "r.ncu-rep")
    assert (done.code, done.out) == (0, "")
    removed, left = done.err.split("still in the report\n")
    assert "  host name\n" in removed
    assert "  process name\n" in removed
    assert "  kernel name: " in left
    assert "  device name: 1 different\n        1  NVIDIA H100" in left
    assert "nsightlens: wrote: r.ncu-rep: " in left


def test_redact_says_so_where_there_is_nothing_to_say(run: CommandLine) -> None:
    """Of a report that is redacted already, with all that can be."""
    run("redact", "all.ncu-rep", "-o", "a.ncu-rep", "--no-kernel-names", "--no-nvtx")
    done = run("redact", "a.ncu-rep", "-o", "b.ncu-rep")
    assert "kernel_0001" in done.err
    assert "NVTX name" not in done.err


def test_a_long_list_is_cut_for_the_eye_only(run: CommandLine) -> None:
    """And says where the rest is."""
    done = run("redact", "all.ncu-rep", "-o", "r.ncu-rep")
    listed = run("redact", "all.ncu-rep", "-o", "j.ncu-rep", "--format", "json")
    kernel_names = [
        row["text"] for row in json.loads(listed.out)["rows"] if row["kind"] == "kernel name"
    ]
    assert len(kernel_names) > 5
    assert f"and {len(kernel_names) - 5} more: --format json lists all" in done.err


def test_redact_lists_for_programs_on_stdout(run: CommandLine) -> None:
    """As its schema says; stderr has only what was written."""
    done = run("redact", "all.ncu-rep", "-o", "r.ncu-rep", "-f", "json", "--no-nvtx")
    assert done.code == 0
    assert done.err.startswith("nsightlens: wrote: r.ncu-rep")
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("redact")))
    assert answer["source"]["options"] == {"no_kernel_names": False, "no_nvtx": True}
    removed = {row["kind"]: row["count"] for row in answer["rows"] if row["status"] == "removed"}
    assert removed["host name"] > 0
    assert removed["NVTX name"] > 0
    keys = [row["key"] for row in answer["rows"]]
    assert len(set(keys)) == len(keys)
