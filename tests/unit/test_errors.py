"""Errors keep what they say on the way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from nsightlens import errors

SAMPLES = [
    errors.NsightLensError("why"),
    errors.ReportNotFoundError("a.ncu-rep: there is no such file."),
    errors.TruncatedReportError("a", "ends early", "Copy it.", offset=8, where=["block 3"]),
    errors.MissingMetricError("dram__byte", nearest=["dram__bytes"], advice="Look."),
    errors.MissingExtraError("fsspec URLs", package="fsspec", extra="fsspec"),
    errors.OutputExistsError("out.json"),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_that_was_pickled_says_the_same(error: errors.NsightLensError) -> None:
    """Its class, its message and its facts."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.args == error.args
    assert vars(copy) == vars(error)
