"""What holds of every comparison, whatever was measured."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sides import report_in, timed

from nsightlens import compare
from nsightlens.comparison.noise import student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.comparison import Comparison

_MIRRORED = {
    "improved": "regressed", "regressed": "improved", "added": "removed", "removed": "added",
    "indistinguishable": "indistinguishable", "not_comparable": "not_comparable",
}  # fmt: skip
_LAUNCH = st.tuples(
    st.one_of(st.none(), st.integers(100, 10**7).map(lambda n: 32.0 * n)),
    st.sampled_from(["axpy", "gemm_64x8", "gemm_128x8", "flash_fwd_kernel", "unheard_of"]),
    st.sampled_from([(64, 1, 1), (132, 1, 1)]),
)
LAUNCHES = st.lists(_LAUNCH, max_size=6)
# A report is written and read for each side of each example.
few = settings(max_examples=8)


def _compared(*sides: Sequence[Any], by: Any = "launch") -> Comparison:
    with tempfile.TemporaryDirectory() as folder:
        reports = [
            report_in(
                Path(folder),
                [timed(ns, name, grid=grid) for ns, name, grid in launches],
                f"{i}.ncu-rep",
            )
            for i, launches in enumerate(sides)
        ]
    return compare(reports[0], reports[-1], by=by)


@few
@given(LAUNCHES, st.sampled_from(["launch", "kernel", "family"]))
def test_a_report_compared_with_itself_has_no_change(launches: list[Any], by: str) -> None:
    """Nothing is added or removed, and every known duration is indistinguishable."""
    rows = _compared(launches, by=by).rows.to_pylist()
    for row in rows:
        known = row["base_duration_ns"] is not None
        assert row["verdict"] == ("indistinguishable" if known else "not_comparable")
        assert row["duration_change_pct"] == (0.0 if known else None)
        assert row["base_launch_id"] == row["new_launch_id"]


@few
@given(LAUNCHES, LAUNCHES, st.sampled_from(["launch", "kernel", "family"]))
def test_base_and_new_may_change_places(one: list[Any], other: list[Any], by: str) -> None:
    """Improved becomes regressed, added becomes removed; the noise stays as it is."""
    forth, back = _compared(one, other, by=by), _compared(other, one, by=by)
    assert sorted(_mirror(row) for row in forth.rows.to_pylist()) == sorted(
        _seen(row) for row in back.rows.to_pylist()
    )
    assert _MIRRORED[forth.total.verdict] == back.total.verdict


def _seen(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["verdict"], str(row["base_launch_id"]), str(row["new_launch_id"]),
            str(row["duration_noise_pct"])[:9], row["matched_by"] or "")  # fmt: skip


def _mirror(row: dict[str, Any]) -> tuple[Any, ...]:
    swapped = {"base_launch_id": row["new_launch_id"], "new_launch_id": row["base_launch_id"]}
    return _seen({**row, **swapped, "verdict": _MIRRORED[row["verdict"]]})


@few
@given(LAUNCHES.filter(len), st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_scaling_every_duration_gives_that_factor(launches: list[Any], factor: float) -> None:
    """In every row, and in the total."""
    scaled = [(None if ns is None else ns * factor, *rest) for ns, *rest in launches]
    comparison = _compared(launches, scaled)
    changes = comparison.rows["duration_change_pct"].to_pylist()
    expected = [None if ns is None else pytest.approx(100 * (factor - 1)) for ns, *_ in launches]
    assert changes == expected
    if any(ns is not None for ns, *_ in launches):
        assert comparison.total.duration_change_pct == pytest.approx(100 * (factor - 1))
        assert comparison.total.verdict == ("improved" if factor < 1 else "regressed")


@few
@given(st.permutations([(3.2e4 * i, f"kernel_{i}", (i, 1, 1)) for i in range(1, 6)]))
def test_the_order_of_launches_that_differ_does_not_count(launches: list[Any]) -> None:
    """They are matched by what they are."""
    rows = _compared(sorted(launches), launches).rows.to_pylist()
    assert {row["verdict"] for row in rows} == {"indistinguishable"}
    assert {row["duration_change_pct"] for row in rows} == {0.0}


@few
@given(st.lists(st.floats(0.98, 1.02), min_size=1, max_size=6))
def test_what_differs_by_less_than_the_band_is_indistinguishable(factors: list[float]) -> None:
    """3 percent, where there are no repeats."""
    base = [(1e6, f"kernel_{i}", (8, 1, 1)) for i in range(len(factors))]
    new = [(ns * f, *rest) for (ns, *rest), f in zip(base, factors, strict=True)]
    rows = _compared(base, new).rows["verdict"].to_pylist()
    assert set(rows) == {"indistinguishable"}


@few
@given(LAUNCHES, LAUNCHES)
def test_no_launch_is_dropped_or_shown_twice(one: list[Any], other: list[Any]) -> None:
    """Each is in exactly one row, and each row has a key of its own."""
    rows = _compared(one, other).rows.to_pylist()
    for side, launches in (("base", one), ("new", other)):
        ids = [row[f"{side}_launch_id"] for row in rows if row[f"{side}_launch_id"] is not None]
        assert sorted(ids) == list(range(len(launches)))
    assert len({row["key"] for row in rows}) == len(rows)


@given(st.integers(1, 200), st.floats(1.0, 99.9))
def test_quantiles_grow_with_confidence_and_shrink_with_repeats(
    freedom: int, confidence_pct: float
) -> None:
    """As they do in the tables."""
    found = student_quantile(freedom, confidence_pct)
    assert student_quantile(freedom, min(99.95, confidence_pct + 0.04)) > found
    assert student_quantile(freedom + 1, confidence_pct) < found
