"""Questions of what was not measured are read, or refused with what would be one."""

from __future__ import annotations

import pytest

from nsightlens.advisor.answers import Question
from nsightlens.advisor.questions import parse_question, words_of
from nsightlens.errors import AdviceError


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("batch=160", Question(160.0)),
        ("batch=160,context=500,device=h200 nvl", Question(160.0, 500.0, "h200 nvl")),
        (" context = 4e3 , GPU = H100 SXM5 80GB ", Question(None, 4000.0, "H100 SXM5 80GB")),
        ("batch_size=1,context_length=1", Question(1.0, 1.0)),
    ],
)
def test_parts_come_in_any_order_and_spelling(text: str, question: Question) -> None:
    """Names are those of the command line and of the function."""
    assert parse_question(text) == question


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no part of a question"),
        ("160", "'160' is no part of a question: give batch=B"),
        ("batch", "'batch' is no part"),
        ("batch=", "'batch=' is no part"),
        ("batch=160,,", "'' is no part"),
        ("bach=160", "'bach=160' is no part"),
        ("batch=160,batch=170", "says batch twice"),
        ("device=a100,gpu=h100", "says gpu twice"),
        ("batch=many", "batch=many is no number from 1 to 10000000"),
        ("batch=-5", "batch=-5 is no number"),
        ("batch=0", "batch=0 is no number"),
        ("context=nan", "context=nan is no number"),
        ("context=1e99", "context=1e99 is no number"),
        ("batch=inf", "batch=inf is no number"),
    ],
)
def test_what_is_no_question_is_refused_with_its_form(text: str, words: str) -> None:
    """The message says which part, and what it could be."""
    with pytest.raises(AdviceError) as caught:
        parse_question(text)
    assert words in str(caught.value)


def test_a_question_is_said_in_words() -> None:
    """What is not asked is not said."""
    assert words_of(Question(160.0, 500.0, "h200 nvl")) == "batch 160, context 500, h200 nvl"
    assert words_of(Question(context_length=500.0)) == "context 500"
