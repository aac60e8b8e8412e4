"""A model stands beside measured launches where their number fits it, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import with_columns

from nsightlens import open_report, sweep
from nsightlens.example import path

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

MODEL = "opt-1.3b"


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the bundled report: one layer of the model at ten batch sizes."""
    return open_report(path())


def without_shapes(report: Report, change: Callable[[str], str] = str) -> Report:
    """Return the report with the ranges of steps alone, as another engine would write them."""
    paths = [change(one.partition("/")[0]) for one in report.launches["nvtx_path"].to_pylist()]
    return with_columns(report, nvtx_path=paths)


def rows(result: Sweep, family: str, subtype: str) -> dict[int, dict[str, Any]]:
    """Return the rows of a family by batch size."""
    return {
        row["batch_size"]: row
        for row in result.rows.to_pylist()
        if (row["family"], row["subtype"]) == (family, subtype)
    }


def test_the_model_says_what_the_annotations_say(report: Report) -> None:
    """Operations to the last, bytes but for biases and partial results of split attention."""
    annotated, modelled = sweep(report), sweep(without_shapes(report), model=MODEL)
    assert modelled.notes == ()
    for family, subtype in (("attention", "flash_splitkv"), ("gemm", "dense")):
        by_model, by_range = rows(modelled, family, subtype), rows(annotated, family, subtype)
        for batch, row in by_range.items():
            other = by_model[batch]
            assert other["useful_source"] == "model"
            assert other["useful_flop_count"] == pytest.approx(row["useful_flop_count"])
            assert other["algorithmic_bytes"] == pytest.approx(row["algorithmic_bytes"], rel=0.01)
            assert other["expectation"] == row["expectation"]
    for step, other in zip(modelled.steps.to_pylist(), annotated.steps.to_pylist(), strict=True):
        for name in ("attention", "matmul"):
            column = f"useful_{name}_intensity_flop_per_byte"
            assert step[column] == pytest.approx(other[column], rel=0.02)


def test_trends_follow_from_the_model_as_from_annotations(report: Report) -> None:
    """Its law meets the ridge at the same batch size."""
    crossings = [
        row["analytic_flip_batch_size"]
        for one in (sweep(report), sweep(without_shapes(report), model=MODEL))
        for row in one.trends.to_pylist()
        if row["family"] == "gemm"
    ]
    assert crossings[0] == pytest.approx(crossings[1], rel=0.01)


def test_annotations_win_over_the_model(report: Report) -> None:
    """They are of the launch itself."""
    result = sweep(report, model=MODEL)
    assert set(result.rows["useful_source"].to_pylist()) == {"annotation"}


def test_what_no_one_says_stays_unknown(report: Report) -> None:
    """Without a model nothing is needed, and norms are never of a model."""
    result = sweep(without_shapes(report))
    assert set(result.rows["useful_source"].to_pylist()) == {None}
    assert set(result.rows["expectation"].to_pylist()) == {None}
    modelled = sweep(without_shapes(report), model=MODEL)
    assert rows(modelled, "norm", "layernorm")[8]["useful_flop_count"] is None


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (" context=500", "nothing says one context length"),
        ("phase=decode ", "only steps of decode are compared"),
    ],
)
def test_a_step_that_lacks_something_is_not_compared(report: Report, word: str, why: str) -> None:
    """And a note says what it lacks and where."""
    result = sweep(without_shapes(report, lambda text: text.replace(word, "")), model=MODEL)
    assert set(result.rows["useful_source"].to_pylist()) == {None}
    (note,) = [note for note in result.notes if why in note]
    assert "is not set beside what was measured at batch 1, 2, 4, 8" in note


def test_a_step_without_a_batch_size_is_not_compared(report: Report) -> None:
    """All launches are one row then."""
    import re

    result = sweep(
        without_shapes(report, lambda text: re.sub(r"batch_size=\d+ ", "", text)), model=MODEL
    )
    assert any("nothing says their batch size" in note for note in result.notes)


def test_too_few_products_are_not_compared(report: Report) -> None:
    """With one product of each layer left out, no one knows which."""
    import numpy as np

    names = report.launches["nvtx_path"].to_pylist()
    keep = np.array(["name=fc2" not in (name or "") for name in names])
    result = sweep(without_shapes(report.filter(keep)), model=MODEL)
    assert rows(result, "gemm", "dense")[8]["useful_flop_count"] is None
    assert rows(result, "attention", "flash_splitkv")[8]["useful_flop_count"] is not None
    (note,) = [note for note in result.notes if "launches of matrix products" in note]
    assert "3 launches of matrix products do not fit 1 of attention" in note
    assert "to which belong 4 or 6" in note
    assert "at batch 1, 2, 4, 8" in note


def test_products_alone_do_not_say_how_many_layers_there_are(report: Report) -> None:
    """As with a filter on kernels."""
    result = sweep(without_shapes(report.filter(~_is_attention(report))), model=MODEL)
    assert rows(result, "gemm", "dense")[8]["useful_flop_count"] is None
    assert any("no launch of attention says how many layers" in note for note in result.notes)


def _is_attention(report: Report) -> Any:
    import numpy as np

    names = report.launches["kernel_name"].to_pylist()
    return np.array(["flash_fwd" in name for name in names])


def test_attention_alone_is_compared(report: Report) -> None:
    """It says itself how many layers there are."""
    result = sweep(without_shapes(report.filter(_is_attention(report))), model=MODEL)
    assert rows(result, "attention", "flash_splitkv")[8]["useful_source"] == "model"


def test_two_layers_need_twice_the_work_of_one(report: Report) -> None:
    """The same launches once more, from another file."""
    from nsightlens.report import concat_reports

    one = without_shapes(report)
    again = with_columns(one, report=["b.ncu-rep"] * len(one))
    once, twice = (sweep(each, model=MODEL) for each in (one, concat_reports([one, again])))
    for family, subtype in (("attention", "flash_splitkv"), ("gemm", "dense")):
        for batch, row in rows(once, family, subtype).items():
            other = rows(twice, family, subtype)[batch]
            assert other["useful_flop_count"] == pytest.approx(2 * row["useful_flop_count"])
            assert other["report_count"] == 2
            assert other["executed_per_useful_flop"] == pytest.approx(
                row["executed_per_useful_flop"]
            )


def test_two_kinds_of_attention_share_the_work_of_a_step(report: Report) -> None:
    """Then no row has it, but the step does."""
    import numpy as np

    from nsightlens.report import concat_reports

    one = without_shapes(report)
    names = ["paged_attention_v1_kernel" if "splitkv_kernel" in name else name
             for name in one.launches["kernel_name"].to_pylist()]  # fmt: skip
    both = concat_reports([one, with_columns(one, report=["b"] * len(one), kernel_name=names,
                                             kernel_demangled_name=names)])  # fmt: skip
    result = sweep(both, model=MODEL)
    attention = [r for r in result.rows.to_pylist() if r["family"] == "attention"]
    assert {r["useful_flop_count"] for r in attention} == {None}
    assert any("2 kinds of kernels share the attention" in note for note in result.notes)
    values = result.steps["useful_attention_intensity_flop_per_byte"].to_pylist()
    assert np.allclose(values, 1.0, atol=0.01)
