"""The file of rules of a gate: what it may say, and how it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.comparison import read_gate_rules
from nsightlens.errors import SettingsFileError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 'name = "r"\nmetric = "duration_ns"\nmax = 1'


def _write(folder: Path, text: str) -> Path:
    path = folder / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rule_says_what_it_says(tmp_path: Path) -> None:
    """Every key of it."""
    text = """
format = "nsightlens.gate"
version = 1
[noise]
unrepeated_pct = 5
[[rule]]
name = "decode"
by = "family"
family = ["attention", "gemm"]
kernel = "flash.*"
phase = "decode"
batch_size = [1, 8]
nvtx = "step*"
metric = "duration_ns"
aggregate = "sum"
max = "1 ms"
min = 10
missing = "ignore"
[[rule]]
name = "change"
metric = "dram_bytes"
max_increase_pct = 5
max_decrease_pct = 10
[[rule]]
name = "label"
bound = ["memory", "compute"]
"""
    rules = read_gate_rules(_write(tmp_path, text))
    assert rules.noise.unrepeated_pct == 5.0
    decode, change, label = rules.rules
    assert (decode.most, decode.least, decode.unit, decode.by) == (1e6, 10.0, "ns", "family")
    assert decode.scope == (
        "family attention or gemm, kernel flash.*, phase decode, batch size 1 or 8, nvtx step*"
    )
    assert (decode.missing, decode.limit) == ("ignore", "at least 10 ns and at most 1 ms")
    assert (change.is_change, change.limit) == (True, "at most 5 % more and at most 10 % less")
    assert (label.metric, label.expected, label.limit) == (
        "bound", ("memory", "compute"), "memory or compute",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ('metric = "duration_ns"\nmax = 1', "has no name"),
        ('name = "r"\nmax = 1', "has no metric"),
        ('name = "r"\nmetric = "duration_ns"', "has no limit"),
        ('name = "r"\nmetric = "duration"\nmax = 1', "Did you mean duration_ns"),
        ('name = "r"\nmetric = "dram_throughput"\nmax_increase_pct = 1', "dram_throughput_pct"),
        ('name = "r"\nmetric = "l2_hit_rate_pct"\nmax_increase_pct = 1', "none that is compared"),
        (f"{GOOD}\nmaxx = 1", "Did you mean max"),
        (f'{GOOD}\nfamily = "atention"', "Did you mean attention"),
        (f'{GOOD}\nphase = "decod"', "Did you mean decode"),
        (f'{GOOD}\naggregate = "average"', "aggregate is 'average'"),
        (f'{GOOD}\nmissing = "pass"', "Allowed are fail, ignore"),
        (f'{GOOD}\nby = "step"', "Allowed are launch, kernel, family"),
        (f'{GOOD}\nkernel = "a("', "no regular expression"),
        (f"{GOOD}\nbatch_size = 0", "Write a whole number"),
        (f"{GOOD}\nbatch_size = []", "Write a whole number"),
        (f"{GOOD}\nbatch_size = true", "Write a whole number"),
        (f"{GOOD}\nnvtx = []", "Write a text"),
        (f'{GOOD}\nkernel = " "', "kernel is empty"),
        (f"{GOOD}\nkernel = 3", "Write a text in quotes"),
        ('name = "r"\nmetric = "duration_ns"\nmax = "1 msec"', "has the unit 'msec'"),
        ('name = "r"\nmetric = "duration_ns"\nmax_increase_pct = -1', "not negative"),
        (f"{GOOD}\nmax_increase_pct = 1", "has both a limit"),
        (
            'name = "r"\nmetric = "duration_ns"\nmin = 10\nmax = "5 ns"',
            "min is 10 and max is '5 ns'",
        ),
        ('name = "r"\nbound = "memory"\nregime = "latency"', "has both bound and regime"),
        ('name = "r"\nbound = "memory"\nmetric = "bound"', "takes no other key"),
        ('name = "r"\nbound = "memori"', "Did you mean memory"),
        ('name = "r"\nmetric = "sm_throughput_pct"\naggregate = "sum"\nmax = 1', "do not add up"),
        ('name = "r"\nmetric = "duration_ns"\naggregate = "max"\nmax_increase_pct = 1', "a change"),
        ('name = "r"\nmetric = "dram_bytes"\naggregate = "sum"\nmax_increase_pct = 1', "Only dura"),
        (f'{GOOD}\nby = "family"\n[[rule]]\n{GOOD}', "Choose another name"),
        ('name = "r"\nby = "family"\nmetric = "l2_hit_rate_pct"\nmin = 1', "none of a family"),
    ],
)
def test_a_rule_that_is_not_understood_is_refused_in_one_line(
    tmp_path: Path, rule: str, told: str
) -> None:
    """With the file, the rule and what was probably meant."""
    with pytest.raises(SettingsFileError) as caught:
        read_gate_rules(_write(tmp_path, f"[[rule]]\n{rule}"))
    assert told in str(caught.value)
    assert "gate.toml: in [[rule]]" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no [[rule]]"),
        ("rule = 3", "holds no [[rule]]"),
        ("rule = [3]", "is not a table"),
        ('format = "nsightlens.peaks"', "has the format 'nsightlens.peaks'"),
        ("version = 1.0", "has the version 1.0"),
        (f"rules = 1\n[[rule]]\n{GOOD}", "Did you mean rule"),
        (f"noise = 3\n[[rule]]\n{GOOD}", "is not a table"),
        (f"[noise]\nconfidence_pct = 100\n[[rule]]\n{GOOD}", "not between 0 and 100"),
        (f"[noise]\nleast = 1\n[[rule]]\n{GOOD}", "Did you mean least_pct"),
        ("[[rule]", "is not TOML"),
    ],
)
def test_a_file_that_is_none_of_a_gate_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """A gate without a rule would always pass."""
    with pytest.raises(SettingsFileError) as caught:
        read_gate_rules(_write(tmp_path, text))
    assert told in str(caught.value)
