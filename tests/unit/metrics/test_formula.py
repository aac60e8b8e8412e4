from __future__ import annotations

import numpy as np
import pytest

from nsightlens.metrics.formula import Formula, formula, metrics_of

NUMBERS = {
    "a.sum": np.array([1.0, 2.0, np.nan]),
    "b.sum": np.array([10.0, 0.0, 5.0]),
    "breakdown:c.avg": np.array([4.0, 4.0, 4.0]),
}


def evaluate(text: str) -> list[float]:
    return [float(value) for value in Formula(text).evaluate(NUMBERS.__getitem__, 3)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a.sum", 1.0),
        ("a.sum + b.sum", 11.0),
        ("a.sum + 2 * b.sum", 21.0),
        ("(a.sum + 2) * b.sum", 30.0),
        ("b.sum - a.sum - a.sum", 8.0),
        ("b.sum / a.sum / 2", 5.0),
        ("100 - breakdown:c.avg", 96.0),
        ("((a.sum))", 1.0),
        ("a.sum * 1e9", 1e9),
        ("a.sum*0.5", 0.5),
        ("2 * (a.sum + b.sum) / (a.sum + 1)", 11.0),
    ],
)
def test_a_formula_means_what_it_reads(text: str, first: float) -> None:
    """Precedence, parentheses and order of subtraction are those of arithmetic."""
    assert evaluate(text)[0] == first


def test_a_sum_with_a_missing_addend_is_missing() -> None:
    """An absent addend is not zero."""
    assert np.isnan(evaluate("a.sum + b.sum")[2])


def test_a_division_by_zero_is_missing() -> None:
    """No infinity leaves a formula."""
    assert np.isnan(evaluate("a.sum / b.sum")[1])
    assert np.isnan(evaluate("b.sum / b.sum")[1])


def test_zero_is_a_value() -> None:
    """A counter that counted nothing is known to be zero."""
    assert evaluate("b.sum * 2")[1] == 0.0


def test_the_metrics_of_formulas_are_listed_once_in_order() -> None:
    """What a formula needs can be asked for."""
    assert metrics_of(["b.sum + a.sum * b.sum", "a.sum / 32"]) == ("b.sum", "a.sum")


def test_a_text_is_compiled_once() -> None:
    """The same text is the same object."""
    assert formula("a.sum + 1") is formula("a.sum + 1")


@pytest.mark.parametrize(
    "text",
    ["", "  ", "a.sum +", "+ a.sum", "a.sum b.sum", "(a.sum", "a.sum)", "a.sum $ 2", "()", "2 (3)"],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    """A slip in the catalog shows when it is compiled, with the text."""
    with pytest.raises(ValueError, match="not a formula"):
        Formula(text)
