"""export adds to a dataset, replaces one by force, and touches nothing else."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.datasets import files_in, values_of
from support.reports import write_report

import nsightlens
from nsightlens import open_dataset
from nsightlens.ncurep.spec import LaunchSpec

if TYPE_CHECKING:
    from support.command import CommandLine


def test_the_same_report_twice_gives_one_copy(run: CommandLine) -> None:
    """In the same run or later, under another name, compressed or not; it is said how many."""
    shutil.copy("all.ncu-rep", "copy.ncu-rep")
    done = run("export", "all.ncu-rep", "copy.ncu-rep", "-o", "ds")
    assert done.code == 0
    assert "added 1 report, 1 in it already" in done.err
    before = files_in(Path("ds"))
    Path("packed.ncu-rep.gz").write_bytes(gzip.compress(Path("all.ncu-rep").read_bytes()))
    done = run("export", "packed.ncu-rep.gz", "copy.ncu-rep", "-o", "ds")
    assert done.code == 0
    assert "nothing to add, 2 in it already" in done.err
    assert files_in(Path("ds")) == before


def test_a_report_exported_with_other_options_is_kept_and_told(run: CommandLine) -> None:
    """In one line, as an output that exists already; others of the run are added."""
    assert run("export", "all.ncu-rep", "-o", "ds").code == 0
    done = run("export", "all.ncu-rep", "none.ncu-rep", "-o", "ds", "--family", "gemm")
    assert done.code == 6
    assert done.err.count("\n") == 3  # none.ncu-rep is empty; what was added; what was not
    assert "ds holds this report from an export with other options" in done.err
    dataset = open_dataset("ds")
    assert dataset.reports["report"].to_pylist() == ["all.ncu-rep", "none.ncu-rep"]
    assert dataset.row_count("labels") == 5


PEAKS = """
format = "nsightlens.peaks"
version = 1

[[device]]
name = "NVIDIA H100 80GB HBM3"
source = "our own measurement"
[device.peak_per_s]
dram = "{}"
"""


RULES = """
format = "nsightlens.kernel_rules"
version = 1

[[rule]]
id = "mine"
name = "{}"
family = "norm"
"""


@pytest.mark.parametrize("name", ["peaks", "rules"])
def test_a_changed_file_of_settings_is_another_option(run: CommandLine, name: str) -> None:
    """What counts is what stands in it, and not where it lies."""
    texts = {"peaks": PEAKS, "rules": RULES}
    option = {"peaks": "--peaks", "rules": "--kernel-rules"}[name]
    Path("a.toml").write_text(texts[name].format("3.1 TB/s"), encoding="utf-8")
    shutil.copy("a.toml", "b.toml")
    assert run("export", "all.ncu-rep", "-o", "ds", option, "a.toml").code == 0
    assert run("export", "all.ncu-rep", "-o", "ds", option, "b.toml").code == 0
    Path("a.toml").write_text(texts[name].format("3.2 TB/s"), encoding="utf-8")
    assert run("export", "all.ncu-rep", "-o", "ds", option, "a.toml").code == 6


def test_a_report_that_cannot_be_read_is_named_and_the_others_are_added(run: CommandLine) -> None:
    """The first error, in the order of the reports, decides the code."""
    done = run("export", "absent.ncu-rep", "all.ncu-rep", "cut.bin", "text.bin", "-o", "ds")
    assert done.code == 3
    told = [line for line in done.err.splitlines() if ": error: " in line]
    names = ["absent.ncu-rep", "cut.bin", "text.bin"]
    assert [name in line for name, line in zip(names, told, strict=True)] == [True] * 3
    assert open_dataset("ds").reports["report"].to_pylist() == ["all.ncu-rep"]


def test_no_dataset_is_made_where_nothing_can_be_read(run: CommandLine) -> None:
    """And one that is there stays, even with --force."""
    assert run("export", "cut.bin", "text.bin", "-o", "ds").code == 4
    assert run("export", "absent.ncu-rep", "-o", "ds").code == 3
    assert not Path("ds").exists()
    assert run("export", "all.ncu-rep", "-o", "ds").code == 0
    assert run("export", "text.bin", "-o", "ds", "--force").code == 4
    assert len(open_dataset("ds")) == 1


def test_what_is_salvaged_is_said_in_the_dataset_too(run: CommandLine) -> None:
    """Whoever reads it later must know that the report was cut."""
    done = run("export", "cut.bin", "-o", "ds", "--salvage")
    assert done.code == 0
    (texts,) = open_dataset("ds").reports["warnings"].to_pylist()
    assert texts
    assert all(text in " ".join(done.err.split()) for text in texts)


def test_tables_can_be_chosen(run: CommandLine) -> None:
    """The list of reports is always there; GPUs are known without the launches."""
    assert run("export", "all.ncu-rep", "-o", "ds", "--tables", "labels, metrics").code == 0
    dataset = open_dataset("ds")
    assert dataset.tables == ("reports", "labels", "metrics")
    assert dataset.gpus == ("NVIDIA H100 80GB HBM3",)
    done = run("export", "all.ncu-rep", "-o", "other", "--tables", "labels,instances")
    assert done.code == 2
    assert "'instances' is no table of an export" in done.err
    assert run("export", "all.ncu-rep", "-o", "other", "--tables", ",").code == 2
    assert not Path("other").exists()


def test_filters_that_nothing_passes_are_an_error(run: CommandLine) -> None:
    """Which says what there is; nothing is written."""
    done = run("export", "all.ncu-rep", "none.ncu-rep", "-o", "ds", "--family", "moe_routing")
    assert done.code == 2
    assert "none of 5 launches passes --family moe_routing. There is family: attention" in done.err
    assert not Path("ds").exists()
    assert run("export", "none.ncu-rep", "-o", "ds", "--family", "gemm").code == 0


def test_options_that_cannot_be_used_are_refused_before_reports_are_read(
    run: CommandLine,
) -> None:
    """As elsewhere."""
    for words in (["--device", "toaster"], ["--grid", "x"], ["--kernel", "("],
                  ["--batch-from", "x"], ["--peaks", "absent.toml"]):  # fmt: skip
        done = run("export", "cut.bin", "-o", "ds", *words)
        assert done.code in (2, 3), words
        assert "cut.bin" not in done.err


@pytest.mark.parametrize("place", ["ex/all.ncu-rep", "ex/sub/all.ncu-rep"])
def test_a_report_inside_the_folder_is_kept(run: CommandLine, place: str) -> None:
    """Replacing the folder would delete what is being read."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path(place).parent.mkdir(exist_ok=True)
    shutil.copy("all.ncu-rep", place)
    done = run("export", place, "-o", "ex", "--force")
    assert done.code == 6
    assert "which is read" in done.err
    assert Path(place).exists()


def test_a_report_below_the_current_folder_is_kept(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the current folder is a dataset; without --force it is added to."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path("ex/sub").mkdir()
    shutil.copy("none.ncu-rep", "ex/sub/x.ncu-rep")
    monkeypatch.chdir("ex")
    assert run("export", "sub/x.ncu-rep", "-o", ".", "--force").code == 6
    assert run("export", "sub/x.ncu-rep", "-o", ".").code == 0
    assert Path("sub/x.ncu-rep").exists()
    assert len(open_dataset(".")) == 2


def test_files_of_the_user_are_kept(run: CommandLine) -> None:
    """They are named, and the dataset stays as it was."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path("ex/mynotes.txt").write_text("mine", encoding="utf-8")
    done = run("export", "all.ncu-rep", "-o", "ex", "--force")
    assert done.code == 6
    assert "mynotes.txt" in done.err
    assert Path("ex/mynotes.txt").read_text(encoding="utf-8") == "mine"


def test_force_is_advised_only_where_it_helps(run: CommandLine) -> None:
    """Not for a file in the place of the folder, nor for a folder of other files."""
    Path("mine").mkdir()
    shutil.copy("all.ncu-rep", "mine")
    for place, told in (("none.ncu-rep", "is a file: name a folder"), ("mine", "and no dataset")):
        done = run("export", "all.ncu-rep", "-o", place)
        assert told in done.err
        assert "--force" not in done.err


def test_a_dataset_is_no_stream(run: CommandLine) -> None:
    """A dash is stdout elsewhere; a folder of that name would be a surprise."""
    done = run("export", "all.ncu-rep", "-o", "-")
    assert done.code == 2
    assert "name a folder" in done.err
    assert not Path("-").exists()


def _write_instances() -> None:
    launch = LaunchSpec(
        metrics={"a__x": 4.0, "b__x": 7},
        instances={"a__x": [(2**63, 1.5), (2, 2.5)], "b__x": [("HMMA", 7)]},
    )
    write_report(Path(), [launch, launch], name="full.ncu-rep")


def test_instances_are_exported_where_they_are_asked_for(run: CommandLine) -> None:
    """Of the metrics that any of the patterns matches, and equal to those of the library."""
    _write_instances()
    assert run("export", "full.ncu-rep", "-o", "none").code == 0
    assert "instances" not in open_dataset("none").tables
    everything = values_of(nsightlens.open_report("full.ncu-rep", instances=True).instances)
    assert everything.num_rows == 6
    for folder, words in (
        ("all", ("--instances", "*")),
        ("two", ("--instances", "b__*", "--instances", "a__x")),
    ):
        assert run("export", "full.ncu-rep", "-o", folder, *words).code == 0
        found = open_dataset(folder).table("instances").drop_columns(["report_id"])
        assert values_of(found).equals(everything)
    assert run("export", "full.ncu-rep", "-o", "one", "--instances", "b__*").code == 0
    found = open_dataset("one").table("instances")
    assert found["metric"].to_pylist() == ["b__x", "b__x"]


def test_a_pattern_of_instances_that_matches_nothing_is_an_error(run: CommandLine) -> None:
    """In no report; nothing is written. A report without launches has no metric to match."""
    _write_instances()
    done = run("export", "full.ncu-rep", "-o", "out", "--instances", "b__*", "--instances", "c*")
    assert done.code == 5
    assert "'c*'" in done.err
    assert not Path("out").exists()
    assert run("export", "none.ncu-rep", "-o", "out", "--instances", "c*").code == 0
    words = ("full.ncu-rep", "all.ncu-rep", "none.ncu-rep", "-o", "out2", "--instances", "b__*")
    assert run("export", *words).code == 0


def test_a_second_export_waits_and_says_so(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line; it goes on as soon as the first has ended."""
    from nsightlens.store import DatasetWriter

    first = DatasetWriter("ds")
    first.__enter__()
    monkeypatch.setattr(
        "nsightlens.store.lock.time.sleep", lambda _: first.__exit__(None, None, None)
    )
    done = run("export", "all.ncu-rep", "-o", "ds")
    assert done.code == 0
    assert done.err.count("waiting: another process is writing to ds") == 1
    assert len(open_dataset("ds")) == 1
