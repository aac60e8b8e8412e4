"""Labels that no form was written for: what is read agrees with what was expected beforehand.

``labels_for_generalisation.tsv`` holds labels as engines, libraries and scripts would write them,
by their format strings and the names around those, with what they should say. Its first 354 were
written before the forms were looked at; 350 of them were read right in every field, and no number
wrong. The next 143 and 115 look for what those forms lack: 125 and 102 were right. Forms in
general terms brought the rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.steps import read_label
from nsightlens.steps.agreement import read_expectations, step_measures
from nsightlens.steps.grammars import GRAMMARS

if TYPE_CHECKING:
    from nsightlens.steps.form import Form

LABELS = Path(__file__).with_name("labels_for_generalisation.tsv")
FORMS = {form.pattern: form for grammar in GRAMMARS for form in grammar.forms}


def test_every_label_is_right_in_every_field() -> None:
    """A number that is not expected is wrong; so is one that is expected and not read."""
    lines = LABELS.read_text(encoding="utf-8").split("\n")
    measures = step_measures(list(read_expectations(str(LABELS), lines)))
    differing = [one for one in measures if one.measure in {"wrong_number", "differs"}]
    assert differing == []
    share = next(one for one in measures if one.measure == "labels")
    assert (share.right_count or 0) >= 600


@pytest.mark.parametrize("form", FORMS.values())
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_a_form_matches_is_read(form: Form, data: st.DataObject) -> None:
    """No text that fits a pattern has a group which is no number."""
    label = data.draw(st.from_regex(form.pattern, fullmatch=True))
    assert read_label(label).batch_size is None or read_label(label).phase is not None


@pytest.mark.parametrize(
    ("label", "batch_size"),
    [("dummy_prefill[bs=2 tok=64 ctx=[32, 32]]", 2), ("dummy_eager_decode[bs=1 tok=1 ctx=[1]]", 1)],
)
def test_a_dummy_pass_may_list_its_contexts(label: str, batch_size: int) -> None:
    """Only its batch is read."""
    found = read_label(label)
    assert (found.phase, found.batch_size, found.kv_tokens) == ("dummy", batch_size, None)
