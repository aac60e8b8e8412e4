"""NVTX filters: written so that ncu finds what is meant, and refused where it would not."""

from __future__ import annotations

import re

import pytest

from nsightlens import annotate
from nsightlens.errors import FilterError
from nsightlens.harness.nvtx_filter import (
    check_expression,
    check_filters,
    range_expression,
    step_expression,
)


def _texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what `annotate.step` names steps of several batch sizes, phases and contexts."""
    texts: list[str] = []

    class Recorder:
        def push(self, text: str) -> None:
            texts.append(text)

        def pop(self) -> None:
            pass

    monkeypatch.setattr(annotate, "_is_asked", True)
    monkeypatch.setattr(annotate, "_domain", Recorder())
    for batch_size in (None, 1, 16, 101):
        for context in (None, 1, 500):
            for phase in ("decode", "prefill"):
                with annotate.step(phase, batch_size, context, 1 if context else None):
                    pass
    return texts


@pytest.mark.parametrize("batch_size", [None, 1, 16])
@pytest.mark.parametrize("phase", [None, "decode"])
def test_the_expression_of_a_step_finds_its_steps_and_no_others(
    phase: str | None, batch_size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch size 1 is not found in 16; the search is not anchored but for what the text says."""
    expression = step_expression(phase, batch_size)
    domain, _, name = expression.removeprefix("regex:").removesuffix("/").partition("@")
    assert re.search(domain, annotate.DOMAIN)
    assert not re.search(domain, "nsightlens2")
    for text in _texts(monkeypatch):
        words = text.split()
        is_meant = (phase is None or f"phase={phase}" in words) and (
            batch_size is None or f"batch_size={batch_size}" in words
        )
        assert bool(re.search(name, text)) == is_meant, text


def test_an_operation_is_no_step() -> None:
    """The ranges of `annotate.op` are within steps, and open none."""
    name = step_expression().removesuffix("/").partition("@")[2]
    assert not re.search(name, "op v1 name=qkv flop=1.0")


@pytest.mark.parametrize(("phase", "batch_size"), [("decoding", 1), ("decode", 0), ("", None)])
def test_a_step_that_cannot_be_is_refused(phase: str, batch_size: int | None) -> None:
    """A filter that can match nothing is a slip."""
    with pytest.raises(FilterError, match=r"phase|whole number"):
        step_expression(phase, batch_size)


@pytest.mark.parametrize(
    ("name", "domain", "expression"),
    [
        ("step", None, "step/"),
        ("step", "engine", "engine@step/"),
        ("a/b", None, r"a\/b/"),
        ("[Executor] a, b", "TensorRT-LLM", r"TensorRT-LLM@\[Executor\] a\, b/"),
        ("me@home 2*3+1", "a@b", r"a\@b@me\@home 2\*3\+1/"),
        ("regex:x", None, "regex:^regex:x$/"),
        ("C:\\x/y", "d.e", r"regex:^d\.e$@^C:\\x\/y$/"),
        ("cost (a|b)$", None, "cost (a|b)$/"),
    ],
)
def test_a_name_is_escaped_as_ncu_wants_it(name: str, domain: str | None, expression: str) -> None:
    """What ncu gives a meaning is escaped, and what it does not is left as it is."""
    assert range_expression(name, domain=domain) == expression
    check_expression(expression)


def test_the_kind_and_the_place_of_a_range_are_spelt_out() -> None:
    """A slash for ranges of a stack, none for those with a handle; brackets for its ends."""
    assert range_expression("a", kind="start_end") == "a"
    assert range_expression("a", position="bottom") == "[a"
    assert range_expression("a", position="top", domain="d") == "d@a]"
    with pytest.raises(FilterError, match="no top of a stack"):
        range_expression("a", kind="start_end", position="top")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("^execute_context_0", "regex:^execute_context_0/"),
        ("a/b", r"regex:a\/b/"),
        (r"a\/b", r"regex:a\/b/"),
        ("[ab]c", "regex:(?:[ab]c)/"),
        ("step_[0-9]", "regex:(?:step_[0-9])/"),
    ],
)
def test_a_regular_expression_reaches_the_search_as_it_is(text: str, expression: str) -> None:
    """A slash in it ends no range, and a class at its end is no end of the stack."""
    assert range_expression(text, is_regex=True) == expression
    check_expression(expression)


@pytest.mark.parametrize(("name", "domain"), [("", None), ("a", "")])
def test_a_range_without_a_name_cannot_be_asked_for(name: str, domain: str | None) -> None:
    """There is no filter of ncu for unnamed ranges."""
    with pytest.raises(FilterError, match="empty"):
        range_expression(name, domain=domain)


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("", "names no range"),
        ("/", "names no range"),
        ("@a/", "names no range"),
        ("a//b", "names no range"),
        ("engine@regex:step.*/", r"Write 'regex:\^engine\$@step\.\*/'"),
        ("regex:a@regex:b/", "Write"),
        ("a/regex:b", "very beginning"),
        ("A@a/,B@b/", "two domains"),
        ("A@B@a/", "two domains"),
        ("a/,b", "a comma is for ranges with a start and an end"),
        ("regex:[ab]c/", "bracket at either end"),
        ("regex:step_[0-9]", "bracket at either end"),
    ],
)
def test_what_ncu_would_misread_is_refused_with_a_way_out(expression: str, advice: str) -> None:
    """It takes all but the doubled domain without a word, and finds nothing or something else."""
    with pytest.raises(FilterError, match=advice):
        check_expression(expression)


@pytest.mark.parametrize(
    "expression",
    ["a", "a/", "a,b", "a/b", "[a/*/b]", "a/+/b", "D@a/", r"a\,b/", r"regex:^a\/b$/", "regex:[a.*",
     "regex:step_[0-9]/", "regex:^[ab]c/", "regex:^D$@a, b/"],
)  # fmt: skip
def test_what_ncu_reads_as_it_is_meant_passes(expression: str) -> None:
    """Its own words stay possible."""
    check_expression(expression)


def test_a_filter_without_nvtx_is_refused() -> None:
    """So does ncu, after the target was started by hand."""
    with pytest.raises(FilterError, match="add --nvtx"):
        check_filters(["a/"], has_nvtx=False)
    with pytest.raises(FilterError, match="--nvtx-exclude"):
        check_filters([], ["a/"], has_nvtx=False)
    check_filters(["a/"], ["b"])
    with pytest.raises(FilterError, match="names no range"):
        check_filters([], ["/"])
