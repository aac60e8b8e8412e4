"""Columns that leave the metrics package."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsightlens.metrics.columns import count_array


@pytest.mark.parametrize("value", [0.0, 7.0, 2.0**53, 2.0**63])
def test_a_count_is_kept(value: float) -> None:
    """Counts are whole numbers of up to 64 bits."""
    assert count_array(np.array([value])).to_pylist() == [int(value)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0, 0.5, 2.0**64, 1e300])
def test_what_is_no_count_is_missing(value: float) -> None:
    """A damaged report may say anything; none of it is turned into a number."""
    assert count_array(np.array([value])).to_pylist() == [None]
