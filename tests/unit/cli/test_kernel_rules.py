"""--kernel-rules: what kernels are by rules of the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens import open_dataset

if TYPE_CHECKING:
    from support.command import CommandLine

RULES = """
[[rule]]
id = "ours"
name = ".*flash.*"
family = "rope"
short = "our own {phase}"
"""


@pytest.fixture
def rules(run: CommandLine) -> str:
    """Write a rule that takes attention for something else."""
    assert run is not None  # it changes the folder
    Path("rules.toml").write_text(RULES, encoding="utf-8")
    return "rules.toml"


def _rows(run: CommandLine, *words: str) -> list[dict[str, Any]]:
    done = run(*words, "-f", "json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


def test_labels_and_filters_follow_the_rules(run: CommandLine, rules: str) -> None:
    """Families, short names, and what --family and --kernel find."""
    plain = [row["family"] for row in _rows(run, "classify", "all.ncu-rep")]
    ruled = _rows(run, "classify", "all.ncu-rep", "--kernel-rules", rules)
    changed = [row for row, family in zip(ruled, plain, strict=True) if row["family"] != family]
    assert {(row["family"], row["kernel"]) for row in changed} == {("rope", "our own n/a")}
    ids = [row["launch_id"] for row in changed]
    for words in (["--family", "rope"], ["--kernel", "our own"]):
        found = _rows(run, "classify", "all.ncu-rep", "--kernel-rules", rules, *words)
        assert [row["launch_id"] for row in found] == ids
    groups = _rows(run, "classify", "all.ncu-rep", "--kernel-rules", rules, "--by", "family")
    assert "rope" in {row["family"] for row in groups}


def test_every_command_that_names_kernels_takes_the_rules(run: CommandLine, rules: str) -> None:
    """metrics, export, slice and kernel-name."""
    words = ["all.ncu-rep", "--kernel-rules", rules, "--family", "rope"]
    rows = _rows(run, "metrics", *words, "--like", "gpu__time_duration.sum")
    assert {row["kernel"] for row in rows} == {"our own n/a"}
    keys = {row["key"] for row in _rows(run, "classify", *words)}
    assert {row["key"].rpartition("|")[0] for row in rows} == keys
    assert run("export", *words, "-o", "tables").code == 0
    labels = open_dataset("tables").table("labels")
    assert set(labels["family"].to_pylist()) == {"rope"}
    assert run("slice", *words, "-o", "some.ncu-rep").code == 0
    assert len(_rows(run, "classify", "some.ncu-rep")) == len(keys)
    named = _rows(run, "kernel-name", "my_flash_x", "--kernel-rules", rules)
    assert named[0]["rule"] == "user.ours"
    explained = _rows(run, "explain", "all.ncu-rep", "0", "--kernel-rules", rules)
    assert explained[0]["kernel"]["rule"] == "user.ours"


def test_a_filter_that_finds_nothing_names_what_the_rules_say(run: CommandLine, rules: str) -> None:
    """The families that are there are those by the rules."""
    done = run("classify", "all.ncu-rep", "--kernel-rules", rules, "--family", "zzz")
    assert done.code == 2
    assert "rope" in done.err


@pytest.mark.parametrize("command", ["classify", "metrics", "explain"])
def test_a_file_that_cannot_be_used_is_a_usage_error(run: CommandLine, command: str) -> None:
    """Before any report is read."""
    Path("wrong.toml").write_text('[[rule]]\nid = "a"\n', encoding="utf-8")
    done = run(command, "all.ncu-rep", "--kernel-rules", "wrong.toml")
    assert (done.code, done.out) == (2, "")
    assert "wrong.toml: in [[rule]] 1: has no family" in done.err
