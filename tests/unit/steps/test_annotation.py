"""NVTX paths become phase, batch size and shapes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nsightlens.steps import StepAnnotation, annotate_paths, read_path

STEP = "nsightlens@step v1 phase=decode batch_size=8 context=500 query=1"
OWN = StepAnnotation(
    phase="decode",
    batch_size=8,
    batch_source="annotation",
    step_engine="nsightlens",
    query_tokens=8,
    kv_tokens=4000,
    context_length=500,
    query_length=1,
)
VLLM = StepAnnotation(
    phase="mixed", batch_size=32, batch_source="vLLM", step_engine="vLLM", query_tokens=543
)
VLLM_LABEL = "execute_context_1(512)_generation_31(31)"


def test_our_own_step_says_all_there_is() -> None:
    """Phase, batch size, context and query length of a step, name and work of an operation."""
    path = f"{STEP}/op v1 name=qkv_proj flop=123 bytes=4.5e6"
    assert read_path(path) == OWN._replace(
        operation="qkv_proj", operation_flop=123.0, operation_bytes=4.5e6
    )


def test_tokens_of_our_own_step_need_both_factors() -> None:
    """Nothing is assumed of the length or the number of sequences."""
    found = read_path("nsightlens@step v1 phase=decode batch_size=8 context=500")
    assert (found.query_tokens, found.kv_tokens) == (None, 4000)
    assert read_path("nsightlens@step v1 phase=decode context=500").kv_tokens is None


def test_tokens_too_many_for_a_column_are_not_given() -> None:
    """A product of two numbers that both fit need not fit."""
    most = 10**18 - 1
    found = read_path(f"nsightlens@step v1 phase=decode batch_size={most} context={most}")
    assert (found.batch_size, found.kv_tokens) == (most, None)


def test_an_operation_needs_no_step() -> None:
    """What the step would say is missing."""
    found = read_path("nsightlens@op v1 name=attention flop=10")
    assert found == StepAnnotation(operation="attention", operation_flop=10.0)


def test_the_innermost_range_of_each_kind_counts() -> None:
    """A nested operation replaces the outer one, and a nested step both."""
    path = f"{STEP}/op v1 name=layer/op v1 name=attention"
    assert read_path(path).operation == "attention"
    nested = read_path(f"{path}/step v1 phase=prefill batch_size=1")
    assert (nested.phase, nested.batch_size, nested.operation) == ("prefill", 1, None)


@pytest.mark.parametrize(
    "path",
    [
        "step v1 phase=decode batch_size=8",  # not in our domain
        "other@step v1 phase=decode",
        "nsightlens@step v2 phase=decode",
        "nsightlens@steps v1 phase=decode",
        "nsightlens@op v1 name flop=nan bytes=-4",
        "DecodeStep",
        "aDecodeStep3",
        "DecodeStep3b",
        "other@DecodeStep3",
        f"NCCL@{VLLM_LABEL}",
        "",
    ],
)
def test_nothing_is_made_of_what_is_not_the_grammar(path: str) -> None:
    """Another domain, version or word says nothing."""
    assert read_path(path) == StepAnnotation()


@pytest.mark.parametrize(
    "words",
    [
        "phase=sleeping batch_size=-1 context=many",
        "batch_size=99999999999999999999 context=1" + "0" * 5000,
        "batch_size=\u0664 query=1.0",
    ],
)
def test_values_that_cannot_be_are_not_taken(words: str) -> None:
    """The range is still one of ours."""
    found = read_path(f"nsightlens@step v1 {words}")
    assert found == StepAnnotation(step_engine="nsightlens")


@pytest.mark.parametrize(
    ("path", "phase", "index"),
    [
        ("DecodeStep335", "decode", 335),
        ("PrefillStep0", "prefill", 0),
        ("a/DecodeStep1/b", "decode", 1),
    ],
)
def test_the_steps_of_the_memory_gap_study_give_phase_and_index(
    path: str, phase: str, index: int
) -> None:
    """They hold no batch size."""
    assert read_path(path) == StepAnnotation(
        phase=phase, step_index=index, step_engine="vLLMBatchingMemoryGap"
    )


def test_the_warm_up_steps_of_the_memory_gap_study_are_no_served_steps() -> None:
    """Its range of the initialization holds two steps."""
    found = read_path("Initialization;PrefillStep0")
    assert (found.phase, found.step_index, found.unserved) == (None, None, "initialization")


def test_ranges_of_several_domains_are_read_apart() -> None:
    """Domains are divided by semicolons; our own annotation wins."""
    assert read_path(f"forward;{STEP};NCCL@allreduce") == OWN


def test_an_engine_fills_what_our_own_annotation_lacks() -> None:
    """The source of the batch size is then the engine."""
    found = read_path("nsightlens@step v1 phase=decode;execute_context_0(0)_generation_8(8)")
    assert (found.batch_size, found.batch_source, found.query_tokens) == (8, "vLLM", 8)
    assert found.step_engine == "nsightlens"
    assert found.conflict is None


def test_our_own_annotation_wins_over_an_engine_that_contradicts_it() -> None:
    """Nothing is mixed, and the conflict is told."""
    found = read_path(f"{STEP};{VLLM_LABEL}")
    assert found == OWN._replace(conflict="nsightlens+vLLM")


def test_the_outermost_step_of_a_thread_counts() -> None:
    """Parts of a step inside it change nothing."""
    path = f"serve/{VLLM_LABEL}/gpu_model_runner: forward/execute_context_0(0)_generation_1(1)"
    assert read_path(path) == VLLM


def test_a_label_without_numbers_takes_them_from_one_inside_it() -> None:
    """Of two labels of one engine, the detailed one is preferred where they agree."""
    path = f"mixed_batch/gpu_model_runner: forward/{VLLM_LABEL}"
    assert read_path(path) == VLLM
    detailed = (
        "execute_context_1(4)_generation_1(1)/"
        "execute_5_context_1(sq4sk9sqsq16sqsk36)_generation_1(sq1sk7sqsq1sqsk7)"
    )
    assert read_path(detailed).kv_tokens == 16


def test_a_label_inside_another_that_contradicts_it_changes_nothing() -> None:
    """A decode inside what is called prefill fills nothing."""
    found = read_path("prefill_batch/execute_context_0(0)_generation_8(8)")
    assert (found.phase, found.batch_size) == ("prefill", None)


def test_labels_of_two_engines_keep_the_outermost_and_tell_the_conflict() -> None:
    """Which of them is right is not known."""
    found = read_path(f"{VLLM_LABEL}/step[DECODE bs=4]")
    assert found == VLLM._replace(conflict="vLLM+SGLang")


def test_a_label_by_hand_gives_way_to_that_of_an_engine() -> None:
    """A script's own ranges lie around the engine's."""
    assert read_path(f"decode_step_3/{VLLM_LABEL}") == VLLM
    assert read_path("decode_step_3").step_index == 3


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (f"capture_8_FULL/{VLLM_LABEL}", "capture"),
        (f"{VLLM_LABEL}/capture_cudagraph", "capture"),
        (f"{STEP};step[DRAFT bs=8]", "draft"),
        ("step[DECODE bs=8]/step[DRAFT_LOOP raw_bs=8 bs=8 topk=1]", "draft"),
        (f"dummy_decode[bs=1/8 tok=1 d=1]/{VLLM_LABEL}", "dummy"),
        ("execute_context_0(0)_generation_0(0)", "idle"),
        ("nsightlens@step v1 phase=capture batch_size=8", "capture"),
    ],
)
def test_what_serves_nobody_has_no_batch_size(path: str, why: str) -> None:
    """Inside or outside a step, a capture, dummy, draft or idle pass takes the launch out of it."""
    found = read_path(path)
    assert found.unserved == why
    assert found.phase == ("capture" if why == "capture" else None)
    numbers = (found.batch_size, found.query_tokens, found.kv_tokens, found.context_length)
    assert numbers == (None,) * 4


def test_a_step_of_unknown_phase_leaves_it_open() -> None:
    """The kernel names may still settle it."""
    found = read_path("gpu_model_runner: forward")
    assert (found.phase, found.step_engine) == (None, "vLLM")


def test_the_context_of_one_sequence_is_that_of_the_step() -> None:
    """Of several, only the sum is known."""
    label = "execute_{0}_context_0(sq0sk0sqsq0sqsk0)_generation_{0}(sq{0}sk900sqsq{0}sqsk900)"
    assert read_path(label.format(1)).context_length == 900
    several = read_path(label.format(3))
    assert (several.kv_tokens, several.context_length) == (900, None)


@pytest.mark.parametrize(
    ("path", "batch_size", "index"),
    [
        ("layer/decode[bs=3/8 tok=3 d=3]/attention", 3, None),
        ("decode[bs=3/8 tok=3 d=3]", 3, None),
        ("Decode/step_007/attention", None, 7),
    ],
)
def test_a_slash_in_a_label_does_not_divide_it(
    path: str, batch_size: int | None, index: int | None
) -> None:
    """Paths join ranges by slashes, which some labels hold themselves."""
    found = read_path(path)
    assert (found.phase, found.batch_size, found.step_index) == ("decode", batch_size, index)


def test_labels_of_tensorrt_llm_lie_in_its_own_domain() -> None:
    """The domain of another library is none of an engine's."""
    label = "[Executor] _forward_step 12: 4 ctx reqs, 8192 ctx tokens, 0 gen reqs"
    found = read_path(f"TensorRT-LLM@{label}")
    assert (found.batch_size, found.query_tokens, found.step_index) == (4, 8192, 12)
    assert read_path(f"TensorRT@{label}") == StepAnnotation()


def test_a_column_of_paths_keeps_its_order_and_its_nulls() -> None:
    """Each path gets its own row, whatever type the column has."""
    paths = [STEP, None, "PrefillStep1", STEP]
    plain = pa.array(paths, pa.string())
    columns = (plain, plain.dictionary_encode(), pa.chunked_array([plain[:1], plain[1:]]))
    for column in columns:
        table = annotate_paths(column)
        assert table["phase"].to_pylist() == ["decode", None, "prefill", "decode"]
        assert table["batch_size"].to_pylist() == [8, None, None, 8]


def test_no_paths_give_no_rows() -> None:
    """An empty column has the same columns."""
    assert annotate_paths(pa.array([], pa.string())).num_rows == 0
