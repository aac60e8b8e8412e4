"""What single labels say, and what they only seem to say."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.steps import StepLabel, read_label
from nsightlens.steps.form import ByCounts, Form, read_form
from nsightlens.steps.label import read_spelled_label


def _said(label: str) -> dict[str, Any]:
    """Return what a label says, without what it does not."""
    found = read_label(label)._asdict()
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("label", "batch_size", "query_tokens"),
    [
        # Drafts that are verified are tokens, not requests.
        ("execute_context_0(0)_generation_1(8)", 1, 8),
        # All of a prompt but its last token came from the cache of prefixes.
        ("execute_context_1(1)_generation_0(0)", 1, 1),
        ("execute_context_007(0512)_generation_00(0)", 7, 512),
    ],
)
def test_the_brackets_of_vllm_hold_tokens(label: str, batch_size: int, query_tokens: int) -> None:
    """The numbers before them are requests."""
    said = _said(label)
    assert (said["batch_size"], said["query_tokens"]) == (batch_size, query_tokens)


def test_an_empty_step_of_vllm_is_idle() -> None:
    """It serves nobody."""
    assert _said("execute_context_0(0)_generation_0(0)") == {
        "is_step": False, "phase": "idle", "batch_size": 0, "query_tokens": 0, "engine": "vLLM",
    }  # fmt: skip


def test_a_detailed_label_of_vllm_whose_sum_is_wrong_is_none() -> None:
    """The first number is the tokens of both halves."""
    label = "execute_{}_context_1(sq4sk9sqsq16sqsk36)_generation_1(sq1sk7sqsq1sqsk7)"
    assert read_label(label.format(5)).kv_tokens == 16
    assert read_label(label.format(2)) == StepLabel()


def test_cached_requests_alone_are_taken_for_decoding() -> None:
    """The first labels of vLLM count later chunks of a prompt among them."""
    assert _said("execute_new_0_cached_64")["phase"] == "decode"
    assert _said("execute_new_3_cached_64")["phase"] == "mixed"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("step[ DECODE  bs = 4 ]", {"phase": "decode", "batch_size": 4, "query_tokens": 4}),
        ("step[decode bs=4]", {"phase": "decode", "batch_size": 4}),
        ("step[mixed bs=5 ext=2 dec=3]", {"phase": "mixed", "batch_size": 5}),
        ("step[MIXED bs=5 toks=7]", {"phase": "mixed", "batch_size": 5}),
        ("step[DECODE bs=4 g_sq=12]", {"phase": "decode", "batch_size": 4, "query_tokens": 12}),
        ("step[VERIFY bs=4 g_sk=90]", {"phase": "decode", "batch_size": 4, "kv_tokens": 90}),
        ("step[EXTEND bs=2 c_sk=90]", {"phase": "prefill", "batch_size": 2, "kv_tokens": 90}),
    ],
)
def test_sglang_says_only_what_its_words_say(label: str, said: dict[str, Any]) -> None:
    """A step of decoding alone runs one token per request."""
    assert _said(label) == {"is_step": True, "engine": "SGLang", **said}


@pytest.mark.parametrize("label", ["step[idle]", "step[IDLE]", "step[PREBUILT bs=3]"])
def test_an_idle_step_of_sglang_is_none(label: str) -> None:
    """With and without a batch."""
    assert (read_label(label).is_step, read_label(label).phase) == (False, "idle")


@pytest.mark.parametrize(
    "label",
    [
        "step[DECODE]", "step[DECODE raw_bs=4]", "step[DECODE bs=]", "step[DECODE bs=4",
        "step[DECODE bs=4 toks]", "step[DECODE bs=4 toks=x]", "step[DECODE bs=4 bs=4]",
        "step[DECODE bs=-4]", "step[DECODE bs=4.0]", "step[DECODE,bs=4]", "Step[DECODE bs=4]",
        "step[Decode bs=4]", "step[DECODE bs=4 raw_bs=4 raw_bs=4]", "step[WARMUP bs=4]",
        "step[DRAFT_LOOP bs=4 topk=1]", "step[DECODE\nbs=4]", "step [DECODE bs=4]",
    ],
)  # fmt: skip
def test_what_is_no_label_of_sglang_says_nothing(label: str) -> None:
    """Cut, doubled, of another word, or with something else than whole numbers."""
    assert read_label(label) == StepLabel()


def test_drafts_of_tensorrt_llm_are_not_in_its_label() -> None:
    """A generation request may run more than one token."""
    said = _said("[Executor] _forward_step 7: 0 ctx reqs, 0 ctx tokens, 32 gen reqs")
    assert (said["phase"], said["batch_size"], said["step_index"]) == ("decode", 32, 7)
    assert "query_tokens" not in said
    idle = _said("[Executor] _forward_step: 0 ctx reqs, 0 ctx tokens, 0 gen reqs")
    assert idle == {"is_step": False, "phase": "idle", "batch_size": 0, "engine": "TensorRT-LLM"}


@pytest.mark.parametrize(
    "label",
    [
        "[Executor] _forward_step 7: 1 ctx req, 0 gen reqs",
        "[Executor] _forward_step 7: 1 ctx reqs, 4 gen reqs, 3 more",
        "[Executor] _forward_step_with_something: 1 ctx reqs, 4 gen reqs",
        "_forward_step 7: 1 ctx reqs, 4 gen reqs",
        "[Executor] _forward_step 7, is_generation=True",
    ],
)
def test_what_is_no_label_of_tensorrt_llm_says_nothing(label: str) -> None:
    """The words stay plural, and there is nothing behind them."""
    assert read_label(label) == StepLabel()


@pytest.mark.parametrize(
    ("label", "phase", "kv_tokens"),
    [
        ("eager_decode[bs=3 tok=3 ctx=[7, 8, 9]]", "decode", 24),
        ("eager_decode[bs=4 tok=4 ctx=[7, 8, 9]]", "decode", None),
        ("eager_decode[bs=4 tok=4 ctx=[7, 8, 9]...+1]", "decode", None),
        ("eager_decode[bs=2 tok=2 ctx=900]", "decode", None),
        ("eager_decode[bs=1 tok=1 ctx=900 sqsq=1 sqsk=900 sk=901]", "decode", 901),
        ("decode[bs=4/8 tok=90 p=1 d=3]", "mixed", None),
        ("decode[bs=4/8 tok=4 p=0 d=4]", "decode", None),
    ],
)
def test_contexts_of_atom_add_up_where_all_are_shown(
    label: str, phase: str, kv_tokens: int | None
) -> None:
    """Of more than five, three are."""
    found = read_label(label)
    assert (found.phase, found.kv_tokens) == (phase, kv_tokens)


@pytest.mark.parametrize(
    "label",
    [
        "decode[bs=4/8 tok=4 d=4", "decode[tok=4 bs=4]", "decode[bs=8/]", "warm_decode[bs=4 tok=4]",
        "decode[bs=4 tok=4 ctx=[1,2]]", "d[req3, tok3, dec2, tok3, pre0, tok0, ext0, tok0]",
    ],
)  # fmt: skip
def test_what_is_no_label_of_atom_says_nothing(label: str) -> None:
    """Its words have one order, and its counts add up."""
    assert read_label(label) == StepLabel()


@pytest.mark.parametrize("label", ["draft[0/3 bs=8]", "dspark[bs=8 T=4]", "dspark_sched[bs=8]"])
def test_draft_passes_of_atom_have_no_batch(label: str) -> None:
    """They are parts of a step."""
    assert _said(label) == {"is_step": False, "phase": "draft", "engine": "ATOM"}


@pytest.mark.parametrize(
    ("label", "engine", "phase"),
    [
        ("Prefill", "Megatron-Core", "prefill"),
        ("AsyncOverlap", "Megatron-Core", "unknown"),
        ("forward_eager", "LMDeploy", "unknown"),
        ("forward_cudagraph", "LMDeploy", "decode"),
        ("gpu_model_runner: forward", "vLLM", "unknown"),
        ("decode step", "script", "decode"),
        ("prefill_step_3", "script", "prefill"),
        ("Prefill step 3", "script", "prefill"),
    ],
)
def test_labels_without_numbers_say_a_phase_or_a_bound(label: str, engine: str, phase: str) -> None:
    """No number is made of them."""
    assert _said(label) == {"is_step": True, "phase": phase, "engine": engine}


@pytest.mark.parametrize("label", ["decode_b4", "decode_bs4_input_length9", "decode_N9_B4"])
def test_a_length_beside_a_batch_of_decoding_is_no_number_of_tokens(label: str) -> None:
    """It may be that of the prompt or of the context."""
    said = {"is_step": True, "phase": "decode", "batch_size": 4, "engine": "script"}
    assert _said(label) == said


@pytest.mark.parametrize(
    ("label", "phase"),
    [
        ("decode", "decode"), ("prefill 2048", "prefill"), ("decode 3", "decode"),
        ("prefill_phase", "prefill"), ("decode_all", "decode"), ("decode loop", "decode"),
    ],
)  # fmt: skip
def test_a_plain_phase_is_no_single_step(label: str, phase: str) -> None:
    """It may be one, or all of them; its number may be anything."""
    assert _said(label) == {"is_step": False, "phase": phase, "engine": "script"}


@pytest.mark.parametrize(
    "label",
    [
        "decode_step_7", "Decode/step_007", "Decode step 7", "decode-step-7", "DecodeToken7",
        "decode_token_7", "decode_step=7", "decode step #7", "token_7_generation",
    ],
)  # fmt: skip
def test_a_word_of_decoding_before_step_makes_an_index_of_the_number(label: str) -> None:
    """However people divide the words."""
    assert _said(label) == {
        "is_step": True, "phase": "decode", "step_index": 7, "engine": "script",
    }  # fmt: skip


@pytest.mark.parametrize(
    "label",
    [
        "", " ", "step_12", "Step 3", "iteration 7", "token_9_processing", "decoder.layers.3",
        "tokenizer.decode", "vae.decode", "decode_attention", "Decode_Attention", "pre-decode",
        "jpeg_decode bs=64", "predecode_step_3", "decode_step_3_of_9", "decode_step_3.5",
        "decode_steps_3", "execute_model", "execute_context_1(1)", "capture_8_graph", "Prefill ",
        "PrefillStep", "prefillstep", "DECODE_STEP_3", "bs=8", "prefill-chunk-3", "Forward",
        "{'Module': 'execute_context_0(0)_generation_1(1)'}", "[pl]decode_step_3", "##decode",
        "aten::decode", "\u0661", "execute_context_\u0661(1)_generation_0(0)",
        "decode_step_\u0663", "decode_step_\uff13",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_step_says_nothing(label: str) -> None:
    """Training, decoders of other things, parts of words, digits of other scripts."""
    assert read_label(label) == StepLabel()


def test_a_domain_may_stand_before_a_label() -> None:
    """As in paths; an at sign of a label's own does not hide it."""
    assert read_spelled_label(
        "TensorRT-LLM@[Executor] _forward_step: 1 ctx reqs, 0 gen reqs"
    ).is_step
    assert read_spelled_label("LLM@decode_all").phase == "decode"
    assert read_spelled_label("NCCL@execute_context_0(0)_generation_1(1)") == StepLabel()


def test_a_form_is_data() -> None:
    """Ways to a field are tried in order, and an equation may have to hold."""
    form = Form(
        r"x(?P<a>[0-9]+)(?:y(?P<b>[0-9]+))?(?:z(?P<c>[0-9]+))?",
        ByCounts("a", "a"),
        batch="a+b|a*a",
        kv="c",
        holds=("a=c",),
    )
    assert read_form(form, "x3y4", "e") == StepLabel(True, "mixed", 7, None, None, None, "e")
    assert read_form(form, "x3z3", "e") == StepLabel(True, "mixed", 9, None, 3, None, "e")
    assert read_form(form, "x3z4", "e") is None
