"""A sweep without a GPU: the tables of a measured one, named analytic, with nothing made up."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
import pytest

from nsightlens import tables
from nsightlens.errors import FilterError, ModelConfigError, PeaksWarning, UnknownDeviceError
from nsightlens.models import (
    active_parameter_count,
    kv_bytes_of_sequence,
    read_model,
    step_time_bound_s,
    step_work,
)
from nsightlens.render.prediction import prediction_facts
from nsightlens.sweeps.predict import predict, prediction

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

H100 = "H100 SXM5 80GB"
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
# What only a measurement tells.
UNKNOWN = [
    "flop_count", "dram_bytes", "l2_bytes", "l1_bytes", "arithmetic_intensity_flop_per_byte",
    "executed_per_useful_flop", "dram_per_algorithmic_byte", "fraction_of_roof",
    "dram_throughput_pct", "dram_read_pct", "dram_write_pct", "sm_throughput_pct",
    "achieved_occupancy_pct", "active_warps_per_scheduler", "stalled_for_data_pct", "top_stall",
    "regime", "limiter_fraction", "clock_dependent", "confidence", "expectation",
]  # fmt: skip


def rows_of(table: pa.Table, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows with some values."""
    return [row for row in table.to_pylist() if wanted.items() <= row.items()]


@pytest.fixture(scope="module")
def decode() -> Any:
    return predict("opt-1.3b", H100, BATCHES, 500)


def test_the_tables_are_those_of_a_measured_sweep(decode: Any) -> None:
    """Same columns and types; every row says that it is analytic."""
    for table, columns in (
        (decode.rows, tables.SWEEP),
        (decode.trends, tables.SWEEP_TRENDS),
        (decode.steps, tables.SWEEP_STEPS),
    ):
        assert table.schema.equals(tables.schema_of(columns))
        assert set(table["origin"].to_pylist()) == {"analytic"}
    assert set(decode.rows["evidence"].to_pylist()) == {"analytic"}


def test_what_a_model_cannot_know_is_null(decode: Any) -> None:
    """No occupancy, no stalls, no padding."""
    for name in UNKNOWN:
        assert decode.rows[name].null_count == len(decode), name


def test_durations_are_roofline_times_of_the_operations() -> None:
    """Each operation at the slower of its two peaks; rows and steps add them up."""
    found = prediction("llama-3-8b", H100, [64], 4096)
    gpu = found.peaks
    works = step_work(read_model("llama-3-8b"), batch_size=64, context_length=4096)
    expected = sum(
        max(
            work.flop
            / gpu.flop_per_s["tensor_fp16" if work.family in ("gemm", "attention") else "fp32"],
            work.bytes / gpu.bytes_per_s,
        )
        for work in works
    )
    (step,) = found.sweep.steps.to_pylist()
    assert step["duration_ns"] == pytest.approx(expected * 1e9)
    assert pc.sum(found.sweep.rows["duration_ns"]).as_py() == pytest.approx(expected * 1e9)
    assert pc.sum(found.sweep.rows["duration_share_pct"]).as_py() == pytest.approx(100)
    shares = [step[f"{name}_share_pct"] for name in ("attention", "matmul", "other")]
    assert sum(shares) == pytest.approx(100)


def test_a_step_takes_no_less_than_the_closed_form() -> None:
    """Which leaves out small kernels, activations and the input embedding's table."""
    found = prediction("llama-2-7b", H100, [1, 64, 512], 1000)
    for step in found.sweep.steps.to_pylist():
        bound = step_time_bound_s(
            found.model,
            batch_size=step["batch_size"],
            context_length=1000,
            flop_per_s=found.peaks.flop_per_s["tensor_fp16"],
            bytes_per_s=found.peaks.bytes_per_s,
        )
        assert step["duration_ns"] / 1e9 == pytest.approx(bound, rel=0.1)


def test_attention_is_flat_and_matmul_crosses_the_ridge(decode: Any) -> None:
    """The picture of the paper, from shapes alone."""
    attention, matmul = (rows_of(decode.rows, family=family) for family in ("attention", "gemm"))
    assert {row["bound"] for row in attention} == {"memory"}
    intensities = [row["useful_arithmetic_intensity_flop_per_byte"] for row in attention]
    assert min(intensities) == pytest.approx(max(intensities)) == pytest.approx(0.998, abs=1e-3)
    assert [row["bound"] for row in matmul] == ["memory"] * 9 + ["compute"]
    trends = {row["family"]: row for row in decode.trends.to_pylist()}
    assert trends["attention"]["useful_intensity_slope"] == pytest.approx(0, abs=1e-6)
    assert trends["gemm"]["useful_intensity_slope"] == pytest.approx(1, abs=0.06)


def test_the_bound_is_by_intensity_against_the_ridge(decode: Any) -> None:
    """And the same is said in the reason."""
    for row in decode.rows.to_pylist():
        intensity = row["useful_arithmetic_intensity_flop_per_byte"]
        ridge = row["ridge_point_flop_per_byte"]
        assert row["bound"] == row["roofline_bound"]
        assert (row["bound"] == "compute") == (intensity >= ridge)
        assert row["bound_ratio"] == pytest.approx(intensity / ridge)
        assert (row["limiter"] == "dram") == (row["bound"] == "memory")
        side = "left" if row["bound"] == "memory" else "right"
        assert f"{side} of the ridge point" in row["reason"]


def test_the_verdict_follows_the_context() -> None:
    """A long context of a multi-head model saturates DRAM; a short one of a grouped model does not.

    Llama-3-8B crosses over at 415 tokens on this GPU.
    """
    long = predict("opt-1.3b", H100, BATCHES, 500)
    short = predict("llama-3-8b", H100, [*BATCHES, 1024], 64)
    assert long.verdict.explanation == "bandwidth_saturated_attention"
    assert short.verdict.explanation == "compute_bound_plateau"
    assert "not measured" in long.verdict.paragraph or "model" in long.verdict.paragraph


def test_batches_that_do_not_fit_are_marked_and_said() -> None:
    found = prediction("llama-2-7b", H100, [64, 128, 256], 1000)
    largest = found.facts.largest_batch_size
    assert largest == 138
    marked = {
        row["batch_size"] for row in found.sweep.rows.to_pylist() if "not fit" in row["reason"]
    }
    assert marked == {256}
    assert any("Batch 256 does not fit: " in note for note in found.sweep.notes)
    for table in (found.sweep.rows, found.sweep.steps):
        found_fits = {row["batch_size"]: row["fits_in_memory"] for row in table.to_pylist()}
        assert found_fits == {64: True, 128: True, 256: False}
    fits = predict("llama-2-7b", H100, [64], 1000)
    assert not any("not fit" in note for note in fits.notes)


def test_several_batches_that_do_not_fit_are_said_in_one_sentence() -> None:
    notes = predict("llama-2-7b", H100, [1, 256, 512, 1024], 1000).notes
    (note,) = (one for one in notes if "not fit" in one)
    assert note == (
        "Batch 256, 512 and 1024 do not fit: beside the weights 72.4 GB are left for 138 sequences "
        "of 524 MB."
    )


def test_weights_that_do_not_fit_are_said_plainly() -> None:
    """No sequence beside them is not what is missing."""
    found = prediction("deepseek-v3", H100, [1, 8], 500)
    assert {row["fits_in_memory"] for row in found.sweep.rows.to_pylist()} == {False}
    assert any(
        one.startswith("No batch fits: the weights take 6") and one.endswith("the GPU has 80 GiB.")
        for one in found.sweep.notes
    )
    memory = dict(prediction_facts(found))["memory"]
    assert memory.startswith("the weights, 6")
    assert memory.endswith(" do not fit in 80 GiB: no batch does")


def test_one_sequence_that_does_not_fit_beside_the_weights_is_said() -> None:
    found = prediction("llama-3-8b", H100, [1], 10_000_000)
    memory = dict(prediction_facts(found))["memory"]
    assert memory == (
        "the weights, 16.1 GB, fit in 80 GiB, but no sequence of 10000000 tokens beside them"
    )


def test_a_gpu_whose_memory_is_not_known_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Null is no answer of either kind."""
    peaks = prediction("opt-125m", H100, [1], 10).peaks._replace(memory_bytes=None)
    monkeypatch.setattr("nsightlens.sweeps.predict.predicted_peaks", lambda *_, **__: peaks)
    found = prediction("opt-125m", H100, [1, 1_000_000], 10_000)
    for table in (found.sweep.rows, found.sweep.steps):
        assert table["fits_in_memory"].null_count == len(table)
    assert dict(prediction_facts(found))["memory"] == "of unknown size"
    assert not any("fit" in note for note in found.sweep.notes)


def test_the_intensity_of_attention_is_that_of_the_rows() -> None:
    """On one of several GPUs with several query tokens too."""
    for gpus, queries in ((8, 1), (1, 4), (1, 1)):
        found = prediction(
            "deepseek-v3", "H200 SXM 141GB", [8], 100_000, gpu_count=gpus, query_length=queries
        )
        (row,) = rows_of(found.sweep.rows, family="attention")
        told = found.facts.attention_intensity_flop_per_byte
        assert told == found.facts.attention_intensity_16bit_flop_per_byte
        at_this_context = row["useful_arithmetic_intensity_flop_per_byte"]
        assert at_this_context == pytest.approx(told, rel=0.01)


def test_attention_right_of_the_ridge_never_waits_for_the_cache() -> None:
    """Latent attention of 128 heads has 242 FLOP/B; the ridge of an H200 lies at 206."""
    found = prediction("deepseek-v3", "H200 SXM 141GB", [1, 16384], 10_000)
    assert found.facts.crossover_context_length is None
    references = {one.device: one.context_length for one in found.facts.reference_crossovers}
    assert references["H200"] is None
    assert references["H100 SXM"] is not None
    words = dict(prediction_facts(found))["crossover"]
    assert words.startswith("none: attention has 241.8 FLOP/B, more than the ridge point at 20")
    assert "H200 none" in words
    shared = prediction("deepseek-v3", "H200 SXM 141GB", [1], 10_000, gpu_count=8)
    assert shared.facts.crossover_context_length is not None


@pytest.mark.parametrize("model", ["gpt-oss-20b", "gpt-oss-120b", "llama-3-8b", "gemma-2-9b"])
def test_the_crossover_is_where_the_cache_takes_as_long_as_the_products(model: str) -> None:
    """With the windows of the layers that have one."""
    found = prediction(model, H100, [1], 500, weight_dtype="fp16")
    peaks, context = found.peaks, found.facts.crossover_context_length
    assert context is not None
    products_s = 2.0 * active_parameter_count(found.model) / peaks.flop_per_s["tensor_fp16"]
    below, above = (
        kv_bytes_of_sequence(found.model, tokens) / peaks.bytes_per_s
        for tokens in (int(context), int(context) + 1)
    )
    assert below <= products_s <= above


def test_windows_in_all_layers_may_leave_no_crossover() -> None:
    """What they see of any context takes less time to read than the products take."""
    model = replace(read_model("mistral-7b"), window_token_count=256)
    found = prediction(model, H100, [1], 500)
    assert found.facts.crossover_context_length is None
    words = dict(prediction_facts(found))["crossover"]
    assert words.startswith("none: layers see no more than 256 tokens")


def test_reasons_have_units_that_fit() -> None:
    for row in predict("opt-1.3b", H100, [4096], 500).rows.to_pylist():
        assert "e+" not in row["reason"]
    (attention,) = rows_of(predict("opt-1.3b", H100, [4096], 500).rows, family="attention")
    assert "DRAM needs 120 ms, tensor_fp16" in attention["reason"]


def test_the_facts_are_those_of_the_closed_forms() -> None:
    facts = prediction("opt-1.3b", H100, [1], 500).facts
    assert facts.kv_bytes_per_token == facts.kv_bytes_per_token_16bit == 196_608
    assert facts.kv_block_bytes_16bit == 3_145_728
    assert facts.attention_intensity_16bit_flop_per_byte == 1.0
    assert facts.attention_intensity_8bit_flop_per_byte == 2.0
    assert facts.crossover_context_length == pytest.approx(45.3, abs=0.1)
    references = {one.device: one.context_length for one in facts.reference_crossovers}
    assert [round(tokens or 0) for tokens in references.values()] == [45, 65, 22]
    assert facts.knee_batch_size == facts.knee_batch_size_at_500 == pytest.approx(26.8, abs=0.05)


def test_a_cache_in_8_bit_moves_every_crossover() -> None:
    half, whole = (prediction("opt-1.3b", H100, [1], 500, kv_dtype=t).facts for t in ("fp8", None))
    assert half.kv_bytes_per_token == whole.kv_bytes_per_token / 2
    assert whole.crossover_context_length is not None
    assert half.crossover_context_length == 2 * whole.crossover_context_length
    assert half.knee_batch_size == 2 * whole.knee_batch_size
    assert half.kv_bytes_per_token_16bit == whole.kv_bytes_per_token_16bit


def test_weights_in_8_bit_use_the_unit_where_the_gpu_has_one() -> None:
    """An H100 multiplies FP8; an A100 expands it to 16 bit, and that is said."""
    h100, a100 = (
        prediction("llama-3-8b", device, [512], 500, weight_dtype="fp8")
        for device in (H100, "A100 SXM4 80GB")
    )
    assert (h100.types.gemm_resource, a100.types.gemm_resource) == ("tensor_fp8", "tensor_fp16")
    assert any("no unit for fp8" in note for note in a100.sweep.notes)
    assert not any("no unit" in note for note in h100.sweep.notes)


def test_operations_can_have_a_row_each() -> None:
    sweep = predict("llama-3-8b", H100, [1, 8], 500, by="operation")
    names = {row["kernel"] for row in sweep.rows.to_pylist()}
    assert {"qkv_proj", "attention", "lm_head", "kv_cache_write"} <= names
    assert sweep.by == "kernel"
    whole = predict("llama-3-8b", H100, [1, 8], 500)
    for column in ("useful_flop_count", "algorithmic_bytes", "duration_ns"):
        one, other = (pc.sum(table[column]).as_py() for table in (sweep.rows, whole.rows))
        assert one == pytest.approx(other)


def test_a_prefill_is_one() -> None:
    """Its products are compute-bound from a batch of one on."""
    sweep = predict("llama-3-8b", H100, [1, 2], 2048, phase="prefill")
    assert set(sweep.rows["phase"].to_pylist()) == {"prefill"}
    matmul = rows_of(sweep.rows, family="gemm")
    assert {row["bound"] for row in matmul} == {"compute"}
    same = predict("llama-3-8b", H100, [1, 2], 2048, query_length=2048)
    assert same.rows.equals(sweep.rows)


def test_several_gpus_share_the_work() -> None:
    one, four = (prediction("llama-3-70b", H100, [16], 1000, gpu_count=n) for n in (1, 4))
    times = [found.sweep.steps["duration_ns"][0].as_py() for found in (one, four)]
    assert times[1] == pytest.approx(times[0] / 4, rel=0.02)
    assert one.facts.largest_batch_size == 0
    assert (four.facts.largest_batch_size or 0) > 100
    assert any("one of 4 GPUs" in note for note in four.sweep.notes)


def test_a_mixture_of_experts_says_its_assumption() -> None:
    notes = predict("mixtral-8x7b", H100, [1, 8], 500).notes
    assert any("Experts are taken as equally likely" in note for note in notes)


def test_weights_are_as_the_configuration_stores_them(tmp_path: Path) -> None:
    """A way that is not known is an error only where no type is given."""
    config = {
        "model_type": "llama", "hidden_size": 1024, "intermediate_size": 2048,
        "num_attention_heads": 8, "num_hidden_layers": 4, "vocab_size": 1000,
        "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128},
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    assert prediction(path, H100, [1], 10).types.weights.dtype == "int4"
    config["quantization_config"] = {"quant_method": "secret"}
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelConfigError, match=r"quant_method 'secret'.*--weight-dtype"):
        predict(path, H100, [1], 10)
    assert prediction(path, H100, [1], 10, weight_dtype="fp8").types.weights.dtype == "fp8"


def test_batch_sizes_are_taken_once_and_ascending() -> None:
    sweep = predict("opt-125m", H100, [4, 1, 4], 10)
    assert sweep.steps["batch_size"].to_pylist() == [1, 4]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"device": "H1000"}, UnknownDeviceError),
        ({"gpu_count": 5}, FilterError),
        ({"batch_sizes": []}, ValueError),
        ({"batch_sizes": [0]}, ValueError),
        ({"batch_sizes": [1, 1.5]}, ValueError),
        ({"batch_sizes": [True]}, ValueError),
        ({"batch_sizes": ["1"]}, ValueError),
        ({"batch_sizes": "1,8"}, ValueError),
        ({"batch_sizes": b"18"}, ValueError),
        ({"batch_sizes": 8}, ValueError),
        ({"batch_sizes": None}, ValueError),
        ({"batch_sizes": [1, 10**7]}, ValueError),
        ({"context_length": 0}, ValueError),
        ({"context_length": 10.5}, ValueError),
        ({"context_length": 10**20}, ValueError),
        ({"query_length": 0}, ValueError),
        ({"query_length": 11}, ValueError),
        ({"phase": "foo"}, ValueError),
        ({"phase": ""}, ValueError),
        ({"gpu_count": 0}, ValueError),
        ({"gpu_count": 1.5}, ValueError),
        ({"by": "layer"}, ValueError),
        ({"clock": "turbo"}, ValueError),
        ({"weight_dtype": "fp7"}, ValueError),
        ({"kv_dtype": "fp7"}, ValueError),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    changed: dict[str, Any], error: type[Exception]
) -> None:
    arguments = {"device": H100, "batch_sizes": [1], "context_length": 10, **changed}
    with pytest.raises(error):
        predict("opt-125m", **arguments)


@pytest.mark.parametrize(
    ("batch_sizes", "said"),
    [
        ("1,8", r"^batch_sizes must be whole numbers such as \[1, 8, 64\], not '1,8'$"),
        (8, r"^batch_sizes must be whole numbers such as \[1, 8, 64\], not 8$"),
        ([1, 1.5], r"^each of batch_sizes must be a whole number above zero, not 1\.5$"),
        ([True], r"^each of batch_sizes must be a whole number above zero, not True$"),
        ([10**7], r"^each of batch_sizes must be no more than 1000000, not 10000000$"),
    ],
)
def test_what_is_no_batch_size_is_said(batch_sizes: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        predict("opt-125m", H100, batch_sizes, 10)


def test_batch_sizes_may_be_those_of_numpy() -> None:
    sweep = predict("opt-125m", H100, np.array([4, 1]), 10)
    assert sweep.steps["batch_size"].to_pylist() == [1, 4]


def test_a_built_in_model_has_its_published_weights() -> None:
    """That of DeepSeek-V3 is FP8, that of GPT-OSS's experts MXFP4; another can be asked for."""
    deepseek, oss = (prediction(name, "B200", [1], 10) for name in ("deepseek-v3", "gpt-oss-20b"))
    assert (deepseek.types.weights.dtype, deepseek.types.gemm_resource) == ("fp8", "tensor_fp8")
    assert deepseek.facts.weights_bytes == pytest.approx(673e9, rel=0.01)
    assert (oss.types.weights.dtype, oss.types.weights.only_experts) == ("mxfp4", True)
    assert oss.facts.weights_bytes == pytest.approx(13.8e9, rel=0.01)
    wide = prediction("gpt-oss-20b", "B200", [1], 10, weight_dtype="bf16")
    assert (wide.types.weights.dtype, wide.types.weights.only_experts) == ("bf16", False)
    assert wide.facts.weights_bytes == pytest.approx(41.8e9, rel=0.01)


def test_what_a_configuration_does_not_say_of_its_weights_is_said(tmp_path: Path) -> None:
    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "vocab_size": 100,
        "num_attention_heads": 1, "num_hidden_layers": 1,
    }  # fmt: skip
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    said = "does not say how weights are stored: they are taken as fp16"
    assert said in " ".join(predict(path, H100, [1], 10).notes)
    assert said not in " ".join(predict(path, H100, [1], 10, weight_dtype="fp16").notes)
    config["torch_dtype"] = "posit16"
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelConfigError, match=r"torch_dtype is 'posit16'.*--weight-dtype") as lost:
        predict(path, H100, [1], 10)
    assert lost.value.key == "torch_dtype"


@pytest.mark.parametrize(
    ("device", "unit", "said"),
    [
        ("V100 SXM2 16GB", "fp32", "no tensor cores for fp32: its CUDA cores do the products"),
        ("T4", "fp32", "no tensor cores for fp32: its CUDA cores do the products"),
        ("A100 SXM4 80GB", "tensor_tf32", "done in TF32, which engines have to allow"),
    ],
)
def test_weights_of_32_bit_are_multiplied_as_such(device: str, unit: str, said: str) -> None:
    """A tensor core for 16 bit would not hold them; the last product has them too."""
    found = prediction("opt-1.3b", device, [512], 100, weight_dtype="fp32", by="operation")
    assert found.types.gemm_resource == unit
    assert said in " ".join(found.sweep.notes)
    rows = {row["kernel"]: row for row in found.sweep.rows.to_pylist()}
    for name in ("qkv_proj", "fc1", "lm_head"):
        assert rows[name]["peak_flop_per_s"] == pytest.approx(found.peaks.flop_per_s[unit]), name
    half = found.peaks.flop_per_s["tensor_fp16"]
    assert rows["attention"]["peak_flop_per_s"] == pytest.approx(half)


def test_a_type_of_16_bit_that_a_gpu_lacks_is_said() -> None:
    notes = " ".join(predict("llama-3-8b", "T4", [1], 100).notes)
    assert "T4 has no unit for bf16: products are taken as done in fp16." in notes


def test_a_context_beyond_the_positions_of_a_model_is_said() -> None:
    beyond, within = (" ".join(predict("opt-1.3b", H100, [1], n).notes) for n in (2049, 2048))
    assert "Context 2049 is more than the 2048 positions that the configuration of opt" in beyond
    assert "positions" not in within


def test_ceilings_of_another_gpu_are_warned_of(tmp_path: Path) -> None:
    """As classify does; what is not used says nothing of the peaks."""
    path = tmp_path / "peaks.toml"
    path.write_text(
        'format = "nsightlens.peaks"\nversion = 1\n[[device]]\nname = "NVIDIA L4"\n'
        'source = "copy kernels"\n[device.peak_per_s]\ndram = 2.5e11\n',
        encoding="utf-8",
    )
    with pytest.warns(PeaksWarning, match="its ceilings are not used: .*, not 'NVIDIA L4'"):
        other = predict("opt-125m", H100, [1], 10, peaks=path)
    assert set(other.rows["peak_source"].to_pylist()) == {"named_device"}
    own = predict("opt-125m", "L4", [1], 10, peaks=path)
    assert set(own.rows["peak_bytes_per_s"].to_pylist()) == {2.5e11}
