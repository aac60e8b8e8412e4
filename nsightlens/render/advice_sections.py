"""What advice consists of, part by part, for text and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.render.advice_plateau import plateau_sentences
from nsightlens.render.advice_words import cost_sentence, neighbour_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.advisor.answers import Advice, MemoryAdvice, Prediction

__all__ = ["AdvicePart", "advice_parts"]


class AdvicePart(NamedTuple):
    """One part of the page.

    Parameters
    ----------
    key
        Names it in code, such as ``memory``.
    word
        Stands before it in the text.
    title
        Heading of it in Markdown.
    sentences
        What it says.
    is_list
        Whether each sentence stands for itself.
    most
        Sentences that the page of text shows.
    commands
        Lines to be copied.
    """

    key: str
    word: str
    title: str
    sentences: tuple[str, ...]
    is_list: bool = False
    most: int = 99
    commands: tuple[str, ...] = ()


def advice_parts(advice: Advice) -> list[AdvicePart]:
    """Return the parts that say something, in the order in which they are read."""
    return [part for part in _parts(advice) if part.sentences or part.commands]


def _parts(advice: Advice) -> Iterator[AdvicePart]:
    choice = advice.choice
    yield AdvicePart("binding", "binds", "What binds", (choice.binding_text,))
    for key, title, one in (
        ("smaller", "The next smaller", choice.smaller),
        ("larger", "The next larger", choice.larger),
    ):
        sentence = neighbour_sentence(one, choice)
        yield AdvicePart(key, key, title, () if sentence is None else (sentence,))
    yield AdvicePart(
        "plateau", "plateau", "Where throughput stops to grow",
        tuple(plateau_sentences(advice.plateau)),
    )  # fmt: skip
    yield AdvicePart("memory", "memory", "Memory", tuple(_memory(advice.memory)))
    yield _replicas(advice)
    why = (advice.why.text,) if advice.why.text else ("Not known.",)
    yield AdvicePart("why", "why", "Why", why)
    yield AdvicePart("reasons", "reasons", "Reasons", _other_reasons(advice), is_list=True, most=0)
    costs = tuple(cost_sentence(one) for one in advice.costs)
    yield AdvicePart("costs", "step costs", "What steps cost", costs, is_list=True, most=2)
    predicted = tuple(_predicted(one) for one in advice.predictions)
    yield AdvicePart(
        "predictions", "predicted", "Predicted, not measured", predicted, is_list=True, most=3
    )
    confidence = f"{advice.confidence[:1].upper()}{advice.confidence[1:]}. {advice.confidence_text}"
    yield AdvicePart("confidence", "confidence", "Confidence", (confidence.strip(),))
    yield from _lists(advice)


def _lists(advice: Advice) -> Iterator[AdvicePart]:
    yield AdvicePart(
        "would_change", "changed by", "What would change the answer", advice.would_change,
        is_list=True, most=3,
    )  # fmt: skip
    warnings = tuple(dict.fromkeys(one.text for one in advice.warnings))
    yield AdvicePart("warnings", "warnings", "Warnings", warnings, is_list=True, most=3)
    lacking = tuple(f"{one.what}, for {one.enables}" for one in advice.lacking)
    yield AdvicePart("lacking", "missing", "What is missing", lacking, is_list=True, most=3)


def _memory(memory: MemoryAdvice | None) -> Iterator[str]:
    if memory is None:
        return
    if memory.kv_given_back_gib == 0:
        yield "Nothing to give back: 0 GiB."
    yield memory.text or f"Not known without {', '.join(memory.missing) or 'the KV pool'}."


def _replicas(advice: Advice) -> AdvicePart:
    replicas = advice.replicas
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    if replicas is not None:
        text = replicas.text or f"Not known without {', '.join(replicas.missing) or 'the KV pool'}."
        sentences = (text, *replicas.comparisons)
        if replicas.recommended > 1:
            commands = tuple(line for one in replicas.commands for line in one.splitlines())
    return AdvicePart(
        "replicas", "replicas", "Several servers on the GPU", sentences, most=4, commands=commands
    )


def _other_reasons(advice: Advice) -> tuple[str, ...]:
    """Return the reasons that no other part gives."""
    said = {advice.choice.binding_text, advice.why.text}
    said |= {part.text for part in (advice.memory, advice.replicas) if part is not None}
    if advice.plateau.refused is not None:
        said.add(advice.plateau.refused.text)
    return tuple(reason for reason in advice.reasons if reason and reason not in said)


def _predicted(prediction: Prediction) -> str:
    """Return a prediction that cannot be taken for a measurement."""
    text = prediction.text
    if not text.casefold().startswith("predicted"):
        text = f"Predicted: {text}" if text else f"Predicted for {prediction.question}: not known."
    return f"{text}{_backtest(text, prediction)}"


def _backtest(text: str, prediction: Prediction) -> str:
    """Say how good predictions of this kind were, unless the sentence does."""
    mean, most = prediction.backtest_mean_error_pct, prediction.backtest_max_error_pct
    if mean is None or _says(text, ("back-test", "backtest", "leave one out", "left out")):
        return ""
    worst = "" if most is None else f", {most:.1f} % at most"
    return f" Back-test on the measured points: error {mean:.1f} % on average{worst}."


def _says(text: str, words: Sequence[str]) -> bool:
    return any(word in text.casefold() for word in words)
