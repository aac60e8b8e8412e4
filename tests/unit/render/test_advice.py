"""Advice as a page of text: the answer first, every number told once, nothing invented."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from support.advice_answers import (
    BATCHES,
    CHOICE,
    COSTS,
    MEMORY,
    NOTHING,
    OTHER_FIT,
    PLATEAU,
    PREDICTION,
    REFUSED,
    REPLICAS,
    ROWS,
    SHARE_REASON,
    advice,
    bare_advice,
    curve_table_of,
    infeasible_advice,
)
from support.golden import check_golden

from nsightlens.advisor.answers import Advice, Curve, Lacking, Neighbour, Slo, Warned
from nsightlens.render.advice import MOST_ROWS, advice_lines
from nsightlens.render.advice_curve import curve_table
from nsightlens.render.advice_plateau import fit_differs
from nsightlens.render.style import Style, cell_width

COMMAND = "vllm serve opt-1.3b --max-num-seqs 96 --gpu-memory-utilization 0.195"


def page(shown: Advice | None = None, width: int = 80, **style: Any) -> list[str]:
    return list(advice_lines(advice() if shown is None else shown, Style(width, **style)))


def words(shown: Advice | None = None, width: int = 200) -> str:
    """Return the page with single spaces, wherever its lines end."""
    return " ".join(" ".join(page(shown, width)).split())


def batches_shown(lines: list[str]) -> list[str]:
    """Return the first number of each row of the table."""
    start = next(i for i, line in enumerate(lines) if "batch  " in line)
    rows = lines[start + 1 : lines.index("", start)]
    return [found[1] for row in rows if (found := re.match(r">? *(\d+) ", row))]


@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_page_is_as_it_was(width: int) -> None:
    check_golden(f"advice_{width}.txt", "\n".join(page(width=width)) + "\n")


def test_the_page_without_a_feasible_batch_is_as_it_was() -> None:
    check_golden("advice_infeasible_80.txt", "\n".join(page(infeasible_advice())) + "\n")


def test_with_nothing_but_throughput_the_page_says_what_is_not_known() -> None:
    """Missing is shown as missing, never as zero."""
    assert page(bare_advice()) == [
        "model not known · 2 batch sizes",
        "Serve with batch size 16: 1500 token/s, ITL not known, no limit of latency was",
        "given.",
        "",
        "                    output  % of  ITL                  KV",
        "   batch  running  token/s  best   ms  efficiency  peak %",
        "       8        -      900     -    -           -       -",
        ">     16        -     1500     -    -           -       -",
        "",
        "binds       No batch size above 16 was measured.",
        "smaller     8: 40 % less throughput (900 token/s), ITL not known.",
        "larger      None was measured.",
        "plateau     No knee is given: a line misses by up to 39.0 %. Whether the plateau",
        "            is reached is not known: too few batch sizes.",
        "memory      Not known without use of the KV pool, size of the KV pool.",
        "replicas    Not known without size of the KV pool.",
        "why         Not known.",
        "confidence  Low.",
    ]


def test_it_is_one_page() -> None:
    """The table of the curve gives way to what else is said."""
    assert len(page()) <= 60
    many = [{**row, "batch_size": float(i + 1)} for i, row in enumerate(ROWS * 100)]
    long = advice(
        curve=Curve(curve_table_of(many), "total", None),
        warnings=tuple(Warned(f"w{i}", f"Warning {i}.") for i in range(50)),
        lacking=tuple(Lacking(f"file {i}", "nothing") for i in range(50)),
        would_change=tuple(f"Change {i}." for i in range(50)),
        predictions=(PREDICTION,) * 50,
        costs=COSTS * 50,
    )
    assert len(page(long)) <= 60
    assert "and 49 more (-f json has all)" in " ".join(page(long))
    assert len(batches_shown(page(infeasible_advice()))) == MOST_ROWS


@pytest.mark.parametrize("make", [advice, infeasible_advice, bare_advice])
@pytest.mark.parametrize("width", range(30, 170, 14))
def test_no_line_is_wider_than_the_terminal(width: int, make: Any) -> None:
    """Except a command, which is there to be copied."""
    for line in page(make(), width):
        assert cell_width(line) <= width or line.strip() == COMMAND


def test_colours_say_nothing_that_words_do_not() -> None:
    """Without them the page is the same."""
    plain, coloured = page(), page(colour=True)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == plain
    assert any("\x1b[1m" in line for line in coloured)
    assert not any("\x1b" in line for line in plain)


def test_in_ascii_no_sign_of_ours_is_beyond_it() -> None:
    assert all(line.isascii() for line in page(unicode=False))


def test_a_width_may_be_given_beside_the_style() -> None:
    assert list(advice_lines(advice(), Style(200), 80)) == page(width=80)


# --- The answer -----------------------------------------------------------------------------------


def test_the_answer_and_the_command_stand_first() -> None:
    text = words()
    assert text.index("Serve with batch size 96: 9033 token/s") < text.index(COMMAND)
    assert text.index(COMMAND) < text.index("batch running")
    assert "mean ITL 13.9 ms of 15.0 ms allowed (2 x that at batch size 32)" in text


def test_several_limits_are_all_told() -> None:
    slos = (Slo("itl", "mean", 20.0), Slo("ttft", "p99", 2000.0))
    both = replace(CHOICE, slos=slos, limits_ms=(20.0, 2000.0))
    row = {**ROWS[7], "p99_ttft_ms": 1800.0}
    text = words(advice(choice=replace(both, row=row)))
    assert "mean ITL 13.9 ms of 20.0 ms allowed, p99 TTFT 1.80 s of 2.00 s allowed." in text
    assert (
        "p99 TTFT ms" in " ".join(page(advice(choice=both), 200)[5].split()) or "p99 TTFT" in text
    )


@pytest.mark.parametrize(
    ("nearest", "said"),
    [
        (3.62333, "the nearest feasible limit is 3.624 ms."),
        (10.9, "the nearest feasible limit is 10.9 ms."),
        (12345.6, "the nearest feasible limit is 12350 ms."),
        (None, "and no other limit alone would be enough."),
    ],
)
def test_nothing_feasible_is_told_with_the_limit_that_would_be(
    nearest: float | None, said: str
) -> None:
    """Rounded so that it is met when given."""
    text = words(infeasible_advice(choice=replace(NOTHING, nearest_feasible_slo_ms=nearest)))
    assert "No batch size meets a mean ITL of 3.00 ms" in text
    assert said in text
    assert "Serve with" not in text
    assert "smaller" not in text


@pytest.mark.parametrize("value", [0.0123456, 3.62333, 9.9999, 99.995, 100.0, 123456.7])
def test_a_nearest_limit_is_never_rounded_down(value: float) -> None:
    text = words(infeasible_advice(choice=replace(NOTHING, nearest_feasible_slo_ms=value)))
    said = re.search(r"limit is ([\d.e+-]+) ms", text)
    assert said is not None
    assert value <= float(said[1]) <= value * 1.0011


def test_nothing_feasible_without_limits_names_the_constraint() -> None:
    nothing = replace(
        NOTHING,
        slos=(),
        limits_ms=(),
        binding_constraint="preemption",
        nearest_feasible_slo_ms=None,
    )
    assert "No batch size is feasible, for the preemptions." in words(
        infeasible_advice(choice=nothing)
    )


def test_a_setting_that_one_expects_is_not_told() -> None:
    setup = {"model": "m", "tensor_parallel_size": 1, "speculative": False, "prefix_caching": True}
    assert page(advice(setup=setup))[0] == "m · prefix caching · 15 batch sizes"
    assert page(advice(setup={"model": "m", "tensor_parallel_size": 8}))[0].startswith(
        "m · tensor parallel size 8 · "
    )


# --- The curve ------------------------------------------------------------------------------------


def test_the_rows_that_matter_are_shown_and_the_choice_is_marked() -> None:
    """The ends, the choice with its neighbours, the best, and where 90 and 95 % are reached."""
    lines = page()
    assert {"1", "64", "96", "128", "192", "256", "640", "768"} <= set(batches_shown(lines))
    assert [line.split()[1] for line in lines if line.startswith(">")] == ["96"]
    assert "more batch sizes not shown (-f csv has all)" in words()


@pytest.mark.parametrize("most", range(1, len(BATCHES) + 1))
def test_so_many_rows_are_shown_as_asked_the_choice_always(most: int) -> None:
    table = curve_table(advice(), most)
    assert table is not None
    batches = table.columns[1].cells
    assert len(batches) == most
    assert "96" in batches
    assert list(batches) == sorted(batches, key=int)
    assert table.hidden == len(BATCHES) - most


def test_a_flag_of_every_row_is_told_once() -> None:
    lines = page()
    assert sum("single_run" in line for line in lines) == 1
    assert any(line.startswith("flags of every row: single_run") for line in lines)
    assert any("nominal_beyond_run" in line for line in lines if line.startswith("     768"))


def test_an_interpolated_choice_has_a_row_that_says_so() -> None:
    """Between the measured ones, and the headline says it too."""
    row = {"batch_size": 110.0, "throughput_tok_s": 9240.0, "itl_ms": 15.0, "mean_itl_ms": 15.0}
    lines = page(advice(choice=replace(CHOICE, batch_size=110.0, row=row, is_interpolated=True)))
    (marked,) = (line for line in lines if line.startswith(">"))
    assert marked.split()[1] == "110"
    assert marked.endswith("interpolated")
    assert "Serve with batch size 110, which lies between measured ones" in lines[1]
    shown = [int(batch) for batch in batches_shown(lines)]
    assert shown == sorted(shown)


def test_the_latency_that_is_limited_has_a_column() -> None:
    """Unless it is the time between tokens that is shown already."""
    chosen = replace(CHOICE, slos=(Slo("itl", "p99", 40.0),), limits_ms=(40.0,))
    table = curve_table(advice(choice=chosen))
    assert table is not None
    (column,) = (one for one in table.columns if one.header == "p99 ITL\nms")
    assert column.cells[7] == "30.8"
    usual = curve_table(advice())
    assert usual is not None
    assert not any("mean ITL" in one.header for one in usual.columns)


def test_a_curve_without_rows_is_told() -> None:
    empty = infeasible_advice(curve=Curve(curve_table_of([]), "total", None))
    assert "No run has both a batch size and a result." in page(empty)


# --- Parts ----------------------------------------------------------------------------------------


def test_both_fits_are_told_where_they_differ() -> None:
    assert "Knee at 28.2 running sequences (95 %: 26.9 to 29.6)" in words()
    assert "By least error in ms the knee is at 24.1" in words()
    assert PLATEAU.fit is not None
    close = replace(PLATEAU.fit, method="milliseconds", knee=28.9, t0_ms=3.4)
    assert not fit_differs(PLATEAU.fit, close)
    assert "By least error" not in words(advice(plateau=replace(PLATEAU, other_fit=close)))


def test_a_fit_that_does_not_hold_beside_one_that_does_is_told() -> None:
    text = words(advice(plateau=replace(PLATEAU, other_fit=None)))
    assert "By least error in ms the law does not hold." in text
    alone = replace(PLATEAU, fit=replace(OTHER_FIT), other_fit=None)
    assert "By least relative error the law does not hold." in words(advice(plateau=alone))


def test_a_refused_plateau_gives_its_reason_and_no_knee() -> None:
    text = words(advice(plateau=REFUSED))
    assert "No knee is given: a line misses by up to 39.0 %." in text
    assert "Knee at" not in text


@pytest.mark.parametrize(
    ("at_90", "at_95", "said"),
    [
        (192.0, 192.0, "Measured: 90 and 95 % of the best throughput from batch size 192 on, the"),
        (None, 256.0, "Measured: 95 % of the best throughput from batch size 256 on, the best"),
        (None, None, "Measured: the best at 640"),
    ],
)
def test_where_the_best_throughput_is_near(
    at_90: float | None, at_95: float | None, said: str
) -> None:
    plateau = replace(PLATEAU, batch_at_90=at_90, batch_at_95=at_95)
    assert said in words(advice(plateau=plateau))


@pytest.mark.parametrize(
    ("reached", "said"), [(True, "is reached."), (False, "is not reached"), (None, "is not known")]
)
def test_whether_the_plateau_is_reached_is_told(reached: bool | None, said: str) -> None:
    text = words(advice(plateau=replace(PLATEAU, is_plateau_reached=reached)))
    assert re.search(rf"plateau (is reached )?{said}", text)


def test_a_neighbour_says_what_forbids_it() -> None:
    """In words, also a constraint that is new."""
    text = words()
    assert "128: 5.2 % more throughput (9507 token/s), mean ITL 25 % higher (17.3 ms)" in text
    assert "not allowed: beyond the limit of latency." in text
    other = replace(CHOICE, larger=Neighbour(128.0, 9.0, -5.0, None, None, "new_reason"))
    assert "5.0 % less throughput (9.00 token/s), mean ITL not known; not allowed: new_reason" in (
        words(advice(choice=other))
    )


def test_nothing_to_give_back_is_said_plainly() -> None:
    none = replace(MEMORY, kv_given_back_gib=0.0, kv_freed_gib=0.01, text="The pool is full.")
    assert "Nothing to give back: 0 GiB. The pool is full." in words(advice(memory=none))
    assert "Nothing to give back" not in words()


def test_commands_are_shown_where_several_servers_are_recommended() -> None:
    """Line by line, and not where one is."""
    several = replace(REPLICAS, recommended=2)
    lines = [line.strip() for line in page(advice(replicas=several))]
    start = lines.index("nvidia-cuda-mps-control -d")
    assert lines[start : start + 3] == [
        *lines[start : start + 1],
        "vllm serve a &",
        "vllm serve b &",
    ]
    assert "nvidia-cuda-mps-control -d" not in words()


def test_a_prediction_is_always_marked() -> None:
    """Whatever its sentence is, and with how good predictions are."""
    text = words()
    assert "predicted Predicted for batch 160" in text
    assert "Back-test on the measured points: error 2.1 % on average, 5.0 % at most." in text
    bare = replace(PREDICTION, text="20.6 ms at 160.", backtest_mean_error_pct=None)
    assert "Predicted: 20.6 ms at 160." in words(advice(predictions=(bare,)))
    empty = replace(bare, text="")
    assert "Predicted for batch 160: not known." in words(advice(predictions=(empty,)))
    said = replace(PREDICTION, text="Predicted: 20.6 ms (back-test 2.1 %).")
    assert "Back-test on" not in words(advice(predictions=(said,)))


def test_what_a_step_costs_is_told_where_it_is_worth_it() -> None:
    assert "worth acting on: gaps 36 % (saves up to 6.10 ms)." in words()
    nothing = replace(COSTS[0], costs=COSTS[0].costs[1:])
    assert "nothing is worth acting on" in words(advice(costs=(nothing,)))
    unknown = replace(COSTS[0], costs=(), batch_size=None)
    assert "A step of 25.1 ms, GPU busy 64 % of it: no cost" in words(advice(costs=(unknown,)))


def test_what_is_missing_is_told_with_what_it_is_for() -> None:
    assert (
        "missing SM clocks (nvidia-smi --query-gpu=clocks.sm), for finding slowed runs" in words()
    )


def test_a_sentence_that_a_part_gives_is_not_repeated() -> None:
    text = words()
    for sentence in (CHOICE.binding_text, MEMORY.text, REPLICAS.text):
        assert text.count(sentence) == 1
    assert SHARE_REASON not in text


# --- Names and numbers that come from files -------------------------------------------------------


def test_a_name_cannot_steer_the_terminal_nor_break_the_layout() -> None:
    """Wide signs take two columns, control characters none."""
    name = "\u30e2\u30c7\u30eb-7b\x1b[31m\n" + "x" * 200
    hostile = advice(
        setup={"model": name},
        warnings=(Warned("w", "\x1b[2Jgone\rover"),),
        command="vllm serve '\x1b[31m'",
        confidence_text="a" * 300,
    )
    lines = page(hostile, 60)
    assert not any("\x1b" in line or "\r" in line or "\n" in line for line in lines)
    assert lines[0].startswith("\u30e2\u30c7\u30eb-7b?[31m")
    for line in lines:
        assert cell_width(line) <= 60 or line.startswith("  vllm serve")


@pytest.mark.parametrize("value", [1e300, 1e15, 1e-300, 0.0, math.nan, math.inf])
def test_numbers_of_any_size_are_shown(value: float) -> None:
    """NaN as missing, and none of them breaks the page."""
    names = (
        "throughput_tok_s",
        "itl_ms",
        "mean_itl_ms",
        "efficiency",
        "kv_peak_pct",
        "share_of_best",
    )
    row = {**ROWS[7], **dict.fromkeys(names, value), "running_batch": value}
    shown = advice(
        curve=Curve(curve_table_of([ROWS[0], row]), "total", value),
        choice=replace(CHOICE, row=row, smaller=Neighbour(value, value, value, value, value, None)),
        plateau=replace(
            PLATEAU, best_batch=value, batch_at_90=value, fit=replace(OTHER_FIT, knee=value)
        ),
    )
    lines = page(shown)
    assert not any("nan" in line.casefold() for line in lines)
    assert all(len(line) <= 80 for line in lines)
