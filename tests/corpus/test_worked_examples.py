"""Every number of the page of worked examples, recomputed from the reports.

The page is what its script writes; and, apart from that script, each number is compared with raw
metrics, with plain arithmetic on them, or with the label that the public API gives.
"""

from __future__ import annotations

import csv
import importlib.util
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import nsightlens
from nsightlens.errors import NsightLensError

pytestmark = pytest.mark.corpus

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "worked-examples.md"
NUMBER = re.compile(r"(?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-?\d+)?(?![\w]|\.\d)")
STEP = re.compile(r"^(\w+) = (.+?) += (\S+)", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| `([^`]+)` \| (\S+) \|$", re.MULTILINE)
REGIME = re.compile(r"^busy (\S+) (<|>=) 0\.60(?:, waves (\S+) (<|>=) 1)?: (\w+)$", re.MULTILINE)
LABEL = re.compile(
    r"^\*\*(\w+)-bound, (\w+)\*\*: limiter `(\w+)`, (\S+) % of peak\. Classical roofline: (\w+)"
    r"(?: \(intensity (\S+), ridge (\S+) FLOP/B\))?(, memory at the boost clock)?\. "
    r"Evidence `(\w+)`, confidence (\w+)\.$",
    re.MULTILINE,
)
# Symbols that stand for a column of the label.
OF_LABEL = {
    "busy": "limiter_fraction",
    "I": "arithmetic_intensity_flop_per_byte",
    "R": "ridge_point_flop_per_byte",
    "R_boost": "ridge_point_boost_flop_per_byte",
    "ratio": "bound_ratio",
    "T": "duration_ns",
}


class Source(NamedTuple):
    """What the report of an example says, by the public API."""

    metrics: dict[str, float]
    launch: dict[str, Any]
    label: dict[str, Any]
    rooflines: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def corpus(corpus_ncu: Path) -> Path:
    return corpus_ncu.parent


@pytest.fixture(scope="module")
def sections() -> list[str]:
    """Return the examples of the page, one text each."""
    _, *found = re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found


def source_of(corpus: Path, section: str) -> Source:
    """Find the report of an example by its public origin, and read it."""
    match = re.search(r"^`(\S+)` of \[(\S+)\]\S* at `(\w+)`, launch (\d+):", section, re.MULTILINE)
    assert match is not None
    path, repository, commit, launch = match.groups()
    with (corpus / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        index = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    (row,) = (
        row
        for row in index
        if (row["repository"], row["original_path"], row["commit"]) == (repository, path, commit)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = nsightlens.open_report(corpus / row["path"])
    result = nsightlens.classify(report)
    i = int(launch)
    metrics = {m["metric"]: m["value"] for m in report.metrics.to_pylist() if m["launch_id"] == i}
    rooflines = [r for r in result.rooflines.to_pylist() if r["launch_id"] == i]
    return Source(
        metrics,
        report.launches.to_pylist()[i],
        result.labels.to_pylist()[i],
        {r["level"]: r for r in rooflines},
    )


def agrees(text: str, value: float) -> bool:
    """Say whether a printed number is a value, rounded to the digits that are printed."""
    printed = text.replace(",", "")
    digits = len(printed.partition("e")[0].replace(".", "").lstrip("0"))
    return float(printed) == (float(f"{value:.{digits}g}") if digits else value)


def check(section: str, source: Source) -> None:
    """Compare every number of an example."""
    assert section.startswith(f"## {source.launch['compute_capability']}: ")
    values: dict[str, float] = {}
    for symbol, metric, printed in ROW.findall(section):
        values[symbol] = source.metrics[metric]
        is_whole = values[symbol] == int(values[symbol])
        expected = f"{values[symbol]:,.0f}" if is_whole else printed
        assert printed == expected
        assert agrees(printed, values[symbol]), (symbol, printed)
    for symbol, formula, printed in STEP.findall(section):
        # Symbols and arithmetic alone, from a page of our own.
        code = formula.replace("\N{MULTIPLICATION SIGN}", "*")
        values[symbol] = eval(code, {"__builtins__": {}}, values)
        assert agrees(printed, values[symbol]), (symbol, printed, values[symbol])
    check_label(section, source, values)
    judgement = section[next(LABEL.finditer(section)).end() :]
    for printed in NUMBER.findall(judgement):
        known = [v * scale for v in values.values() for scale in (1.0, 100.0)]
        assert any(agrees(printed, value) for value in known), printed


def check_label(section: str, source: Source, values: dict[str, float]) -> None:
    """Compare the lines of regime and label with the label, and the steps with its columns."""
    label, launch = source.label, source.launch
    (found,) = LABEL.findall(section)
    bound, regime, limiter, percent, roofline, intensity, ridge, boost, evidence, level = found
    names = ("bound", "regime", "limiter", "roofline_bound", "evidence", "confidence")
    assert (bound, regime, limiter, roofline, evidence, level) == tuple(label[n] for n in names)
    assert agrees(percent, 100 * label["limiter_fraction"])
    assert bool(boost) == bool(label["clock_dependent"])
    for printed, name in ((intensity, OF_LABEL["I"]), (ridge, OF_LABEL["R"])):
        assert agrees(printed, label[name]) if printed else label[OF_LABEL["I"]] is None
    for symbol, name in OF_LABEL.items():
        if symbol in values:
            assert values[symbol] == pytest.approx(label[name], rel=1e-6), symbol
    if "I_l1" in values:
        row = source.rooflines["l1"]
        assert values["I_l1"] == pytest.approx(row[OF_LABEL["I"]])
        assert values["R_l1"] == pytest.approx(row[OF_LABEL["R"]])
        assert values["D_l1"] == pytest.approx(row["peak_bytes_per_s"])
    ((busy, sign, waves, wave_sign, word),) = REGIME.findall(section)
    assert word == regime
    assert agrees(busy, values["busy"])
    assert (sign == ">=") == (values["busy"] >= 0.60)
    if waves:
        assert agrees(waves, launch["waves_per_multiprocessor"])
        assert (wave_sign == ">=") == (launch["waves_per_multiprocessor"] >= 1)
    other = "compute" if bound == "memory" else "memory"
    assert values["busy"] >= values[other], "the side of the limiter is the busier one"


def test_every_number_follows_from_the_report(corpus: Path, sections: list[str]) -> None:
    """Raw metrics, arithmetic, label, and what the judgement says of them."""
    for section in sections:
        check(section, source_of(corpus, section))


def other(number: str) -> str:
    """Return a number with another last digit, that of its exponent aside."""
    mantissa, _, exponent = number.partition("e")
    changed = mantissa[:-1] + str((int(mantissa[-1]) + 1) % 10)
    return f"{changed}e{exponent}" if exponent else changed


def test_a_number_that_is_changed_is_noticed(corpus: Path, sections: list[str]) -> None:
    """Of every number after the heading: one digit more in its last place, one at a time."""
    checked = 0
    for section in sections:
        source = source_of(corpus, section)
        zero = [m.span() for m in re.finditer(r"^.* = 0 .*$", section, re.MULTILINE)]
        body = section.index("| symbol |")
        for match in NUMBER.finditer(section, body):
            # A factor of nothing may be anything.
            if any(a <= match.start() < b for a, b in zero) and match.group() != "0":
                continue
            changed = section[: match.start()] + other(match.group()) + section[match.end() :]
            with pytest.raises((AssertionError, ValueError)):
                check(changed, source)
            checked += 1
    assert checked > 150


def test_each_architecture_of_the_corpus_has_an_example(corpus: Path, sections: list[str]) -> None:
    """By compute capability, of the reports and of what ncu printed."""
    found = set()
    for path in (*corpus.glob("ncu/*.ncu-rep"), *corpus.glob("ncu-csv/*")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = nsightlens.open_report(path)
        except NsightLensError:
            continue
        found |= set(report.launches["compute_capability"].to_pylist()) - {None}
    assert {section.split(":")[0].removeprefix("## ") for section in sections} == found
    assert len(found) >= 6


def test_the_page_is_what_its_script_writes(corpus: Path) -> None:
    """Run ``python scripts/make_worked_examples.py CORPUS`` after a change."""
    spec = importlib.util.spec_from_file_location(
        "make_worked_examples", ROOT / "scripts" / "make_worked_examples.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert PAGE.read_text(encoding="utf-8") == module.page(corpus)
