"""Labels along the batch size: side by side, and in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from support.labels import labels_of, sweep

from nsightlens.render.style import Style
from nsightlens.render.sweep import sweep_findings, sweep_lines
from nsightlens.render.sweep_series import series_of


def _one(*rows: dict[str, Any]) -> str:
    changes = [{"batch_size": 2**i, "key": str(i), **row} for i, row in enumerate(rows)]
    (finding,) = sweep_findings(series_of(labels_of(*changes).to_pydict()))
    return finding


def test_families_stand_side_by_side_where_they_fit() -> None:
    """One line per batch size."""
    lines = sweep_lines(series_of(sweep().to_pydict()), Style(80))
    assert lines[0].split() == ["attention/decode", "gemm"]
    assert len(lines) == 2 + 5
    assert lines[-1].split() == [
        "512", "memory", "saturated", "0.994", "91", "compute", "balanced", "512", "47",
    ]  # fmt: skip


def test_families_stand_below_each_other_where_they_do_not() -> None:
    """Nothing is left out for want of width."""
    lines = sweep_lines(series_of(sweep().to_pydict()), Style(50))
    assert len(lines) == 2 * 7 + 1
    assert all(len(line) <= 50 for line in lines)


def test_too_many_batch_sizes_are_thinned_with_a_word() -> None:
    """Both ends stay."""
    lines = sweep_lines(series_of(sweep(tuple(range(1, 101))).to_pydict()), Style(80))
    assert len(lines) == 2 + 24 + 1
    assert (lines[2].split()[0], lines[25].split()[0]) == ("1", "100")
    assert lines[-1] == "24 of 100 batch sizes"


def test_a_family_seen_at_one_batch_size_is_no_series() -> None:
    """There is nothing to compare."""
    assert series_of(sweep((8,)).to_pydict()) == []
    assert sweep_lines([], Style(80)) == []


def test_a_batch_size_at_which_a_family_was_not_seen_is_a_gap() -> None:
    """Not a zero."""
    rows = labels_of(
        {"batch_size": 1}, {"batch_size": 2}, {"batch_size": 4, "family": "gemm"},
        {"batch_size": 2, "family": "gemm"},
    ).to_pydict()  # fmt: skip
    lines = sweep_lines(series_of(rows), Style(100))
    assert lines[2].split()[5:] == ["-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (["memory"] * 3, "memory-bound at every batch size and saturated"),
        (["memory", "memory", "compute"], "memory-bound up to batch 2, compute-bound at batch 4"),
        (["unknown", "compute", "compute"], "unknown at batch 1, compute-bound from batch 2 on"),
        (
            ["memory", "compute", "compute", "memory"],
            "memory-bound at batch 1, compute-bound at batch 2 to 4, memory-bound at batch 8",
        ),
    ],
)
def test_where_the_bound_changes_is_said(bounds: list[str], words: str) -> None:
    """With the batch sizes that were measured, and none in between."""
    assert words in _one(*({"bound": bound} for bound in bounds))


def test_saturation_is_said_from_where_it_stays() -> None:
    """A batch size that is saturated by chance does not count."""
    regimes = ["saturated", "latency", "saturated", "saturated"]
    assert ", saturated from batch 4 on" in _one(*({"regime": regime} for regime in regimes))
    assert "saturated" not in _one({"regime": "latency"}, {"regime": "latency"})


def test_intensity_is_said_where_it_is_known() -> None:
    """Flat or rising."""
    name = "arithmetic_intensity_flop_per_byte"
    assert "; its intensity stays at 1.00 FLOP/B." in _one({name: 1.0}, {name: 1.0})
    assert "; its intensity lies between 1.00 and 9.00 FLOP/B." in _one({name: 1.0}, {name: 9.0})
    assert "intensity" not in _one({name: 1.0}, {name: None})


def test_two_gpus_at_one_batch_size_are_two_series() -> None:
    """Neither hides the other, and each is named."""
    rows = labels_of(
        *({"batch_size": batch, "device_name": gpu} for gpu in ("A10", "L4") for batch in (1, 2))
    )
    titles = [one.title for one in series_of(rows.to_pydict())]
    assert sorted(titles) == ["attention/decode on A10", "attention/decode on L4"]
