"""The rules on the page about comparisons are ones that can be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.cli.main import main
from nsightlens.comparison import NoiseRules
from nsightlens.comparison.change import MOST_NOISE_PCT
from nsightlens.comparison.comparable import COUNTS_NS, LONG_ENOUGH_NS, SAME_WORK_PCT
from nsightlens.comparison.gate_rule import EXPECTED
from nsightlens.comparison.keys import FLOP_ALIKE_PCT, OTHER_WORK_FACTOR
from nsightlens.comparison.match import MATCHED_BY
from nsightlens.comparison.noise import student_quantile
from nsightlens.comparison.samples import FREEDOM_LEAST, SAME_WORK_MOST
from nsightlens.example import path

if TYPE_CHECKING:
    import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")


def test_the_rules_of_the_page_hold_on_the_bundled_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader can begin with them."""
    found = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    rules = tmp_path / "gate.toml"
    rules.write_text(found.group(1), encoding="utf-8")
    report = str(path())
    assert main(["gate", "--rules", str(rules), report, "--base", report]) == 0
    assert capsys.readouterr().out.startswith("5 rules hold\n")


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    """What counts as noise is stated once."""
    noise = NoiseRules()
    assert f"Student's {noise.confidence_pct:g} % interval" in PAGE
    assert f"at least {noise.least_pct:g} % and two ticks" in PAGE
    assert (
        f"{noise.unrepeated_pct:g} % and two ticks of the timer ({noise.timer_tick_ns:g} ns" in PAGE
    )
    assert f"SM clocks lie more than {noise.clock_pct:g} %" in PAGE
    assert f"DRAM clocks more than {noise.dram_clock_pct:g} %" in PAGE
    assert f"under {LONG_ENOUGH_NS / 1e3:g} us is noise" in PAGE
    assert f"no launch of a side takes {COUNTS_NS / 1e3:g} us" in PAGE
    assert f"clocks may lie {noise.short_clock_pct:g} % apart" in PAGE
    assert f"more than {SAME_WORK_PCT:g} % apart, unless" in PAGE
    assert f"executed, within {FLOP_ALIKE_PCT:g} %" in PAGE
    assert f"differ by more than a factor of {OTHER_WORK_FACTOR:g}" in PAGE
    assert f"so much that n is over {MOST_NOISE_PCT:g}" in PAGE
    assert FREEDOM_LEAST == 3, "four or more launches"
    assert f"scatter by over {100 * SAME_WORK_MOST:g} %" in PAGE
    widths = [student_quantile(2 * n - 2, 99.0) * (2 / n) ** 0.5 for n in (2, 3, 5)]
    assert [round(width, 1) for width in widths] == [9.9, 3.8, 2.1]
    assert "with two of each side it is 9.9 s, with three 3.8 s, with\nfive 2.1 s" in PAGE


def test_the_page_names_every_level_and_every_expectation() -> None:
    """None is hidden."""
    assert all(f"| `{name}` |" in PAGE for name in MATCHED_BY)
    assert all(f"`{name}`" in PAGE for name in EXPECTED)
