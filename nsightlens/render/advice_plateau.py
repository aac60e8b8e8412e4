"""Where throughput stops to grow, as sentences: the fitted law, and what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.advice_words import batch_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.advisor.answers import Fit, Plateau

__all__ = ["METHODS", "fit_differs", "plateau_sentences"]

METHODS = {"relative": "least relative error", "milliseconds": "least error in ms"}
"""What a method of `Fit` is called."""

FITS_DIFFER = 0.05
"""[1] Fits whose numbers are further apart than this part of them are both told."""


def fit_differs(one: Fit, other: Fit | None) -> bool:
    """Return whether another fit says something else, by more than `FITS_DIFFER`."""
    if other is None:
        return True
    pairs = [(one.t0_ms, other.t0_ms), (one.a_ms, other.a_ms)]
    if one.knee is not None and other.knee is not None:
        pairs.append((one.knee, other.knee))
    elif one.knee is not other.knee:
        return True
    return any(abs(a - b) > FITS_DIFFER * abs(a) for a, b in pairs)


def plateau_sentences(plateau: Plateau) -> Iterator[str]:
    """Yield where throughput stops to grow: the law or why it does not hold, then the measured."""
    if plateau.fit is not None:
        yield _fit_sentence(plateau.fit)
        if fit_differs(plateau.fit, plateau.other_fit):
            yield _other_sentence(plateau.fit, plateau.other_fit)
    elif plateau.refused is None:
        yield "No knee is known."
    if plateau.refused is not None:
        yield plateau.refused.text
    measured = _shares(plateau.batch_at_90, plateau.batch_at_95)
    if plateau.best_batch is not None:
        rate = plateau.best_throughput_tok_s
        words = "" if rate is None else f" ({numbers.significant(rate)} token/s)"
        measured.append(f"the best at {batch_words(plateau.best_batch)}{words}")
    if measured:
        yield f"Measured: {', '.join(measured)}."
    yield _REACHED[plateau.is_plateau_reached]


def _shares(at_90: float | None, at_95: float | None) -> list[str]:
    of_best = "% of the best throughput from batch size"
    if at_90 is not None and at_90 == at_95:
        return [f"90 and 95 {of_best} {batch_words(at_90)} on"]
    found = [] if at_90 is None else [f"90 {of_best} {batch_words(at_90)} on"]
    if at_95 is not None:
        found.append(f"95 {'% from' if found else of_best} {batch_words(at_95)} on")
    return found


_REACHED = {
    True: "The plateau is reached.",
    False: "The plateau is not reached: throughput still grows at the largest batch sizes.",
    None: "Whether the plateau is reached is not known: too few batch sizes.",
}


def _fit_sentence(fit: Fit) -> str:
    interval = ""
    if fit.knee_low is not None and fit.knee_high is not None:
        ends = f"{numbers.significant(fit.knee_low)} to {numbers.significant(fit.knee_high)}"
        interval = f" (95 %: {ends})"
    of = {"running": "running sequences", "nominal": "sequences as set"}[fit.over]
    knee = "No knee"
    if fit.knee is not None:
        knee = f"Knee at {numbers.significant(fit.knee)} {of}{interval}"
    mean, most = numbers.percent(fit.mean_error_pct), numbers.percent(fit.max_error_pct)
    quality = [f"error {mean} % on average, {most} % at most"]
    if fit.r2 is not None:
        quality.append(f"R2 {fit.r2:.4f}")
    return (
        f"{knee}: {_law(fit)}, by {METHODS[fit.method]} over "
        f"{numbers.counted(fit.row_count, 'row')}; {', '.join(quality)}."
    )


def _other_sentence(fit: Fit, other: Fit | None) -> str:
    if other is None:
        name = next(words for method, words in METHODS.items() if method != fit.method)
        return f"By {name} the law does not hold."
    knee = "no knee" if other.knee is None else f"the knee is at {numbers.significant(other.knee)}"
    return f"By {METHODS[other.method]} {knee}: {_law(other)}."


def _law(fit: Fit) -> str:
    return f"ITL = {numbers.significant(fit.t0_ms)} ms + {numbers.significant(fit.a_ms)} ms x B"
