"""The verdict says what the tables say, and what is missing where they do not."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens import open_report, sweep, tables
from nsightlens.example import path
from nsightlens.sweeps import EXPLANATIONS, Verdict, trends_of, verdict_of

SATURATED: dict[str, Any] = {
    "bound": "memory",
    "roofline_bound": "memory",
    "limiter": "dram",
    "regime": "saturated",
    "limiter_fraction": 0.9,
    "dram_throughput_pct": 90.0,
}
LATENCY = SATURATED | {"regime": "latency", "limiter_fraction": 0.2, "dram_throughput_pct": 21.0}
COMPUTE: dict[str, Any] = {
    "bound": "compute",
    "roofline_bound": "compute",
    "limiter": "tensor_fp16",
    "regime": "saturated",
    "limiter_fraction": 0.8,
    "dram_throughput_pct": 30.0,
}
UNKNOWN: dict[str, Any] = {"bound": "unknown", "roofline_bound": "unknown", "regime": "unknown"}

Part = tuple[float, dict[str, Any]]
Steps = dict[Any, dict[str, Part]]


def verdict(steps: Steps, **common: Any) -> Verdict:
    """Judge steps: by batch size, the time of attention and matmul and their labels."""
    place = {"origin": "measured", "device_name": "H100", "phase": "decode"} | common
    rows, whole = [], []
    for batch, parts in steps.items():
        total = sum(time for time, _ in parts.values())
        step = {**place, "batch_size": batch, "duration_ns": total, "launch_count": len(parts)}
        for component in ("attention", "matmul", "other"):
            time = parts.get(component, (0.0, {}))[0]
            step[f"{component}_share_pct"] = 100.0 * time / total if total else None
        whole.append(step)
        for component, (time, label) in parts.items():
            family = {"matmul": "gemm", "other": "norm"}.get(component, component)
            rows.append({**place, "family": family, "component": component, "batch_size": batch,
                         "duration_ns": time, "launch_count": 1, **label})  # fmt: skip
    table = _table(tables.SWEEP, rows)
    return verdict_of(table, trends_of(table), _table(tables.SWEEP_STEPS, whole))


def _table(columns: Any, rows: list[dict[str, Any]]) -> Any:
    names = [column.name for column in columns]
    data = {name: [row.get(name) for row in rows] for name in names}
    return tables.table_of(tables.schema_of(columns), data, len(rows))


def two(attention: Part, matmul: Part, **others: Part) -> Steps:
    """Return a small step in which weights are read, and the given one at a large batch."""
    small = {"attention": (10.0, LATENCY), "matmul": (90.0, SATURATED)}
    return {1: small, 512: {"attention": attention, "matmul": matmul, **others}}


@pytest.fixture(scope="module")
def bundled() -> dict[str, Verdict]:
    """Return the verdicts on the two bundled sweeps."""
    return {
        name: sweep(open_report(path(name))).verdict for name in ("decode_sweep", "short_context")
    }


def test_long_context_on_an_h100_is_limited_by_attention(bundled: dict[str, Verdict]) -> None:
    """With the numbers of both ends."""
    explanation, paragraph = bundled["decode_sweep"]
    assert explanation == "bandwidth_saturated_attention"
    for words in (
        "At batch 1 matmul has 61 % and is memory-bound (DRAM at 71 %)",
        "attention has 14 % and is bound by latency (DRAM at 13 %",
        "At batch 512 attention has 84 % and is memory-bound (DRAM at 91 %)",
        "crosses the ridge between batch 256 and 512 (308 by its shapes)",
        "not a compute-bound plateau",
    ):
        assert words in paragraph


def test_short_context_with_grouped_queries_is_the_opposite(bundled: dict[str, Verdict]) -> None:
    """Matmul has the time, and is compute-bound."""
    explanation, paragraph = bundled["short_context"]
    assert explanation == "compute_bound_plateau"
    assert "So a compute-bound plateau limits large batches" in paragraph
    assert "attention has 15 % of the time" in paragraph


def test_the_paragraph_is_one_of_sixty_to_a_hundred_and_thirty_words(
    bundled: dict[str, Verdict],
) -> None:
    """Long enough for the numbers of both ends, short enough to be read."""
    for one in bundled.values():
        assert 60 <= len(one.paragraph.split()) <= 130
        assert "\n" not in one.paragraph


def test_attention_at_a_fifth_of_the_bandwidth_is_bound_by_latency() -> None:
    """It has the time, but uses nothing up."""
    found = verdict(two((80.0, LATENCY), (20.0, SATURATED)))
    assert found.explanation == "undecided"
    assert "at batch 512 attention waits for latency" in found.paragraph
    assert "DRAM at 21 %" in found.paragraph


@pytest.mark.parametrize(
    ("attention", "matmul", "explanation"),
    [
        ((80.0, SATURATED), (20.0, COMPUTE), "bandwidth_saturated_attention"),
        ((80.0, SATURATED), (20.0, LATENCY), "bandwidth_saturated_attention"),
        ((45.0, SATURATED), (20.0, SATURATED), "bandwidth_saturated_attention"),
        ((20.0, SATURATED), (80.0, COMPUTE), "compute_bound_plateau"),
        ((80.0, COMPUTE), (20.0, SATURATED), "compute_bound_plateau"),
        ((49.0, SATURATED), (48.0, COMPUTE), "mixed"),
        ((49.0, SATURATED), (48.0, SATURATED), "undecided"),
        ((49.0, COMPUTE), (48.0, COMPUTE), "compute_bound_plateau"),
        ((49.0, COMPUTE), (48.0, SATURATED), "undecided"),
        ((49.0, SATURATED), (48.0, LATENCY), "undecided"),
        ((20.0, SATURATED), (80.0, SATURATED), "undecided"),
        ((20.0, SATURATED), (80.0, LATENCY), "undecided"),
        ((80.0, UNKNOWN), (20.0, COMPUTE), "undecided"),
        ((80.0, SATURATED | {"limiter": "l2"}), (20.0, COMPUTE), "undecided"),
        ((20.0, SATURATED), (80.0, COMPUTE | {"roofline_bound": "memory"}), "undecided"),
        ((20.0, SATURATED), (80.0, COMPUTE | {"roofline_bound": "unknown"}),
         "compute_bound_plateau"),
    ],
)  # fmt: skip
def test_the_explanation_follows_share_and_label(
    attention: Part, matmul: Part, explanation: str
) -> None:
    """A component explains a step that it has half of, or twice the time of the other."""
    rest = max(0.0, 100.0 - attention[0] - matmul[0])
    found = verdict(two(attention, matmul, other=(rest, LATENCY)) if rest else
                    two(attention, matmul))  # fmt: skip
    assert found.explanation == explanation
    assert explanation in EXPLANATIONS


def test_a_step_of_other_kernels_is_explained_by_neither() -> None:
    """Attention has twice the time of matmul, but not the largest share."""
    found = verdict(two((30.0, SATURATED), (10.0, COMPUTE), other=(60.0, LATENCY)))
    assert found.explanation != "bandwidth_saturated_attention"


def test_reading_weights_is_no_plateau() -> None:
    """Larger batches still pay."""
    found = verdict(two((20.0, SATURATED), (80.0, SATURATED)))
    assert "reading weights still limits the step" in found.paragraph


def test_an_unknown_label_is_said_to_be_what_is_missing() -> None:
    """With the component that has none."""
    found = verdict(two((80.0, UNKNOWN), (20.0, COMPUTE)))
    assert "attention has no label at batch 512" in found.paragraph


def test_one_batch_size_shows_no_trend() -> None:
    """Whatever it shows of the step itself."""
    found = verdict({64: {"attention": (80.0, SATURATED), "matmul": (20.0, COMPUTE)}})
    assert found.explanation == "undecided"
    assert "At batch 64 attention has 80 %" in found.paragraph
    assert "One batch size, 64, shows no trend" in found.paragraph


@pytest.mark.parametrize(
    ("component", "absent"), [("attention", "matmul"), ("matmul", "attention")]
)
def test_a_filter_on_kernels_leaves_the_shares_open(component: str, absent: str) -> None:
    """A hundred percent of what was profiled are no share of a step."""
    found = verdict({batch: {component: (80.0, SATURATED)} for batch in (1, 512)})
    assert found.explanation == "undecided"
    assert f"Decode steps have no {absent}" in found.paragraph
    assert "100 %" not in found.paragraph


def test_neither_component_is_said_once() -> None:
    """Norms alone say nothing of attention and matmul."""
    found = verdict({batch: {"other": (80.0, SATURATED)} for batch in (1, 512)})
    assert "have neither attention nor matmul" in found.paragraph


def test_batch_sizes_with_one_component_each_are_no_steps() -> None:
    """Attention at one batch size and matmul at another cannot be set side by side."""
    found = verdict({1: {"attention": (1.0, SATURATED)}, 8: {"matmul": (1.0, COMPUTE)}})
    assert found.explanation == "undecided"
    assert "No batch size has both attention and matmul" in found.paragraph


def test_only_batch_sizes_with_both_components_count() -> None:
    """At batch 1024 matmul was left out: 512 is the largest that can be judged."""
    steps = two((80.0, SATURATED), (20.0, COMPUTE)) | {1024: {"attention": (9.0, SATURATED)}}
    found = verdict(steps)
    assert found.explanation == "bandwidth_saturated_attention"
    assert "batch 1 to 512" in found.paragraph


@pytest.mark.parametrize(
    ("phase", "words"),
    [("prefill", "only to prefill"), (None, "Nothing says which launches belong to decode")],
)
def test_without_decode_there_is_nothing_to_judge(phase: str | None, words: str) -> None:
    """Prefill is another question."""
    found = verdict(two((80.0, SATURATED), (20.0, COMPUTE)), phase=phase)
    assert found == ("undecided", found.paragraph)
    assert words in found.paragraph


def test_without_batch_sizes_there_is_nothing_to_judge() -> None:
    """The paragraph names what gives them."""
    found = verdict({None: {"attention": (80.0, SATURATED), "matmul": (20.0, COMPUTE)}})
    assert found.explanation == "undecided"
    assert "--batch-from or --batch-size" in found.paragraph


def test_no_launch_at_all_is_said() -> None:
    """Of an empty report."""
    assert verdict({}) == ("undecided", "There is no launch to judge.")


def test_a_phase_that_only_attention_has_is_said() -> None:
    """Its kernels are named after decode; those of matmul are not."""
    place = {"origin": "measured", "device_name": "H100", "batch_size": 8, "duration_ns": 1.0}
    rows = _table(tables.SWEEP, [
        {**place, "phase": "decode", "family": "attention", "component": "attention"},
        {**place, "phase": None, "family": "gemm", "component": "matmul"},
    ])  # fmt: skip
    steps = _table(tables.SWEEP_STEPS, [
        {**place, "phase": "decode", "attention_share_pct": 100.0, "matmul_share_pct": 0.0},
        {**place, "phase": None, "attention_share_pct": 0.0, "matmul_share_pct": 100.0},
    ])  # fmt: skip
    found = verdict_of(rows, trends_of(rows), steps)
    assert found.explanation == "undecided"
    assert "Launches of matmul have no phase" in found.paragraph


def test_of_several_gpus_the_one_with_most_time_is_judged() -> None:
    """And the paragraph says that there are others."""
    place = {"origin": "measured", "phase": "decode"}
    rows, steps = [], []
    for device, time, label in (("A100", 1.0, COMPUTE), ("H100", 9.0, SATURATED)):
        for batch in (1, 8):
            where = {**place, "device_name": device, "batch_size": batch, "duration_ns": time}
            steps.append({**where, "attention_share_pct": 90.0, "matmul_share_pct": 10.0})
            rows += [
                {**where, "family": component, "component": component, **label}
                for component in ("attention", "matmul")
            ]
    table = _table(tables.SWEEP, rows)
    found = verdict_of(table, trends_of(table), _table(tables.SWEEP_STEPS, steps))
    assert found.explanation == "bandwidth_saturated_attention"
    assert "Decode on H100, the GPU with most of the time" in found.paragraph


def test_an_analytic_sweep_is_judged_by_its_shapes() -> None:
    """Nothing was measured, so that nothing waits: the roofline is all there is."""
    of_shapes = {"limiter": None, "regime": None, "dram_throughput_pct": None}
    found = verdict(
        two((80.0, SATURATED | of_shapes), (20.0, COMPUTE | of_shapes)), origin="analytic"
    )
    assert found.explanation == "bandwidth_saturated_attention"
    assert "memory-bound by its shapes" in found.paragraph
    assert "roofline time" in found.paragraph


def test_a_prediction_names_the_crossover_of_its_law() -> None:
    """A line from batch 32 to batch 512 would say 380."""
    from nsightlens.sweeps.predict import predict

    paragraph = predict("opt-1.3b", "H100 SXM5 80GB", [1, 8, 32, 512], 500).verdict.paragraph
    crossing = int(paragraph.partition("crosses the ridge at batch ")[2].split(".")[0])
    (trend,) = [
        row
        for row in predict("opt-1.3b", "H100 SXM5 80GB", [1, 256, 512], 500).trends.to_pylist()
        if row["family"] == "gemm"
    ]
    assert crossing == pytest.approx(trend["analytic_flip_batch_size"], abs=1)
    assert "-0.00" not in paragraph


def test_a_launch_without_duration_has_no_share() -> None:
    """As where every launch of a component failed."""
    steps = two((80.0, SATURATED), (20.0, COMPUTE))
    steps[1]["attention"] = (0.0, UNKNOWN)
    assert verdict(steps).explanation == "undecided"
