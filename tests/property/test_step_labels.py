"""Labels of every engine, written from its format, are read as what was written; others are not.

The formats and what their numbers mean are written down here a second time, without regular
expressions, so that a slip in a grammar shows.
"""

from __future__ import annotations

import re
import sys
from itertools import combinations_with_replacement, permutations
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nsightlens.steps import StepLabel, read_label, read_path
from nsightlens.steps.label import read_spelled_label
from nsightlens.steps.model import LARGEST, STEP_PHASES

if TYPE_CHECKING:
    from collections.abc import Callable

Written = tuple[str, StepLabel]

COUNT = st.integers(0, 9) | st.integers(0, 10**6)
SIZE = st.integers(1, 9) | st.integers(1, 10**6)
NUMBERS = ("batch_size", "query_tokens", "kv_tokens", "step_index")


def _by_counts(prefill: int, decode: int) -> str:
    if prefill and decode:
        return "mixed"
    return "prefill" if prefill else "decode" if decode else "idle"


def _label(
    engine: str,
    phase: str,
    batch: int | None = None,
    query: int | None = None,
    kv: int | None = None,
    step: int | None = None,
) -> StepLabel:
    is_step = phase not in {"idle", "dummy", "draft"}
    return StepLabel(is_step, phase, batch, query, kv, step, engine)


@st.composite
def vllm(draw: st.DrawFn) -> Written:
    """Requests and tokens of context and generation."""
    c, g, ct, gt = (draw(COUNT) for _ in range(4))
    return (
        f"execute_context_{c}({ct})_generation_{g}({gt})",
        _label("vLLM", _by_counts(c, g), c + g, ct + gt),
    )


@st.composite
def vllm_detailed(draw: st.DrawFn) -> Written:
    """Tokens first, then both halves with sums."""
    c, g, a, b, e, f, *squares = (draw(COUNT) for _ in range(10))
    text = (
        f"execute_{a + e}_context_{c}(sq{a}sk{b}sqsq{squares[0]}sqsk{squares[1]})"
        f"_generation_{g}(sq{e}sk{f}sqsq{squares[2]}sqsk{squares[3]})"
    )
    return text, _label("vLLM", _by_counts(c, g), c + g, a + e, b + f)


@st.composite
def vllm_013(draw: st.DrawFn) -> Written:
    """New and cached requests."""
    new, cached = draw(COUNT), draw(COUNT)
    phase = _by_counts(new, cached)
    return f"execute_new_{new}_cached_{cached}", _label("vLLM", phase, new + cached)


@st.composite
def sglang(draw: st.DrawFn) -> Written:
    """A mode, a batch, and words in any order."""
    mode, phase = draw(
        st.sampled_from(
            [
                ("EXTEND", "prefill"),
                ("SPLIT_PREFILL", "prefill"),
                ("DLLM_EXTEND", "prefill"),
                ("DECODE", "decode"),
                ("TARGET_VERIFY", "decode"),
                ("VERIFY", "decode"),
                ("MIXED", "mixed"),
                ("IDLE", "idle"),
                ("PREBUILT", "idle"),
                ("DRAFT", "draft"),
                ("DRAFT_EXTEND", "draft"),
                ("DRAFT_EXTEND_V2", "draft"),
            ]
        )
    )
    bs, toks = draw(COUNT), draw(COUNT)
    sides = {"prefill": "c", "decode": "g", "mixed": "cg"}.get(phase, "")
    has_sums = draw(st.booleans())
    sums = {f"{side}_{key}": draw(COUNT) for side in sides for key in ("sq", "sk", "sqsq", "sqsk")}
    words = dict(sums) if has_sums else {}
    if draw(st.booleans()):
        words["forward_id"] = draw(COUNT)
    shown = draw(st.permutations([f"{key}={value}" for key, value in words.items()]))
    has_toks = mode == "EXTEND" and draw(st.booleans())
    text = " ".join([f"step[{mode} bs={bs}", *([f"toks={toks}"] if has_toks else []), *shown]) + "]"
    query = sum(sums[f"{s}_sq"] for s in sides) if has_sums and sides else None
    kv = sum(sums[f"{s}_sk"] for s in sides) if has_sums and sides else None
    if query is None:
        query = toks if has_toks else bs if mode == "DECODE" else None
    return text, _label("SGLang", phase, bs, query, kv)


@st.composite
def sglang_draft_loop(draw: st.DrawFn) -> Written:
    """The real batch beside the padded one."""
    real, padded, k = draw(COUNT), draw(COUNT), draw(COUNT)
    text = f"step[DRAFT_LOOP raw_bs={real} bs={padded} topk={k}]"
    return text, _label("SGLang", "draft", real)


@st.composite
def tensorrt_llm(draw: st.DrawFn) -> Written:
    """Three ages; tokens of context requests alone are those of the step."""
    c, ct, g, i = (draw(COUNT) for _ in range(4))
    age = draw(st.integers(0, 2))
    index = f" {i}" if age else ""
    tokens = f"{ct} ctx tokens, " if age == 2 else ""
    text = f"[Executor] _forward_step{index}: {c} ctx reqs, {tokens}{g} gen reqs"
    query = ct if age == 2 and c and not g else None
    expected = _label("TensorRT-LLM", _by_counts(c, g), c + g, query, None, i if age else None)
    return text, expected


@st.composite
def atom(draw: st.DrawFn) -> Written:
    """Of a graph or eager; real batch before the padded one."""
    bs, tok, p, d, k, sk = (draw(COUNT) for _ in range(6))
    size = f"bs={bs}" + draw(st.sampled_from(["", f"/{bs + 3}"])) + f" tok={tok}"
    has_sums = draw(st.booleans())
    sums = f" sqsq={k} sqsk={d} sk={sk}" if has_sums else ""
    kv = sk if has_sums else None
    end = sums + draw(st.sampled_from(["", " tbo=1"])) + "]"
    kind = draw(st.sampled_from(["decode", "eager_decode", "prefill", "dummy"]))
    if kind == "decode":
        has_p = draw(st.booleans())
        graph = (f" p={p}" if has_p else "") + f" d={d}" + draw(st.sampled_from(["", f" spec={k}"]))
        phase = "mixed" if has_p and p else "decode"
        return f"decode[{size}{graph}{end}", _label("ATOM", phase, bs, tok, kv)
    if kind == "dummy":
        name = draw(st.sampled_from(["dummy_decode", "dummy_eager_decode", "dummy_prefill"]))
        rest = f" d={d}" if name == "dummy_decode" else f" ctx={d}"
        return f"{name}[{size}{rest}{end}", _label("ATOM", "dummy", bs)
    contexts = draw(st.lists(COUNT, min_size=1, max_size=5))
    context, known = draw(
        st.sampled_from(
            [
                (f"[{', '.join(map(str, contexts))}]", sum(contexts)),
                (f"[{', '.join(map(str, contexts))}]...+{d}", None),
                (f"{contexts[0]}", contexts[0]),
            ]
        )
    )
    counted = 1 if not context.startswith("[") else len(contexts)
    total = known if counted == bs else None
    phase = "decode" if kind == "eager_decode" else "prefill"
    kv = sk if has_sums else total
    return f"{kind}[{size} ctx={context}{end}", _label("ATOM", phase, bs, tok, kv)


@st.composite
def others(draw: st.DrawFn) -> Written:
    """Engines with few numbers."""
    n, t = draw(COUNT), draw(COUNT)
    mlc, gap = "MLC-LLM", "vLLMBatchingMemoryGap"
    return draw(
        st.sampled_from(
            [
                (f"BatchDecode num_seqs={n}", _label(mlc, "decode", n)),
                (f"BatchTreeDecode num_seqs={n}", _label(mlc, "decode", n)),
                (f"BatchPrefill num_seq={n} total_len={t}", _label(mlc, "prefill", n, t)),
                (f"BatchVerify num_tokens={t}", _label(mlc, "decode", None, t)),
                (f"PrefillStep{n}", _label(gap, "prefill", None, None, None, n)),
                (f"DecodeStep{n}", _label(gap, "decode", None, None, None, n)),
                (f"decode_step_{n}", _label("script", "decode", None, None, None, n)),
                (f"prefill_bs{n}_input_length{t}", _label("script", "prefill", n, n * t)),
                (f"capture_graph_bs_{n}", _label("ATOM", "capture", n)),
                (f"capture_{n}_PIECEWISE", _label("vLLM", "capture", None, n)),
            ]
        )
    )


ENGINES: list[Callable[[], st.SearchStrategy[Written]]] = [
    vllm, vllm_detailed, vllm_013, sglang, sglang_draft_loop, tensorrt_llm, atom, others,
]  # fmt: skip
WRITTEN = st.one_of(*(engine() for engine in ENGINES))
STRANGE = st.text(
    "xyzXYZ_:;(){}<>|#*+-,.!?\"'\u0660\u06f3\u0967\uff11\u00b2\u2013\u6b65\u200b", min_size=1
)


def _numbers(label: StepLabel) -> list[int]:
    return [value for name in NUMBERS if (value := getattr(label, name)) is not None]


@given(WRITTEN)
def test_a_label_is_read_as_it_was_written(written: Written) -> None:
    """Field by field, for every engine."""
    text, expected = written
    assert read_label(text) == expected


@given(WRITTEN, st.integers(0, 10**6))
def test_what_emit_nvtx_adds_changes_nothing(written: Written, number: int) -> None:
    """But a sequence number makes it an operator of autograd."""
    text, expected = written
    assert read_label(f"{text}, op_id = {number}") == expected
    sizes = ", sizes = [[64, 4096], []], input_op_ids = [(1,0), (2,1)]"
    assert read_label(f"{text}, op_id = {number}{sizes}") == expected
    assert read_label(text + sizes) == expected
    assert read_label(f"{text}, seq = {number}, op_id = {number}") == StepLabel()


@given(WRITTEN, STRANGE, st.data())
def test_a_label_inside_other_text_is_none(
    written: Written, strange: str, data: st.DataObject
) -> None:
    """Before it, behind it or in the midst of it."""
    text, expected = written
    place = data.draw(st.integers(0, len(text)))
    found = read_label(text[:place] + strange + text[place:])
    # People write DecodeStep3 with a sign in it, and mean the same.
    assert _numbers(found) == [] or (found.engine == "script" and found.engine != expected.engine)
    assert _numbers(read_label(f"{text} {strange}")) == []
    assert _numbers(read_label(f"{strange} {text}")) == []


@given(WRITTEN)
def test_a_doubled_a_cut_and_a_blank_label_are_none(written: Written) -> None:
    """The whole text has to be one label."""
    text, _ = written
    for changed in (
        text + text,
        f"{text} {text}",
        f" {text}",
        f"{text} ",
        f"{text}\n",
        f"\t{text}",
    ):
        assert read_label(changed) == StepLabel()
    if not text[-1].isdigit():
        assert _numbers(read_label(text[:-1])) == []
    assert _numbers(read_label(text[1:])) == []


@given(WRITTEN, st.text("0123456789", min_size=1, max_size=25), st.data())
def test_no_number_is_read_that_the_text_does_not_carry(
    written: Written, digits: str, data: st.DataObject
) -> None:
    """Digits written into a label change its numbers to such as can be made of its digits."""
    text, _ = written
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + digits + text[place:]
    found = read_label(changed)
    carried = {int(one) for one in re.findall("[0-9]+", changed)}
    sums = {sum(some) for n in (1, 2, 3, 5) for some in combinations_with_replacement(carried, n)}
    products = {a * b for a in carried for b in carried}
    assert set(_numbers(found)) <= sums | products
    assert all(0 <= number <= LARGEST for number in _numbers(found))


@given(st.sampled_from(["BatchDecode num_seqs={}", "PrefillStep{}", "step[DECODE bs={}]"]), COUNT)
def test_a_number_of_more_than_18_digits_is_no_number(form: str, count: int) -> None:
    """No column would hold it."""
    assert read_label(form.format(LARGEST)) != StepLabel()
    assert read_label(form.format(10**18 + count)) == StepLabel()
    assert read_label(form.format("0" * 18 + str(count))) == StepLabel()


def test_a_sum_that_is_too_large_is_not_given() -> None:
    """Both of its numbers are small enough."""
    found = read_label(f"execute_context_1({LARGEST})_generation_1(1)")
    assert (found.batch_size, found.query_tokens) == (2, None)


@pytest.mark.parametrize("word", ["c_sq", "c_sk", "c_sqsq", "c_sqsk", "toks", "bs"])
def test_a_word_that_is_there_twice_leaves_no_label(word: str) -> None:
    """Which of them counts is not known."""
    assert read_label(f"step[EXTEND bs=2 toks=9 {word}=1 {word}=2]") == StepLabel()


def test_the_words_of_sglang_may_stand_in_any_order() -> None:
    """Their order differs between modes and versions."""
    words = ("c=1", "g=1", "c_sq=5", "c_sk=8", "g_sq=1", "g_sk=12")
    expected = _label("SGLang", "mixed", 2, 6, 20)
    for order in permutations(words):
        assert read_label(f"step[MIXED bs=2 {' '.join(order)}]") == expected


@given(WRITTEN, st.sampled_from(["NCCL", "CCCL", "TensorRT", "lmcache", "DeepSpeed", "nsightlens"]))
def test_the_domain_of_a_library_has_no_steps_of_an_engine(written: Written, domain: str) -> None:
    """Whatever the text looks like."""
    assert read_label(written[0], domain) == StepLabel()


@given(WRITTEN)
def test_only_tensorrt_llm_has_a_domain_of_its_own(written: Written) -> None:
    """The others make their ranges in the default one."""
    text, expected = written
    found = read_label(text, "TensorRT-LLM")
    assert found == (expected if expected.engine == "TensorRT-LLM" else StepLabel())


@given(st.text() | st.text(st.characters()), st.text())
@example("0" * 100_000, "")
@example("step[" + "a=1 " * 50_000, "")
@example(", sizes = [" * 20_000, "")
@example("a_" * 50_000 + "decode_context_", "")
@example("ctx=[" + "1, " * 50_000, "")
def test_no_text_raises(text: str, domain: str) -> None:
    """Names of ranges may hold anything."""
    for found in (read_label(text, domain), read_label(text), read_spelled_label(text)):
        assert found.phase is None or found.phase in STEP_PHASES
        assert found.is_step <= (found.phase is not None)
        assert (found.engine is None) == (found.phase is None)
    assert read_path(f"{domain}@{text}") is not None


@given(WRITTEN, st.text("abc/;@", max_size=8), st.text("abc/;@", max_size=8))
def test_a_label_in_a_path_is_found_between_other_ranges(
    written: Written, before: str, behind: str
) -> None:
    """A slash in the label itself does not divide it."""
    text, expected = written
    assume(";" not in before and "@" not in before)
    found = read_path(f"{before}/{text}/{behind}")
    served = expected.is_step and expected.phase != "capture"
    assert found.batch_size == ((expected.batch_size or None) if served else None)
    assert found.query_tokens == (expected.query_tokens if served else None)


def test_reading_has_no_limit_on_the_depth_of_recursion() -> None:
    """A path of very many ranges is a long loop."""
    path = "/".join(["a"] * (10 * sys.getrecursionlimit()) + ["step[DECODE bs=3]"])
    assert read_path(path).batch_size == 3
