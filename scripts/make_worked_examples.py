"""Write docs/worked-examples.md from real reports: metrics by name, arithmetic, label, judgement.

Run as ``python scripts/make_worked_examples.py CORPUS``, where the corpus has an ``INDEX.tsv`` that
says where each report was published. Which launches, which steps and what to make of them stands
in ``worked_examples.toml`` beside this file; every number is computed.
"""

from __future__ import annotations

import argparse
import ast
import csv
import operator
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import nsightlens
from nsightlens.analysis import thresholds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nsightlens import Report

EXAMPLES = Path(__file__).with_name("worked_examples.toml")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "worked-examples.md"
HEAD = f"""\
<!-- Written by scripts/make_worked_examples.py from real reports. Change that, not this. -->

# Worked examples

One launch of each architecture of which we have public reports, from raw metrics to a label: the
metrics by the names under which Nsight Compute stores them, the arithmetic, the label that
[the rules](concepts.md) give, and what an engineer would make of it. Times are in ns, rates per
second. Steps are computed from metrics that are not rounded. A test does every step again.

Symbols that recur: `T` duration, `F` operations, `B` bytes, `P` flat roof, `D` slanted roof, `I`
intensity, `R` ridge point (of DRAM where no other level is named); `busy` the fraction of its peak
that the limiter reached, `compute` and `memory` the most that the other side can have been. A
launch is saturated from `busy` {thresholds.BUSY:.2f} on; sides are close where the smaller one is
above {thresholds.CLOSE_SIDES:.2f} of the larger.
"""


class Step(NamedTuple):
    """One line of arithmetic: a symbol, a formula over earlier symbols, a unit and a remark."""

    symbol: str
    formula: str
    unit: str
    remark: str


class Example(NamedTuple):
    """A chosen launch: see the file of examples."""

    title: str
    file: str
    launch: int
    metrics: Mapping[str, str]
    steps: list[Step]
    judgement: str


def examples() -> list[Example]:
    """Read the chosen launches."""
    entries = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))["example"]
    return [Example(**{**one, "steps": [_step(text) for text in one["steps"]]}) for one in entries]


def _step(text: str) -> Step:
    equation, unit, remark = (part.strip() for part in text.split("|"))
    symbol, _, formula = equation.partition(" = ")
    return Step(symbol, formula, unit, remark)


class Number(float):
    """A number that a text may show as it is or as a percentage."""

    def __format__(self, spec: str) -> str:
        return f"{100 * self:.3g} %" if spec == "%" else short(self, 3)


_OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


def evaluate(formula: str, values: Mapping[str, float]) -> float:
    """Evaluate a formula of symbols, numbers, the four operations and parentheses."""

    def of(node: ast.expr) -> float:
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Name):
            return values[node.id]
        return float(ast.literal_eval(node))

    return of(ast.parse(formula.replace("\N{MULTIPLICATION SIGN}", "*"), mode="eval").body)


def short(value: float, digits: int = 4) -> str:
    """Return a number with some significant digits."""
    text = f"{float(value):.{digits}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa}e{int(exponent)}"
    return text


def exact(value: float) -> str:
    """Return a metric: a whole number in full, any other to six digits."""
    return f"{value:,.0f}" if value == int(value) else short(value, 6)


def metrics_of(report: Report, example: Example) -> dict[str, float]:
    """Return the values of the example's metrics by symbol."""
    table = report.metrics
    rows = zip(*(table[name].to_pylist() for name in ("launch_id", "metric", "value")), strict=True)
    found = {metric: value for launch, metric, value in rows if launch == example.launch}
    return {symbol: found[metric] for symbol, metric in example.metrics.items()}


def origin(corpus: Path, example: Example) -> dict[str, str]:
    """Return the row of the index that says where the report was published."""
    with (corpus / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return next(row for row in rows if row["path"] == example.file)


def section(corpus: Path, example: Example) -> str:
    """Return the text of one example."""
    report = nsightlens.open_report(corpus / example.file)
    label = nsightlens.classify(report).labels.to_pylist()[example.launch]
    launch = report.launches.to_pylist()[example.launch]
    values = metrics_of(report, example)
    table = "".join(
        f"| `{symbol}` | `{metric}` | {exact(values[symbol])} |\n"
        for symbol, metric in example.metrics.items()
    )
    lines = []
    width = max(len(f"{step.symbol} = {step.formula}") for step in example.steps)
    for step in example.steps:
        values[step.symbol] = evaluate(step.formula, values)
        head = f"{step.symbol} = {step.formula}"
        result = f"= {short(values[step.symbol])} {step.unit}".rstrip()
        lines.append(f"{head:<{width}}  {result:<20} {step.remark}".rstrip())
    lines.append(_regime(label, launch, values))
    judgement = example.judgement.format_map({name: Number(v) for name, v in values.items()})
    return (
        f"## {launch['compute_capability']}: {example.title}\n\n"
        f"{_source(origin(corpus, example), label, launch)}\n\n"
        f"| symbol | metric | value |\n|---|---|---|\n{table}\n"
        "```text\n" + "\n".join(lines) + f"\n```\n\n{_label(label)}\n\n{judgement}"
    )


def _source(row: Mapping[str, str], label: Mapping[str, Any], launch: Mapping[str, Any]) -> str:
    repository, tool = row["repository"], row["tool_version"]
    device = label["device_name"] or "a GPU that the file does not name"
    return (
        f"`{row['original_path']}` of [{repository}](https://github.com/{repository}) at "
        f"`{row['commit']}`, launch {launch['launch_id']}: `{label['kernel']}` on {device}"
        f"{f', Nsight Compute {tool}' if tool else ''}."
    )


def _regime(label: Mapping[str, Any], launch: Mapping[str, Any], values: dict[str, float]) -> str:
    busy, waves = values["busy"], launch["waves_per_multiprocessor"]
    sign = ">=" if busy >= thresholds.BUSY else "<"
    text = f"busy {short(busy)} {sign} {thresholds.BUSY:.2f}"
    if sign == "<" and waves is not None:
        is_full = waves >= thresholds.FULL_WAVE
        text += f", waves {short(waves)} {'>=' if is_full else '<'} {thresholds.FULL_WAVE:.0f}"
    return f"{text}: {label['regime']}"


def _label(label: Mapping[str, Any]) -> str:
    intensity, ridge = (
        label[f"{name}_flop_per_byte"] for name in ("arithmetic_intensity", "ridge_point")
    )
    beside = "" if intensity is None or ridge is None else (
        f" (intensity {short(intensity)}, ridge {short(ridge)} FLOP/B)"
    )  # fmt: skip
    clock = ", memory at the boost clock" if label["clock_dependent"] else ""
    return (
        f"**{label['bound']}-bound, {label['regime']}**: limiter `{label['limiter']}`, "
        f"{100 * label['limiter_fraction']:.3g} % of peak. Classical roofline: "
        f"{label['roofline_bound']}{beside}{clock}. Evidence `{label['evidence']}`, confidence "
        f"{label['confidence']}."
    )


def page(corpus: Path) -> str:
    """Return the whole page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HEAD + "".join(f"\n{section(corpus, example)}" for example in examples())


def main() -> int:
    """Write the page; return 1 if it was out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of reports with INDEX.tsv")
    text = page(parser.parse_args().corpus)
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE} is written anew: commit it.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
