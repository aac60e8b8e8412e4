"""Advice as Markdown: the page with whole tables, and links to its figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.advice_answers import (
    BATCHES,
    REPLICAS,
    SHARE_REASON,
    WARNINGS,
    WHY,
    advice,
    bare_advice,
    infeasible_advice,
)

from nsightlens.advisor.answers import Warned
from nsightlens.render.advice_markdown import MOST_FILES, advice_markdown


def sections(text: str) -> dict[str, str]:
    """Return what stands below each heading."""
    parts = text.split("\n## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def table_of(section: str) -> list[list[str]]:
    """Return the cells of the rows of the table of a section, its heading first."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in lines
        if "---" not in line
    ]


def test_the_answer_and_the_command_stand_first() -> None:
    lines = advice_markdown(advice()).splitlines()
    assert lines[0] == "# Which batch size to serve with"
    assert lines[4].startswith("**Serve with batch size 96: 9033 token/s")
    assert lines[6:9] == [
        "```sh",
        "vllm serve opt-1.3b --max-num-seqs 96 --gpu-memory-utilization 0.195",
        "```",
    ]


def test_the_parts_come_in_the_order_of_the_page() -> None:
    assert list(sections(advice_markdown(advice()))) == [
        "The curve", "What binds", "The next smaller", "The next larger",
        "Where throughput stops to grow", "Memory", "Several servers on the GPU", "Why", "Reasons",
        "What steps cost", "Predicted, not measured", "Confidence", "What would change the answer",
        "Warnings", "What is missing", "Files",
    ]  # fmt: skip


def test_the_curve_has_every_row() -> None:
    """With the choice marked by a word."""
    heading, *rows = table_of(sections(advice_markdown(advice()))["The curve"])
    assert heading[:4] == ["batch", "running", "total token/s", "% of best"]
    assert len(rows) == len(BATCHES)
    (marked,) = (row for row in rows if row[0] == "choice")
    assert marked[1] == "96"


def test_servers_costs_and_shares_have_tables() -> None:
    parts = sections(advice_markdown(advice()))
    servers = table_of(parts["Several servers on the GPU"])
    assert [row[0] for row in servers] == ["servers", "1", "2", "5"]
    assert servers[3][servers[0].index("fits")] == "no"
    assert servers[3][servers[0].index("gain")] == "-"
    assert table_of(parts["What steps cost"])[1][:3] == ["256", "gaps", "9.00 ms"]
    assert table_of(parts["Why"])[4] == ["512", "43", "7.4", "13", "37"]


def test_reasons_that_no_part_gives_are_listed() -> None:
    reasons = sections(advice_markdown(advice()))["Reasons"]
    assert reasons.strip() == f"- {SHARE_REASON}"


def test_a_prediction_stands_below_a_heading_that_says_so() -> None:
    predicted = sections(advice_markdown(advice()))["Predicted, not measured"]
    assert predicted.strip().startswith("- Predicted for batch 160")


def test_every_warning_is_listed() -> None:
    many = tuple(Warned(f"w{i}", f"Warning {i}.") for i in range(40))
    warnings = sections(advice_markdown(advice(warnings=(*WARNINGS, *many))))["Warnings"]
    assert warnings.count("\n- ") + warnings.startswith("- ") == 42


def test_figures_are_linked_where_they_belong() -> None:
    """One that is not known stands at the end."""
    figures = {
        "shares": "figures/shares.svg",
        "curve": "figures/curve.svg",
        "kv": "kv.svg",
        "x": "x.svg",
    }
    text = advice_markdown(advice(), figures)
    parts = sections(text)
    assert "](figures/curve.svg)" in parts["The curve"]
    assert "](kv.svg)" in parts["Memory"]
    assert "](figures/shares.svg)" in parts["Why"]
    assert "![x](x.svg)" in parts["What is missing"]
    assert text.count("![") == 4
    assert "![" not in advice_markdown(advice())


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ("a b/curve.svg", "(<a b/curve.svg>)"),
        ("a(1).svg", "(<a(1).svg>)"),
        ("<x>.svg", "(<\\<x\\>.svg>)"),
        ("\u66f2.svg", "(<\u66f2.svg>)"),
    ],
)
def test_a_path_of_any_kind_is_a_link(path: str, link: str) -> None:
    assert link in advice_markdown(advice(), {"curve": path})


def test_without_memory_a_figure_of_it_is_linked_all_the_same() -> None:
    text = advice_markdown(infeasible_advice(), {"kv": "kv.svg"})
    assert "Memory" not in sections(text)
    assert "](kv.svg)" in text


def test_nothing_feasible_has_no_command() -> None:
    text = advice_markdown(infeasible_advice())
    assert "**No batch size meets a mean ITL of 3.00 ms" in text
    assert "```" not in text


def test_what_is_not_known_is_told() -> None:
    text = advice_markdown(bare_advice())
    assert "Not known without use of the KV pool, size of the KV pool." in text
    assert table_of(sections(text)["The curve"])[1] == ["8", "-", "900", "-", "-", "-", "-"]
    assert "|  | 8 |" in text


def test_a_name_cannot_be_markup() -> None:
    text = advice_markdown(advice(setup={"model": "<b>*m*|"}, command="vllm serve '```'"))
    assert "\\<b\\>\\*m\\*\\|" in text
    assert "````sh\nvllm serve '```'\n````" in text


def test_commands_for_several_servers_are_a_block() -> None:
    text = advice_markdown(advice(replicas=replace(REPLICAS, recommended=2)))
    block = "```sh\nnvidia-cuda-mps-control -d\nvllm serve a &\nvllm serve b &\n```"
    assert block in sections(text)["Several servers on the GPU"]


def test_files_are_listed_up_to_a_number() -> None:
    files = tuple(f"run_{i}.json" for i in range(2000))
    listed = sections(advice_markdown(advice(sources=files)))["Files"].strip().splitlines()
    assert len(listed) == MOST_FILES + 1
    assert listed[-1] == "- and 1980 more (-f json has all)"
    assert listed[0] == "- `run_0.json`"


def test_without_shares_there_is_no_table_of_them() -> None:
    text = advice_markdown(advice(why=replace(WHY, shares=()), costs=()))
    assert table_of(sections(text)["Why"]) == []
    assert "What steps cost" not in sections(text)
