"""The verdict on a prediction rests on steps that fit in memory, or says that it does not."""

from __future__ import annotations

from nsightlens.render.style import Style
from nsightlens.render.sweep_text import verdict_lines
from nsightlens.sweeps.predict import predict

H100, H200 = "H100 SXM5 80GB", "H200 SXM 141GB"


def test_batch_sizes_that_do_not_fit_are_left_out() -> None:
    """847 sequences of 500 tokens fit."""
    sweep = predict("opt-1.3b", H100, [1, 512, 1024, 4096], 500)
    paragraph = sweep.verdict.paragraph
    assert "batch 1 to 512, by roofline time" in paragraph
    assert "Left out: batch 1024 and 4096, where the step does not fit in memory." in paragraph
    assert "limits batch 512, the largest of these that fits in memory, not" in paragraph
    assert verdict_lines(sweep, Style(100))[0].startswith("  At large batch: attention")


def test_where_fewer_than_two_fit_the_verdict_says_that_it_rests_on_others() -> None:
    sweep = predict("opt-1.3b", H100, [1, 4096], 500)
    assert sweep.verdict.explanation == "bandwidth_saturated_attention"
    assert "batch 1 to 4096, of which only 1 fits in memory, by" in sweep.verdict.paragraph
    assert "limits batch 4096, which does not fit in memory, not" in sweep.verdict.paragraph
    (head, *_) = verdict_lines(sweep, Style(100))
    assert head.startswith("  At batch 4096, which does not fit in memory: attention")
    none = predict("deepseek-v3", H200, [1, 16384], 10_000).verdict.paragraph
    assert "batch 1 to 16384, none of which fits in memory, by" in none
    one = predict("opt-1.3b", H100, [4096], 500).verdict.paragraph
    assert "batch 4096, which does not fit in memory, by" in one
    assert "predict a second one" in one


def test_where_all_fit_nothing_is_said_of_it() -> None:
    assert "fit" not in predict("opt-1.3b", H100, [1, 512], 500).verdict.paragraph


def test_larger_batches_that_do_not_fit_are_not_advised() -> None:
    """Nor is profiling what was not measured."""
    full = predict("llama-3-8b", "L4", [1, 16, 32], 4000).verdict.paragraph
    assert "so that larger batches pay, but do not fit in memory;" in full
    room = predict("llama-3-8b", "L4", [1, 4, 16], 4000).verdict.paragraph
    assert "so that larger batches pay;" in room
    assert "profile" not in full + room


def test_compute_bound_attention_is_not_said_to_be_the_gemms() -> None:
    """Latent attention on an H200 lies right of its ridge point, and has most of the time."""
    sweep = predict("deepseek-v3", H200, [1, 64, 1024, 16384], 10_000)
    step = sweep.steps.to_pylist()[-1]
    assert step["attention_share_pct"] > 2 * step["matmul_share_pct"]
    assert sweep.verdict.explanation == "compute_bound_plateau"
    said = " ".join(verdict_lines(sweep, Style(1000)))
    assert "GEMM" not in said
    assert "both are at their compute limit" in said


def test_matmul_of_several_kinds_crosses_the_ridge_as_a_whole() -> None:
    """Its range of intensity and its crossing are of the same operations, at any sampling."""
    said = {
        predict("gpt-oss-20b", H200, batches, 1000)
        .verdict.paragraph.partition("crosses the ridge at batch ")[2]
        .partition(".")[0]
        for batches in ([1, 512], [1, 64, 4096], [2**i for i in range(12)])
    }
    assert len(said) == 1
    at = int(said.pop())
    below, above = (
        predict("gpt-oss-20b", H200, [1, batch], 1000).verdict.paragraph
        for batch in (at - 1, at + 1)
    )
    assert "crosses the ridge" not in below
    assert "crosses the ridge" in above


def test_a_prefill_is_another_question() -> None:
    """There are no launches to speak of."""
    verdict = predict("llama-3-8b", "L4", [1, 8], 500, phase="prefill").verdict
    assert verdict == ("undecided", "The verdict is on decode, and these are steps of prefill.")
