"""The answer of sweep as text: the verdict first, nothing cut without a word."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.golden import check_golden
from support.sweeps import (
    BATCHES,
    MAKERS,
    VERDICT,
    attention_row,
    norm_row,
    step_row,
    sweep_of,
)

from nsightlens.render.facts import ReportFacts
from nsightlens.render.style import Style
from nsightlens.render.sweep_text import EXPLANATIONS, SweepView, sweep_text
from nsightlens.sweeps import EXPLANATIONS as ALL_EXPLANATIONS
from nsightlens.sweeps import Sweep, Verdict

FACTS = ReportFacts("decode.ncu-rep", ("NVIDIA H100 80GB HBM3",), "2025.1.1", "none")
COMMAND = "nsightlens sweep decode.ncu-rep -o sweep.csv"


def _text(sweep: Sweep | None = None, width: int = 100, **view: Any) -> str:
    kept = {"facts": [FACTS], "next_commands": [(COMMAND, "every number")], **view}
    return sweep_text(SweepView(sweep_of() if sweep is None else sweep, **kept), Style(width))


def _words(*args: Any, **view: Any) -> str:
    return " ".join(_text(*args, **view).split())


def test_the_verdict_stands_before_the_numbers_behind_it() -> None:
    """Who has half a minute reads the answer."""
    lines = _text().splitlines()
    assert lines[0].startswith("decode.ncu-rep · H100 80GB HBM3 · 28 launches · ")
    assert lines[0].endswith(" · batch 1 to 512")
    assert lines[2] == "  At large batch: attention has used up the DRAM bandwidth"
    assert " ".join(lines[3].split()) == VERDICT.paragraph


def test_parts_come_in_the_order_in_which_they_are_needed() -> None:
    """Families, whole steps, trends, the rest, notes, words, the next command."""
    text = _text(sweep_of(notes=("Clocks differ.",)))
    places = [
        text.index(part)
        for part in (
            "attention/flash_splitkv", "gemm/dense", "whole steps", "along the batch size",
            "everything else", "note: ", "FLOP/B done  ", "next: ",
        )
    ]  # fmt: skip
    assert places == sorted(places)


@pytest.mark.parametrize("width", range(40, 200, 8))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Except a command, which is there to be copied."""
    for line in _text(width=width).splitlines():
        assert len(line) <= width or COMMAND in line


@pytest.mark.parametrize("width", [40, 80, 100])
def test_what_a_narrow_terminal_leaves_out_is_named(width: int) -> None:
    """Every heading of a wide one stands in a table or in the list of those not shown."""
    whole, narrow = _words(width=1000), _words(width=width)
    assert "not shown" not in whole
    left_out = narrow.partition("not shown ")[2].partition(", for want of width")[0]
    for header in ("roof %", "done per useful", "occup. %", "data stall %", "regime"):
        assert header in left_out or f"{header.split()[0]}" in narrow.partition("not shown")[0]
    assert "occup. %" in left_out


@pytest.mark.parametrize("explanation", ALL_EXPLANATIONS)
def test_every_explanation_has_its_words(explanation: str) -> None:
    """Undecided is said by the paragraph alone."""
    text = _words(sweep_of(verdict=Verdict(explanation, "Because.")))
    assert "Because." in text
    assert (f"At large batch: {EXPLANATIONS[explanation]}" in text) == (explanation != "undecided")


def test_a_sweep_without_batch_sizes_has_a_row_per_family() -> None:
    """What is missing is said once: by the sweep."""
    notes = ("No launch has a batch size.",)
    sweep = sweep_of([None], trends=(), verdict=Verdict("undecided", "Why not."), notes=notes)
    text = _text(sweep)
    assert text.lower().count("batch size.") == 1
    assert "everything else" not in text
    lines = text.splitlines()
    (attention,) = (line for line in lines if line.startswith("attention/flash_splitkv"))
    assert attention.split()[1:6] == ["1", "10.1", "us", "20", "memory"]
    assert sum(line.startswith(("gemm/dense", "norm/layer_norm")) for line in lines) == 2


def test_launches_without_a_batch_size_have_a_row_of_their_own() -> None:
    """They are not added to those of any batch size."""
    rows = [*map(attention_row, BATCHES), attention_row(1) | {"batch_size": None}]
    text = _text(sweep_of(rows=rows))
    (line,) = (one for one in text.splitlines() if one.startswith("attention/flash_splitkv "))
    assert line.split()[1:4] == ["-", "1", "10.1"]


def test_each_phase_has_a_part_of_its_own_decode_first() -> None:
    """They do not share a table."""
    decode = [make(batch) for make in MAKERS for batch in BATCHES]
    rows = [*(row | {"phase": "prefill"} for row in decode), *decode]
    text = _text(sweep_of(rows=rows))
    assert text.index("\ndecode on H100") < text.index("\nprefill on H100")
    assert text.count("attention/flash_splitkv · ridge") == 2


def test_columns_that_are_null_in_what_was_computed_are_not_shown() -> None:
    """Neither a regime nor a confidence can be computed."""
    nothing = {"origin": "analytic", "regime": None, "confidence": None}
    sweep = sweep_of(changes=nothing)
    empty = _with_steps(sweep, [step | {"regime": None} for step in sweep.steps.to_pylist()])
    text = _text(empty, facts=[], width=200)
    assert "regime" not in text
    assert "confidence" not in text


def test_a_phase_that_is_not_known_is_called_so() -> None:
    """Nothing is guessed."""
    assert "\nphase not known on H100 80GB HBM3\n" in _text(sweep_of(changes={"phase": None}))


def test_two_gpus_have_a_part_each() -> None:
    """The one with the most time first."""
    rows = [attention_row(b) | {"device_name": g} for g in ("L4", "A10") for b in BATCHES]
    rows[0]["duration_ns"] = 1e9
    text = _text(sweep_of(rows=rows))
    assert text.index("decode on L4") < text.index("decode on A10")
    assert " · L4, A10 · " in text.splitlines()[0]


def test_what_was_computed_says_that_nothing_was_measured() -> None:
    """Before anything else."""
    sweep = sweep_of(changes={"origin": "analytic"})
    first = _text(sweep, facts=[], heading=["OPT-1.3B"]).splitlines()[0]
    assert first.startswith("analytic, nothing was measured · OPT-1.3B · H100 80GB HBM3 · ")
    assert "launches" not in first
    assert "roofline time: what the work takes" in _words(sweep, facts=[])


def test_what_is_beyond_what_the_shapes_need_is_said_once_per_family() -> None:
    """With the batch sizes and one example."""
    words = _words()
    assert (
        "note: attention/flash_splitkv at every batch size; at batch 512: 66 operations are "
        "executed for each useful one."
    ) in words
    one = [attention_row(1), attention_row(2) | {"expectation": "within"}]
    assert "note: attention/flash_splitkv at batch 1: 66 operations" in _words(sweep_of(rows=one))


def test_notes_of_the_sweep_and_of_the_reports_are_shown() -> None:
    """Differing clocks, and what ncu did to them."""
    text = _words(sweep_of(notes=("Clocks differ.",)), facts=[FACTS._replace(clock_control="base")])
    assert "note: Clocks differ." in text
    assert "note: ncu locked the SM clock" in text


def test_families_that_do_not_fit_the_screen_are_counted_with_their_time() -> None:
    """None is dropped."""
    rows = [norm_row(1) | {"subtype": f"kind{i}"} for i in range(20)]
    text = _text(sweep_of(rows=rows))
    assert "... and 4 more in 20.0 us: -f csv has all" in text


def test_only_what_takes_the_time_of_its_component_has_a_line_per_batch_size() -> None:
    """A merge kernel has one line of its own, and so has everything else."""
    merge = {"subtype": "merge", "duration_ns": 100.0}
    rows = [row for b in BATCHES for row in (attention_row(b), attention_row(b) | merge)]
    text = _text(sweep_of(rows=rows))
    assert "attention/merge · ridge" not in text
    assert re.search(r"\nattention/merge +1 to 512 ", text)


def test_what_takes_the_time_has_a_line_per_batch_size_where_there_is_no_attention() -> None:
    """Nor any GEMM: a sweep of other kernels is a sweep too."""
    text = _text(sweep_of(rows=[norm_row(batch) for batch in BATCHES]))
    assert "norm/layer_norm · ridge" in text
    assert "everything else" not in text


def test_kernels_are_called_by_their_names() -> None:
    """With by="kernel"."""
    rows = [attention_row(b) | {"kernel": "flash_fwd"} for b in BATCHES]
    assert "flash_fwd · ridge" in _text(sweep_of(rows=rows, by="kernel", trends=()))


def test_names_from_a_report_cannot_steer_the_terminal() -> None:
    """Control characters are shown as question marks."""
    rows = [attention_row(b) | {"kernel": "a\x1b[31mb"} for b in BATCHES]
    text = _text(sweep_of(rows=rows, by="kernel", trends=(), notes=("c\x1b[1m",)))
    assert "\x1b" not in text


def test_steps_fall_back_to_executed_intensity_where_the_useful_one_is_not_known() -> None:
    """The heading says which one it is."""
    assert "arithmetic intensity of either, of what the shapes need" in _words()
    sweep = sweep_of()
    names = ("useful_attention_intensity_flop_per_byte", "useful_matmul_intensity_flop_per_byte")
    steps = [step_row(batch) | dict.fromkeys(names) for batch in BATCHES]
    words = _words(_with_steps(sweep, steps))
    assert "arithmetic intensity of either " in words
    assert "of either, of what" not in words


def _with_steps(sweep: Sweep, steps: list[dict[str, Any]]) -> Sweep:
    from dataclasses import replace

    from support.sweeps import table

    from nsightlens.tables import SWEEP_STEPS

    return replace(sweep, steps=table(SWEEP_STEPS, steps))


def test_many_steps_are_thinned_with_those_of_the_families() -> None:
    """The table of families says so."""
    text = _text(sweep_of(range(1, 101)))
    steps = text.partition("whole steps")[2].partition("\n\n")[0]
    assert len(steps.splitlines()) == 1 + 2 + 24
    assert "24 of 100 batch sizes" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_whole_text_is_as_it_was(width: int) -> None:
    """A change of the look is a decision."""
    check_golden(f"sweep_handmade_{width}.txt", _text(width=width))


def test_an_empty_report_has_no_tables() -> None:
    """The verdict says why."""
    sweep = sweep_of([], trends=(), verdict=Verdict("undecided", "There are no launches."))
    lines = _text(sweep).splitlines()
    assert lines[0] == "decode.ncu-rep · GPU not stated · no launches"
    assert lines[2] == "There are no launches."
    assert "whole steps" not in lines
