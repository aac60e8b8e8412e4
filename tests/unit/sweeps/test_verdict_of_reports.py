"""The verdict on whole reports: cut, filtered, mixed, or with counters that are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.sweeps import gemm_row, rows_of

from nsightlens import open_report, sweep
from nsightlens.example.decode_sweep import decode_sweep
from nsightlens.example.short_context_sweep import short_context_sweep
from nsightlens.ncurep.write import encode_ncu_rep
from nsightlens.pipelines.sweep import Filters, sweep_reports
from nsightlens.sweeps.trends import flip_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from nsightlens.ncurep.model import NvtxDomainState
    from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
    from nsightlens.sweeps import Sweep

    Write = Callable[[ReportSpec], Path]

DURATION = ("gpu__time_duration.sum",)
DRAM = ("dram__", "gpu__dram", "gpu__compute_memory_throughput", "lts__", "l1tex__",
        "breakdown")  # fmt: skip
PER_STEP = 11


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return what writes a report and says where it lies."""

    def written(spec: ReportSpec) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.ncu-rep"
        path.write_bytes(encode_ncu_rep(spec))
        return path

    return written


def changed(
    spec: ReportSpec,
    starts: Sequence[str],
    holds: Callable[[int, LaunchSpec], bool] = lambda i, launch: True,  # noqa: ARG005
    value: Callable[[Any], float] | None = None,
) -> ReportSpec:
    """Return a report with some metrics of some launches dropped, or given other values."""

    def metrics(launch: LaunchSpec) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, old in dict(launch.metrics).items():  # type: ignore[arg-type]
            if not name.startswith(tuple(starts)):
                found[name] = old
            elif value is not None:
                found[name] = value(old)
        return found

    launches = [
        replace(launch, metrics=metrics(launch)) if holds(i, launch) else launch
        for i, launch in enumerate(spec.launches)
    ]
    return replace(spec, launches=launches)


def is_attention(launch: LaunchSpec) -> bool:
    """Say whether it is the kernel of attention, not that which merges its parts."""
    return "flash_fwd" in launch.name and "combine" not in launch.name


def judged(path: Path, **options: Any) -> Sweep:
    """Return the sweep of one report."""
    return sweep(open_report(path), **options)


@pytest.mark.parametrize(
    "spec",
    [
        decode_sweep([1, 2, 4, 8, 16]),
        decode_sweep([1, 2, 4, 8, 16, 32]),
        short_context_sweep([1, 4, 16, 64, 128], context=1000),
    ],
)
def test_weights_that_are_still_shared_are_no_plateau(write: Write, spec: ReportSpec) -> None:
    """Far left of the ridge, larger batches pay; where the ridge is, the law says."""
    found = judged(write(spec)).verdict
    assert found.explanation == "undecided"
    assert "Larger batches still pay" in found.paragraph or "larger batches pay" in found.paragraph
    assert "matmul reaches the ridge at batch" in found.paragraph


def test_half_of_the_time_of_attention_is_expected_where_it_comes(write: Write) -> None:
    """Batch 41 from a sweep up to 32: at 64 it has 60 %."""
    paragraph = judged(write(decode_sweep([1, 8, 32]))).verdict.paragraph
    assert "has half of the time near batch 41" in paragraph


@pytest.mark.parametrize(
    "spec", [decode_sweep(), short_context_sweep(context=4096), short_context_sweep([1, 8, 64])]
)
def test_by_kernel_the_verdict_is_that_by_family(write: Write, spec: ReportSpec) -> None:
    """Word for word."""
    path = write(spec)
    assert judged(path, by="kernel").verdict == judged(path).verdict


def test_a_merge_kernel_does_not_stand_for_attention(write: Write) -> None:
    """It has most of the time at batch 1, and 0.6 % of DRAM; both together have 15 %."""
    found = judged(write(short_context_sweep(context=4096)))
    step = found.steps.to_pylist()[0]
    assert f"DRAM at {step['attention_dram_throughput_pct']:.0f} %" in found.verdict.paragraph
    assert "DRAM at 0.6 %" not in found.verdict.paragraph


def test_a_step_that_was_cut_is_left_out(write: Write) -> None:
    """Of the last step only four launches are there, with one matrix product."""
    whole = decode_sweep([1, 8, 64, 256, 512])
    cut = replace(whole, launches=whole.launches[: -PER_STEP + 4])
    found = judged(write(cut))
    assert "batch 1 to 256" in found.verdict.paragraph
    assert "Left out: batch 512" in found.verdict.paragraph
    assert "limits batch 256, the largest that can be judged" in found.verdict.paragraph


def test_of_two_steps_that_differ_neither_is_judged(write: Write) -> None:
    """Nothing says which of them is whole."""
    whole = decode_sweep([8, 512])
    found = judged(write(replace(whole, launches=whole.launches[: -PER_STEP + 5])))
    assert found.verdict.explanation == "undecided"
    assert "nothing says which steps are whole" in found.verdict.paragraph
    assert any("Launches of matmul for each of attention" in note for note in found.notes)


@pytest.mark.filterwarnings("ignore::nsightlens.errors.SalvageWarning")
def test_a_salvaged_report_is_said_to_be_one(tmp_path: Path) -> None:
    """Its last step may not be whole."""
    data = encode_ncu_rep(decode_sweep([1, 8, 64]))
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes(data[: int(0.9 * len(data))])
    found = sweep(open_report(path, on_error="salvage"))
    assert "A report was salvaged: its last step may not be whole." in found.notes
    assert "salvaged" not in " ".join(judged_notes(tmp_path))


def judged_notes(folder: Path) -> tuple[str, ...]:
    """Return the notes of a sound report."""
    path = folder / "sound.ncu-rep"
    path.write_bytes(encode_ncu_rep(decode_sweep([1, 8])))
    return judged(path).notes


def test_attention_without_durations_has_no_share(write: Write) -> None:
    """And the batch sizes at which it has none are named."""
    batches = [1, 8, 32, 64, 128, 512]
    spec = decode_sweep(batches)
    last = {launch.name for launch in spec.launches if is_attention(launch)}
    assert last
    first_of_64 = sum(len(decode_sweep([batch]).launches) for batch in batches[:3])
    found = judged(
        write(changed(spec, DURATION, lambda i, one: i >= first_of_64 and is_attention(one)))
    )
    shares = [step["attention_share_pct"] for step in found.steps.to_pylist()]
    assert shares[3:] == [None, None, None]
    assert None not in shares[:3]
    paragraph = found.verdict.paragraph
    assert "Left out: batch 64, 128 and 512, where no duration of attention is known" in paragraph
    assert "large batches" not in paragraph


def test_launches_without_any_duration_are_counted(write: Write) -> None:
    """They are there, so that no filter is to blame."""
    found = judged(write(changed(decode_sweep([1, 8]), DURATION)))
    assert found.verdict.explanation == "undecided"
    assert "launches of attention and matmul, none with a duration" in found.verdict.paragraph
    assert "without a filter" not in found.verdict.paragraph
    assert found.rows["flop_count"].null_count == found.rows["expectation"].null_count == len(found)


def test_two_models_at_one_batch_size_are_said_to_be_mixed(write: Write) -> None:
    """Their contexts differ, and so does the intensity of their attention."""
    paths = [write(decode_sweep([1, 8, 64])), write(short_context_sweep([1, 8, 64]))]
    notes = " ".join(sweep(open_report(paths)).notes)
    assert "several context lengths is added up at batch 1, 8 and 64: 96 to 500 tokens" in notes
    assert "several shapes, such as of several models" in notes


def test_a_range_of_intensities_is_given_with_both_ends(write: Write) -> None:
    """A second model at one batch size in the middle changes attention there."""
    paths = [write(decode_sweep([1, 8, 64])), write(short_context_sweep([8]))]
    paragraph = sweep(open_report(paths)).verdict.paragraph
    assert "attention lies between" in paragraph
    assert "attention stays" not in paragraph


def test_contexts_that_differ_between_batch_sizes_are_said(write: Write) -> None:
    """A trend along both is a trend along neither."""
    paths = [write(decode_sweep([1])), write(decode_sweep([64], context=2000))]
    notes = " ".join(sweep(open_report(paths)).notes)
    assert "differs between batch sizes: 500 to 2000 tokens" in notes


def test_a_crossing_lies_between_two_batch_sizes(write: Write) -> None:
    """The line between 7 and 300 knows nothing of it; the law of the shapes says 308."""
    paragraph = judged(write(decode_sweep([1, 7, 300, 513]))).verdict.paragraph
    assert "crosses the ridge between batch 300 and 513 (308 by its shapes)" in paragraph


def test_executed_intensity_is_named_where_it_is_all_there_is(write: Write) -> None:
    """A range that only says the batch size tells nothing of shapes."""
    spec = decode_sweep([1, 8, 64])
    launches = [replace(launch, nvtx=_batch_alone(launch)) for launch in spec.launches]
    paragraph = judged(write(replace(spec, launches=launches))).verdict.paragraph
    assert "Executed intensity, padding included: attention" in paragraph
    assert "Useful" not in paragraph


def _batch_alone(launch: LaunchSpec) -> list[NvtxDomainState]:
    """Return the ranges of a launch without those of operations."""
    return [
        replace(domain, push_pop=tuple(one for one in domain.push_pop if "step" in one.name))
        for domain in launch.nvtx or ()
    ]


def test_the_filters_stand_in_the_verdict(write: Write) -> None:
    """Shares are of the launches that passed."""
    path = write(decode_sweep([1, 8, 64, 512]))
    filters = Filters(families=("attention", "gemm"))
    found = sweep_reports([path], filters=filters).sweep
    assert "pass the filters (families attention, gemm) alone" in found.verdict.paragraph
    assert any("pass the filters (families attention, gemm)" in note for note in found.notes)
    assert "filters" not in judged(path).verdict.paragraph


def test_dram_that_was_not_collected_is_what_is_missing(write: Write) -> None:
    """Attention is memory-bound, by what nobody knows."""
    kept = ("gpu__compute_memory_throughput.avg.pct",)
    spec = decode_sweep([1, 64, 512])
    starts = tuple(
        name
        for launch in spec.launches
        for name in dict(launch.metrics)  # type: ignore[arg-type]
        if name.startswith(DRAM) and not name.startswith(kept)
    )
    found = judged(write(changed(spec, starts))).verdict
    assert found.explanation == "undecided"
    assert "DRAM throughput was not collected" in found.paragraph


def test_more_than_its_peak_makes_the_confidence_low(write: Write) -> None:
    """A counter or a peak is wrong."""
    spec = changed(decode_sweep([1, 64, 512]), DURATION, value=lambda old: old / 2)
    paragraph = judged(write(spec)).verdict.paragraph
    assert "The confidence is low: attention at 183 % of its peak" in paragraph


def test_notes_of_two_gpus_name_the_gpu() -> None:
    """The same family changes sides on both."""
    labels = ("memory", "compute", "memory")
    rows = [
        gemm_row(batch) | {"device_name": gpu, "roofline_bound": bound}
        for gpu in ("A100", "H100")
        for batch, bound in zip((1, 8, 64), labels, strict=True)
    ]
    first, second = flip_notes(rows_of(*rows))
    assert "in decode on A100 changes sides" in first
    assert "in decode on H100 changes sides" in second
